//! Results that were made to be dear to read: small files whose tables unpack to GBs. Every reader refuses them in one
//! sentence, and needs less than 300 MB to find out. Large results that a recording could have made are read.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use dwell_model::ModuleId;
use dwell_store::tables::{FrameRow, ModuleRow};
use dwell_store::{CodeTables, ResultFolder, Trace};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::{ColumnWriter, ColumnWriterImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use tempfile::TempDir;

use crate::bad_input::{expect_error, small_trace};
use crate::harness::Case;
use crate::looking::Site;
use crate::recording::{Output, Running, dwell};

/// Private memory that a reader may have, kB. The system refuses more: the program ends by a signal then.
const MOST_KB: u32 = 300 << 10;
/// Bytes of a bomb's tables at most.
const MOST_BYTES: u64 = 1 << 20;
/// Rows of a row group that Dwell writes.
const GROUP: usize = 1 << 20;
const TOO_LARGE: &str = "which no recording of its size does";

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("hostile_tables::bombs_are_refused", bombs_are_refused),
        Case::new("hostile_tables::the_server_goes_on", the_server_goes_on),
        Case::new("hostile_tables::code_that_is_a_bomb", code_that_is_a_bomb),
        Case::new("hostile_tables::a_log_of_one_line", a_log_of_one_line),
        Case::new("hostile_tables::large_results_are_read", large_results_are_read),
    ]
}

/// A table whose rows are all the same.
struct Bomb {
    table: &'static str,
    rows: usize,
    rows_of_group: usize,
    /// Bytes of each text.
    text: usize,
    /// What the refusal says.
    says: &'static str,
}

const BOMBS: [Bomb; 5] = [
    Bomb { table: "notices", rows: GROUP, rows_of_group: GROUP, text: 200, says: TOO_LARGE },
    Bomb { table: "stacks", rows: 2 * GROUP, rows_of_group: 2 * GROUP, text: 0, says: "a row group has 2097152 rows" },
    Bomb { table: "frames", rows: 2_500, rows_of_group: GROUP, text: 64 << 10, says: TOO_LARGE },
    Bomb { table: "losses", rows: 1, rows_of_group: GROUP, text: 200 << 20, says: TOO_LARGE },
    Bomb { table: "off_cpu", rows: 4 * GROUP, rows_of_group: GROUP, text: 0, says: TOO_LARGE },
];

impl Bomb {
    /// Writes it in the place of the table in the result.
    fn put(&self, result: &Path) -> Result<()> {
        let path = result.join(format!("tables/{}.parquet", self.table));
        let schema = SerializedFileReader::new(File::open(&path)?)?;
        let schema = schema.metadata().file_metadata().schema_descr().root_schema_ptr();
        let compression = Compression::ZSTD(ZstdLevel::default());
        // A dictionary makes texts small, and writing numbers ten times slower.
        let properties = WriterProperties::builder().set_compression(compression).set_dictionary_enabled(self.text > 0);
        let properties = properties.build();
        let mut writer = SerializedFileWriter::new(File::create(&path)?, schema, Arc::new(properties))?;
        let text = ByteArray::from(vec![b'x'; self.text]);
        let mut left = self.rows;
        while left > 0 {
            let rows = left.min(self.rows_of_group);
            let mut group = writer.next_row_group()?;
            while let Some(mut column) = group.next_column()? {
                match column.untyped() {
                    ColumnWriter::BoolColumnWriter(writer) => repeat(writer, &false, rows)?,
                    ColumnWriter::Int32ColumnWriter(writer) => repeat(writer, &0, rows)?,
                    ColumnWriter::Int64ColumnWriter(writer) => repeat(writer, &0, rows)?,
                    ColumnWriter::DoubleColumnWriter(writer) => repeat(writer, &0.0, rows)?,
                    ColumnWriter::ByteArrayColumnWriter(writer) => repeat(writer, &text, rows)?,
                    _ => anyhow::bail!("a column of a type that no table has"),
                }
                column.close()?;
            }
            group.close()?;
            left -= rows;
        }
        writer.close()?;
        let bytes = fs::metadata(&path)?.len();
        ensure!(bytes < MOST_BYTES, "the bomb in {} has {bytes} bytes", self.table);
        Ok(())
    }
}

/// Writes the value `rows` times.
fn repeat<T: DataType>(writer: &mut ColumnWriterImpl<'_, T>, value: &T::T, rows: usize) -> Result<()> {
    const AT_ONCE: usize = 1 << 16;
    let can_be_null = writer.get_descriptor().max_def_level() > 0;
    for from in (0..rows).step_by(AT_ONCE) {
        let values = vec![value.clone(); AT_ONCE.min(rows - from)];
        let levels = vec![1; values.len()];
        writer.write_batch(&values, can_be_null.then_some(levels.as_slice()), None)?;
    }
    Ok(())
}

fn write(path: &Path, mut trace: Trace) -> Result<PathBuf> {
    let result = ResultFolder::create(path)?;
    trace.write(&result, &CodeTables::default())?;
    Ok(result.path().to_owned())
}

/// The command with bounded memory.
fn bounded(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -d {MOST_KB} && exec \"$@\""), "sh"]);
    command.arg(dwell(&[]).get_program()).args(words);
    command
}

fn run_bounded(words: &[&str]) -> Result<Output> {
    Running::start(&mut bounded(words))?.finish()
}

/// Every command that reads a result's tables refuses each bomb by name, and needs little memory for that.
fn bombs_are_refused() -> Result<()> {
    let folder = TempDir::new()?;
    let good = write(&folder.path().join("good"), small_trace())?.display().to_string();
    let html = folder.path().join("report.html").display().to_string();
    let merged = folder.path().join("merged").display().to_string();
    for bomb in &BOMBS {
        let result = write(&folder.path().join(bomb.table), small_trace())?;
        bomb.put(&result)?;
        let path = result.display().to_string();
        let readers: [&[&str]; 6] = [
            &["report", "summary", &path],
            &["report", "waits", "--format", "json", &path],
            &["report", "--html", &html, &path],
            &["compare", &good, &path],
            &["merge", "--result-dir", &merged, &good, &path, "--offset-ns", "0"],
            &["source", &path, "main"],
        ];
        for words in readers {
            let file = format!("{}.parquet", bomb.table);
            let refused = run_bounded(words).and_then(|output| expect_error(&output, &[&file, bomb.says]));
            refused.with_context(|| format!("{words:?}"))?;
        }
    }
    ensure!(!Path::new(&merged).exists() && !Path::new(&html).exists(), "a reader that failed left something");
    Ok(())
}

/// The server tells what is wrong with a bomb, and shows the other results.
fn the_server_goes_on() -> Result<()> {
    let folder = TempDir::new()?;
    write(&folder.path().join("good"), small_trace())?;
    for bomb in &BOMBS {
        bomb.put(&write(&folder.path().join(bomb.table), small_trace())?)?;
    }
    let site = Site::open(&mut bounded(&["view", "--no-browser", &folder.path().display().to_string()]))?;
    for bomb in &BOMBS {
        let (head, body) = site.ask(&format!("/api/r/{}/info", bomb.table))?;
        let body = String::from_utf8_lossy(&body);
        ensure!(head.starts_with("HTTP/1.1 422") && body.contains(bomb.says), "{}: {head}\n{body}", bomb.table);
    }
    site.get("/api/r/good/info").map(drop)
}

/// Listings and sources are read apart from the other tables.
fn code_that_is_a_bomb() -> Result<()> {
    let folder = TempDir::new()?;
    let good = write(&folder.path().join("good"), small_trace())?.display().to_string();
    let result = write(&folder.path().join("bomb"), small_trace())?;
    Bomb { table: "sources", rows: 5_000, rows_of_group: GROUP, text: 64 << 10, says: TOO_LARGE }.put(&result)?;
    let (path, merged) = (result.display().to_string(), folder.path().join("merged").display().to_string());
    let readers: [&[&str]; 2] =
        [&["source", &path, "main"], &["merge", "--result-dir", &merged, &good, &path, "--offset-ns", "0"]];
    for words in readers {
        expect_error(&run_bounded(words)?, &["sources.parquet", TOO_LARGE])?;
    }
    let summary = run_bounded(&["report", "summary", &path])?;
    ensure!(summary.status.success(), "the summary needs no sources: {}", summary.stderr);
    Ok(())
}

/// Of a log of one long line, the end is shown.
fn a_log_of_one_line() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder.path().join("r000th"), small_trace())?;
    let log = File::create(result.join("log.txt"))?;
    log.set_len(300 << 20)?;
    let output = run_bounded(&["report", "log", &result.display().to_string()])?;
    ensure!(output.status.success(), "{}", output.stderr);
    ensure!(output.stdout.len() < 1 << 20, "{} bytes are shown", output.stdout.len());
    ensure!(output.stdout.contains("bytes of this line are left out"), "it does not say that the line is cut off");
    ensure!(output.stdout.contains("bytes before this are left out"), "it does not say that the log is cut off");
    Ok(())
}

/// What a recording can bring is read: C++ names of some kB, each in many frames, which take 200 MB in memory.
fn large_results_are_read() -> Result<()> {
    const FRAMES: u64 = 100_000;
    const NAMES: u64 = 2_000;
    let folder = TempDir::new()?;
    let mut trace = small_trace();
    let module = trace.modules.push(ModuleRow { path: "/usr/bin/app".into(), build_id: String::new() });
    for number in 0..FRAMES {
        let types = (0..40).map(|part| format!("std::vector<app::record_{}, ", (number % NAMES) * 31 + part * 7));
        trace.frames.push(FrameRow {
            module: ModuleId::new(module),
            offset: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44,
            function: types.collect::<String>() + &format!("app::pool_{}<int>>::push_back", number % NAMES),
            file: "/usr/include/c++/vector".into(),
            line: 100,
            inlined: false,
            kernel: false,
            after_call: true,
            script: false,
        });
    }
    let text: usize = trace.frames.function.iter().map(String::len).sum();
    ensure!(text > 100_000_000, "only {text} bytes of names");
    let result = write(&folder.path().join("r000th"), trace)?;
    let output = Running::start(&mut dwell(&["report", "summary", &result.display().to_string()]))?.finish()?;
    ensure!(output.status.success(), "refused: {}", output.stderr);
    Ok(())
}
