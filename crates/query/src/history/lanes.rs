//! Where tasks, regions and frames lie: in lanes, those of one lane one after the other.

use dwell_model::{TaskKind, TaskTypeId};
use dwell_store::Trace;

use crate::history::band_kind::BandKind;

/// Rows of the tasks table in lanes, band by band.
#[derive(Debug, Default)]
pub struct Lanes {
    threads: Packed,
    types: Packed,
    /// Rows of the markers table by thread.
    pub markers: Vec<Vec<u32>>,
}

/// The lanes of the bands of one kind.
#[derive(Debug, Default)]
struct Packed {
    bands: Vec<Vec<Vec<u32>>>,
}

impl Packed {
    fn of(&self, band: u32) -> &[Vec<u32>] {
        self.bands.get(band as usize).map_or(&[], Vec::as_slice)
    }
}

/// What a task type is.
pub fn kind_of(trace: &Trace, task_type: TaskTypeId) -> TaskKind {
    let code = task_type.get().and_then(|row| trace.annotations.task_types.kind.get(row));
    code.map_or(TaskKind::Unknown, |code| TaskKind::from_code(*code))
}

/// What nests in the tasks of its thread; the others may overlap, and lie in lanes of their own.
pub fn nests(kind: TaskKind) -> bool {
    matches!(kind, TaskKind::Task | TaskKind::Event | TaskKind::Probe)
}

impl Lanes {
    /// Packs every task: time and memory in proportion to their number.
    pub fn new(trace: &Trace) -> Self {
        let said = &trace.annotations;
        let kind_of = |row: usize| kind_of(trace, said.tasks.task_type[row]);
        let thread = |row: usize| said.tasks.thread[row].get();
        let mut threads = Packer::new(trace, trace.threads.tid.len());
        // Frames and what else overlaps are the upper lanes: they are seldom, and what is in them lies below.
        threads.pack(|row| thread(row).filter(|_| kind_of(row) == TaskKind::Frame));
        threads.pack(|row| thread(row).filter(|_| nests(kind_of(row))));
        threads.pack(|row| thread(row).filter(|_| !nests(kind_of(row)) && kind_of(row) != TaskKind::Frame));
        let mut types = Packer::new(trace, said.task_types.kind.len());
        types.pack(|row| said.tasks.task_type[row].get());
        let mut markers = vec![Vec::new(); trace.threads.tid.len()];
        for (row, thread) in said.markers.thread.iter().enumerate() {
            if let Some(rows) = thread.get().and_then(|thread| markers.get_mut(thread)) {
                rows.push(row as u32);
            }
        }
        Self { threads: threads.packed, types: types.packed, markers }
    }

    /// The lanes of a band: rows of the tasks table.
    pub fn of(&self, by: BandKind, band: u32) -> &[Vec<u32>] {
        match by {
            BandKind::Thread => self.threads.of(band),
            BandKind::Task => self.types.of(band),
            BandKind::Process | BandKind::Object | BandKind::Cpu => &[],
        }
    }

    /// Number of lanes of a band.
    pub fn count(&self, by: BandKind, band: u32) -> usize {
        self.of(by, band).len()
    }

    /// Rows of all tasks of a band, lane by lane.
    pub fn rows(&self, by: BandKind, band: u32) -> impl Iterator<Item = usize> {
        self.of(by, band).iter().flatten().map(|row| *row as usize)
    }
}

/// Puts tasks into lanes, each into the first one of its round that is free.
struct Packer<'t> {
    trace: &'t Trace,
    packed: Packed,
}

impl<'t> Packer<'t> {
    fn new(trace: &'t Trace, bands: usize) -> Self {
        Self { trace, packed: Packed { bands: vec![Vec::new(); bands] } }
    }

    /// A round: tasks for which `band_of` gives a band lie below the lanes of the rounds before.
    fn pack(&mut self, band_of: impl Fn(usize) -> Option<usize>) {
        let tasks = &self.trace.annotations.tasks;
        let above: Vec<usize> = self.packed.bands.iter().map(Vec::len).collect();
        for row in 0..tasks.start_ns.len() {
            let Some((band, lanes)) = band_of(row).and_then(|band| Some((band, self.packed.bands.get_mut(band)?)))
            else {
                continue;
            };
            let ends = |lane: &Vec<u32>| lane.last().map_or(0, |last| tasks.end_ns[*last as usize]);
            let free = (above[band]..lanes.len()).find(|lane| ends(&lanes[*lane]) <= tasks.start_ns[row]);
            let lane = free.unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push(row as u32);
        }
    }
}
