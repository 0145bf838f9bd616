//! The way from the spool to the written result.

use std::num::NonZero;
use std::time::Instant;
use std::{iter, thread};

use dwell_model::{Notice, losses as loss, notice};
use dwell_store::raw::{Record, Stream};
use dwell_store::tables::NoticeRow;
use dwell_store::{CodeTables, Manifest, ResultFolder, State, Table, Trace};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::code::jit::AnnouncedCodes;
use crate::code::kernel::is_this_boot;
use crate::error::Error;
use crate::input::event::Event;
use crate::input::meta::Meta;
use crate::input::order::EventOrder;
use crate::input::spool::{SpoolDamage, read_stream};
use crate::losses;
use crate::naming::{self, Named, ReplayedTrace};
use crate::options::Options;
use crate::progress::Progress;
use crate::replay::fibers::{self, ThreadRows};
use crate::replay::state::Replay;
use crate::topics::accept_queues;
use crate::topics::connects;
use crate::topics::delays;
use crate::topics::event_counts;
use crate::topics::open_requests;
use crate::topics::sockets;
use crate::topics::system;
use crate::topics::vain_tries;

/// Finalizes the result in `folder`: reads its raw data, resolves it, writes the tables and marks it as finalized. The
/// raw data is deleted unless the options say otherwise. Returns the trace as written.
///
/// Fails when there is no raw data, or the result cannot be written; nothing is lost then.
pub fn finalize(folder: &ResultFolder, options: &Options, progress: &dyn Progress) -> Result<Trace, Error> {
    let began = Instant::now();
    let manifest = folder.manifest()?;
    if !folder.has_spool() {
        let path = folder.path().to_owned();
        let finalized = manifest.state == State::Finalized;
        return Err(if finalized { Error::AlreadyFinalized { path } } else { Error::NoSpool { path } });
    }
    let (mut trace, code) = match threads() {
        Some(threads) => threads.install(|| resolve(folder, manifest, options, progress)),
        None => resolve(folder, manifest, options, progress),
    };
    progress.step("writing", 0, 1);
    trace.write(folder, &code)?;
    progress.step("writing", 1, 1);
    if !options.keep_spool
        && let Err(error) = folder.remove_spool()
    {
        log(folder, &format!("the raw data could not be deleted: {error}"));
    }
    log(folder, &summary(&trace, began));
    Ok(trace)
}

/// Threads to work with: as many as there are CPUs, fewer where a limit forbids that, the caller alone in the end.
fn threads() -> Option<ThreadPool> {
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    let counts = iter::successors(Some(most), |count| Some(count / 2)).take_while(|&count| count > 0);
    let pools = counts.map(|count| ThreadPoolBuilder::new().num_threads(count).build());
    let alone = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    pools.chain(iter::once_with(alone)).find_map(Result::ok)
}

/// Everything but writing.
fn resolve(
    folder: &ResultFolder,
    manifest: Manifest,
    options: &Options,
    progress: &dyn Progress,
) -> (Trace, CodeTables) {
    let mut loaded = load(folder, &manifest, progress);
    loaded.replay.close_silent();
    let end_ns = if manifest.end_ns == 0 { loaded.replay.last_ns } else { loaded.replay.relative(manifest.end_ns) };
    let mut trace = Trace::new(manifest);
    let (off_cpu, pauses) = loaded.replay.intervals.finish(end_ns);
    let samples = loaded.replay.intervals.weights.finish();
    trace.pauses = pauses;
    let texts = &loaded.meta.itt.texts;
    let annotations = loaded.replay.annotations.finish(&loaded.replay.thread_table, texts, end_ns);
    let unnamed = sockets::SocketKeys::take(&loaded.meta.sockets, &mut loaded.replay, &off_cpu);
    let connect_stacks = connects::stacks(&loaded.meta.connects, &mut loaded.replay);
    let announced_code = loaded.announced_code.take_all();
    let threads = ThreadRows {
        off_cpu: &off_cpu,
        samples: &samples,
        pauses: &trace.pauses,
        end_ns,
        interval_ns: trace.manifest.fiber_interval_ns,
    };
    let fibers = fibers::replay(&loaded.meta, &mut loaded.replay, &threads);
    let Loaded { meta, replay, .. } = &loaded;
    let manifest = &trace.manifest;
    let raw = ReplayedTrace { folder, manifest, meta, replay, off_cpu: &off_cpu, samples: &samples, fibers: &fibers };
    let mut named = naming::name(&raw, announced_code, options, progress);
    (trace.off_cpu, trace.samples) = naming::events(off_cpu, samples, &named);
    trace.annotations = naming::annotations(annotations, &meta.itt.texts, &trace.manifest.probes, &mut named);
    trace.fibers = naming::fibers(fibers, &named);
    (trace.processes, trace.threads) = replay.thread_table.tables(&meta.itt.texts, end_ns);
    trace.event_counts = event_counts::resolve(&meta.event_counts, replay, &trace.manifest.counted_events);
    let connections = open_requests::resolve(&meta.open_requests, replay, (&trace.processes, end_ns));
    (trace.open_requests, trace.sampled_sends) = (connections.open_requests, connections.sampled_sends);
    trace.send_queues = connections.send_queues;
    trace.accept_queues = accept_queues::resolve(&meta.accept_queues, replay);
    trace.vain_tries = vain_tries::resolve(meta, replay);
    let connect_stacks = named.woven.rows.column(connect_stacks);
    trace.connects = connects::resolve(&meta.connects, &connect_stacks, replay);
    let readings = system::add(meta, &|time_ns| replay.relative(time_ns), &mut trace.annotations);
    let hold_stacks = named.woven.rows.column(unnamed.hold_stacks);
    let input = sockets::Input {
        raw: &meta.sockets,
        replay,
        off_cpu: &trace.off_cpu,
        object_keys: &unnamed.object_keys,
        hold_stacks: &hold_stacks,
        end_ns,
    };
    let (sockets, unmatched_waits) = sockets::resolve(&input, &mut trace.annotations);
    trace.sockets = sockets;
    let kernel = is_this_boot(&trace.manifest).then_some(&options.kernel);
    let (delays, strange_delays) = delays::resolve(&meta.delays, replay, &trace.pauses, &trace.manifest.delays, kernel);
    trace.delays = delays;
    let counted = [
        (loss::COLLECTIONS_CUT_OFF, u64::from(trace.manifest.end_ns == 0)),
        (loss::INTERFACES_REPLUGGED, readings.began_anew),
        (loss::INTERFACES_GONE, readings.gone),
        (loss::DELAYS_OF_UNKNOWN_THREADS, strange_delays),
        (loss::SOCKET_WAITS_UNMATCHED, unmatched_waits),
    ];
    let counted: Vec<_> = lost(&loaded, &named, &trace).chain(counted).collect();
    trace.losses = losses::table(&trace.manifest, &counted);
    let died = close_manifest(&mut trace.manifest, &loaded.replay, end_ns);
    let notices = trace.manifest.notices.iter().cloned().chain(died).chain(loaded.damage.notices).chain(named.notices);
    for notice in notices {
        trace.notices.push(NoticeRow::from(&notice));
    }
    trace.modules = named.woven.modules;
    trace.frames = named.woven.frames;
    trace.stacks = named.woven.stacks;
    trace.objects = named.objects.objects;
    (trace, named.code)
}

/// What was lost in reading, replaying and naming.
fn lost(loaded: &Loaded, named: &Named, trace: &Trace) -> impl Iterator<Item = (&'static str, u64)> {
    let Loaded { meta, announced_code, replay, .. } = loaded;
    let counted = [
        (loss::LATE_RECORDS, loaded.late_records),
        (loss::SPOOL_BYTES_LOST, loaded.damage.bytes),
        (loss::THREADS_MADE_UP, replay.thread_table.made_up),
        (loss::THREAD_ENDS_LOST, replay.thread_table.unseen_ends),
        (loss::REPAIRED_INTERVALS, replay.intervals.repaired),
        (loss::STACKS_MISSING, named.missing_stacks),
        (loss::BUILD_ID_MISMATCH, named.changed_files),
        (loss::FILES_UNREADABLE, named.unreadable_files),
    ];
    let of_annotations = losses::of_annotations(&replay.annotations.counted, &meta.itt, announced_code);
    let cut = losses::cut_stacks(&trace.off_cpu, &trace.samples, &named.woven.stacks);
    counted.into_iter().chain(of_annotations).chain(cut)
}

/// The spool, read and replayed.
struct Loaded {
    meta: Meta,
    announced_code: AnnouncedCodes,
    replay: Replay,
    late_records: u64,
    damage: SpoolDamage,
}

fn load(folder: &ResultFolder, manifest: &Manifest, progress: &dyn Progress) -> Loaded {
    let (mut meta, mut announced_code, mut damage) =
        (Meta::default(), AnnouncedCodes::default(), SpoolDamage::default());
    let mut known: Vec<Event> = Vec::new();
    read_stream(folder, Stream::Meta, &mut damage, &mut |records, _| {
        for record in records {
            take(record, &mut meta, &mut announced_code, &mut |event| known.push(event));
        }
    });
    meta.round_ns = 0; // marks count where they stand among the events
    let end_ns = if manifest.end_ns == 0 { u64::MAX } else { manifest.end_ns };
    let mut replay = Replay::new(manifest.start_ns, end_ns);
    let mut order = EventOrder::new(known);
    let length = end_ns.saturating_sub(manifest.start_ns);
    read_stream(folder, Stream::Events, &mut damage, &mut |records, last_ns| {
        for record in records {
            take(record, &mut meta, &mut announced_code, &mut |event| order.push(event));
        }
        let (round_ns, meta) = (meta.round_ns, &meta);
        order.release(round_ns, &mut |event| replay.take(&event, meta));
        progress.step("events", last_ns.saturating_sub(manifest.start_ns).min(length), length);
    });
    order.finish(&mut |event| replay.take(&event, &meta));
    for (tgid, time_ns, text) in &meta.commands {
        let time_ns = replay.relative(*time_ns);
        replay.thread_table.command(*tgid, time_ns, text);
    }
    for (tgid, time_ns, belonging) in &meta.belongings {
        let time_ns = replay.relative(*time_ns);
        replay.thread_table.belongs(*tgid, time_ns, belonging);
    }
    replay.thread_table.inherit_belongings();
    Loaded { late_records: order.late_records, meta, announced_code, replay, damage }
}

/// Keeps what a record tells once; hands out what happens at a time.
fn take(record: Record<'_>, meta: &mut Meta, announced_code: &mut AnnouncedCodes, happens: &mut dyn FnMut(Event)) {
    if let Record::IttNames(header, bytes) = &record {
        announced_code.take(header, bytes);
    }
    meta.take(record, happens);
}

/// Completes what a collector that died could not say. Returns a notice then.
fn close_manifest(manifest: &mut Manifest, replay: &Replay, end_ns: u64) -> Option<Notice> {
    if manifest.events == 0 {
        manifest.events = replay.events;
    }
    if manifest.end_ns != 0 {
        return None;
    }
    manifest.end_ns = manifest.start_ns.saturating_add(end_ns);
    Some(notice!(COLLECTOR_DIED, seconds = format!("{:.3}", end_ns as f64 / 1e9)))
}

fn summary(trace: &Trace, began: Instant) -> String {
    format!(
        "finalized in {:.1} s: {} threads, {} intervals off the CPU, {} samples, {} stacks, {} frames, {} objects",
        began.elapsed().as_secs_f64(),
        trace.threads.len(),
        trace.off_cpu.len(),
        trace.samples.len(),
        trace.stacks.len(),
        trace.frames.len(),
        trace.objects.len()
    )
}

/// The log is for people who look for what went wrong; finalization goes on without it.
fn log(folder: &ResultFolder, line: &str) {
    let _ = folder.add_to_log(&format!("finalize: {line}"));
}
