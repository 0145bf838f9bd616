//! The hooks of what delays threads: those of them that this kernel has tracepoints for.

use std::os::fd::IntoRawFd;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{Link, Object, OpenObject, OpenProgramMut, ProgramType};

use crate::error::{Error, Result};
use crate::machine;
use crate::perf::{self, Fault};

/// What a tracepoint tells, for the notice of one that is not there.
const TELLS: &[(&str, &str)] = &[
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
    ("mm_vmscan", "memory reclaim"),
    ("mm_compaction", "memory compaction"),
    ("cpu_idle", "idle-state exits"),
    ("cpu_frequency", "changes of frequency"),
    ("block_rq", "what devices do"),
    ("workqueue_execute", "what kernel workers do"),
];

/// Leaves out the programs whose tracepoint this kernel does not have. Returns a notice of what is not seen then.
pub fn leave_out_absent(objects: &mut [OpenObject]) -> Option<String> {
    let btf = Btf::from_vmlinux().ok()?;
    let mut missing: Vec<String> = Vec::new();
    for mut program in objects.iter_mut().flat_map(OpenObject::progs_mut) {
        let Some(tracepoint) = tracepoint(&program) else { continue };
        if btf.type_by_name::<Typedef<'_>>(&format!("btf_trace_{tracepoint}")).is_some() {
            continue;
        }
        program.set_autoload(false);
        let tells = TELLS.iter().find(|(prefix, _)| tracepoint.starts_with(prefix));
        let tells = tells.map_or(tracepoint.as_str(), |(_, tells)| tells).to_owned();
        if !missing.contains(&tells) {
            missing.push(tells);
        }
    }
    (!missing.is_empty()).then(|| {
        format!(
            "Not seen on this kernel, which has no tracepoints for them, {}: {}.",
            missing.len(),
            missing.join(", ")
        )
    })
}

fn tracepoint(program: &OpenProgramMut<'_>) -> Option<String> {
    let section = program.section().to_str()?;
    section.strip_prefix("tp_btf/").or_else(|| section.strip_prefix("raw_tp/")).map(str::to_owned)
}

/// Attaches the programs that are loaded. Returns with the links a notice of what could not be.
pub fn attach(object: &Object) -> Result<(Vec<Link>, Option<String>)> {
    let mut links = Vec::new();
    let mut notice = None;
    for program in object.progs_mut().filter(|program| program.autoload()) {
        let what = || format!("attaching {}", program.name().to_string_lossy());
        if program.prog_type() == ProgramType::PerfEvent {
            let fault = if program.name() == "on_major_fault" { Fault::Major } else { Fault::Minor };
            for cpu in machine::online() {
                match perf::page_faults(cpu, fault) {
                    Ok(fd) => {
                        let link = program.attach_perf_event(fd.into_raw_fd());
                        links.push(link.map_err(|source| Error::Bpf { what: what(), source })?);
                    }
                    Err(error) => notice = Some(format!("Page faults are not seen on this machine ({error}).")),
                }
            }
        } else {
            links.push(program.attach().map_err(|source| Error::Bpf { what: what(), source })?);
        }
    }
    Ok((links, notice))
}

#[cfg(test)]
mod tests {
    use dwell_model::Delay;

    /// The kernel side writes the codes that everybody else reads.
    #[test]
    fn delays_have_the_codes_of_the_model() {
        let source = include_str!("bpf/delay.bpf.h");
        let lines =
            source.lines().filter_map(|line| line.trim().strip_prefix("DELAY_")?.strip_suffix(',')?.split_once(" = "));
        let mut count = 0;
        for (name, code) in lines {
            let delay = Delay::from_code(code.parse().expect("a code"));
            assert_eq!(delay.id(), name.to_lowercase().replace('_', "-"));
            count += 1;
        }
        assert!(count > 10, "{count} codes");
    }
}
