//! The begin of a collection, up to the moment at which the program runs and is recorded.

use std::cell::RefCell;
use std::rc::Rc;

use dwell_model::Topic;
use dwell_rights as rights;
use dwell_store::raw::wire::kind;
use dwell_store::{Manifest, ResultFolder};

use super::collection::{Collection, Pause};
use super::collector_latency::SchedulingDelay;
use super::control_socket::ControlSocket;
use super::cpu_use::CpuUseWatch;
use super::loss_timeline::LossTimeline;
use super::manifest::{attached, begin_manifest, keep_log, save_vdso};
use super::quotas::QuotaWatch;
use super::recording::{outliers, recorder};
use super::rights::{TO_START, looking, seed, settle_rights};
use super::source;
use crate::clock::{monotonic_ns, time_of_day};
use crate::drain::drained::EventSink;
use crate::drain::proc_maps_poller::LookedUp;
use crate::drain::source::{Source, Targets};
use crate::error::{Error, Result};
use crate::machine;
use crate::options::{Options, Target};
use crate::output::recorder::Recorder;
use crate::priority::be_prompt;
use crate::programs::keeper::FileKeeper;
use crate::programs::launch::{self, Child};
use crate::programs::proc;
use crate::topics::goroutines::Goroutines;
use crate::topics::itt::Preparation;
use crate::topics::system::System;
use crate::topics::task_probes::{self, Program};
use crate::topics::value_probes;

/// Targets whose end is noticed at once; that of others is noticed with the next round.
const MAX_POLLED: usize = 64;

/// The program and the source of its records, before anything is recorded.
struct Opened<'a> {
    source: Box<dyn Source + 'a>,
    /// The processes that the collection begins with.
    targets: Vec<u32>,
    child: Option<Child>,
    announcing: Preparation,
    /// Of each value of each probe, the names of its numbers.
    names: Vec<Vec<Vec<(u64, String)>>>,
}

impl<'a> Opened<'a> {
    fn new(folder: &ResultFolder, options: &'a Options) -> Result<Self> {
        let announcing = Preparation::of(options, folder.path());
        let child = match &options.target {
            Target::Launch(launch) => Some(launch::spawn(launch, &announcing.variables)?),
            // Of many processes some end while Dwell starts.
            Target::Attach(_) if options.joining.is_some() => None,
            Target::Attach(pids) => check_attachable(pids, options.own_only).map(|()| None)?,
        };
        let first = first_program(options, child.as_ref());
        let probed = first.as_ref().map(|program| task_probes::find(&options.task_probes, program));
        let probed = probed.transpose()?.unwrap_or_default();
        let valued = first.as_ref().map(|program| value_probes::find(&options.probes, program));
        let valued = valued.transpose()?.unwrap_or_default();
        let libraries = first.map(|program| program.c_libraries()).unwrap_or_default();
        let targets = child.as_ref().map_or_else(|| attached_family(options), |child| vec![child.pid]);
        let program = child.as_ref().map(|child| child.path.as_path());
        let begin = Targets { pids: &targets, program, probes: &probed, value_probes: &valued, libraries: &libraries };
        let raised = rights::raise(&TO_START);
        let source = source::open(options, &begin)?;
        source.lower(raised);
        keep_log(folder, source.log());
        let names = valued.into_iter().map(|found| found.names).collect();
        Ok(Self { source, targets, child, announcing, names })
    }

    /// Has the source hand out its records from now on.
    fn connect(&mut self, recorder: Recorder, own_only: bool) -> Result<Rc<RefCell<EventSink>>> {
        let drained = Rc::new(RefCell::new(EventSink::new(recorder, own_only)));
        if let Some(maps) = self.source.java_maps()? {
            drained.borrow_mut().java_code.set_maps(maps);
        }
        drained.borrow_mut().looked_up = (!self.source.sees_mappings()).then(LookedUp::default);
        self.source.connect(&drained)?;
        Ok(drained)
    }

    fn describe(&mut self, manifest: &mut Manifest) {
        let first = self.targets.first().copied().unwrap_or(0);
        manifest.cpus = machine::cpus(first);
        manifest.delays = self.source.take_delays();
        manifest.probes.iter_mut().zip(self.names.drain(..)).for_each(|(probe, names)| probe.names = names);
        self.source.name().clone_into(&mut manifest.source);
    }
}

impl<'a> Collection<'a> {
    /// Begins to record into `folder`, and lets the program run.
    pub(super) fn start(folder: &ResultFolder, options: &'a Options) -> Result<Self> {
        let mut manifest = begin_manifest(folder, options)?;
        let mut opened = Opened::new(folder, options)?;
        let unwinding = opened.source.unwinding()?;
        let modules = folder.modules()?;
        save_vdso(&modules);
        let pidfds = opened.targets.iter().take(MAX_POLLED).filter_map(|&pid| launch::pidfd(pid as i32)).collect();
        let drained = opened.connect(recorder(folder, options)?, options.own_only)?;
        opened.describe(&mut manifest);
        let Opened { mut source, targets, child, announcing, names: _ } = opened;
        let mut goroutines = Goroutines::new(options.fibers);
        if let (Some(goroutines), Some(child)) = (&mut goroutines, &child) {
            goroutines.prepare(&child.path, &mut |path, points| source.watch_goroutines(path, points));
        }
        if child.is_some() {
            seed(source.as_mut())?; // recorded from its exec on: nothing comes of it yet
        }
        let scheduled = be_prompt();
        let now = begin_time(folder, &mut manifest)?;
        if options.start_paused {
            drained.borrow_mut().recorder.mark(kind::PAUSE, now);
        }
        let itt = announcing.begin(child.as_ref().map(|child| child.uid), &mut manifest.notices);
        let pause = Pause {
            is_on: options.start_paused,
            since_ns: now,
            resume_at_ns: options.resume_at_ns.map(|at| at.saturating_sub(now)).or(options.resume_after_ns),
            is_final: false,
        };
        let mut collection = Self {
            options,
            source,
            drained,
            mappings: Vec::new(),
            unwinding,
            keeper: FileKeeper::new(modules.clone(), options.result_owner.clone()),
            outliers: outliers(folder, options, &mut manifest.notices),
            modules,
            system: system(options),
            goroutines,
            child,
            attached: attached(options).iter().map(|&pid| (pid, proc::began(pid))).collect(),
            pidfds,
            itt,
            quotas: QuotaWatch::new(targets.first().copied().unwrap_or(0)),
            cpu_use: CpuUseWatch::begin(),
            pause,
            itt_left: false,
            soon: false,
            stopping_since_ns: None,
            rounds: 0,
            scheduling_delay: SchedulingDelay::begin(),
            losing: LossTimeline::begin(now),
            losses_seen: 0,
            scheduled,
            next_joining_ns: now,
            control: ControlSocket::open(folder, options).ok(),
            folder: folder.clone(),
            snapshots: 0,
            ending: None,
            has_intervals: options.requests || !options.task_probes.is_empty(),
            manifest,
        };
        collection.read_beside(true);
        collection.check_joining()?;
        collection.let_go(&targets)?;
        settle_rights(options, collection.source.name())?;
        Ok(collection)
    }

    /// Lets the launched program run, or takes the running ones in.
    fn let_go(&mut self, targets: &[u32]) -> Result<()> {
        if let Some(child) = &mut self.child {
            return child.release();
        }
        let now = self.manifest.start_ns;
        // Until the stacks of threads that wait have been walked.
        let _looking = looking(self.options);
        let there: Vec<u32> = targets.iter().copied().filter(|&pid| proc::is_alive(pid)).collect();
        self.describe_targets(&there, now)?;
        seed(self.source.as_mut())?;
        self.round(false) // at once, while the threads that wait still stand where the seeding found them
    }
}

/// Begins the elapsed time: as late as can be, so that what Dwell does before is no part of it.
fn begin_time(folder: &ResultFolder, manifest: &mut Manifest) -> Result<u64> {
    let now = monotonic_ns();
    (manifest.start_ns, manifest.started_at) = (now, time_of_day());
    folder.write_manifest(manifest)?;
    Ok(now)
}

fn system(options: &Options) -> Option<System> {
    options.topics.contains(&Topic::System).then(|| System::new(options.system_interval_ns))
}

/// In whose files places of the program are looked for.
fn first_program<'c>(options: &Options, child: Option<&'c Child>) -> Option<Program<'c>> {
    match (child, attached(options)) {
        (Some(child), _) => Some(Program::Path(&child.path)),
        (None, [first, ..]) => Some(Program::Process(*first)),
        (None, []) => None,
    }
}

/// The processes that the options name, with those that they have forked already where those are followed that they fork later.
fn attached_family(options: &Options) -> Vec<u32> {
    let follows = options.follow_children && options.strategy.is_empty() && options.joining.is_none();
    if follows { proc::with_descendants(attached(options), options.own_only) } else { attached(options).to_vec() }
}

fn check_attachable(pids: &[u32], own_only: bool) -> Result<()> {
    if let Some(pid) = pids.iter().find(|&&pid| !proc::is_alive(pid)) {
        return Err(Error::NoSuchProcess { target: pid.to_string() });
    }
    match pids.iter().find(|&&pid| own_only && !proc::may_look_at(pid)) {
        Some(&pid) => Err(Error::NotYours { pid }),
        None => Ok(()),
    }
}
