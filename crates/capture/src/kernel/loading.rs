//! Loads a BPF object file: with the maps that all share, without the hooks that this kernel has no place for; and tells
//! which hook a kernel refuses, and why.
//!
//! What a family of hooks cannot do without fails to load as a whole. Of the other families one hook is left out at a time.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::sync::Once;

use bytemuck::bytes_of;
use libbpf_rs::libbpf_sys::{bpf_prog_get_info_by_fd, bpf_prog_info};
use libbpf_rs::{
    Link, MapCore, MapHandle, Object, ObjectBuilder, OpenObject, OpenProgramMut, PrintLevel, ProgramAttachType,
    ProgramMut, ProgramType,
};

use dwell_model::{Notice, notice};
use dwell_wire::{MOST_EVENTS, MOST_SUMS, Scope, SumKey, SumValue};

use crate::error::{Error, Result};
use crate::kernel::btf::{self, KernelTypes};
use crate::kernel::core_types::CoreTypes;
use crate::kernel::requirements;
use crate::kernel::version;
use crate::machine;

/// Keeps the bytes of an object file aligned as an ELF header wants.
#[repr(align(16))]
struct Aligned<T: ?Sized>(T);

macro_rules! family {
    ($name:literal) => {{
        static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bpf.o")));
        ($name, &FILE.0)
    }};
}

/// Every object file, by the name of its family.
pub static FAMILIES: [(&str, &[u8]); 25] = [
    family!("namespace"),
    family!("maps"),
    family!("threads"),
    family!("switch"),
    family!("waking"),
    family!("holders"),
    family!("io_quota"),
    family!("connects"),
    family!("sample"),
    family!("snapshot"),
    family!("sums"),
    family!("task_probe"),
    family!("value_probe"),
    family!("tracepoint_probe"),
    family!("stitch"),
    family!("creation"),
    family!("system"),
    family!("sockets"),
    family!("latency"),
    family!("running"),
    family!("requests"),
    family!("call_probe"),
    family!("goroutine"),
    family!("counted_events"),
    family!("open_requests"),
];

/// Families whose hooks each tell something of their own.
const DIVISIBLE: [&str; 7] = ["holders", "io_quota", "connects", "sockets", "latency", "running", "requests"];

/// What a hook sees, by the begin of the tracepoint's name, for the notice of one that is not there.
const SEEN_BY_HOOK: &[(&str, &str)] = &[
    ("local_timer", "timer interrupts"),
    ("reschedule", "inter-processor interrupts"),
    ("call_function", "inter-processor interrupts"),
    ("irq_work", "inter-processor interrupts"),
    ("x86_platform_ipi", "platform interrupts"),
    ("thermal_apic", "thermal interrupts"),
    ("csd_function", "what inter-processor interrupts are for"),
    ("irq_handler", "interrupts of devices"),
    ("softirq", "soft interrupts"),
    ("page_fault", "page faults"),
    ("sys_", "system calls"),
    ("signal_deliver", "signal handlers"),
    ("signal_generate", "who stops a program"),
    ("flock_lock", "who holds file locks"),
    ("posix_lock", "who holds file locks"),
    ("mm_vmscan", "memory reclaim"),
    ("mm_compaction", "memory compaction"),
    ("cpu_idle", "idle-state exits"),
    ("cpu_frequency", "changes of frequency"),
    ("block_rq", "what devices do"),
    ("block_bio", "which waits an I/O quota caused"),
    ("workqueue_execute", "what kernel workers do"),
    ("sock_send_length", "what is sent on sockets"),
    ("sock_recv_length", "what is received on sockets"),
    ("sk_data_ready", "which socket of a set ended a wait"),
    ("inet_sock_set_state", "begin and end of connections"),
    ("tcp_probe", "acknowledgements that end Nagle's hold"),
    ("tcp_retransmit_skb", "retransmissions"),
    ("timer_expire_entry", "delayed ACKs"),
];

/// A loaded family.
pub struct LoadedFamily {
    /// Its programs and maps.
    pub object: Object,
    /// What this kernel cannot tell of it.
    pub notices: Vec<Notice>,
    /// What the kernel said of the hooks that it refused.
    pub log: String,
}

/// The section of constants that user space sets.
const SCOPE: &str = ".rodata.scope";

/// Loads family `name` with the maps in `shared`, for what lies in `scope`.
pub fn load(name: &'static str, shared: &HashMap<String, MapHandle>, scope: &Scope) -> Result<LoadedFamily> {
    let mut refused: Vec<Refusal> = Vec::new();
    let types = CoreTypes::of(name);
    loop {
        let mut open = open(name, types.as_ref())?;
        let mut notices: Vec<Notice> = leave_out_absent(&mut open).into_iter().collect();
        notices.extend(refused.iter().map(|refusal| leave_out(&mut open, refusal)));
        prepare(&mut open, shared, scope)?;
        choose_way_of_uprobes(&mut open);
        collect_libbpf_messages();
        let source = match open.load() {
            Ok(object) => {
                let log = refused.into_iter().map(|refusal| refusal.log).collect();
                return Ok(LoadedFamily { object, notices, log });
            }
            Err(source) => source,
        };
        match Refusal::of(&take_libbpf_messages()) {
            Some(refusal) if DIVISIBLE.contains(&name) && refused.iter().all(|it| it.hook != refusal.hook) => {
                refused.push(refusal);
            }
            Some(refusal) if !refusal.log.is_empty() => return Err(refusal.into_error()),
            _ => return Err(Error::Bpf { what: format!("loading the {name} hooks"), source }),
        }
    }
}

/// Attaches the hooks of a family, but for those that user space runs and those of perf events.
pub fn attach(object: &Object) -> Result<Vec<Link>> {
    let attached = |program: &ProgramMut<'_>| {
        !matches!(program.attach_type(), ProgramAttachType::TraceIter)
            && !matches!(program.prog_type(), ProgramType::PerfEvent | ProgramType::Syscall)
    };
    loaded(object).filter(attached).map(|program| attach_one(&program)).collect()
}

/// Attaches one hook.
pub fn attach_one(program: &ProgramMut<'_>) -> Result<Link> {
    let what = || format!("attaching {}", program.name().to_string_lossy());
    program.attach().map_err(|source| Error::Bpf { what: what(), source })
}

/// The programs of a family that were not left out.
pub fn loaded(object: &Object) -> impl Iterator<Item = ProgramMut<'_>> {
    object.progs_mut().filter(|program| program.autoload())
}

/// What the kernel tells of a loaded program; zeros where it tells nothing.
#[allow(unsafe_code, reason = "libbpf-rs has no call for the counters of one program")]
pub fn info(program: BorrowedFd<'_>) -> bpf_prog_info {
    // SAFETY: an all-zero bpf_prog_info asks for no arrays; its own size goes along, and the call fills it or leaves it.
    unsafe {
        let mut info: bpf_prog_info = std::mem::zeroed();
        let mut bytes = size_of::<bpf_prog_info>() as u32;
        bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut bytes);
        info
    }
}

fn open(name: &str, types: Option<&CoreTypes>) -> Result<OpenObject> {
    let failed = |source| Error::Bpf { what: format!("opening the {name} hooks"), source };
    let (_, file) = FAMILIES.iter().find(|(family, _)| *family == name).copied().unwrap_or_default();
    let mut builder = ObjectBuilder::default();
    builder.name(name).map_err(failed)?;
    if let Some(types) = types {
        builder.btf_custom_path(types.path()).map_err(failed)?;
    }
    builder.open_memory(file).map_err(failed)
}

fn choose_way_of_uprobes(open: &mut OpenObject) {
    let uprobes = open.progs_mut().filter(|program| program.section() == "uprobe");
    uprobes.filter(|_| version::sets_probes_at_once()).for_each(|mut program| {
        program.set_attach_type(ProgramAttachType::TraceUprobeMulti);
    });
}

/// Lets `open` use the maps in `shared`, tells it the scope, and makes the others as this machine and kernel want them.
fn prepare(open: &mut OpenObject, shared: &HashMap<String, MapHandle>, scope: &Scope) -> Result<()> {
    let failed = |source| Error::Bpf { what: "preparing maps".into(), source };
    let preallocate = version::version() < (6, 1);
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == "rings" {
            map.set_max_entries(machine::possible()? as u32).map_err(failed)?;
        }
        if SUMS.contains(&name.as_str()) {
            map.set_max_entries(most_sums(machine::possible()?)).map_err(failed)?;
        }
        if name == EVENTS {
            map.set_max_entries((MOST_EVENTS * machine::possible()?) as u32).map_err(failed)?;
        }
        if name == SCOPE {
            map.set_initial_value(bytes_of(scope)).map_err(failed)?;
        }
        if preallocate && SAMPLED.contains(&name.as_str()) {
            map.set_map_flags(0).map_err(failed)?;
        }
        if let Some(handle) = shared.get(&name).filter(|_| is_shared(&name)) {
            map.reuse_fd(handle.as_fd()).map_err(failed)?;
        }
    }
    Ok(())
}

/// Maps of the hook that samples. Before Linux 6.1 the programs of perf events may use those only whose memory is there
/// from the begin (`check_map_prog_compatibility`, kernel/bpf/verifier.c).
const SAMPLED: [&str; 2] = ["unwind_processes", "interpreter_processes"];

/// The map of the events that are counted: each on each CPU.
const EVENTS: &str = "counted_events";

/// Maps whose memory is there from the begin, for each CPU.
const SUMS: [&str; 2] = ["sums_even", "sums_odd"];
/// What both may take, bytes.
const SUMS_BYTES: usize = 128 << 20;

/// Keys in each of these maps.
fn most_sums(cpus: usize) -> u32 {
    let bytes = SUMS.len() * (size_of::<SumKey>() + cpus * size_of::<SumValue>());
    MOST_SUMS.min((SUMS_BYTES / bytes) as u32)
}

/// Buffers belong to one family each; everything else is shared.
fn is_shared(map: &str) -> bool {
    !map.ends_with("_buffer") && !map.contains('.')
}

/// Makes the maps that all families share.
pub fn make_maps(scope: &Scope) -> Result<HashMap<String, MapHandle>> {
    let failed = |source| Error::Bpf { what: "loading the threads hooks".into(), source };
    let mut open = open("maps", None)?;
    prepare(&mut open, &HashMap::new(), scope)?;
    for mut map in open.maps_mut() {
        if !is_shared(&map.name().to_string_lossy()) {
            map.set_autocreate(false).map_err(failed)?;
        }
    }
    collect_libbpf_messages();
    share_maps(&open.load().map_err(failed)?)
}

/// The maps that other families share with `object`.
fn share_maps(object: &Object) -> Result<HashMap<String, MapHandle>> {
    let failed = |source| Error::Bpf { what: "sharing maps".into(), source };
    let named = object.maps().filter(|map| is_shared(&map.name().to_string_lossy()));
    named
        .map(|map| Ok((map.name().to_string_lossy().into_owned(), MapHandle::try_from(&map).map_err(failed)?)))
        .collect()
}

/// What a program is attached to, when that is something of the kernel's that another kernel may lack.
enum AttachPoint {
    Tracepoint(String),
    Function(String),
}

impl AttachPoint {
    fn of(section: &str) -> Option<Self> {
        match section.split_once('/')? {
            ("tp_btf" | "raw_tp", name) => Some(Self::Tracepoint(name.to_owned())),
            ("fentry" | "fexit", name) => Some(Self::Function(name.to_owned())),
            _ => None,
        }
    }

    fn is_in(&self, types: &KernelTypes) -> bool {
        match self {
            Self::Tracepoint(name) => types.has_tracepoint(name),
            Self::Function(name) => btf::has_function(name),
        }
    }
}

fn place(program: &OpenProgramMut<'_>) -> Option<AttachPoint> {
    AttachPoint::of(program.section().to_str()?)
}

/// The hook that a program NAME__WAY stands in for on kernels that lack what NAME is attached to.
fn stands_in_for(program: &str) -> Option<&str> {
    program.split_once("__").map(|(hook, _)| hook)
}

/// A stand-in for a hook that has no place.
struct StandIn {
    hook: String,
    /// What it is attached to.
    function: String,
    has_place: bool,
}

/// Leaves out the programs that this kernel has no place for, and the stand-ins that it does not need. Returns a notice of
/// what is not seen then.
fn leave_out_absent(open: &mut OpenObject) -> Option<Notice> {
    let types = btf::types()?;
    let (mut absent, mut stand_ins) = (Vec::new(), Vec::new());
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let Some(place) = place(&program).filter(|_| stands_in_for(&name).is_none()) else { continue };
        if let (false, AttachPoint::Tracepoint(tracepoint)) = (place.is_in(types), place) {
            program.set_autoload(false);
            absent.push((name, tracepoint));
        }
    }
    for mut program in open.progs_mut() {
        let name = program.name().to_string_lossy().into_owned();
        let Some(hook) = stands_in_for(&name) else { continue };
        let is_wanted = absent.iter().any(|(absent, _)| absent == hook);
        let place = place(&program).filter(|_| is_wanted);
        let has_place = place.as_ref().is_some_and(|place| place.is_in(types));
        if let Some(AttachPoint::Tracepoint(function) | AttachPoint::Function(function)) = place {
            stand_ins.push(StandIn { hook: hook.to_owned(), function, has_place });
        }
        if !has_place {
            program.set_autoload(false);
        }
    }
    let missing = unseen(&absent, &stand_ins);
    (!missing.is_empty()).then(|| {
        let (kinds, names) = (missing.len(), missing.join(", "));
        notice!(TRACEPOINTS_MISSING, kinds = kinds, missing = names)
    })
}

/// What is not seen without the `absent` hooks (name, tracepoint): all that a hook tells, or that part for which a stand-in has
/// no place either, such as functions of IPv6 where that is a module.
fn unseen(absent: &[(String, String)], stand_ins: &[StandIn]) -> Vec<String> {
    let mut missing: Vec<String> = Vec::new();
    for (hook, tracepoint) in absent {
        let (there, lacking): (Vec<&StandIn>, Vec<_>) =
            stand_ins.iter().filter(|it| it.hook == *hook).partition(|it| it.has_place);
        let part = |lacking: &StandIn| format!("{} ({})", seen_by_hook(tracepoint), lacking.function);
        match there.is_empty() {
            true => missing.push(seen_by_hook(tracepoint).to_owned()),
            false => missing.extend(lacking.into_iter().map(part)),
        }
    }
    let mut known = HashSet::new();
    missing.retain(|it| known.insert(it.clone()));
    missing
}

fn seen_by_hook(tracepoint: &str) -> &str {
    SEEN_BY_HOOK.iter().find(|(prefix, _)| tracepoint.starts_with(prefix)).map_or(tracepoint, |(_, what)| what)
}

/// Leaves out a hook that the kernel refused. Returns a notice of what is not seen then.
fn leave_out(open: &mut OpenObject, refusal: &Refusal) -> Notice {
    let hook = stands_in_for(&refusal.hook).unwrap_or(&refusal.hook);
    let mut what = refusal.hook.clone();
    for mut program in open.progs_mut() {
        if program.name() == hook
            && let Some(AttachPoint::Tracepoint(tracepoint)) = place(&program)
        {
            what = seen_by_hook(&tracepoint).to_owned();
        }
        if program.name() == refusal.hook.as_str() {
            program.set_autoload(false);
        }
    }
    notice!(HOOK_REFUSED, hook = refusal.hook, missing = what, error = refusal.why)
}

/// A hook that the kernel did not load.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    hook: String,
    why: String,
    /// The verifier's last lines; empty when it was not the verifier who refused.
    log: String,
}

/// Lines of the verifier that are kept.
const LAST_LINES: usize = 20;

impl Refusal {
    /// From what libbpf said of a load that failed.
    fn of(messages: &str) -> Option<Self> {
        let failed = messages.lines().find(|line| line.contains("failed"))?;
        let (_, named) = failed.split_once("prog '")?;
        let (hook, reason) = named.split_once("': ")?;
        let log: Vec<&str> = verifier_lines(messages).collect();
        let why = log.iter().rev().find(|line| !is_statistics(line)).unwrap_or(&reason);
        let last = log.len().saturating_sub(LAST_LINES);
        let log: String = log[last..].iter().map(|line| format!("{hook}: {line}\n")).collect();
        Some(Self { hook: hook.to_owned(), why: why.trim().to_owned(), log })
    }

    fn into_error(self) -> Error {
        let Self { hook, why, log } = self;
        let kernel = machine::kernel();
        if why.contains("cannot use helper bpf_probe_read") {
            return requirements::locked_down(log);
        }
        Error::Unsupported {
            reason: format!("Linux {kernel} refuses the hook {hook}: {why}"),
            remedy: "this is a defect of Dwell: report it with the lines above and what dwell doctor prints".into(),
            log,
        }
    }
}

fn verifier_lines(messages: &str) -> impl Iterator<Item = &str> {
    let begun = messages.lines().skip_while(|line| !line.contains("BEGIN PROG LOAD LOG")).skip(1);
    begun.take_while(|line| !line.contains("END PROG LOAD LOG")).filter(|line| !line.trim().is_empty())
}

fn is_statistics(line: &str) -> bool {
    ["processed ", "verification time", "stack depth", "insns processed"].iter().any(|begin| line.starts_with(begin))
}

thread_local! {
    /// What libbpf has said since collect_libbpf_messages().
    static MESSAGES: RefCell<String> = const { RefCell::new(String::new()) };
}

/// From the first call on, libbpf's messages go nowhere but into MESSAGES, each into that of the thread whom libbpf works for.
fn collect_libbpf_messages() {
    static REDIRECTED: Once = Once::new();
    REDIRECTED.call_once(|| {
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, text| {
            MESSAGES.with_borrow_mut(|messages| messages.push_str(&text));
        })));
    });
    MESSAGES.take();
}

fn take_libbpf_messages() -> String {
    MESSAGES.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGES_OF_ON_SWITCH: &str = "libbpf: prog 'on_switch': BPF program load failed: -EACCES\n\
        libbpf: prog 'on_switch': -- BEGIN PROG LOAD LOG --\n\
        12: (85) call bpf_probe_read_user#112\n\
        R2 unbounded memory access, use 'var &= const' or 'if (var < const)'\n\
        processed 19617 insns (limit 1000000) max_states_per_insn 13\n\
        -- END PROG LOAD LOG --\n\
        libbpf: prog 'on_switch': failed to load: -EACCES\n";

    #[test]
    fn a_refusal_names_the_hook_and_the_verifiers_reason() {
        let refusal = Refusal::of(MESSAGES_OF_ON_SWITCH).expect("a refusal");
        assert_eq!(refusal.hook, "on_switch");
        assert!(refusal.why.starts_with("R2 unbounded memory access"), "{refusal:?}");
        assert!(refusal.log.lines().count() == 3 && refusal.log.contains("processed 19617"), "{refusal:?}");
    }

    #[test]
    fn without_a_verifiers_word_libbpfs_is_the_reason() {
        let messages = "libbpf: prog 'on_send__inet': failed to find kernel BTF type ID of 'inet_sendmsg': -ESRCH\n";
        let refusal = Refusal::of(messages).expect("a refusal");
        assert_eq!((refusal.hook.as_str(), refusal.log.as_str()), ("on_send__inet", ""));
        assert!(refusal.why.contains("inet_sendmsg"), "{refusal:?}");
        assert_eq!(Refusal::of("libbpf: map 'x': failed to create: -EPERM\n"), None);
    }

    #[test]
    fn every_stand_in_without_a_place_is_told() {
        let absent = |hook: &str| (hook.to_owned(), "sock_send_length".to_owned());
        let stand_in = |hook: &str, function: &str, has_place| {
            let (hook, function) = (hook.to_owned(), function.to_owned());
            StandIn { hook, function, has_place }
        };
        let absent = [absent("on_send"), absent("on_sent")];
        assert_eq!(unseen(&absent, &[]), ["what is sent on sockets"]);
        let ipv4 = [stand_in("on_send", "inet_sendmsg", true), stand_in("on_sent", "inet_sendmsg", true)];
        assert!(unseen(&absent, &ipv4).is_empty());
        let both = ipv4.into_iter().chain([stand_in("on_send", "inet6_sendmsg", false)]).collect::<Vec<_>>();
        assert_eq!(unseen(&absent, &both), ["what is sent on sockets (inet6_sendmsg)"]);
    }

    #[test]
    fn stand_ins_are_told_by_their_names() {
        assert_eq!(stands_in_for("on_send__inet_sendmsg"), Some("on_send"));
        assert_eq!(stands_in_for("on_send"), None);
        assert_eq!(seen_by_hook("call_function_single_entry"), "inter-processor interrupts");
    }
}
