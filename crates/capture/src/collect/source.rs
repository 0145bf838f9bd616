//! Where the records of a collection come from: BPF programs, or perf events that need no rights.
//!
//! Both write the same records. What only BPF can tell has a default here that tells nothing.

use std::cell::RefCell;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::rc::Rc;

use dwell_rights::Raised;
use dwell_store::DelayFacts;
use dwell_store::raw::RecordBuffer;
use libbpf_rs::{RingBuffer, RingBufferBuilder};

use super::drained::{Drained, take_record};
use crate::clock::monotonic_ns;
use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::keeper::Keeper;
use crate::machine;
use crate::options::{EventSource, Options};
use crate::perf::{self, MapEvents, Mapping};
use crate::task_probes;
use crate::unprivileged::Unprivileged;
use crate::unwinding::Unwinding;

/// The processes that a collection begins with.
pub struct Targets<'t> {
    /// Their ids.
    pub pids: &'t [u32],
    /// Whether it is a child that is still to run its program.
    pub launching: bool,
    /// Task probes to be set.
    pub probes: &'t task_probes::Places,
}

/// What a collection asks of its source of records.
pub trait Source {
    /// What the manifest calls it.
    fn name(&self) -> &'static str;

    /// The writing end of the unwind tables.
    fn unwinding(&self) -> Result<Unwinding>;

    /// Hands records to `drained` from now on.
    fn connect(&mut self, drained: &Rc<RefCell<Drained>>) -> Result<()>;

    /// What becomes readable when a round should not wait.
    fn wakers(&self) -> Vec<BorrowedFd<'_>>;

    /// Hands out what came until `now_ns`, CLOCK_MONOTONIC, or everything `at_end`. Returns the time up to which nothing more
    /// will come.
    fn drain(&mut self, mappings: &mut Vec<Mapping>, now_ns: u64, at_end: bool) -> Result<u64>;

    /// Second half of a round: what rests on the unwind tables, which by now know all that was mapped. Returns the time up to
    /// which all records have been handed out.
    fn settle(&mut self, _: &mut Unwinding, _: &mut Keeper, drained_ns: u64) -> Result<u64> {
        Ok(drained_ns)
    }

    /// Tells the state of every thread of the targets, with new ones taken in.
    fn seed(&mut self) -> Result<()>;

    /// Lets go of the rights that were raised to start, as far as the source can be read without them.
    fn lower(&self, raised: Raised) {
        drop(raised);
    }

    /// Describes stacks, objects and functions anew to which events refer from now on. Returns the time before which what was
    /// told is needed only by events until now: 0 where everything is told once.
    fn tell_again(&mut self) -> Result<u64> {
        Ok(0)
    }

    /// Pauses or resumes recording.
    fn set_paused(&mut self, paused: bool) -> Result<()>;

    /// The loss counters that are not zero.
    fn losses(&self) -> Vec<(String, u64)>;

    /// What the reader of the result should know.
    fn take_notices(&mut self) -> Vec<String>;

    /// What the kernel said of hooks that it refused.
    fn log(&self) -> &str {
        ""
    }

    /// Whether it hands out what processes map.
    fn sees_mappings(&self) -> bool {
        true
    }

    /// Writes what is new of sockets, when it is time.
    fn read_sockets(&mut self, _: &mut RecordBuffer, _: u64, _: bool) {}

    /// System calls of the whole machine so far, where they are counted.
    fn system_calls(&self) -> Option<u64> {
        None
    }

    /// Notes where programs ask for work through the library at this path.
    fn set_stitching(&mut self, _: &Path) {}

    /// Whether what delays threads while they run is seen; `None` if this source cannot see it.
    fn sees_running(&self) -> Option<bool> {
        None
    }

    /// Sees it from now on, or no more.
    fn see_running(&mut self, _: bool) -> Result<()> {
        Ok(())
    }

    /// What of this machine explains delays.
    fn take_delays(&mut self) -> DelayFacts {
        DelayFacts::default()
    }
}

/// Opens the source that the options name, or the best that there is.
pub fn open<'a>(options: &'a Options, targets: &Targets<'_>) -> Result<Box<dyn Source + 'a>> {
    machine::raise_descriptors();
    match options.source {
        EventSource::Bpf => Ok(Box::new(Bpf::start(options, targets)?)),
        EventSource::Perf => Ok(Box::new(Unprivileged::start(options, targets, None)?)),
        EventSource::Auto => match Bpf::start(options, targets) {
            Ok(bpf) => Ok(Box::new(bpf)),
            Err(error) if is_about_bpf(&error) => Ok(Box::new(Unprivileged::start(options, targets, Some(&error))?)),
            Err(error) => Err(error),
        },
    }
}

/// Whether the error says that this kernel, or this user, cannot load BPF programs.
fn is_about_bpf(error: &Error) -> bool {
    matches!(error, Error::Permission { .. } | Error::Unsupported { .. } | Error::Bpf { .. })
}

/// BPF programs and the kernel's notes of mapped files.
struct Bpf<'a> {
    hooks: Hooks,
    rings: Option<RingBuffer<'a>>,
    map_events: Vec<MapEvents>,
}

impl Bpf<'_> {
    fn start(options: &Options, targets: &Targets<'_>) -> Result<Self> {
        let mut hooks = Hooks::load(options)?;
        let map_events = open_map_events(&mut hooks);
        for &pid in targets.pids {
            hooks.add_target(pid, targets.launching)?;
        }
        hooks.sample(targets.pids);
        let followed = options.follow_children && !options.own_only;
        hooks.set_task_probes(targets.probes, (!followed).then_some(targets.pids))?;
        Ok(Self { hooks, rings: None, map_events })
    }
}

impl Source for Bpf<'_> {
    fn name(&self) -> &'static str {
        "bpf"
    }

    fn unwinding(&self) -> Result<Unwinding> {
        self.hooks.unwinding()
    }

    fn connect(&mut self, drained: &Rc<RefCell<Drained>>) -> Result<()> {
        let failed = |source| Error::Bpf { what: "opening the rings".into(), source };
        let mut builder = RingBufferBuilder::new();
        for ring in self.hooks.rings() {
            let drained = Rc::clone(drained);
            let take = move |bytes: &[u8]| {
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
        !self.map_events.is_empty()
    }

    fn wakers(&self) -> Vec<BorrowedFd<'_>> {
        self.map_events.iter().map(MapEvents::fd).collect()
    }

    fn drain(&mut self, mappings: &mut Vec<Mapping>, now_ns: u64, _: bool) -> Result<u64> {
        let consumed = self.rings.as_ref().map_or(Ok(()), RingBuffer::consume);
        consumed.map_err(|source| Error::Bpf { what: "draining the rings".into(), source })?;
        // After the rings, or a fork could be read without what its parent mapped before.
        for events in &mut self.map_events {
            events.drain(mappings);
        }
        Ok(now_ns)
    }

    fn seed(&mut self) -> Result<()> {
        self.hooks.seed()
    }

    fn lower(&self, raised: Raised) {
        self.hooks.keep_maps_open(raised);
    }

    fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.hooks.set_paused(paused)
    }

    fn tell_again(&mut self) -> Result<u64> {
        let now_ns = monotonic_ns();
        self.hooks.tell_again()?;
        Ok(now_ns)
    }

    fn losses(&self) -> Vec<(String, u64)> {
        let mut losses = self.hooks.losses();
        let lost = self.map_events.iter().map(|events| events.lost).sum();
        if lost > 0 {
            losses.push(("mappings_lost".into(), lost));
        }
        losses
    }

    fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.hooks.notices)
    }

    fn read_sockets(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        self.hooks.read_sockets(trace, now_ns, at_end);
    }

    fn system_calls(&self) -> Option<u64> {
        self.hooks.system_calls()
    }

    fn set_stitching(&mut self, path: &Path) {
        self.hooks.set_stitching(path);
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

fn open_map_events(hooks: &mut Hooks) -> Vec<MapEvents> {
    let opened: Result<Vec<MapEvents>> = machine::online().into_iter().map(MapEvents::open).collect();
    opened.unwrap_or_else(|error| {
        let error = match error {
            Error::System { source, .. } => perf::refusal(&source),
            error => error.to_string(),
        };
        hooks.notices.push(format!(
            "Which files programs mapped was read from /proc every 20 ms: code that was there for less is not named ({error})."
        ));
        Vec::new()
    })
}
