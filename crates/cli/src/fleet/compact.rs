//! `dwell fleet compact`: makes sums of hours and days beside the rows of a store.

use std::path::Path;
use std::process::ExitCode;

use dwell_fleet::{CompactionPlan, CompactionResult, StoreCompaction};

use super::store::bucket_of;
use crate::args::{FleetCompactArgs, time_before};
use crate::error::{Hinted, Result};
use crate::reading::Reading;
use crate::terminal;
use crate::text::units::count;

/// Compacts, and says what was made.
pub fn run(args: &FleetCompactArgs) -> Result<ExitCode> {
    let store = args.store.as_path();
    if let Some(bucket) = bucket_of(store)? {
        let error = Hinted::new(format!("the store {bucket} cannot be compacted: only a folder can"));
        return Err(error.hint("dwell fleet compact --store DIR compacts a folder that dwell agent writes to"));
    }
    Reading::of([store])?.without_index().writing_below(store).confine()?;
    let wait =
        || terminal::print_line(format_args!("another process compacts this store; this one waits until it ends"));
    let compaction = StoreCompaction::begin(store, wait).map_err(|error| {
        Hinted::new(format!("the store {} cannot be compacted: {error}", store.display()))
            .hint("--store names the folder that dwell agent writes to, and that you may write to")
    })?;
    let plan = CompactionPlan { levels: args.level.levels(), now_ns: time_before(0), delete_before_ns: args.keep_raw };
    let result = compaction.run(&plan).map_err(|error| {
        Hinted::new(format!("compaction of the store {} stopped: {error}", store.display()))
            .hint("what it made counts; the same command goes on from there")
    })?;
    terminal::print_line(format_args!("{}", made(&result)));
    check_left(store, &result.left)
}

fn made(result: &CompactionResult) -> String {
    let CompactionResult { hourly, daily, summed, deleted, .. } = result;
    if hourly + daily + deleted == 0 {
        return "nothing to do: all hours and days that are over have their sums".into();
    }
    let [hourly, daily, summed, deleted] = [hourly, daily, summed, deleted].map(|number| count(*number));
    format!(
        "{hourly} hourly and {daily} daily files made of {summed} new files of rows; {deleted} files of rows deleted"
    )
}

/// Fails where files are no tables.
fn check_left(store: &Path, left: &[String]) -> Result<ExitCode> {
    let Some(first) = left.first() else { return Ok(ExitCode::SUCCESS) };
    let left: std::collections::BTreeSet<&String> = left.iter().collect();
    let left = match left.len() {
        1 => format!("1 file of the store {} is no table of an agent and is not summed: {first}", store.display()),
        more => format!(
            "{} files of the store {} are no tables of an agent and are not summed, the first one: {first}",
            count(more as u64),
            store.display()
        ),
    };
    Err(Hinted::new(left).hint("move what is no whole table out of the store; all else is compacted"))
}
