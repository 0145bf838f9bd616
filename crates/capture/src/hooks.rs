//! The hook families: loads each BPF object, lets all share the maps of the first, attaches them.
//!
//! Threads and switches are what every collection needs. The other families may be missing on a kernel: then the result
//! says so in a notice.

use std::collections::HashMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use bytemuck::bytes_of;
use dwell_model::{SYSCALLS, SyscallClass, Topic};
use dwell_store::raw::RecordBuffer;
use dwell_store::{DelayEdges, DelayFacts};
use libbpf_rs::libbpf_sys::{bpf_map_create_opts, bpf_prog_get_info_by_fd, bpf_prog_info};
use libbpf_rs::{
    Link, MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, ProgramAttachType, ProgramMut,
};

use crate::clock::monotonic_ns;
use crate::edges;
use crate::error::{Error, Result};
use crate::kernel_types;
use crate::latency;
use crate::machine;
use crate::maps::{COMM_BYTES, Control, LOSSES, map_of, mode};
use crate::options::{Options, Rule};
use crate::sampling::Sampling;
use crate::sockets::Sockets;
use crate::task_probes::{self, Found, Places};
use crate::unwinding::{Python, Unwinding};
use crate::walk::walk;

/// Keeps the bytes of an object file aligned as an ELF header wants.
#[repr(align(16))]
struct Aligned<T: ?Sized>(T);

macro_rules! object {
    ($name:literal) => {{
        static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")));
        &FILE.0
    }};
}

/// Most ring memory, over all CPUs.
const RING_BYTES: usize = 128 << 20;

/// The loaded hooks. Dropping them detaches everything.
pub struct Hooks {
    threads: Object,
    optional: Vec<Object>,
    /// The socket hooks, and their reader.
    sockets: Option<(Object, Sockets)>,
    links: Vec<Link>,
    /// The hooks of what delays threads while they run, and their links while they are attached.
    running: Option<(Object, Vec<Link>)>,
    sampling: Option<Sampling>,
    shared: HashMap<String, MapHandle>,
    rings: Vec<MapHandle>,
    control: Control,
    system_calls: Option<MapHandle>,
    /// What of this machine explains delays.
    pub delays: DelayFacts,
    /// What this kernel could not give.
    pub notices: Vec<String>,
}

impl Hooks {
    /// Loads and attaches all families. Nothing is recorded yet: no thread is a target.
    pub fn load(options: &Options) -> Result<Self> {
        silence_libbpf();
        let rings = make_rings()?;
        let mut open = open_object(object!("threads"), "threads")?;
        prepare(&mut open, &HashMap::new())?;
        let threads = load_object(open, "threads")?;
        let shared = share_maps(&threads)?;
        let preempt_count_offset = kernel_types::preempt_count_offset();
        let control = Control {
            paused: u32::from(options.start_paused),
            follow_children: u32::from(options.follow_children),
            rule_count: options.strategy.len() as u32,
            kernel_stacks_for_all: u32::from(options.kernel_stacks_for_all),
            period_ns: u32::try_from(options.sampling_interval_ns).unwrap_or(u32::MAX),
            preempt_count_offset: preempt_count_offset.unwrap_or(0),
            has_preempt_count: u32::from(preempt_count_offset.is_some()),
            reserved: 0,
            since_ns: monotonic_ns(),
        };
        let mut hooks = Self {
            threads,
            optional: Vec::new(),
            sockets: None,
            links: Vec::new(),
            running: None,
            sampling: None,
            shared,
            rings,
            control,
            system_calls: None,
            delays: DelayFacts::default(),
            notices: Vec::new(),
        };
        if preempt_count_offset.is_none() {
            let text = "Wake-ups from interrupts that hit a running thread are taken for that thread's on this kernel.";
            hooks.notices.push(text.into());
        }
        hooks.fill_maps(&options.strategy)?;
        hooks.attach_required()?;
        hooks.attach_waking();
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

    /// The writing end of the unwind tables.
    pub fn unwinding(&self) -> Result<Unwinding> {
        let clone = |name: &str| map_of(&self.threads, name);
        let python = Python { processes: clone("python_processes")?, in_use: clone("python_in_use")? };
        Ok(Unwinding::new(clone("unwind_processes")?, clone("unwind_words")?, python))
    }

    /// The rings, one per CPU.
    pub fn rings(&self) -> &[MapHandle] {
        &self.rings
    }

    /// Makes process `pid` a target: recorded from its next exec when `launching`, from the next seeding otherwise.
    pub fn add_target(&self, pid: u32, launching: bool) -> Result<()> {
        let follow = if self.control.follow_children != 0 { mode::FOLLOW } else { 0 };
        let mode = if launching { mode::LAUNCHING } else { mode::RECORD | follow };
        self.update("targets", &pid.to_ne_bytes(), &[mode])
    }

    /// Samples the running code of `pids` and of what they create.
    pub fn sample(&mut self, pids: &[u32]) {
        let begun = self.sampling.as_mut().map(|sampling| sampling.begin(pids));
        if let Some(Err(notice)) = begun {
            self.notices.push(notice);
        }
    }

    /// Takes the threads of all targets in and records the state of every thread.
    pub fn seed(&mut self) -> Result<()> {
        walk(&self.threads, "seed", None)?;
        let seeded = self.sockets.as_ref().map(|(object, _)| walk(object, "seed_sockets", None));
        if let Some(Err(error)) = seeded {
            self.notices.push(format!("Sockets that were open before are known from their first use on ({error})."));
        }
        Ok(())
    }

    /// Writes what is new of sockets, when it is time. When they cannot be read, nothing more is told of them.
    pub fn read_sockets(&mut self, trace: &mut RecordBuffer, now_ns: u64, at_end: bool) {
        let Some((object, sockets)) = &mut self.sockets else { return };
        if let Err(error) = sockets.round(object, trace, now_ns, at_end) {
            self.notices.push(format!("Sockets are known up to {} s only ({error}).", now_ns / 1_000_000_000));
            self.sockets = None;
        }
    }

    /// Sets the probes of tasks; `pids` = in these processes only.
    pub fn set_task_probes(&mut self, places: &Places, pids: Option<&[u32]>) -> Result<()> {
        if !places.found.is_empty() {
            let object = self.load_optional(object!("task_probe"), "task probe")?;
            self.links.extend(task_probes::set(&places.found, &object, pids)?);
            self.optional.push(object);
        }
        if !places.calls.is_empty() {
            let object = self.load_optional(object!("call_probe"), "call probe")?;
            task_probes::set_calls(&places.calls, &object)?;
            let links: libbpf_rs::Result<Vec<Link>> = object.progs_mut().map(|program| program.attach()).collect();
            self.links.extend(links.map_err(|source| Error::Bpf { what: "attaching call probes".into(), source })?);
            self.optional.push(object);
        }
        Ok(())
    }

    /// Notes where programs ask for work that other threads will do: where they call this function of the library at `path`.
    pub fn set_stitching(&mut self, path: &Path) {
        let probe = |hooks: &Self| -> Result<(Object, Vec<Link>)> {
            let site = dwell_probes::entry(path, "dwell_itt_stack_caller")?;
            let found = Found { probe: 0, name: "stack stitching".into(), file: path.to_owned(), sites: vec![site] };
            let object = hooks.load_optional(object!("stitch"), "stitch")?;
            let links = task_probes::set(&[found], &object, None)?;
            Ok((object, links))
        };
        match probe(self) {
            Ok((object, links)) => {
                self.links.extend(links);
                self.optional.push(object);
            }
            Err(error) => self.notices.push(format!("Who asked for the work of other threads is not known ({error}).")),
        }
    }

    /// Pauses or resumes recording.
    pub fn set_paused(&mut self, paused: bool) -> Result<()> {
        self.control.paused = u32::from(paused);
        self.control.since_ns = monotonic_ns();
        self.update("control", &0u32.to_ne_bytes(), bytes_of(&self.control))
    }

    /// Whether what delays threads while they run is seen; none: it cannot be.
    pub fn sees_running(&self) -> Option<bool> {
        self.running.as_ref().map(|(_, links)| !links.is_empty())
    }

    /// Sees it from now on, or no more: the hooks of system calls alone cost every thread of the machine something.
    pub fn see_running(&mut self, wanted: bool) -> Result<()> {
        let Some((object, links)) = &mut self.running else { return Ok(()) };
        links.clear();
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
        let counted = LOSSES.iter().enumerate().map(|(index, name)| ((*name).to_owned(), count(index)));
        counted.chain([("hooks_skipped".to_owned(), self.skipped())]).filter(|(_, count)| *count > 0).collect()
    }

    /// System calls of the whole machine so far, where they are counted.
    pub fn system_calls(&self) -> Option<u64> {
        sum_over_cpus(self.system_calls.as_ref()?, 0)
    }

    /// How often the kernel left a hook out because the same one was running on that CPU.
    fn skipped(&self) -> u64 {
        let sockets = self.sockets.iter().map(|(object, _)| object);
        let running = self.running.iter().map(|(object, _)| object);
        let sampling = self.sampling.iter().map(|sampling| &sampling.object);
        let objects = self.optional.iter().chain([&self.threads]).chain(sockets).chain(running).chain(sampling);
        objects.flat_map(Object::progs_mut).map(|program| recursion_misses(program.as_fd())).sum()
    }

    fn update(&self, map: &str, key: &[u8], value: &[u8]) -> Result<()> {
        let failed = |source| Error::Bpf { what: format!("setting map {map}"), source };
        match self.shared.get(map) {
            Some(map) => map.update(key, value, MapFlags::ANY).map_err(failed),
            None => Ok(()),
        }
    }

    fn fill_maps(&mut self, strategy: &[Rule]) -> Result<()> {
        for (cpu, ring) in self.rings.iter().enumerate() {
            let fd = ring.as_fd().as_raw_fd() as u32;
            self.update("rings", &(cpu as u32).to_ne_bytes(), &fd.to_ne_bytes())?;
        }
        for call in SYSCALLS.iter().filter(|call| call.class != SyscallClass::Other) {
            self.update("syscall_classes", &(call.number as u32).to_ne_bytes(), &[call.class as u8])?;
        }
        for rule in strategy {
            let mut comm = [0; COMM_BYTES];
            let name = rule.name.as_bytes();
            let kept = name.len().min(COMM_BYTES - 1);
            comm[..kept].copy_from_slice(&name[..kept]);
            let record = if rule.process { mode::RECORD } else { 0 };
            let follow = if rule.children { mode::FOLLOW } else { 0 };
            self.update("rules", &comm, &[record | follow])?;
        }
        self.update("control", &0u32.to_ne_bytes(), bytes_of(&self.control))
    }

    fn attach_required(&mut self) -> Result<()> {
        let mut open = open_object(object!("switch"), "switch")?;
        prepare(&mut open, &self.shared)?;
        let switch = load_object(open, "switch")?;
        for (object, name) in [(&switch, "switch"), (&self.threads, "threads")] {
            for program in object.progs_mut().filter(|program| program.name() != "seed") {
                let what = format!("attaching {name}");
                self.links.push(program.attach().map_err(|source| Error::Bpf { what, source })?);
            }
        }
        self.optional.push(switch);
        Ok(())
    }

    /// Loads a family and attaches its hooks. Where this kernel cannot, a notice begins with `missing`.
    fn attach_optional(&mut self, file: &[u8], name: &str, missing: &str) -> Option<Object> {
        let attached = self.load_optional(file, name).and_then(|object| {
            let is_walk = |program: &ProgramMut<'_>| matches!(program.attach_type(), ProgramAttachType::TraceIter);
            let hooks = object.progs_mut().filter(|program| !is_walk(program));
            let links: libbpf_rs::Result<Vec<Link>> = hooks.map(|program| program.attach()).collect();
            let links = links.map_err(|source| Error::Bpf { what: format!("attaching {name}"), source })?;
            Ok((object, links))
        });
        match attached {
            Ok((object, links)) => {
                self.links.extend(links);
                Some(object)
            }
            Err(error) => {
                self.notices.push(format!("{missing} on this kernel ({error})."));
                None
            }
        }
    }

    fn attach_waking(&mut self) {
        let object = self.attach_optional(object!("waking"), "waking", "Who ended a wait is not known");
        self.optional.extend(object);
    }

    fn attach_sockets(&mut self) {
        let missing = "Why waits on sockets took long is not known";
        let Some(object) = self.attach_optional(object!("sockets"), "sockets", missing) else { return };
        match Sockets::new(&object) {
            Ok(sockets) => self.sockets = Some((object, sockets)),
            Err(error) => self.notices.push(format!("{missing} on this kernel ({error}).")),
        }
    }

    fn load_sampling(&mut self, interval_ns: u64) {
        match self.load_optional(object!("sample"), "sample") {
            Ok(object) => self.sampling = Some(Sampling::new(object, interval_ns)),
            Err(error) => {
                self.notices.push(format!("Running time is not split over code on this kernel ({error})."));
            }
        }
    }

    fn attach_system(&mut self) {
        let object = self.attach_optional(object!("system"), "system", "System calls are not counted");
        self.system_calls = object.as_ref().and_then(|object| map_of(object, "system_calls").ok());
        self.optional.extend(object);
    }

    /// After the hooks of switches, on whose notes they rest.
    fn attach_latency(&mut self) {
        if let Err(error) = self.load_latency() {
            self.notices.push(format!("What delays threads is not seen on this kernel ({error})."));
            return;
        }
        let edges = self.measure_edges().unwrap_or_else(|error| {
            self.notices.push(format!(
                "What enters and leaves the kernel around delays is unexplained: it could not be measured ({error})."
            ));
            DelayEdges::default()
        });
        self.delays = DelayFacts { edges, places: machine::places(), idle_states: machine::idle_states() };
    }

    fn load_latency(&mut self) -> Result<()> {
        let mut open = [open_object(object!("latency"), "latency")?, open_object(object!("running"), "running")?];
        self.notices.extend(latency::leave_out_absent(&mut open));
        for open in &mut open {
            prepare(open, &self.shared)?;
        }
        let [latency, running] = open;
        let latency = load_object(latency, "latency")?;
        let (links, _) = latency::attach(&latency)?;
        self.links.extend(links);
        self.optional.push(latency);
        self.running = Some((load_object(running, "running")?, Vec::new()));
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
        let attached = self.load_optional(object!("requests"), "requests").and_then(|object| {
            let links: libbpf_rs::Result<Vec<Link>> = object.progs_mut().map(|program| program.attach()).collect();
            let links = links.map_err(|source| Error::Bpf { what: "attaching requests".into(), source })?;
            Ok((object, links))
        });
        match attached {
            Ok((object, links)) => {
                self.links.extend(links);
                self.optional.push(object);
            }
            Err(error) => self.notices.push(format!("Requests on sockets are not seen on this kernel ({error}).")),
        }
    }

    fn load_optional(&self, file: &[u8], name: &str) -> Result<Object> {
        let mut open = open_object(file, name)?;
        prepare(&mut open, &self.shared)?;
        load_object(open, name)
    }
}

/// The sum of a number that each CPU has.
fn sum_over_cpus(map: &MapHandle, key: u32) -> Option<u64> {
    let values = map.lookup_percpu(&key.to_ne_bytes(), MapFlags::ANY).ok().flatten()?;
    Some(values.into_iter().map(|bytes| bytes.try_into().map_or(0, u64::from_ne_bytes)).sum())
}

#[allow(unsafe_code, reason = "libbpf-rs has no call for the counters of one program")]
fn recursion_misses(program: BorrowedFd<'_>) -> u64 {
    // SAFETY: an all-zero bpf_prog_info asks for no arrays; its own size goes along, and the call fills it.
    unsafe {
        let mut info: bpf_prog_info = std::mem::zeroed();
        let mut bytes = size_of::<bpf_prog_info>() as u32;
        let failed = bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut bytes) != 0;
        if failed { 0 } else { info.recursion_misses }
    }
}

fn silence_libbpf() {
    libbpf_rs::set_print(None);
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
            Error::Permission { missing: "root, or CAP_BPF and CAP_PERFMON".into() }
        }
        _ => Error::Bpf { what: "making the rings".into(), source },
    })
}

fn open_object(file: &[u8], name: &str) -> Result<OpenObject> {
    let failed = |source| Error::Bpf { what: format!("opening the {name} hooks"), source };
    ObjectBuilder::default().name(name).and_then(|builder| builder.open_memory(file)).map_err(failed)
}

/// Lets `open` use the maps in `shared`, and gives the array of rings its size.
fn prepare(open: &mut OpenObject, shared: &HashMap<String, MapHandle>) -> Result<()> {
    let failed = |source| Error::Bpf { what: "preparing maps".into(), source };
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "rings" {
            map.set_max_entries(machine::possible()? as u32).map_err(failed)?;
        }
        if let Some(handle) = shared.get(&name).filter(|_| is_shared(&name)) {
            map.reuse_fd(handle.as_fd()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Buffers belong to one program each; everything else is shared.
fn is_shared(map: &str) -> bool {
    !map.ends_with("_buffer") && !map.contains('.')
}

fn share_maps(object: &Object) -> Result<HashMap<String, MapHandle>> {
    let failed = |source| Error::Bpf { what: "sharing maps".into(), source };
    let named = object.maps().filter(|map| !map.name().to_string_lossy().contains('.'));
    named
        .map(|map| Ok((map.name().to_string_lossy().into_owned(), MapHandle::try_from(&map).map_err(failed)?)))
        .collect()
}

fn load_object(open: OpenObject, name: &str) -> Result<Object> {
    open.load().map_err(|source| Error::Bpf { what: format!("loading the {name} hooks"), source })
}
