//! The results of a folder as JSON, the newest first: what `dwell mcp --list` prints.

use std::path::Path;

use dwell_store::{Folder, Manifest, ResultFolder};
use serde_json::{Value, json};

use crate::error::{Hinted, Result};
use crate::output;
use crate::reading::Reading;

/// Prints them.
pub fn print(path: &Path) -> Result<()> {
    let failed =
        |error| Hinted::new(format!("{}: {error}", path.display())).hint("--results takes a folder of results");
    let names = || Folder::open(path).and_then(|folder| Ok((folder.names()?, folder)));
    let (names, folder) = names().map_err(failed)?;
    let names = names.iter().filter_map(|name| name.to_str());
    let names: Vec<&str> = names.filter(|name| ResultFolder::is_meant(&folder, name)).collect();
    let paths: Vec<_> = names.iter().map(|name| path.join(name)).collect();
    Reading::of(paths.iter().map(|path| path.as_path()))?.confine()?;
    let mut rows: Vec<(f64, Value)> = names.iter().map(|name| row(&folder, name)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    let rows: Vec<Value> = rows.into_iter().map(|(_, row)| row).collect();
    output::print(&format!("{:#}\n", json!({ "rows": rows })))
}

/// When it began, and what it is.
fn row(parent: &Folder, name: &str) -> (f64, Value) {
    match ResultFolder::open_in(parent, name).and_then(|folder| folder.manifest()) {
        Ok(manifest) => (manifest.started_at, described(name, &manifest)),
        Err(error) => (f64::MIN, json!({ "name": name, "problem": Hinted::from(error).to_string() })),
    }
}

fn described(name: &str, manifest: &Manifest) -> Value {
    json!({
        "name": name,
        "analysis": manifest.analysis,
        "state": manifest.state,
        "command": manifest.command,
        "host": manifest.host,
        "started_at_s": manifest.started_at,
        "recorded_ns": manifest.end_ns.checked_sub(manifest.start_ns),
        "exit_status": manifest.exit_status,
    })
}
