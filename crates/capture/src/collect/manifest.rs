//! What the manifest says while a collection runs, and other files beside the trace.

use dwell_model::Topic;
use dwell_probes::ValueProbe;
use dwell_store::{
    CpuInfo, CpuTaken, DelayFacts, Folder, Manifest, ProbeDefinition, ResultFolder, State, TRACE_FORMAT,
};

use super::loss_timeline::LossTimeline;
use crate::clock::{monotonic_ns, time_of_day};
use crate::drain::source::Source;
use crate::error::Result;
use crate::machine;
use crate::options::{Options, Target};
use crate::programs::proc;
use crate::stacks::waiting;

/// The manifest is written first of all: a folder without it cannot be finalized.
pub(super) fn begin_manifest(folder: &ResultFolder, options: &Options) -> Result<Manifest> {
    let manifest = new_manifest(options);
    folder.write_manifest(&manifest)?;
    Ok(manifest)
}

/// What is known before anything is begun.
fn new_manifest(options: &Options) -> Manifest {
    let command = match &options.target {
        Target::Launch(launch) => launch.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Attach(_) => Vec::new(),
    };
    Manifest {
        trace_format: TRACE_FORMAT,
        dwell_version: env!("CARGO_PKG_VERSION").into(),
        state: State::Collecting,
        analysis: analysis(options).into(),
        topics: options.topics.iter().map(|topic| topic.id().to_owned()).collect(),
        command,
        target_pids: attached(options).to_vec(),
        source: String::new(),
        options: options.command_line.clone(),
        host: machine::host(),
        kernel: machine::kernel(),
        boot_id: machine::boot_id(),
        cpus: CpuInfo::default(),
        target_concurrency: options.target_concurrency,
        sampling_interval_ns: options.sampling_interval_ns,
        started_at: time_of_day(),
        start_ns: 0,
        end_ns: 0,
        exit_status: None,
        collector_cpu_ns: 0,
        collector_peak_bytes: 0,
        finalization_peak_bytes: 0,
        fiber_interval_ns: 0,
        task_probes: options.task_probes.iter().map(|probe| probe.name.clone()).collect(),
        probes: options.probes.iter().map(definition).collect(),
        counted_events: options.events.iter().map(|event| event.name.clone()).collect(),
        delays: DelayFacts::default(),
        taken: CpuTaken::default(),
        events: 0,
        losses: Vec::new(),
        loss_times: Vec::new(),
        notices: Vec::new(),
    }
}

fn definition(probe: &ValueProbe) -> ProbeDefinition {
    ProbeDefinition {
        name: probe.name.clone(),
        values: probe.values.iter().map(|value| value.name.clone()).collect(),
        names: Vec::new(),
        condition: probe.condition().to_owned(),
        rejected: 0,
    }
}

/// Puts into the manifest how many hits did not meet the conditions of their probes.
pub(super) fn note_rejections(source: &dyn Source, manifest: &mut Manifest) {
    let counts = source.rejections(manifest.probes.len());
    manifest.probes.iter_mut().zip(counts).for_each(|(probe, count)| probe.rejected = count);
}

/// What the collection is called.
fn analysis(options: &Options) -> &'static str {
    let topic = if options.topics.contains(&Topic::Latency) { Topic::Latency } else { Topic::Threading };
    topic.id()
}

pub(super) fn attached(options: &Options) -> &[u32] {
    match &options.target {
        Target::Attach(pids) => pids,
        Target::Launch(_) => &[],
    }
}

/// Puts into the manifest what was lost until now, and when.
pub(super) fn note_losses(source: &dyn Source, losing: &mut LossTimeline, manifest: &mut Manifest) {
    manifest.losses = source.losses();
    losing.look(monotonic_ns(), &manifest.losses);
    manifest.loss_times = losing.times();
}

/// What the kernel said of hooks that it refused, for whoever asks why something is missing.
pub(super) fn keep_log(folder: &ResultFolder, log: &str) {
    if !log.is_empty() {
        // The notices name the hooks and the reasons all the same.
        let _ = folder.add_to_log(log);
    }
}

/// The vDSO is in no file, and the same in every process: a copy of ours lets the frames in it be named later.
pub(super) fn save_vdso(modules: &Folder) {
    let own = proc::mappings(std::process::id(), 0).into_iter().find(|mapping| mapping.path == b"[vdso]");
    let Some(vdso) = own else { return };
    // Not by /proc/self/mem, which is root's while a program has capabilities of its file.
    let image = waiting::own_memory(vdso.header.start, vdso.header.length.min(1 << 20) as usize);
    if image.is_empty() {
        return;
    }
    // Without it, its few frames stay unnamed: not worth failing for.
    let _ = modules.replace("vdso.so", &image);
    dwell_unwind::provide_vdso(image);
}
