//! `dwell fleet`: questions to the store that the agents of many hosts write.
//!
//! Takes a folder and a question; gives rows. `crates/fleet` has the SQL, DuckDB answers, and this process writes nothing
//! unless it compacts.

mod causes;
mod compact;
mod compare;
mod report;
mod shown;
mod store;
mod trend;

use std::process::ExitCode;

use dwell_fleet::FileNeed;

use crate::args::{FleetCommand, FleetSqlArgs};
use crate::error::{Hinted, Result};
use crate::{output, sql};
use store::OpenedStore;

/// Answers the question of the command line.
pub fn run(command: &FleetCommand) -> Result<ExitCode> {
    match command {
        FleetCommand::Report(args) => report::run(args),
        FleetCommand::Compact(args) => compact::run(args),
        FleetCommand::Sql(args) => query(args),
        FleetCommand::Trend(args) => trend::run(args),
        FleetCommand::Compare(args) => compare::run(args),
    }
}

fn query(args: &FleetSqlArgs) -> Result<ExitCode> {
    let need = FileNeed::default().or_sums();
    let Some(store) = OpenedStore::open(&args.store, need.clone())? else {
        let query = args.query.trim().trim_end_matches(';');
        output::print(&format!(
            "{}{query};\n",
            store::views(&args.store.store, &need, args.query.contains("causes"))?
        ))?;
        return Ok(ExitCode::SUCCESS);
    };
    let ask = |database: &_| sql::ask(database, &args.query, args.store.format);
    let answer = store.ask(ask).map_err(|why| {
        Hinted::new(format!("the query fails: {}", sql::reason(&why)))
            .hint("dwell fleet sql 'describe waits' --store DIR lists the columns")
    })?;
    output::print(&answer.render(args.store.format))?;
    Ok(ExitCode::SUCCESS)
}
