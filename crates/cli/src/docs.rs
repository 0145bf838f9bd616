//! The documents that are made from the program's tables: docs/trace-format.md, docs/metrics.md and docs/system.md.
//!
//! `dwell docs PART` prints one; a test compares it with the file, so that neither can go stale.

use dwell_analyze::{FINDINGS, METRICS};
use dwell_model::system::{INTERFACE_COUNTERS, MACHINE_COUNTERS, SystemCounter};
use dwell_model::{Better, Collector, Unit};
use dwell_store::tables::TABLES;
use dwell_store::{ColumnType, TRACE_FORMAT, TableDef};

use crate::args::DocsPart;

/// The document as Markdown.
pub fn render(part: DocsPart) -> String {
    match part {
        DocsPart::TraceFormat => trace_format(),
        DocsPart::Metrics => metrics(),
        DocsPart::System => system(),
    }
}

const TRACE_INTRO: &str = "\
A result is a folder:

| path | what it is |
|---|---|
| `manifest.json` | what was run, when, where and how; which format; how far it has come: `collecting`, `collected`, `finalized` |
| `tables/*.parquet` | the tables below, from finalization on |
| `modules/` | copies of what could not be read later: the vDSO, files of containers, deleted and replaced files, maps of run-time code |
| `log.txt` | the log of collection and finalization |
| `spool/` | the raw records, until finalization |
| `index.cache` | of a large result: an index that any reader may make anew, and does when its checksums are wrong; it can be deleted |

A finalized result does not change any more, but for `index.cache`. The tables are Parquet, compressed with zstd:
DuckDB, Polars, pandas and others read them as they are:

    duckdb -c \"select tid, name, end_ns - start_ns as lifetime_ns from 'r000th/tables/threads.parquet'\"

Ids are row numbers of the table that they name, counted from 0; null is none. A reader takes every format up to its
own: a column that an older trace does not have reads as 0, empty or null.

What reading may cost is in proportion to what was written, since results come from others too. The tables of a result may take 128 MiB
of memory and 256 bytes for each of theirs on the disk, unpacked pages and texts included; a row group has at most 1,048,576 rows, a
text or a function's code 32 MiB, a footer 256 KiB and an eighth of its file, and pages are those that Dwell's writer makes.
Whatever needs more is refused before it is unpacked.
Of `log.txt` the last MiB is read, and the first 4 KiB of each line; a manifest has at most 16 MiB.
";

fn trace_format() -> String {
    let mut text = format!("# The trace format, version {TRACE_FORMAT}\n\n");
    text.push_str("<!-- Made by `dwell docs trace-format`; change crates/store/src/tables.rs instead. -->\n\n");
    text.push_str(TRACE_INTRO);
    for table in TABLES {
        text.push_str(&table_section(table));
    }
    text
}

fn table_section(table: &TableDef) -> String {
    let mut text = format!("\n## `{}`\n\n{}\n\n", table.name, table.doc.trim());
    text.push_str("| column | type | since | meaning |\n|---|---|---|---|\n");
    for column in table.columns {
        let (name, ty, since, doc) = (column.name, type_name(column.ty), column.since, cell(column.doc));
        text.push_str(&format!("| `{name}` | {ty} | {since} | {doc} |\n"));
    }
    text
}

fn type_name(ty: ColumnType) -> &'static str {
    match ty {
        ColumnType::U8 => "uint8",
        ColumnType::U16 => "uint16",
        ColumnType::U32 => "uint32",
        ColumnType::U64 => "uint64",
        ColumnType::I16 => "int16",
        ColumnType::I32 => "int32",
        ColumnType::F64 => "float64",
        ColumnType::Bool => "boolean",
        ColumnType::Text => "string",
        ColumnType::Bytes => "binary",
        ColumnType::Id => "id (uint32, nullable)",
    }
}

const SYSTEM_INTRO: &str = "\
# The whole machine's counters: `--analyze system`

<!-- Made by `dwell docs system`; change crates/model/src/system.rs, or SYSTEM_INTRO in crates/cli/src/docs.rs, instead. -->

    sudo dwell collect threading --analyze system -- ./app
    dwell report summary

records, beside what the program's threads do, what the whole machine does meanwhile: the system-level metrics that Perfmon
shows on Windows, under Linux's names. They are read every 100 ms (`--system-interval`, 10 ms to 1 s) by the collector itself,
and are rows of the tables `counters` (`process` is null) and `counter_values` (the sum since the collection began; a run of equal
sums has its first and last reading). `dwell report summary` has of each the average, the lowest and the highest rate between two
readings, and what is notable.

- **Processor time** is counted by the kernel in ticks of 10 ms per CPU: at intervals of a few ticks, single readings are coarse
  (0 %, 113 %), averages are right.
- **Soft interrupts** are what Windows calls deferred procedure calls. Linux counts those that ran; one that is raised again before
  it ran runs once.
- **System calls** are in no file: a BPF program counts them. That is dear for programs that do little else, since every system
  call of every program on the machine then takes the kernel's slow path: the shortest one, getppid, took 195 ns in place of
  118 ns (Linux 6.18). With a program that does nothing it took 190 ns: the kernel's own way to the hook is what costs, and no other
  source has the number. Nothing else of this costs the program anything.
- **Whose interfaces**: those of the network namespace that Dwell runs in, and of the namespaces of the profiled processes where
  these are others (containers, `ip netns exec`): `Network eth0` and `Network eth0 (net:4026532281)`, the number as in
  `/proc/PID/ns/net`. At most 8 namespaces and 256 interfaces of each; what is beyond is counted as a loss. A thread that changes its
  namespace without running another program is not followed. In a container, Dwell sees the container's interfaces, while
  processor time and interrupts are the machine's.
- **Interfaces that come** count from their first reading on; **those that go** are a loss (`interfaces_gone`), since what they moved after
  their last reading is not known. Counters that wrap at 32 bits are continued; one that begins anew (an interface plugged in again)
  counts from 0 and is a loss (`interfaces_replugged`). I/O wait time, which the kernel may correct, never falls.
- Loopback counts both ways: what is sent on `lo` is received on `lo`.

";

fn system() -> String {
    let mut text = SYSTEM_INTRO.to_owned();
    let tables = [("Processor and kernel", MACHINE_COUNTERS), ("Each network interface", INTERFACE_COUNTERS)];
    for (title, counters) in tables {
        text.push_str(&format!("## {title}\n\n| Perfmon | domain | counter | unit | source | what it counts |\n"));
        text.push_str("|---|---|---|---|---|---|\n");
        text.extend(counters.iter().map(system_row));
        text.push('\n');
    }
    text.trim_end().to_owned() + "\n"
}

fn system_row(counter: &SystemCounter) -> String {
    let SystemCounter { domain, name, unit, perfmon, source, help } = counter;
    let unit = if unit.is_empty() { "count" } else { unit };
    format!("| {} | {domain} | {name} | {unit} | {} | {} |\n", cell(perfmon), cell(source), cell(help))
}

fn metrics() -> String {
    let mut text = String::from("# Metrics and findings\n\n");
    text.push_str("<!-- Made by `dwell docs metrics`; change METRICS and FINDINGS in crates/analyze instead. -->\n\n");
    text.push_str("## Metrics\n\nT is the number of CPUs that the program may use, or `--target-concurrency`.\n\n");
    text.push_str("| id | title | unit | additive | better | needs | definition |\n|---|---|---|---|---|---|---|\n");
    for metric in METRICS {
        let additive = if metric.additive { "yes" } else { "no" };
        let (unit, better, needs) = (unit(metric.unit), better(metric.better), collector(metric.collector));
        let (id, title, help) = (metric.id, cell(metric.title), cell(metric.long_help));
        text.push_str(&format!("| `{id}` | {title} | {unit} | {additive} | {better} | {needs} | {help} |\n"));
    }
    text.push_str("\n## Findings\n");
    for finding in FINDINGS {
        let (title, id, help, advice) = (finding.title, finding.id, finding.help, finding.advice);
        text.push_str(&format!("\n### {title} (`{id}`)\n\n{help}\n\n*Advice:* {advice}\n"));
    }
    text
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Ns => "ns",
        Unit::Count => "count",
        Unit::Fraction => "fraction",
        Unit::NsPerCount => "ns per count",
        Unit::Threads => "threads",
    }
}

fn better(better: Better) -> &'static str {
    match better {
        Better::Lower => "lower",
        Better::Higher => "higher",
        Better::Neither => "depends",
    }
}

fn collector(collector: Collector) -> &'static str {
    match collector {
        Collector::Switches => "switches",
        Collector::Samples => "switches, samples",
    }
}

/// Text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    use dwell_analyze::{Query, Report};
    use dwell_store::{CpuInfo, Manifest, State, Trace};
    use dwell_view::View;

    fn empty_trace() -> Trace {
        Trace::new(Manifest {
            trace_format: TRACE_FORMAT,
            dwell_version: String::new(),
            state: State::Finalized,
            analysis: "threading".into(),
            topics: vec!["threading".into()],
            command: Vec::new(),
            target_pids: Vec::new(),
            source: String::new(),
            options: Vec::new(),
            host: String::new(),
            kernel: String::new(),
            boot_id: String::new(),
            cpus: CpuInfo { online: 1, usable: 1, model: String::new() },
            target_concurrency: None,
            sampling_interval_ns: 1_000_000,
            started_at: 0.0,
            start_ns: 0,
            end_ns: 1,
            exit_status: None,
            collector_cpu_ns: 0,
            collector_peak_bytes: 0,
            finalization_peak_bytes: 0,
            task_probes: Vec::new(),
            delays: dwell_store::DelayFacts::default(),
            events: 0,
            losses: Vec::new(),
            loss_times: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// The fields of a report, those of views within it included.
    fn fields(view: &View) -> Vec<&'static str> {
        let nested = view.rows.iter().flat_map(|row| &row.values).flat_map(|value| match value {
            dwell_view::Value::Rows(view) => fields(view),
            _ => Vec::new(),
        });
        view.columns.iter().map(|column| column.id).chain(nested).collect()
    }

    #[test]
    fn every_field_of_every_report_is_documented() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reports.md");
        let document = std::fs::read_to_string(path).unwrap();
        let trace = empty_trace();
        for &report in Report::ALL {
            assert!(document.contains(report.id()), "docs/reports.md has no {}", report.id());
            let Ok(view) = dwell_analyze::report(report, &trace, &Query::default()) else { continue };
            for field in fields(&view) {
                let known = document.contains(&format!("`{field}`"));
                assert!(known, "docs/reports.md does not say what `{field}` of {} is", report.id());
            }
        }
    }

    fn is_current(part: DocsPart, name: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        let file = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            file == render(part),
            "docs/{name} is stale: dwell docs {} > docs/{name}",
            name.trim_end_matches(".md")
        );
    }

    #[test]
    fn the_trace_format_document_is_current() {
        is_current(DocsPart::TraceFormat, "trace-format.md");
    }

    #[test]
    fn the_document_of_the_machines_counters_is_current() {
        is_current(DocsPart::System, "system.md");
    }

    #[test]
    fn the_metrics_document_is_current() {
        is_current(DocsPart::Metrics, "metrics.md");
    }
}
