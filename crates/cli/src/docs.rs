//! The documents that are made from the program's tables: docs/trace-format.md, docs/metrics.md and docs/system.md.
//!
//! `dwell docs PART` prints one; a test compares it with the file, so that neither can go stale.

use dwell_analyze::METRICS;
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
| `manifest.json` | the command, when, where and how it ran; the format; the state: `collecting`, `collected`, `finalized` |
| `tables/*.parquet` | the tables below, from finalization on |
| `modules/` | copies of files that may be unreadable later: the vDSO, files of containers, deleted and replaced files, maps of run-time code |
| `log.txt` | the log of collection and finalization |
| `spool/` | the raw records, until finalization |
| `index.cache` | the index of a large result; you can delete it, and a reader rebuilds it when it is missing or its checksums are wrong |

A finalized result does not change, except for `index.cache`. The tables are Parquet, compressed with zstd;
DuckDB, Polars, pandas and others read them directly:

    duckdb -c \"select tid, name, end_ns - start_ns as lifetime_ns from 'r000th/tables/threads.parquet'\"

An id (uint32, nullable) is a row number of the table that it refers to, counted from 0; null refers to no row. A reader
refuses a result of another version of the format, and a table that lacks a column.

A result may come from somebody else, so its size on the disk bounds the cost of reading it. The tables of a result may take 128 MiB
of memory plus 256 bytes for each of their bytes on the disk, unpacked pages and texts included. A row group has at most 1,048,576 rows, a
text or a function's code 32 MiB, a footer 256 KiB and an eighth of its file, and pages have the form that Dwell's writer makes.
A reader refuses larger tables before it unpacks them.
A reader takes the last MiB of `log.txt`, and the first 4 KiB of each line; a manifest has at most 16 MiB.
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
    text.push_str("| column | type | meaning |\n|---|---|---|\n");
    for column in table.columns {
        let (name, ty, doc) = (column.name, type_name(column.ty), cell(column.doc));
        text.push_str(&format!("| `{name}` | {ty} | {doc} |\n"));
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
        ColumnType::Id => "id",
    }
}

const SYSTEM_INTRO: &str = "\
# The whole machine's counters: `--analyze system`

<!-- Made by `dwell docs system`; change crates/model/src/system.rs, or SYSTEM_INTRO in crates/cli/src/docs.rs, instead. -->

    sudo dwell collect threading --analyze system -- ./app
    dwell report summary

records the whole machine beside the program's threads: the system-level metrics that Perfmon
shows on Windows, under Linux's names. The collector itself reads them every 100 ms (`--system-interval`, 10 ms to 1 s)
and writes them to the tables `counters` (`process` is null) and `counter_values` (the sum since the collection began; a run of equal
sums has its first and last reading). For each, `dwell report summary` shows the average, the lowest and the highest rate between two
readings, and remarks on notable values.

- **Processor time**: the kernel counts it in ticks of 10 ms per CPU. At intervals of a few ticks, single readings are coarse
  (0 %, 113 %), but averages are right.
- **Soft interrupts** are what Windows calls deferred procedure calls. Linux counts those that ran; one raised twice before
  it runs counts once.
- **System calls**: no file has their number, so a BPF program counts them. Every system call of the machine then takes the kernel's
  slow path: the shortest one, getppid, took 195 ns instead of 118 ns (Linux 6.18). The other counters cost the program nothing.
- **Which interfaces**: those of Dwell's own network namespace, and those of the profiled processes in other
  namespaces (containers, `ip netns exec`): `Network eth0` and `Network eth0 (net:4026532281)`, the number as in
  `/proc/PID/ns/net`. Dwell reads at most 8 namespaces and 256 interfaces of each, and counts the others as a loss. In a
  container, Dwell sees the container's interfaces, while processor time and interrupts are the machine's.
- **New interfaces** count from their first reading on. **Removed interfaces** are a loss (`interfaces_gone`), since their traffic after
  the last reading is unknown. One that restarts (an interface plugged in
  again) counts from 0 and is a loss (`interfaces_replugged`).
- Loopback counts both ways: `lo` receives what it sends.

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
    let mut text = String::from("# Metrics\n\n");
    text.push_str("<!-- Made by `dwell docs metrics`; change METRICS in crates/query instead. -->\n\n");
    text.push_str("T is the number of CPUs that the program may use, or `--target-concurrency`.\n\n");
    text.push_str("| id | title | unit | additive | better | needs | definition |\n|---|---|---|---|---|---|---|\n");
    for metric in METRICS {
        let additive = if metric.additive { "yes" } else { "no" };
        let (unit, better, needs) = (unit(metric.unit), better(metric.better), collector(metric.collector));
        let (id, title, help) = (metric.id, cell(metric.title), cell(metric.long_help));
        text.push_str(&format!("| `{id}` | {title} | {unit} | {additive} | {better} | {needs} | {help} |\n"));
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
    use dwell_store::{CpuInfo, Manifest, Trace};
    use dwell_view::View;

    fn empty_trace() -> Trace {
        Trace::new(Manifest {
            dwell_version: String::new(),
            cpus: CpuInfo { online: 1, usable: 1, model: String::new() },
            end_ns: 1,
            ..Manifest::default()
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
                assert!(known, "docs/reports.md does not say what the column `{field}` is, which {} has", report.id());
            }
        }
    }

    #[test]
    fn the_trace_format_document_is_current() {
        dwell_generated::is_current("docs/trace-format.md", &render(DocsPart::TraceFormat));
    }

    #[test]
    fn the_document_of_the_machines_counters_is_current() {
        dwell_generated::is_current("docs/system.md", &render(DocsPart::System));
    }

    #[test]
    fn the_metrics_document_is_current() {
        dwell_generated::is_current("docs/metrics.md", &render(DocsPart::Metrics));
    }
}
