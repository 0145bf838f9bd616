//! `dwell export sql`: the script of views over a result's tables.

use std::fs;
use std::path::{self, Path};
use std::process::ExitCode;

use dwell_analyze::Query;
use dwell_export::sql;
use dwell_store::tables::TABLES;
use dwell_store::{ResultFolder, State};

use crate::error::{Hinted, Result};
use crate::output;

/// Writes it.
pub fn write(folder: &ResultFolder, target: Option<&Path>) -> Result<ExitCode> {
    let text = text(folder)?;
    output::stream(target, false, |out| out.write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// The script.
pub fn text(folder: &ResultFolder) -> Result<String> {
    if folder.manifest()?.state != State::Finalized {
        return Err(dwell_store::Error::NotFinalized { path: folder.path().to_owned() }.into());
    }
    let tables = folder.tables()?;
    for table in TABLES {
        let file = tables.path().join(format!("{}.parquet", table.name));
        fs::symlink_metadata(&file).map_err(|source| dwell_store::Error::Io { path: file, source })?;
    }
    let place = path::absolute(tables.path()).map_err(Hinted::new)?;
    let Some(place) = place.to_str() else {
        let error = Hinted::new("the path of the result is no text, and a script is");
        return Err(error.hint("export from a folder with another name"));
    };
    let mut script = Vec::new();
    sql::write(place, &mut script).map_err(Hinted::new)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// A filter, a range or a mode has no place in it: queries ask.
pub fn refuse_question(query: &Query) -> Result<()> {
    let usual = Query::default();
    let is_cut = query.range.is_some() || !query.excluded_ranges.is_empty();
    let is_filtered = !query.filters.is_empty() || !query.exclude.is_empty();
    let is_shown_otherwise =
        query.include_idle || query.call_stack_mode != usual.call_stack_mode || query.inlines != usual.inlines;
    if is_cut || is_filtered || is_shown_otherwise {
        let error = Hinted::usage("the format sql has everything, and takes no filter, range or mode");
        return Err(error.hint("a query chooses: select … from waits where thread = 'worker-0' and start_ns < 1e9"));
    }
    Ok(())
}
