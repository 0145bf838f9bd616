//! The hook families: loads each, lets all share the maps of the first, attaches them.
//!
//! Threads and switches are what every collection needs. The other families may be missing on a kernel: then the result
//! says so in a notice.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use bytemuck::bytes_of;
use dwell_model::{MessageDef, notices};
use dwell_model::{Notice, SYSCALLS, SyscallClass, Topic, losses, notice};
use dwell_rights::{self as rights, Raised};
use dwell_store::raw::RecordBuffer;
use dwell_store::{DelayEdges, DelayFacts, Rival};
use dwell_wire::{COMM_BYTES, Control, Scope, thread_mode};
use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, MapType, Object};

use crate::clock::monotonic_ns;
use crate::drain::source::Targets;
use crate::error::{Error, Result};
use crate::hooks::creations::Creations;
use crate::hooks::goroutines::GoroutineProbes;
use crate::hooks::rivals;
use crate::hooks::sampling::Sampling;
use crate::hooks::unwind_maps::unwinding;
use crate::hooks::wanted;
use crate::kernel::at_once::{self, Outcomes};
use crate::kernel::btf;
use crate::kernel::loading;
use crate::kernel::mapped::MappedArray;
use crate::kernel::maps::map_of;
use crate::kernel::namespace;
use crate::kernel::requirements;
use crate::machine;
use crate::options::{Options, Rule};
use crate::stacks::unwinding::UnwindTables;
use crate::topics::connects::Connects;
use crate::topics::edges;
use crate::topics::event_counts::EventCounts;
use crate::topics::latency;
use crate::topics::open_requests::ConnectionLookState;
use crate::topics::sockets::Sockets;
use crate::topics::task_probes::{self, FoundProbes, PinnedFile};

/// Most ring memory, over all CPUs.
const RING_BYTES: usize = 128 << 20;

/// The loaded hooks. Dropping them detaches everything.
pub struct LoadedHooks {
    pub(super) threads: Object,
    /// What was loaded and is not attached yet.
    ready: Outcomes,
    unwinding: Option<UnwindTables>,
    pub(super) optional: Vec<Object>,
    /// The socket hooks, and their reader.
    pub(super) sockets: Option<(Object, Sockets)>,
    /// The hooks that count connections, and their reader. What the kernel leaves out of them is no loss: see connects.bpf.c.
    pub(super) connects: Option<(Object, Connects)>,
    pub(super) links: Vec<Link>,
    /// The hooks of what delays threads while they run, and their links while they are attached.
    running: Option<(Object, Vec<Link>)>,
    pub(super) sampling: Option<Sampling>,
    pub(super) shared: HashMap<String, MapHandle>,
    scope: Scope,
    pub(super) own_only: bool,
    rings: Vec<MapHandle>,
    pub(super) control: Control,
    system_calls: Option<MapHandle>,
    rivals: Option<MapHandle>,
    creations: Option<Creations>,
    pub(super) event_counts: Option<EventCounts>,
    /// Hits of probes that did not meet their conditions, a map for each family of them.
    pub(super) rejections: Vec<MapHandle>,
    pub(super) goroutines: Option<(Object, GoroutineProbes)>,
    pub(super) open_requests: ConnectionLookState,
    urgency: Option<MappedArray<u64>>,
    /// What of this machine explains delays.
    pub delays: DelayFacts,
    /// What this kernel could not give.
    pub notices: Vec<Notice>,
    /// What this kernel said of hooks that it refused.
    pub log: String,
}

/// What the hooks are told before they run: nothing of what comes later.
fn control_of(options: &Options) -> Control {
    let preempt_count_offset = btf::types().and_then(|types| types.preempt_count_offset);
    Control {
        paused: u32::from(options.start_paused),
        follow_children: u32::from(options.follow_children),
        rule_count: options.strategy.len() as u32,
        kernel_stacks_for_all: u32::from(options.kernel_stacks_for_all),
        period_ns: u32::try_from(options.sampling_interval_ns).unwrap_or(u32::MAX),
        preempt_count_offset: preempt_count_offset.unwrap_or(0),
        has_preempt_count: u32::from(preempt_count_offset.is_some()),
        generation: 0,
        since_ns: monotonic_ns(),
        reads_java_locks: 0,
        online_cpus: machine::online().len() as u32,
    }
}

impl LoadedHooks {
    /// Loads and attaches all families. Nothing is recorded yet: no thread is a target.
    pub fn load(options: &Options, targets: &Targets<'_>) -> Result<Self> {
        requirements::check()?;
        check_rights()?;
        machine::check_descriptors()?;
        let rings = make_rings()?;
        let scope = namespace::scope(options.own_only)?;
        let shared = loading::make_maps(&scope)?;
        let wanted = wanted::families(options, targets);
        let waits = || (fill_rings(&shared, &rings), unwinding(&shared, targets.program));
        let (mut ready, (filled, unwinding)) = at_once::load(&wanted, &shared, &scope, waits);
        let threads = ready.remove("threads").unwrap_or_else(|| loading::load("threads", &shared, &scope))?.object;
        filled?;
        let urgency = map_of(&threads, "urgency").and_then(|map| MappedArray::of(&map)).ok();
        let mut hooks = Self {
            threads,
            ready,
            unwinding: Some(unwinding?),
            optional: Vec::new(),
            sockets: None,
            connects: None,
            links: Vec::new(),
            running: None,
            sampling: None,
            shared,
            scope,
            own_only: options.own_only,
            rings,
            control: control_of(options),
            system_calls: None,
            rivals: None,
            creations: None,
            event_counts: None,
            rejections: Vec::new(),
            goroutines: None,
            open_requests: ConnectionLookState::Unattached,
            urgency,
            delays: DelayFacts::default(),
            notices: Vec::new(),
            log: String::new(),
        };
        if hooks.control.has_preempt_count == 0 {
            hooks.notices.push(notice!(WAKES_FROM_INTERRUPTS));
        }
        hooks.fill_maps(&options.strategy)?;
        hooks.count_events(&options.events)?; // before the hooks of threads: see counted_events.bpf.c
        hooks.attach_required()?;
        hooks.attach_who_ends_waits();
        hooks.attach_connects();
        if options.topics.contains(&Topic::Sockets) {
            hooks.attach_sockets();
        }
        hooks.load_sampling(options.sampling_interval_ns);
        if options.topics.contains(&Topic::System) {
            hooks.attach_system();
        }
        if options.topics.contains(&Topic::Latency) {
            hooks.attach_latency();
        }
        if options.requests {
            hooks.attach_requests();
        }
        Ok(hooks)
    }

    /// The writing end of the unwind tables, with those of the program that is still to run when it is asked for first.
    pub fn take_unwinding(&mut self) -> Result<UnwindTables> {
        self.unwinding.take().map_or_else(|| unwinding(&self.shared, None), Ok)
    }

    /// The rings, one per CPU.
    pub fn rings(&self) -> &[MapHandle] {
        &self.rings
    }

    /// Samples the running code of the targets and of what they create.
    pub fn sample(&mut self) {
        let begun = self.sampling.as_mut().map(Sampling::begin);
        if let Some(Err(notice)) = begun {
            self.notices.push(notice);
        }
    }

    /// Writes what is new of sockets, when it is time. When they cannot be read, nothing more is told of them.
    pub fn read_sockets(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        let Some((object, sockets)) = &mut self.sockets else { return };
        if let Err(error) = sockets.round(object, trace, now_ns, at_end) {
            self.notices.push(notice!(SOCKETS_UNTIL, seconds = now_ns / 1_000_000_000, error = error));
            self.sockets = None;
        }
    }

    /// Notes where programs create locks: where they call these C libraries to initialise them; `pids` = these processes only.
    pub fn set_creations(&mut self, libraries: &[PathBuf], pids: Option<&[u32]>) {
        let set = |hooks: &mut Self| -> Result<()> {
            let object = hooks.load_family("creation")?;
            hooks.creations = Some(Creations::set(&object, libraries, pids)?);
            hooks.optional.push(object);
            Ok(())
        };
        if let Err(error) = set(self) {
            self.miss(&notices::CREATIONS_UNKNOWN, &error);
        }
    }

    /// Leaves programs alone that create locks without end.
    pub fn limit_creations(&mut self) {
        let notice = self.creations.as_mut().and_then(Creations::limit);
        self.notices.extend(notice);
    }

    /// Notes where programs ask for work that other threads will do: where they call this function of the library at `path`.
    pub fn set_stitching(&mut self, path: &Path) {
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        let probe = |hooks: &mut Self| -> Result<(Object, Vec<Link>)> {
            let pinned = PinnedFile::open(path, hooks.own_only)?;
            let site = dwell_probes::entry(&pinned.path, "dwell_itt_stack_caller")?;
            let found =
                FoundProbes { probe: 0, name: "stack stitching".into(), file: pinned.path.clone(), sites: vec![site] };
            let object = hooks.load_family("stitch")?;
            let links = task_probes::set(&[found], &object, None)?;
            Ok((object, links))
        };
        match probe(self) {
            Ok((object, links)) => {
                self.links.extend(links);
                self.optional.push(object);
            }
            Err(error) => {
                self.notices.push(notice!(ASKER_UNKNOWN, error = error.reason()));
            }
        }
    }

    /// Lets go of what was `raised` to load the hooks. Before Linux 5.19 no map can be used without CAP_BPF: there it stays in
    /// force as long as the hooks are read.
    pub fn keep_maps_open(&self, raised: Raised) {
        drop(raised);
        let can_read =
            self.shared.get("control").is_some_and(|map| map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).is_ok());
        if !can_read {
            std::mem::forget(rights::raise(&[rights::BPF]));
        }
    }

    /// Whether what delays threads while they run is seen; `None` if this source cannot see it.
    pub fn sees_running(&self) -> Option<bool> {
        self.running.as_ref().map(|(_, links)| !links.is_empty())
    }

    /// Sees it from now on, or no more: the hooks of system calls alone cost every thread of the machine something.
    pub fn see_running(&mut self, wanted: bool) -> Result<()> {
        let Some((object, links)) = &mut self.running else { return Ok(()) };
        links.clear();
        let _raised = rights::raise(&[rights::BPF, rights::PERFMON]);
        if wanted {
            let (attached, notice) = latency::attach(object)?;
            *links = attached;
            self.notices.extend(notice);
            self.control.since_ns = monotonic_ns();
            self.update("control", &0u32.to_ne_bytes(), bytes_of(&self.control))?;
        }
        Ok(())
    }

    /// The loss counters that are not zero.
    pub fn losses(&self) -> Vec<(String, u64)> {
        let map = self.shared.get("losses");
        let count = |index: usize| map.and_then(|map| sum_over_cpus(map, index as u32)).unwrap_or(0);
        let counted = losses::IN_BPF.iter().enumerate().map(|(index, loss)| (loss.id.to_owned(), count(index)));
        counted.chain([(losses::HOOKS_SKIPPED.to_owned(), self.skipped())]).filter(|(_, count)| *count > 0).collect()
    }

    /// The highest real-time priority of a profiled thread so far.
    pub fn urgency(&self) -> u32 {
        let highest = self.urgency.as_ref().and_then(|urgency| urgency.at(0)).unwrap_or(0);
        u32::try_from(highest).unwrap_or(0)
    }

    /// System calls of the whole machine so far, where they are counted.
    pub fn system_calls(&self) -> Option<u64> {
        sum_over_cpus(self.system_calls.as_ref()?, 0)
    }

    /// The programs that ran while profiled threads were ready.
    pub fn rivals(&self) -> Vec<Rival> {
        self.rivals.as_ref().map(rivals::read).unwrap_or_default()
    }

    /// How often the kernel left a hook out because the same one was running on that CPU.
    fn skipped(&self) -> u64 {
        let sockets = self.sockets.iter().map(|(object, _)| object);
        let running = self.running.iter().map(|(object, _)| object);
        let sampling = self.sampling.iter().map(|sampling| &sampling.object);
        let goroutines = self.goroutines.iter().map(|(object, _)| object);
        let counting = self.event_counts.iter().map(EventCounts::object);
        let objects = self
            .optional
            .iter()
            .chain([&self.threads])
            .chain(goroutines)
            .chain(counting)
            .chain(sockets)
            .chain(running)
            .chain(sampling);
        objects.flat_map(loading::loaded).map(|program| loading::info(program.as_fd()).recursion_misses).sum()
    }

    pub(super) fn update(&self, map: &str, key: &[u8], value: &[u8]) -> Result<()> {
        update(&self.shared, map, key, value)
    }

    fn fill_maps(&mut self, strategy: &[Rule]) -> Result<()> {
        for call in SYSCALLS.iter().filter(|call| call.class != SyscallClass::Other) {
            self.update("syscall_classes", &(call.number as u32).to_ne_bytes(), &[call.class as u8])?;
        }
        for rule in strategy {
            let mut comm = [0; COMM_BYTES];
            let name = rule.name.as_bytes();
            let kept = name.len().min(COMM_BYTES - 1);
            comm[..kept].copy_from_slice(&name[..kept]);
            let record = if rule.process { thread_mode::RECORD } else { 0 };
            let follow = if rule.children { thread_mode::FOLLOW } else { 0 };
            self.update("rules", &comm, &[record | follow])?;
        }
        self.update("control", &0u32.to_ne_bytes(), bytes_of(&self.control))
    }

    fn attach_required(&mut self) -> Result<()> {
        let switch = self.load_family("switch")?;
        self.rivals = map_of(&switch, "rivals").ok();
        self.links.extend(loading::attach(&switch)?);
        self.links.extend(loading::attach(&self.threads)?);
        self.optional.push(switch);
        Ok(())
    }

    /// Loads a family; tells what of it this kernel cannot give.
    pub(super) fn load_family(&mut self, name: &'static str) -> Result<Object> {
        let ready = self.ready.remove(name);
        let loaded = ready.unwrap_or_else(|| loading::load(name, &self.shared, &self.scope))?;
        self.notices.extend(loaded.notices);
        self.log.push_str(&loaded.log);
        Ok(loaded.object)
    }

    /// Loads a family and attaches its hooks. Where this kernel cannot, the notice is `missing`.
    pub(super) fn attach_optional(&mut self, name: &'static str, missing: &MessageDef) -> Option<Object> {
        let attached = self.load_family(name).and_then(|object| Ok((loading::attach(&object)?, object)));
        match attached {
            Ok((links, object)) => {
                self.links.extend(links);
                Some(object)
            }
            Err(error) => {
                self.miss(missing, &error);
                None
            }
        }
    }

    /// Tells that a family is missing, and why.
    pub(super) fn miss(&mut self, missing: &MessageDef, error: &Error) {
        self.notices.push(Notice::new(missing, [("error", error.reason())]));
        if let Error::Unsupported { log, .. } = error {
            self.log.push_str(log);
        }
    }

    fn attach_who_ends_waits(&mut self) {
        let families = [
            ("waking", &notices::WAKERS_UNKNOWN),
            ("holders", &notices::HOLDERS_UNKNOWN),
            ("io_quota", &notices::IO_QUOTAS_UNKNOWN),
        ];
        for (family, missing) in families {
            let object = self.attach_optional(family, missing);
            self.optional.extend(object);
        }
    }

    fn attach_sockets(&mut self) {
        let missing = &notices::SOCKET_WAITS_UNEXPLAINED;
        let Some(object) = self.attach_optional("sockets", missing) else { return };
        match Sockets::new(&object) {
            Ok(sockets) => self.sockets = Some((object, sockets)),
            Err(error) => self.miss(missing, &error),
        }
    }

    fn load_sampling(&mut self, interval_ns: u64) {
        match self.load_family("sample") {
            Ok(object) => self.sampling = Some(Sampling::new(object, interval_ns)),
            Err(error) => self.miss(&notices::CODE_NOT_SPLIT, &error),
        }
    }

    fn attach_system(&mut self) {
        let object = self.attach_optional("system", &notices::SYSTEM_CALLS_UNCOUNTED);
        self.system_calls = object.as_ref().and_then(|object| map_of(object, "system_calls").ok());
        self.optional.extend(object);
    }

    /// After the hooks of switches, on whose notes they rest.
    fn attach_latency(&mut self) {
        if let Err(error) = self.load_latency() {
            self.miss(&notices::DELAYS_UNSEEN, &error);
            return;
        }
        let edges = self.measure_edges().unwrap_or_else(|error| {
            self.notices.push(notice!(DELAY_EDGES_UNMEASURED, error = error));
            DelayEdges::default()
        });
        self.delays = DelayFacts { edges, places: machine::places(), idle_states: machine::idle_states() };
    }

    fn load_latency(&mut self) -> Result<()> {
        let latency = self.load_family("latency")?;
        self.links.extend(loading::attach(&latency)?);
        self.optional.push(latency);
        self.running = Some((self.load_family("running")?, Vec::new()));
        self.see_running(true)
    }

    /// No thread is a target yet: all that is recorded is what is measured.
    fn measure_edges(&mut self) -> Result<DelayEdges> {
        let paused = self.control.paused != 0;
        let threads = map_of(&self.threads, "threads")?;
        self.set_paused(false)?;
        let edges = edges::measure(&threads, &self.rings);
        self.set_paused(paused)?;
        edges
    }

    fn attach_requests(&mut self) {
        let object = self.attach_optional("requests", &notices::REQUESTS_UNSEEN);
        self.optional.extend(object);
    }
}

fn update(shared: &HashMap<String, MapHandle>, map: &str, key: &[u8], value: &[u8]) -> Result<()> {
    let failed = |source| Error::Bpf { what: format!("setting map {map}"), source };
    match shared.get(map) {
        Some(map) => map.update(key, value, MapFlags::ANY).map_err(failed),
        None => Ok(()),
    }
}

/// Gives each CPU its ring. The kernel waits some 10 ms for each, for whoever may still use the one before.
fn fill_rings(shared: &HashMap<String, MapHandle>, rings: &[MapHandle]) -> Result<()> {
    let fill = |(cpu, ring): (usize, &MapHandle)| {
        let fd = ring.as_fd().as_raw_fd() as u32;
        update(shared, "rings", &(cpu as u32).to_ne_bytes(), &fd.to_ne_bytes())
    };
    rings.iter().enumerate().try_for_each(fill)
}

/// The sum of a number that each CPU has.
fn sum_over_cpus(map: &MapHandle, key: u32) -> Option<u64> {
    let values = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten()?;
    Some(values.into_iter().map(|bytes| bytes.try_into().map_or(0, u64::from_ne_bytes)).sum())
}

fn check_rights() -> Result<()> {
    let lacking: Vec<&str> = rights::lacking_to_collect().iter().map(|right| right.name).collect();
    if lacking.is_empty() { Ok(()) } else { Err(Error::Permission { missing: lacking.join(" and ") }) }
}

fn make_rings() -> Result<Vec<MapHandle>> {
    let cpus = machine::possible()?;
    let share = (RING_BYTES / cpus.max(1)).clamp(1 << 20, 16 << 20);
    let bytes = 1u32 << share.ilog2();
    let options = bpf_map_create_opts {
        sz: size_of::<bpf_map_create_opts>() as libbpf_rs::libbpf_sys::size_t,
        ..Default::default()
    };
    let ring = |_| MapHandle::create(MapType::RingBuf, Some("dwell_ring"), 0, 0, bytes, &options);
    let rings: libbpf_rs::Result<Vec<MapHandle>> = (0..cpus).map(ring).collect();
    rings.map_err(|source| match source.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            Error::Permission { missing: "a filter refuses bpf(2), such as a container's seccomp profile".into() }
        }
        _ => Error::Bpf { what: "making the rings".into(), source },
    })
}
