//! Probes on the instructions of Go programs at which the state of a goroutine changes.
//!
//! They are in the file: whoever runs the program and is not profiled passes them, too, without a record.

use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bytemuck::{Zeroable, bytes_of};
use dwell_goroutines::{ChangePoints, StateChange};
use dwell_probes::{Edge, Site};
use dwell_wire::{GoroutineLayout, goroutine_change};
use libbpf_rs::{Link, MapCore as _, MapFlags, Object};

use crate::error::{Error, Result};
use crate::topics::task_probes::{self, FoundProbes, PinnedFile};

/// Programs that are probed: the rows of the kernel side's map of layouts.
const MOST_PROGRAMS: usize = 64;
/// Kinds of changes that a cookie has room for.
const CHANGES: usize = 8;

/// The probes while they are set.
#[derive(Default)]
pub struct GoroutineProbes {
    links: Vec<Link>,
    /// Device and inode of the programs that have them.
    programs: HashSet<(u64, u64)>,
}

impl GoroutineProbes {
    /// Sets the probes of `object` in the program `file`, unless it has them; `pids` = in these processes only.
    pub fn set(
        &mut self,
        object: &Object,
        file: &PinnedFile,
        points: &ChangePoints,
        pids: Option<&[u32]>,
    ) -> Result<()> {
        let failed = |source| Error::System { what: "opening a Go program", source };
        let metadata = Path::new(&file.path).metadata().map_err(failed)?;
        let program = (metadata.dev(), metadata.ino());
        let number = self.programs.len();
        if self.programs.contains(&program) {
            return Ok(());
        }
        if number == MOST_PROGRAMS {
            return Err(failed(std::io::Error::other("64 programs have probes")));
        }
        set_layout(object, number as u32, &layout_of(points))?;
        let found: Vec<FoundProbes> = points
            .all
            .iter()
            .map(|point| FoundProbes {
                probe: number * CHANGES + usize::from(change_number(point.change)),
                name: "goroutines".into(),
                file: file.path.clone(),
                sites: vec![Site { offset: point.offset, semaphore: 0, edge: Edge::Begin }],
            })
            .collect();
        self.links.extend(task_probes::set(&found, object, pids)?);
        self.programs.insert(program);
        Ok(())
    }
}

fn set_layout(object: &Object, number: u32, layout: &GoroutineLayout) -> Result<()> {
    let failed = |source| Error::Bpf { what: "setting the layout of goroutines".into(), source };
    let Some(map) = object.maps().find(|map| map.name() == "goroutine_layouts") else { return Ok(()) };
    map.update(&number.to_ne_bytes(), bytes_of(layout), MapFlags::ANY).map_err(failed)
}

/// The offsets are below the size of a `runtime.g`, a few hundred bytes.
fn layout_of(points: &ChangePoints) -> GoroutineLayout {
    let offsets = points.offsets;
    GoroutineLayout {
        number: offsets.id as u16,
        thread: offsets.thread as u16,
        sched_sp: offsets.sched_sp as u16,
        sched_bp: offsets.sched_bp as u16,
        parent: offsets.parent.unwrap_or(0) as u16,
        created_at: offsets.created_at as u16,
        entry: offsets.entry as u16,
        waiting: offsets.waiting as u16,
        current: offsets.current as u16,
        semaphores: points.semaphores.unwrap_or(0),
        sudog_goroutine: offsets.sudog_goroutine as u16,
        sudog_next: offsets.sudog_next as u16,
        sudog_previous: offsets.sudog_previous as u16,
        sudog_element: offsets.sudog_element as u16,
        sudog_waitlink: offsets.sudog_waitlink as u16,
        sudog_channel: offsets.sudog_channel as u16,
        ..GoroutineLayout::zeroed()
    }
}

fn change_number(change: StateChange) -> u16 {
    match change {
        StateChange::Parks => goroutine_change::PARKS,
        StateChange::IsReady => goroutine_change::IS_READY,
        StateChange::Runs => goroutine_change::RUNS,
        StateChange::Ends => goroutine_change::ENDS,
        StateChange::Yields => goroutine_change::YIELDS,
        StateChange::IsMade => goroutine_change::IS_MADE,
    }
}
