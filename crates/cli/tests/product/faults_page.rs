//! docs/reliability.md: a row for each fault at each stage, kept beside the built program until all have been seen.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::recording::root;

const HEAD: &str = "# Reliability

`make test-faults` makes this page. Each system call by which Dwell collects, finalizes, merges two results or makes the index of a
large one fails once, or is the last one before Dwell is killed; strace injects the faults. In all cases the profiled program runs to
its own end, Dwell does not panic, merged results stay unchanged, and every report shows the same numbers as without the
fault. A file that could not be opened has no names, and the result says so. `make test` hits some places of each row.

*Complete later*: at once, or after another `finalize`, `merge` or `report`. *Complete or told*: the same, and Dwell printed an error with a hint where it
was not at once.

| Dwell does | fault | promised | places hit | complete at once | reported, complete later | broken |
|---|---|---|---:|---:|---:|---:|
";

/// Keeps a row of the table under this name.
pub fn keep_row(name: &str, row: &str) -> Result<()> {
    let folder = rows_folder()?;
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), row)?)
}

/// Writes the page of the rows of these names.
pub fn write(names: impl Iterator<Item = String>) -> Result<()> {
    let mut page = HEAD.to_owned();
    for name in names {
        let row = rows_folder()?.join(name);
        page += &fs::read_to_string(&row).with_context(|| format!("{}: run all cases", row.display()))?;
    }
    Ok(fs::write(root().join("docs/reliability.md"), page)?)
}

fn rows_folder() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_dwell")).parent().context("no folder")?;
    Ok(folder.join("faults"))
}
