//! Results as others hand them on: raw ones, whose records are looked at, and finished ones, whose tables and index are.

use std::path::{Path, PathBuf};

use dwell_analyze::timeline::{BandKind, BandOrder, TileRequest, bands, charts, tile};
use dwell_analyze::{Analysis, Query, Report, report};
use dwell_resolve::{KernelFiles, NoProgress, Options, finalize};
use dwell_store::raw::{SpoolWriter, Stream};
use dwell_store::tables::TABLES;
use dwell_store::{CodeTables, Opened, ResultFolder, TableDef, Trace, readers};
use dwell_view::json;
use tempfile::TempDir;

use crate::raw;
use crate::seeds::a_manifest;

/// Bytes of a picture's width.
const WIDTH: usize = 64;
/// What is asked of a result comes in so many parts.
const PARTS: usize = 16;
const BANDS: [BandKind; 3] = [BandKind::Thread, BandKind::Object, BandKind::Cpu];

/// Asks some of what can be asked of a result, as `input` chooses: all of it would take most of the time.
/// None of it may fail.
fn ask(trace: Trace, input: &[u8]) {
    let analysis = Analysis::new(trace);
    let chosen = input.iter().fold(0, |sum: u8, byte| sum.wrapping_add(*byte));
    let is_chosen = |at: usize| at % PARTS == usize::from(chosen) % PARTS;
    let questions = Report::ALL.iter().flat_map(|kind| [(kind, None), (kind, Some("*")), (kind, Some("1"))]);
    for (_, (kind, subject)) in questions.enumerate().filter(|(at, _)| is_chosen(*at)) {
        let query = Query { subject: subject.map(str::to_owned), ..Query::default() };
        let _ = report(*kind, analysis.trace(), &query).map(|view| json::render(&view));
    }
    let (to, query) = (analysis.elapsed_ns(), Query::default());
    if is_chosen(0) {
        let _ = charts(&analysis, &query, (0, to), WIDTH);
    }
    for (_, by) in BANDS.into_iter().enumerate().filter(|(at, _)| is_chosen(*at)) {
        let Ok(bands) = bands(&analysis, &query, by, BandOrder::default()) else { continue };
        let bands = bands.iter().map(|band| band.id).collect();
        let _ = tile(&analysis, &TileRequest { from: 0, to, width: WIDTH, by, bands });
    }
}

/// A raw result with these records is finalized, looked at, and joined with itself.
pub fn finalized(bytes: &[u8]) {
    let Some((_folder, result)) = collected(bytes) else { return };
    let Ok(trace) = finalize(&result, &options(), &NoProgress) else { return };
    let read = Trace::read(&result);
    assert_eq!(read.as_ref().ok().map(|read| &read.off_cpu), Some(&trace.off_cpu), "what was written is not read");
    let code = CodeTables::read(&result).unwrap_or_default();
    merge((trace.clone(), code));
    ask(trace, bytes);
}

/// Without the machine's own kernel, whose symbols take a second to read.
fn options() -> Options {
    let nowhere = || PathBuf::from("/nonexistent");
    Options { kernel: KernelFiles { kallsyms: nowhere(), modules: nowhere() }, ..Options::default() }
}

fn merge(result: (Trace, CodeTables)) {
    let connections = dwell_merge::connections(&result.0, &result.0);
    let bounds = dwell_merge::exchanges(&result.0, &result.0, &connections);
    let _ = dwell_merge::align(&bounds, 0);
    let mut both = dwell_merge::join(result.clone(), result, 7, &connections);
    dwell_merge::link(&mut both.trace, &both.connections);
    dwell_merge::explain(&mut both.trace, &both.connections);
}

/// A collected result: its length, then records, each in the stream that it belongs to. Their sizes are made right.
fn collected(bytes: &[u8]) -> Option<(TempDir, ResultFolder)> {
    let (end_ns, records) = bytes.split_first_chunk()?;
    let folder = TempDir::new().ok()?;
    let result = ResultFolder::create(&folder.path().join("result")).ok()?;
    let mut manifest = a_manifest();
    manifest.end_ns = u64::from_le_bytes(*end_ns);
    manifest.state = dwell_store::State::Collected;
    result.write_manifest(&manifest).ok()?;
    let (mut meta, mut events) = (Vec::new(), Vec::new());
    for record in raw::sized(records) {
        if raw::is_event(&record) { events.extend(record) } else { meta.extend(record) }
    }
    for (stream, bytes) in [(Stream::Meta, meta), (Stream::Events, events)] {
        SpoolWriter::create(&result.spool().ok()?, stream).ok()?.append(&bytes, 0, u64::MAX).ok()?;
    }
    Some((folder, result))
}

/// A finished result of [`raw::seed`].
struct Good {
    _folder: TempDir,
    result: ResultFolder,
}

impl Good {
    fn make() -> Option<Self> {
        let (folder, result) = collected(&raw::seed())?;
        finalize(&result, &options(), &NoProgress).ok()?;
        Some(Self { _folder: folder, result })
    }

    /// The bytes of the index that is made for it.
    fn index(&self) -> Option<Vec<u8>> {
        drop(dwell_analyze::readers::open_indexed(&self.result).ok()?);
        std::fs::read(self.result.path().join(INDEX)).ok()
    }
}

const INDEX: &str = "index.cache";

thread_local! {
    /// Removed when the thread ends.
    static GOOD: Option<Good> = Good::make();
    static SERVED: Option<(dwell_server::readers::Site, Good)> = served();
}

/// A result of which the table that the first byte numbers is `bytes`, and everything that is asked of it.
pub fn table(bytes: &[u8]) {
    let Some((&number, bytes)) = bytes.split_first() else { return };
    let name = TABLES[usize::from(number) % TABLES.len()].name;
    GOOD.with(|good| {
        let Some(result) = good.as_ref().map(|good| &good.result) else { return };
        let path = path_of(result.path(), name);
        let Ok(whole) = std::fs::read(&path) else { return };
        if std::fs::write(&path, bytes).is_ok() {
            let _ = CodeTables::read(result);
            Trace::read(result).into_iter().for_each(|trace| ask(trace, bytes));
            let _ = std::fs::write(&path, whole);
        }
    });
}

fn path_of(result: &Path, table: &str) -> PathBuf {
    result.join("tables").join(format!("{table}.parquet"))
}

/// Every table of a good result.
pub(crate) fn tables() -> Vec<Vec<u8>> {
    let Some(good) = Good::make() else { return Vec::new() };
    let table = |(number, table): (usize, &TableDef)| {
        let bytes = std::fs::read(path_of(good.result.path(), table.name)).ok()?;
        Some([&[number as u8][..], &bytes].concat())
    };
    TABLES.iter().enumerate().filter_map(table).collect()
}

/// A result's index, whose checksums are made right, and everything that is asked through it.
pub fn index(bytes: &[u8]) {
    GOOD.with(|good| {
        let Some(result) = good.as_ref().map(|good| &good.result) else { return };
        let Some(sealed) = readers::sealed_index(result, bytes) else { return };
        let path = result.path().join(INDEX);
        let _ = std::fs::remove_file(&path);
        if std::fs::write(&path, sealed).is_ok()
            && let Ok(Opened::Ready(trace)) = Trace::open(result, 1)
        {
            assert!(trace.index().is_some());
            ask(*trace, bytes);
        }
    });
}

pub(crate) fn good_index() -> Vec<Vec<u8>> {
    Good::make().and_then(|good| good.index()).into_iter().collect()
}

/// A request to the server: its address, then its headers, a line each.
pub fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let target = lines.next().unwrap_or_default();
    let headers: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once(": ")).collect();
    SERVED.with(|served| {
        let answer = served.as_ref().and_then(|(site, _)| site.ask(target, &headers));
        assert!(answer.is_none_or(|(status, _)| status != 500), "{target} got no answer");
    });
}

fn served() -> Option<(dwell_server::readers::Site, Good)> {
    let good = Good::make()?;
    Some((dwell_server::readers::Site::open(good.result.path().parent()?)?, good))
}

/// What the page asks for.
pub(crate) fn requests() -> Vec<Vec<u8>> {
    let of_result = [
        "info",
        "log",
        "grid?group-by=object,function,callers&path=%5B%22lock%22%5D&offset=0&limit=10&search=l&sort=wait_ns",
        "grid?group-by=thread,function&metrics=cpu_ns,wait_ns&filter=thread%3Dapp&exclude=cpu%3D0&sort=name",
        "stacks?kind=wait&index=1&group-by=thread",
        "flame?inverted=1&by-thread=1&weight=wait&min-share=0.01",
        "filters?key=function&search=ma&limit=9",
        "filters?key=cpu",
        "bands?by=object&sort=start",
        "bands?by=task",
        "tasks?by=thread&bands=0,1",
        "task?task=0",
        "interval?thread=0&at=150",
        "arrows?thread=0,1&limit=7",
        "charts?width=10&from=10&to=900",
        "counters?counter=bytes&width=20",
        "histogram?of=wait&object=lock",
        "latency?interval=task",
        "socket-lengths",
        "tile?by=thread&bands=0,1,2&from=0&to=1000&width=100",
        "report/waits?group-by=object,waker&limit=5&bins=7&target-concurrency=2&include-idle=1",
        "report/blame?subject=lock*",
        "report/outlier?subject=1",
        "report/findings?subject=f1",
        "export/firefox",
        "export/perfetto?from=1&to=2000",
        "pack",
        "view/hotspots?call-stack-mode=user&inlines=off&poor=0.1&ok=0.6&ideal=0.9",
        "view/frames?frame-rates=24,60&excluded-range=10-20&excluded-range=30-40",
        "report/waits?filter=wait-length%3D2us-5ms&filter=utilization%3Dpoor&filter=task%3Dparse",
        "source?function=main&syntax=att",
    ];
    let of_result = of_result.iter().map(|question| format!("/api/r/result/{question}"));
    let others = ["/", "/api/results", "/api/compare?a=result&b=result&level=object", "/assets/x"];
    let with_headers = "/api/results\nhost: localhost:80\norigin: http://127.0.0.1:8080\nsec-fetch-site: same-origin";
    let all = of_result.chain(others.iter().chain([&with_headers]).map(|text| (*text).to_owned()));
    all.map(String::into_bytes).collect()
}
