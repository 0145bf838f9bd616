//! What processes, objects and CPUs did in equal parts of the whole time.

use std::collections::BTreeMap;
use std::ops::Range;

use dwell_store::{Column, Index, IndexWriter, Trace};

use crate::history::band_kind::BandKind;
use crate::history::states::{STATES, TimelineState, shown};
use crate::history::sum::Sum;

/// Numbers of the sections of the index: places and buckets.
const SECTIONS: [u64; 2] = [112, 113];
/// Intervals per bucket of a group, about, from which these are worth their room.
const WORTH: usize = 4;
/// Buckets that are kept in any case.
const FEW: usize = 1 << 16;

/// Where a group's buckets are.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct BucketPlace {
    /// First one in the section.
    at: u64,
    /// How many; `u32::MAX` for a group whose buckets found no room.
    count: u32,
    /// Row of the processes or objects table, or number of the CPU.
    id: u32,
    /// [`number`] of the kind.
    kind: u64,
}

/// What the threads of a group did in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct GroupBucket {
    /// What was waited on longest; of a CPU, the thread that ran longest.
    pub owner: u32,
    /// Number of the bucket; those in which nothing was done are left out.
    pub bucket: u16,
    /// What is shown of it.
    pub state: u8,
    /// Part of the bucket's length in this state, of 255; more threads do not make it more.
    pub part: u8,
    /// Whether that is all that was done, all the time.
    pub is_pure: u8,
    unused: [u8; 3],
}

fn number(kind: BandKind) -> u64 {
    match kind {
        BandKind::Thread => 0,
        BandKind::Process => 1,
        BandKind::Object => 2,
        BandKind::Cpu => 3,
        BandKind::Task => 4,
    }
}

/// The buckets of all groups.
#[derive(Debug, Default)]
pub struct GroupBuckets {
    /// In order of kind and id.
    places: Column<BucketPlace>,
    buckets: Column<GroupBucket>,
}

impl GroupBuckets {
    /// Those of an index.
    pub fn of(index: &Index) -> Self {
        Self { places: index.column(SECTIONS[0]), buckets: index.column(SECTIONS[1]) }
    }

    /// The buckets of a group, in order; `None` when they found no room.
    pub fn get(&self, kind: BandKind, id: u32) -> Option<&[GroupBucket]> {
        let found = self.places.binary_search_by_key(&(number(kind), id), |place| (place.kind, place.id));
        // Who is not there did nothing.
        let Some(place) = found.ok().and_then(|found| self.places.get(found)) else { return Some(&[]) };
        let at = place.at as usize;
        (place.count != u32::MAX)
            .then(|| self.buckets.get(at..at.saturating_add(place.count as usize)).unwrap_or_default())
    }
}

/// The buckets of groups while they are summed, a few buckets at a time.
#[derive(Default)]
pub struct GroupSums {
    slab: Range<u64>,
    /// By kind and id, the slot of a group; `u32::MAX` for none.
    slots: [Vec<u32>; 3],
    /// Kind and id of each slot.
    groups: Vec<(u64, u32)>,
    sums: Vec<Sum>,
    /// Buckets that are done.
    done: BTreeMap<(u64, u32), Vec<GroupBucket>>,
}

impl GroupSums {
    /// For these buckets.
    pub fn new(trace: &Trace, slab: Range<u64>) -> Self {
        let slots = [trace.processes.pid.len(), trace.objects.kind.len(), usize::from(u16::MAX)];
        Self { slab, slots: slots.map(|count| vec![u32::MAX; count]), ..Self::default() }
    }

    /// Adds to the bucket at `at` of a group, if there is such a group.
    pub fn add(&mut self, (kind, id): (BandKind, u32), at: usize, (state, ns, owner): (TimelineState, u64, u32)) {
        let width = (self.slab.end - self.slab.start) as usize;
        let kind = number(kind);
        let slots = self.slots.get_mut((kind as usize).wrapping_sub(1));
        let Some(slot) = slots.and_then(|slots| slots.get_mut(id as usize)).filter(|_| at < width) else { return };
        if *slot == u32::MAX {
            *slot = self.groups.len() as u32;
            self.groups.push((kind, id));
            self.sums.resize(self.groups.len() * width, Sum::default());
        }
        self.sums[*slot as usize * width + at].add(state, ns, owner);
    }

    /// The buckets have all that was done in them; `length` tells how long one is.
    pub fn close(&mut self, length: impl Fn(u64) -> u64) {
        let width = (self.slab.end - self.slab.start) as usize;
        for (group, sums) in self.groups.drain(..).zip(self.sums.chunks(width)) {
            let buckets = self.slab.clone().zip(sums);
            let stored = buckets.filter_map(|(bucket, sum)| stored(bucket, sum, length(bucket)));
            self.done.insert(group, stored.collect());
        }
        (self.sums, self.slots) = (Vec::new(), Default::default());
    }

    /// Appends later buckets.
    pub fn append(&mut self, later: Self) {
        for (group, buckets) in later.done {
            self.done.entry(group).or_default().extend(buckets);
        }
    }

    /// Writes the buckets of all groups; where these are not worth their room, of as many as are, those with the fewest
    /// first.
    pub fn write(self, writer: &mut IndexWriter, trace: &Trace) -> dwell_store::Result<()> {
        let room = (trace.events().off_cpu.count() / WORTH).max(FEW);
        let mut sizes: Vec<usize> = self.done.values().map(Vec::len).collect();
        sizes.sort_unstable();
        let mut sum = 0;
        let fits = |size: &&usize| {
            sum += **size;
            sum <= room
        };
        let largest = sizes.iter().take_while(fits).last().copied().unwrap_or(0);
        let (mut places, mut at) = (Vec::new(), 0u64);
        let kept = |buckets: &Vec<GroupBucket>| buckets.len() <= largest;
        for ((kind, id), buckets) in &self.done {
            let count = if kept(buckets) { buckets.len() as u32 } else { u32::MAX };
            places.push(BucketPlace { at, count, id: *id, kind: *kind });
            at += if kept(buckets) { buckets.len() as u64 } else { 0 };
        }
        writer.append(SECTIONS[0], &places)?;
        let begin = writer.begin_section()?;
        for buckets in self.done.values().filter(|buckets| kept(buckets)) {
            writer.extend(buckets)?;
        }
        writer.end_section(SECTIONS[1], begin);
        Ok(())
    }
}

fn stored(bucket: u64, sum: &Sum, length: u64) -> Option<GroupBucket> {
    let state = shown(&sum.times)?;
    let states = sum.times.iter().filter(|ns| **ns > 0).count();
    let share = sum.times[state.index()] as f64 / length.max(1) as f64;
    Some(GroupBucket {
        owner: sum.longest.1,
        bucket: bucket as u16,
        state: state.index() as u8,
        part: (share * 255.0).round().clamp(1.0, 255.0) as u8,
        is_pure: u8::from(states == 1 && sum.times.iter().sum::<u64>() >= length),
        unused: [0; 3],
    })
}

/// What several buckets of a group show together: state, owner, whether it is all one.
pub fn together(group: &[GroupBucket], of: u64) -> Option<(TimelineState, u32, bool)> {
    let mut times = [0u64; STATES];
    for bucket in group {
        if let Some(time) = times.get_mut(usize::from(bucket.state)) {
            *time += u64::from(bucket.part);
        }
    }
    let state = shown(&times)?;
    let of_state = group.iter().filter(|bucket| usize::from(bucket.state) == state.index());
    let owner = of_state.max_by_key(|bucket| bucket.part).map_or(u32::MAX, |bucket| bucket.owner);
    let same = |bucket: &GroupBucket| (bucket.state, bucket.owner) == (state.index() as u8, owner);
    let is_pure = group.len() as u64 == of && group.iter().all(|bucket| bucket.is_pure != 0 && same(bucket));
    Some((state, owner, is_pure))
}
