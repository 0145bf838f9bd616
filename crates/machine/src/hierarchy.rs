//! The caches and the memory behind them: where a line is found, what moves because of it, and when the data is there.
//!
//! Content is exact for the order of accesses given; addresses are virtual. Times are the core's ticks. An access has two:
//! when it was issued, which never goes back from one access to the next, and when its address was known, which does, since
//! the core is out of order. What is queued for (fill buffers, memory) is queued for in the order of issue.

use std::ops::RangeInclusive;

use crate::cache::{Cache, DIRTY, Geometry, PREFETCHED, Victim};
use crate::counts::{Level, TICKS_PER_CYCLE};
use crate::description::{CacheLevel, Inclusion, Machine, Prefetcher, Reserved, WritePolicy};
use crate::error::MachineError;
use crate::prefetch::{Streams, Strides};
use crate::ranges;

/// When an access was issued, and when its address is known: ticks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct When {
    pub issued: u64,
    pub known: u64,
}

/// Where an access found its line, and when its data is there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    pub level: Level,
    pub ready: u64,
}

/// What moved between the caches and memory, in lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines that prefetchers requested.
    pub prefetches: u64,
    /// Prefetched lines of L2 that were used.
    pub prefetches_used: u64,
    /// Lines read from memory.
    pub memory_reads: u64,
    /// Lines written back to memory.
    pub memory_writes: u64,
}

/// So many things can be under way: the times at which they end, in the order in which they began.
#[derive(Debug)]
pub(crate) struct Slots {
    ends: Box<[u64]>,
    at: usize,
}

impl Slots {
    pub fn new(count: usize) -> Self {
        Self { ends: vec![0; count].into(), at: 0 }
    }

    /// When something that wants to begin can.
    #[inline]
    pub fn begin(&self, wanted: u64) -> u64 {
        self.ends.get(self.at).map_or(wanted, |&end| end.max(wanted))
    }

    /// It ends then.
    #[inline]
    pub fn end(&mut self, at: u64) {
        if let Some(slot) = self.ends.get_mut(self.at) {
            *slot = at;
            self.at = if self.at + 1 == self.ends.len() { 0 } else { self.at + 1 };
        }
    }
}

const PENDING: usize = 256;

/// Lines that are under way. Two that meet in a place: the older one is taken as there.
#[derive(Debug)]
struct Pending {
    lines: Box<[(u64, u64); PENDING]>,
    latest: u64,
}

impl Pending {
    fn new() -> Self {
        Self { lines: Box::new([(u64::MAX, 0); PENDING]), latest: 0 }
    }

    fn insert(&mut self, line: u64, arrives: u64) {
        self.lines[line as usize % PENDING] = (line, arrives);
        self.latest = self.latest.max(arrives);
    }

    /// When a line is there that a cache says it has.
    #[inline(always)]
    fn arrival(&self, line: u64, now: u64) -> u64 {
        if self.latest <= now {
            return now;
        }
        let (known, arrives) = self.lines[line as usize % PENDING];
        if known == line { arrives.max(now) } else { now }
    }
}

/// Whose lines go into which of the LLC's classes.
#[derive(Debug, Default)]
struct Classes(Vec<Owner>);

#[derive(Debug)]
enum Owner {
    Addresses(RangeInclusive<u64>),
    Code(RangeInclusive<u64>),
    Thread(u32),
}

impl Classes {
    fn new(level: &CacheLevel) -> Result<Self, MachineError> {
        let owner = |reserved: &Reserved| {
            Ok(match reserved {
                Reserved::Addresses(range) => Owner::Addresses(ranges::parse(range)?),
                Reserved::Code(range) => Owner::Code(ranges::parse(range)?),
                Reserved::Thread(thread) => Owner::Thread(*thread),
            })
        };
        level.reserve.iter().map(|reservation| owner(&reservation.of)).collect::<Result<_, _>>().map(Self)
    }

    /// The class of an access; 0 is everybody else's.
    fn of(&self, address: u64, running: Running) -> usize {
        let owns = |owner: &Owner| match owner {
            Owner::Addresses(range) => range.contains(&address),
            Owner::Code(range) => range.contains(&running.code),
            Owner::Thread(thread) => *thread == running.thread,
        };
        self.0.iter().position(owns).map_or(0, |at| at + 1)
    }
}

/// What is executed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Running {
    pub code: u64,
    pub thread: u32,
}

#[derive(Debug)]
struct Outer {
    cache: Cache,
    /// log2 of how many lines of L1 make one here.
    extra: u32,
    inclusive: bool,
    victim: bool,
    fills: Slots,
}

impl Outer {
    fn new(level: &CacheLevel, shift: u32) -> Self {
        let reserved: usize = level.reserve.iter().map(|reservation| reservation.ways).sum();
        let quotas: Vec<usize> = std::iter::once(level.ways - reserved)
            .chain(level.reserve.iter().map(|reservation| reservation.ways))
            .collect();
        Self {
            cache: Cache::partitioned(geometry(level), &quotas),
            extra: level.line.trailing_zeros() - shift,
            inclusive: level.inclusion == Inclusion::Inclusive,
            victim: level.inclusion == Inclusion::Victim,
            fills: Slots::new(level.misses_in_flight),
        }
    }
}

fn geometry(level: &CacheLevel) -> Geometry {
    Geometry {
        slices: level.slices,
        sets: level.size_kib * 1024 / (level.line * level.ways as u64 * level.slices),
        ways: level.ways,
        replacement: level.replacement,
    }
}

/// The caches and memory of a machine.
#[derive(Debug)]
pub(crate) struct Hierarchy {
    l1i: Option<Cache>,
    l1d: Cache,
    l2: Option<Outer>,
    llc: Option<Outer>,
    /// log2 of the bytes of L1's lines.
    pub shift: u32,
    /// log2 of how many of them make one of L2's, if there is one.
    l2_extra: u32,
    /// Ticks to each level.
    latency: [u64; 4],
    write_through: bool,
    next_code_line: bool,
    next_data_line: bool,
    adjacent: bool,
    next_l2_line: bool,
    strides: Option<Strides>,
    streams: Option<Streams>,
    fills: Slots,
    pending: Pending,
    memory_free: u64,
    memory_line: u64,
    classes: Classes,
    pub running: Running,
    pub traffic: Traffic,
}

impl Hierarchy {
    pub fn new(machine: &Machine) -> Result<Self, MachineError> {
        let ticks = |cycles: u64| cycles * TICKS_PER_CYCLE;
        let shift = machine.l1d.line.trailing_zeros();
        let outer = |level: &Option<CacheLevel>| level.as_ref().map(|level| Outer::new(level, shift));
        let has =
            |level: Option<&CacheLevel>, prefetcher| level.is_some_and(|level| level.prefetch.contains(&prefetcher));
        let latency = |level: Option<&CacheLevel>| level.map_or(0, |level| ticks(level.latency));
        let (l2, llc) = (machine.l2.as_ref(), machine.llc.as_ref());
        let last = llc.or(l2).unwrap_or(&machine.l1d);
        Ok(Self {
            l1i: machine.l1i.as_ref().map(|level| Cache::new(geometry(level))),
            l1d: Cache::new(geometry(&machine.l1d)),
            l2: outer(&machine.l2),
            llc: outer(&machine.llc),
            shift,
            l2_extra: l2.map_or(shift, |level| level.line.trailing_zeros()) - shift,
            latency: [ticks(machine.l1d.latency), latency(l2), latency(llc), ticks(machine.memory.latency)],
            write_through: machine.l1d.write == WritePolicy::Through,
            next_code_line: has(machine.l1i.as_ref(), Prefetcher::NextLine),
            next_data_line: has(Some(&machine.l1d), Prefetcher::NextLine),
            adjacent: has(l2, Prefetcher::Adjacent),
            next_l2_line: has(l2, Prefetcher::NextLine),
            strides: has(Some(&machine.l1d), Prefetcher::Stride).then(Strides::new),
            streams: l2.filter(|_| has(l2, Prefetcher::Stream)).map(|l2| Streams::new(l2.line.trailing_zeros())),
            fills: Slots::new(machine.l1d.misses_in_flight),
            pending: Pending::new(),
            memory_free: 0,
            memory_line: (last.line as f64 / machine.memory.bytes_per_cycle * TICKS_PER_CYCLE as f64) as u64,
            classes: llc.map_or(Ok(Classes::default()), Classes::new)?,
            running: Running::default(),
            traffic: Traffic::default(),
        })
    }

    /// Data of one line is read or written.
    #[inline(always)]
    pub fn data<const TIMED: bool>(&mut self, line: u64, store: bool, when: When) -> Reached {
        let Some(place) = self.l1d.touch(line) else { return self.data_miss::<TIMED>(line, store, when) };
        if store {
            if self.write_through {
                self.write_back(line);
            } else {
                self.l1d.flag(place, DIRTY);
            }
        }
        let ready = if TIMED { self.pending.arrival(self.key(line), when.known + self.latency[0]) } else { 0 };
        Reached { level: Level::L1, ready }
    }

    #[inline(never)]
    fn data_miss<const TIMED: bool>(&mut self, line: u64, store: bool, when: When) -> Reached {
        let when = When { known: if TIMED { self.fills.begin(when.known) } else { 0 }, ..when };
        let reached = self.beyond::<TIMED>(line, when);
        if TIMED {
            self.fills.end(reached.ready);
        }
        if store && self.write_through {
            self.write_back(line);
            return reached;
        }
        self.fill_data::<TIMED>(line, if store { DIRTY } else { 0 }, reached.ready);
        if self.next_data_line {
            self.prefetch_data::<TIMED>(line + 1, when);
        }
        reached
    }

    /// An instruction reads: what the stride prefetcher makes of it.
    #[inline(always)]
    pub fn observe<const TIMED: bool>(&mut self, instruction: u32, address: u64, when: When) {
        let Some(strides) = &mut self.strides else { return };
        if let Some(target) = strides.observe(instruction, address, 1 << self.shift) {
            self.prefetch_data::<TIMED>(target >> self.shift, when);
        }
    }

    #[inline(never)]
    fn prefetch_data<const TIMED: bool>(&mut self, line: u64, when: When) {
        if self.l1d.holds(line) {
            return;
        }
        self.traffic.prefetches += 1;
        let reached = self.beyond::<TIMED>(line, when);
        self.fill_data::<TIMED>(line, 0, reached.ready);
    }

    fn fill_data<const TIMED: bool>(&mut self, line: u64, flags: u64, ready: u64) {
        if TIMED {
            self.pending.insert(self.key(line), ready);
        }
        if let Some(Victim { key, dirty: true }) = self.l1d.fill(line, 0, flags) {
            self.write_back(key);
        }
    }

    /// A line of code is fetched. L1I's hits cost nothing: the front end's width covers them.
    #[inline(always)]
    pub fn code<const TIMED: bool>(&mut self, line: u64, when: When) -> Reached {
        if let Some(l1i) = &mut self.l1i
            && l1i.touch(line).is_some()
        {
            let ready = if TIMED { self.pending.arrival(self.key(line), when.known) } else { 0 };
            return Reached { level: Level::L1, ready };
        }
        self.code_miss::<TIMED>(line, when)
    }

    #[inline(never)]
    fn code_miss<const TIMED: bool>(&mut self, line: u64, when: When) -> Reached {
        let reached = self.beyond::<TIMED>(line, when);
        if let Some(l1i) = &mut self.l1i {
            l1i.fill(line, 0, 0);
            if self.next_code_line && !l1i.holds(line + 1) {
                l1i.fill(line + 1, 0, 0);
                self.traffic.prefetches += 1;
                let next = self.beyond::<TIMED>(line + 1, when);
                if TIMED {
                    self.pending.insert(self.key(line + 1), next.ready);
                }
            }
        }
        reached
    }

    /// Whether code comes through an L1I, which is asked for every line; else only what the µop cache lacks is fetched.
    pub fn has_l1i(&self) -> bool {
        self.l1i.is_some()
    }

    #[inline(always)]
    fn key(&self, line: u64) -> u64 {
        line >> self.l2_extra
    }

    /// A line of L1's size comes from L2 or behind, which L2 then has.
    fn beyond<const TIMED: bool>(&mut self, line: u64, when: When) -> Reached {
        let Some(l2) = &mut self.l2 else { return self.last::<TIMED>(line, when).0 };
        let key = line >> l2.extra;
        let found = l2.cache.touch(key);
        let reached = match found {
            Some(place) => {
                self.traffic.prefetches_used += u64::from(l2.cache.unflag(place, PREFETCHED));
                let ready = if TIMED { self.pending.arrival(key, when.known + self.latency[1]) } else { 0 };
                Reached { level: Level::L2, ready }
            }
            None => self.fill_l2::<TIMED>(line, when, 0),
        };
        self.ahead_of_l2::<TIMED>(line, found.is_none(), when);
        reached
    }

    /// L2 takes a line from the LLC or memory.
    fn fill_l2<const TIMED: bool>(&mut self, line: u64, when: When, flags: u64) -> Reached {
        let known = match &self.l2 {
            Some(l2) if TIMED => l2.fills.begin(when.known),
            _ => when.known,
        };
        let (reached, dirty) = self.last::<TIMED>(line, When { known, ..when });
        let Some(l2) = &mut self.l2 else { return reached };
        if TIMED {
            l2.fills.end(reached.ready);
        }
        let (extra, inclusive) = (l2.extra, l2.inclusive);
        let victim = l2.cache.fill(line >> extra, 0, if dirty { flags | DIRTY } else { flags });
        if let Some(mut victim) = victim {
            if inclusive {
                victim.dirty |= self.drop_from_l1(victim.key, extra);
            }
            self.leave_l2(victim, extra);
        }
        reached
    }

    /// What L2's prefetchers make of an access to it.
    fn ahead_of_l2<const TIMED: bool>(&mut self, line: u64, missed: bool, when: When) {
        let extra = self.l2.as_ref().map_or(0, |l2| l2.extra);
        let key = line >> extra;
        if let Some(streams) = &mut self.streams {
            let (first, direction, count) = streams.observe(key);
            for i in 0..count {
                self.prefetch_l2::<TIMED>(first.wrapping_add((i * direction) as u64), extra, when);
            }
        }
        if missed && self.adjacent {
            self.prefetch_l2::<TIMED>(key ^ 1, extra, when);
        }
        if missed && self.next_l2_line {
            self.prefetch_l2::<TIMED>(key + 1, extra, when);
        }
    }

    fn prefetch_l2<const TIMED: bool>(&mut self, key: u64, extra: u32, when: When) {
        if self.l2.as_ref().is_none_or(|l2| l2.cache.holds(key)) {
            return;
        }
        self.traffic.prefetches += 1;
        let reached = self.fill_l2::<TIMED>(key << extra, when, PREFETCHED);
        if TIMED {
            self.pending.insert(key, reached.ready);
        }
    }

    /// The LLC or memory; whether the line comes with writes that memory has not.
    fn last<const TIMED: bool>(&mut self, line: u64, when: When) -> (Reached, bool) {
        let Some(llc) = &mut self.llc else { return (self.memory::<TIMED>(when), false) };
        let key = line >> llc.extra;
        if let Some(place) = llc.cache.touch(key) {
            let dirty = llc.victim && llc.cache.unflag(place, DIRTY);
            if llc.victim {
                llc.cache.remove(key);
            }
            let ready = if TIMED { when.known + self.latency[2] } else { 0 };
            return (Reached { level: Level::Llc, ready }, dirty);
        }
        if !llc.victim {
            self.fill_llc(key, 0);
        }
        (self.memory::<TIMED>(when), false)
    }

    fn fill_llc(&mut self, key: u64, flags: u64) {
        let Some(llc) = &mut self.llc else { return };
        let class = self.classes.of(key << (llc.extra + self.shift), self.running);
        let (extra, inclusive) = (llc.extra, llc.inclusive);
        let Some(mut victim) = llc.cache.fill(key, class, flags) else { return };
        if inclusive {
            victim.dirty |= self.drop_from_l1(victim.key, extra) | self.drop_from_l2(victim.key, extra);
        }
        if victim.dirty {
            self.write_memory();
        }
    }

    fn drop_from_l1(&mut self, key: u64, extra: u32) -> bool {
        let mut dirty = false;
        for line in key << extra..=key << extra | ((1 << extra) - 1) {
            dirty |= self.l1d.remove(line).unwrap_or(false);
            if let Some(l1i) = &mut self.l1i {
                l1i.remove(line);
            }
        }
        dirty
    }

    fn drop_from_l2(&mut self, key: u64, extra: u32) -> bool {
        let Some(l2) = &mut self.l2 else { return false };
        let (first, last) = (key << extra >> l2.extra, (key << extra | ((1 << extra) - 1)) >> l2.extra);
        (first..=last).fold(false, |dirty, key| dirty | l2.cache.remove(key).unwrap_or(false))
    }

    /// L2 drops a line: into the LLC if that lives on such lines, else only its writes matter.
    fn leave_l2(&mut self, victim: Victim, extra: u32) {
        let Some(llc) = &mut self.llc else {
            if victim.dirty {
                self.write_memory();
            }
            return;
        };
        let key = victim.key << extra >> llc.extra;
        if !llc.victim {
            if victim.dirty && !llc.cache.soil(key) {
                self.write_memory();
            }
        } else if let Some(place) = llc.cache.touch(key) {
            llc.cache.flag(place, if victim.dirty { DIRTY } else { 0 });
        } else {
            self.fill_llc(key, if victim.dirty { DIRTY } else { 0 });
        }
    }

    /// Writes of L1D go to the first level that has the line; they bring no line anywhere.
    fn write_back(&mut self, line: u64) {
        let has = |level: &mut Option<Outer>| level.as_mut().is_some_and(|level| level.cache.soil(line >> level.extra));
        if !has(&mut self.l2) && !has(&mut self.llc) {
            self.write_memory();
        }
    }

    fn write_memory(&mut self) {
        self.traffic.memory_writes += 1;
        self.memory_free += self.memory_line;
    }

    fn memory<const TIMED: bool>(&mut self, when: When) -> Reached {
        self.traffic.memory_reads += 1;
        if !TIMED {
            return Reached { level: Level::Memory, ready: 0 };
        }
        let free = self.memory_free.max(when.issued);
        self.memory_free = free + self.memory_line;
        Reached { level: Level::Memory, ready: free.max(when.known) + self.latency[3] }
    }
}
