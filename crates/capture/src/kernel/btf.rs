//! What the kernel's own type information (BTF) tells beyond what CO-RE relocates.

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};

/// Distance in bytes from a CPU's run queue to its preempt count, both per-CPU variables of the kernel. `None` when the
/// kernel's types do not name them.
pub fn preempt_count_offset() -> Option<i32> {
    let btf = Btf::from_vmlinux().ok()?;
    let run_queue = per_cpu_offset(&btf, "runqueues")?;
    // Since 6.15 a variable of its own; from 6.2 to 6.14 behind the pointer to the current task in `pcpu_hot`
    // (arch/x86/include/asm/current.h).
    let count = per_cpu_offset(&btf, "__preempt_count").or_else(|| Some(per_cpu_offset(&btf, "pcpu_hot")? + 8))?;
    i32::try_from(count - run_queue).ok()
}

fn per_cpu_offset(btf: &Btf<'_>, name: &str) -> Option<i64> {
    let section = btf.type_by_name::<DataSec<'_>>(".data..percpu")?;
    let named = |ty| btf.type_by_id::<Var<'_>>(ty).and_then(|var| var.name().map(|found| found == name)) == Some(true);
    section.iter().find(|entry| named(entry.ty)).map(|entry| i64::from(entry.offset))
}
