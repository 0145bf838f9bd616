//! BPF programs as a source of records.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;

use dwell_goroutines::ChangePoints;
use dwell_model::{Notice, losses, notice};
use dwell_rights::{self as rights, Raised};
use dwell_store::raw::RecordBuffer;
use dwell_store::{DelayFacts, Rival};
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::families::LoadedHooks;
use crate::clock::monotonic_ns;
use crate::drain::drained::{EventSink, take_record};
use crate::drain::source::{Source, Targets};
use crate::error::{Error, Result};
use crate::hooks::goroutines::GoroutineProbes;
use crate::hooks::sampling::CpuMarks;
use crate::kernel::map_events::MapEvents;
use crate::kernel::perf::{self, Mapping};
use crate::options::Options;
use crate::stacks::unwinding::UnwindTables;
use crate::topics::java_code::JavaMaps;
use crate::topics::task_probes::PinnedFile;

/// BPF programs and the kernel's notes of mapped files.
pub struct Bpf<'a> {
    hooks: LoadedHooks,
    rings: Option<RingBuffer<'a>>,
    /// Whether each CPU's ring had a record since the clocks were last looked after.
    wrote: Rc<CpuMarks>,
    map_events: Option<MapEvents>,
}

impl Bpf<'_> {
    /// Loads the hooks and makes the targets theirs; nothing is recorded yet.
    pub fn start(options: &Options, targets: &Targets<'_>) -> Result<Self> {
        let mut hooks = LoadedHooks::load(options, targets)?;
        let map_events = open_map_events(&mut hooks);
        for &pid in targets.pids {
            hooks.add_target(pid, targets.launching())?;
        }
        hooks.sample();
        let followed = options.follow_children && !options.own_only;
        let pids = (!followed).then_some(targets.pids);
        hooks.set_task_probes(targets.probes, pids)?;
        hooks.set_value_probes(targets.value_probes, pids)?;
        if !targets.libraries.is_empty() {
            hooks.set_creations(targets.libraries, pids);
        }
        let wrote = Rc::new(CpuMarks::new(hooks.rings().len()));
        Ok(Self { hooks, rings: None, wrote, map_events })
    }
}

impl Source for Bpf<'_> {
    fn name(&self) -> &'static str {
        "bpf"
    }

    fn unwinding(&mut self) -> Result<UnwindTables> {
        self.hooks.take_unwinding()
    }

    fn read_java_locks(&mut self) -> Result<()> {
        self.hooks.read_java_locks()
    }

    fn java_maps(&self) -> Result<Option<JavaMaps>> {
        JavaMaps::of(&self.hooks.shared).map(Some)
    }

    fn connect(&mut self, drained: &Rc<RefCell<EventSink>>) -> Result<()> {
        let failed = |source| Error::Bpf { what: "opening the rings".into(), source };
        let mut builder = RingBufferBuilder::new();
        for (cpu, ring) in self.hooks.rings().iter().enumerate() {
            let (drained, wrote) = (Rc::clone(drained), Rc::clone(&self.wrote));
            let take = move |bytes: &[u8]| {
                wrote.set(cpu);
                take_record(&mut drained.borrow_mut(), bytes);
                0
            };
            builder.add(ring, take).map_err(failed)?;
        }
        // libbpf-rs tells the negative number, which has no text.
        let unmapped = |_| Error::last_os("mapping the rings");
        self.rings = Some(builder.build().map_err(unmapped)?);
        Ok(())
    }

    fn log(&self) -> &str {
        &self.hooks.log
    }

    fn sees_mappings(&self) -> bool {
        self.map_events.is_some()
    }

    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.map_events.iter().flat_map(MapEvents::fds).collect()
    }

    fn drain(&mut self, mappings: &mut Vec<Mapping>, now_ns: u64, _: bool) -> Result<u64> {
        let consumed = self.rings.as_ref().map_or(Ok(()), RingBuffer::consume);
        consumed.map_err(|source| Error::Bpf { what: "draining the rings".into(), source })?;
        // After the rings, or a fork could be read without what its parent mapped before.
        if let Some(events) = &mut self.map_events {
            events.drain(mappings, now_ns);
        }
        if let Some(sampling) = &mut self.hooks.sampling {
            sampling.attend(&self.wrote, now_ns);
        }
        self.hooks.limit_creations();
        Ok(now_ns)
    }

    fn seed(&mut self) -> Result<()> {
        self.hooks.seed()
    }

    fn read_accounts(&mut self) {
        self.hooks.read_accounts();
    }

    fn take_in(&mut self, pids: &[u32]) -> Result<bool> {
        if pids.is_empty() {
            return Ok(true);
        }
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        self.hooks.take_in(pids).map(|()| true)
    }

    fn lower(&self, raised: Raised) {
        self.hooks.keep_maps_open(raised);
    }

    fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.hooks.set_paused(paused)
    }

    fn describe_again(&mut self) -> Result<u64> {
        let now_ns = monotonic_ns();
        self.hooks.describe_again()?;
        Ok(now_ns)
    }

    fn losses(&self) -> Vec<(String, u64)> {
        let mut losses = self.hooks.losses();
        let lost = self.map_events.as_ref().map_or(0, MapEvents::lost);
        if lost > 0 {
            losses.push((losses::MAPPINGS_LOST.into(), lost));
        }
        losses
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.hooks.notices)
    }

    fn read_sockets(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        self.hooks.read_sockets(trace, now_ns, at_end);
    }

    fn read_connects(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        self.hooks.read_connects(trace, now_ns, at_end);
    }

    fn read_open_requests(&mut self, trace: &mut RecordBuffer, now_ns: u64) {
        self.hooks.read_open_requests(trace, now_ns);
    }

    fn write_event_counts(&mut self, trace: &mut RecordBuffer, now_ns: u64) {
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        if let Some(counts) = &mut self.hooks.event_counts {
            counts.write_living(trace, now_ns);
        }
    }

    fn urgency(&self) -> u32 {
        self.hooks.urgency()
    }

    fn rivals(&self) -> Vec<Rival> {
        self.hooks.rivals()
    }

    fn rejections(&self, count: usize) -> Vec<u64> {
        self.hooks.rejections(count)
    }

    fn system_calls(&self) -> Option<u64> {
        self.hooks.system_calls()
    }

    fn set_stitching(&mut self, path: &Path) {
        self.hooks.set_stitching(path);
    }

    fn watch_goroutines(&mut self, path: &Path, points: &ChangePoints) -> Result<()> {
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        let file = PinnedFile::open(path, self.hooks.own_only)?;
        if self.hooks.goroutines.is_none() {
            self.hooks.goroutines = Some((self.hooks.load_family("goroutine")?, GoroutineProbes::default()));
        }
        match &mut self.hooks.goroutines {
            Some((object, probes)) => probes.set(object, &file, points, None),
            None => Ok(()),
        }
    }

    fn sees_running(&self) -> Option<bool> {
        self.hooks.sees_running()
    }

    fn see_running(&mut self, wanted: bool) -> Result<()> {
        self.hooks.see_running(wanted)
    }

    fn take_delays(&mut self) -> DelayFacts {
        std::mem::take(&mut self.hooks.delays)
    }
}

fn open_map_events(hooks: &mut LoadedHooks) -> Option<MapEvents> {
    let refused = |error| {
        let error = match error {
            Error::System { source, .. } => perf::refusal(&source),
            error => error.to_string(),
        };
        hooks.notices.push(notice!(CODE_LOOKED_UP, error = error));
    };
    MapEvents::open().map_err(refused).ok()
}
