//! What the kernel's own type information (BTF) tells beyond what CO-RE relocates.

use std::collections::HashSet;
use std::sync::OnceLock;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Enum, Func, Typedef, Var};

/// The prefix of the type that stands for a tracepoint.
const TRACEPOINT: &str = "btf_trace_";

/// What Dwell asks of these types.
pub struct KernelTypes {
    /// Distance in bytes from a CPU's run queue to its preempt count, both per-CPU variables of the kernel. `None` when the
    /// kernel's types do not name them.
    pub preempt_count_offset: Option<i32>,
    /// Names of the helpers that BPF programs may call, such as `BPF_FUNC_task_pt_regs`; `None` where they are not told.
    pub helpers: Option<HashSet<String>>,
    tracepoints: HashSet<String>,
}

impl KernelTypes {
    /// Whether the kernel has this tracepoint.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.tracepoints.contains(name)
    }
}

/// The running kernel's; `None` where they cannot be read. Read once: each reading takes milliseconds.
pub fn types() -> Option<&'static KernelTypes> {
    static TYPES: OnceLock<Option<KernelTypes>> = OnceLock::new();
    TYPES.get_or_init(|| Btf::from_vmlinux().ok().map(|btf| read(&btf))).as_ref()
}

/// Whether the kernel has this function; false where its types cannot be read.
pub fn has_function(name: &str) -> bool {
    Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name::<Func<'_>>(name).is_some())
}

fn read(btf: &Btf<'_>) -> KernelTypes {
    let tracepoint = |ty: Typedef<'_>| Some(ty.name()?.to_str()?.strip_prefix(TRACEPOINT)?.to_owned());
    KernelTypes {
        preempt_count_offset: preempt_count_offset(btf),
        helpers: helpers(btf),
        tracepoints: btf.type_by_kind().filter_map(tracepoint).collect(),
    }
}

fn helpers(btf: &Btf<'_>) -> Option<HashSet<String>> {
    let ids = btf.type_by_name::<Enum<'_>>("bpf_func_id")?;
    Some(ids.iter().filter_map(|member| Some(member.name?.to_string_lossy().into_owned())).collect())
}

fn preempt_count_offset(btf: &Btf<'_>) -> Option<i32> {
    let run_queue = per_cpu_offset(btf, "runqueues")?;
    // Since 6.15 a variable of its own; from 6.2 to 6.14 behind the pointer to the current task in `pcpu_hot`
    // (arch/x86/include/asm/current.h).
    let count = per_cpu_offset(btf, "__preempt_count").or_else(|| Some(per_cpu_offset(btf, "pcpu_hot")? + 8))?;
    i32::try_from(count - run_queue).ok()
}

fn per_cpu_offset(btf: &Btf<'_>, name: &str) -> Option<i64> {
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    let named = |ty| btf.type_by_id::<Var<'_>>(ty).and_then(|var| var.name().map(|found| found == name)) == Some(true);
    section.iter().find(|entry| named(entry.ty)).map(|entry| i64::from(entry.offset))
}
