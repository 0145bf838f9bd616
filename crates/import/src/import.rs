//! The course of an import: the file's records, through the order of time, into a result that waits for finalization.

use std::io::Read;

use dwell_model::{Notice, losses, notice};
use dwell_store::{CpuInfo, Manifest, ResultFolder, State, TRACE_FORMAT};

use crate::attribute::part;
use crate::description::Description;
use crate::error::Error;
use crate::kernel::KernelPlace;
use crate::order::{Order, Pending};
use crate::plan::Plan;
use crate::raw_trace::RawTrace;
use crate::records::{RawRecord, RecordReader, kind};
use crate::sample;
use crate::sources::PerfSource;
use crate::tally::Tally;
use crate::translate::Translator;

/// The name of this source of records in a manifest.
const SOURCE: &str = "perf.data";
const NS_PER_S: f64 = 1e9;

/// What an import has made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Samples and switches in the result.
    pub events: u64,
}

/// Fills `folder`, a new result, from `source`. `symbols` opens what tells the symbols of the running kernel, and
/// `boot_id` is this boot's: kernel addresses of the same boot can be named.
///
/// # Errors
///
/// The file cannot be read, is damaged, or lacks what a result needs; the result cannot be written.
pub fn import<S: Read>(
    source: PerfSource,
    folder: &ResultFolder,
    symbols: impl Fn() -> Option<S>,
    boot_id: &str,
) -> Result<Imported, Error> {
    let PerfSource { mut description, data, written_at, is_unfinished } = source;
    let mut records = RecordReader::new(data);
    let first = read_head(&mut records, &mut description)?;
    let lacking = |event: &&crate::attribute::Attribute| !event.has(part::TIME) || !event.has(part::TID);
    if description.events.is_empty() {
        return Err(Error::Lacks("no events"));
    }
    if description.events.iter().find(lacking).is_some() {
        return Err(Error::Lacks("samples without time or thread"));
    }
    let plan = Plan::new(&description);
    if !plan.samples && !plan.has_switches() {
        return Err(Error::Lacks("neither samples of running threads nor context switches"));
    }
    let calls_of = |place: &KernelPlace| place.system_calls(symbols()?);
    let mut translator = Translator::new(&description, &plan, RawTrace::begin(folder)?, &calls_of);
    let mut order = Order::default();
    let mut give = |record: Pending| translator.take(&record);
    let mut next = first;
    while let Some(record) = next {
        take(record, &description, &mut order, &mut give)?;
        next = records.next_record()?;
    }
    order.finish(&mut give)?;
    let (tally, events) = translator.finish()?;
    if events == 0 {
        return Err(Error::Lacks("no sample or context switch of a thread"));
    }
    let is_cut = is_unfinished || records.is_cut;
    let mut manifest = manifest(&description, &tally, events, written_at);
    manifest.notices = notices(&plan, &tally, is_cut);
    manifest.losses = counted(&tally, order.late);
    if tally.is_this_kernel {
        boot_id.clone_into(&mut manifest.boot_id);
    }
    folder.write_manifest(&manifest)?;
    Ok(Imported { events })
}

/// Reads the records by which a pipe describes itself. Returns the first one behind them.
fn read_head(
    records: &mut RecordReader<Box<dyn Read>>,
    description: &mut Description,
) -> Result<Option<RawRecord>, Error> {
    while let Some(record) = records.next_record()? {
        match record.kind {
            kind::HEADER_ATTRIBUTE => description.add_event_record(&record.body),
            kind::HEADER_TRACING_DATA => {
                description.add_feature(crate::description::feature::TRACING_DATA, &record.body);
            }
            kind::HEADER_BUILD_ID => description.add_build_id(record.misc, &record.body),
            kind::HEADER_FEATURE => {
                let mut cursor = crate::cursor::Cursor(&record.body);
                if let Some(number) = cursor.u64() {
                    description.add_feature(number, cursor.0);
                }
            }
            // Others of perf's own come between them.
            kind if kind >= self::kind::FIRST_OF_PERF => {}
            _ => return Ok(Some(record)),
        }
    }
    Ok(None)
}

fn take(
    record: RawRecord,
    description: &Description,
    order: &mut Order,
    give: &mut dyn FnMut(Pending) -> Result<(), Error>,
) -> Result<(), Error> {
    let RawRecord { kind, misc, body } = record;
    if kind == self::kind::FINISHED_ROUND {
        return order.end_round(give);
    }
    if kind >= self::kind::FIRST_OF_PERF {
        return Ok(());
    }
    let Some(first) = description.events.first() else { return Ok(()) };
    let is_sample = kind == self::kind::SAMPLE;
    let event = description.event_of(sample::event_id(first, is_sample, &body));
    let Some(attribute) = description.events.get(event) else { return Ok(()) };
    let time_ns = if is_sample {
        sample::parse(attribute, &body).map(|sample| sample.stamp.time_ns)
    } else {
        sample::split_trailer(attribute, &body).map(|(_, stamp)| stamp.time_ns)
    };
    let time_ns = time_ns.unwrap_or(0);
    order.push(Pending { time_ns, kind, misc, event, body }, give)
}

fn manifest(description: &Description, tally: &Tally, events: u64, written_at: f64) -> Manifest {
    let cpus = if description.cpus_online == 0 { tally.cpus } else { description.cpus_online };
    let length_ns = tally.last_ns.saturating_sub(tally.first_ns);
    Manifest {
        trace_format: TRACE_FORMAT,
        dwell_version: env!("CARGO_PKG_VERSION").into(),
        state: State::Collected,
        command: description.command.clone(),
        source: SOURCE.into(),
        host: description.host.clone(),
        kernel: description.kernel.clone(),
        cpus: CpuInfo { online: cpus, usable: cpus, model: description.cpu_model.clone() },
        sampling_interval_ns: tally.period_ns,
        started_at: written_at - length_ns as f64 / NS_PER_S,
        start_ns: tally.first_ns,
        end_ns: tally.last_ns,
        events,
        ..Manifest::default()
    }
}

/// What the file cannot tell.
fn notices(plan: &Plan, tally: &Tally, is_cut: bool) -> Vec<Notice> {
    let mut notices = vec![notice!(IMPORTED_FROM_PERF)];
    if plan.samples_switches {
        notices.push(notice!(IMPORTED_SWITCHES_SAMPLED));
    } else if !plan.has_switches() {
        notices.push(notice!(IMPORTED_SAMPLES_ONLY));
    } else if !plan.traces_switches {
        notices.push(notice!(IMPORTED_WAITS_WITHOUT_STACKS));
    }
    if plan.has_switches() && !plan.tells_wakes {
        notices.push(notice!(IMPORTED_WITHOUT_WAKERS));
    }
    if tally.arrivals_unseen > 0 {
        notices.push(notice!(IMPORTED_ARRIVALS_UNSEEN, count = tally.arrivals_unseen));
    }
    if plan.copies_stacks {
        notices.push(notice!(IMPORTED_STACK_COPIES));
    }
    if !plan.unused.is_empty() {
        notices.push(notice!(IMPORTED_EVENTS_UNUSED, events = plan.unused.join(", ")));
    }
    if is_cut {
        notices.push(notice!(IMPORTED_CUT));
    }
    notices
}

fn counted(tally: &Tally, late: u64) -> Vec<(String, u64)> {
    let counted = [
        (losses::PERF_RECORDS_LOST, tally.lost),
        (losses::PERF_RECORDS_UNREADABLE, tally.unreadable),
        (losses::PERF_RECORDS_LATE, late),
    ];
    counted.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| (name.to_owned(), count)).collect()
}
