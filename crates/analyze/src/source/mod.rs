//! A function's source lines and machine code with the time spent there: what `dwell source` shows.
//!
//! Time is found by walking the stacks of a fold, so that filters and ranges hold as in any report. CPU time is a line's
//! own where the stack ends there, as the call-stack mode shows it, and in the total of every line that the stack goes
//! through. A wait is its own at the place of the program that made it: the innermost line that is neither the system's
//! nor a standard library's. Lines of functions that have no machine code, such as an interpreter's, come from their
//! frames alone.

mod asked;
mod cost;
mod costs;
mod disassembly;
mod listing;
mod subject;
#[cfg(test)]
mod tests;
mod view;

use dwell_store::{CodeTables, Trace};

pub use self::asked::{SourceQuery, Syntax};
pub use self::cost::Cost;
pub use self::view::{Inlined, Instruction, SourceLine, SourceView};
use dwell_query::engine::fold::Fold;
use dwell_query::question::error::QueryError;
use dwell_query::question::query::Query;

/// The source that `asked` names, with the time that `query` selects. Fails when there is no such function, several of
/// them, or nothing to show of it.
pub fn source(
    trace: &Trace,
    tables: &CodeTables,
    query: &Query,
    asked: &SourceQuery,
) -> Result<SourceView, QueryError> {
    let subject = subject::find(trace, tables, asked)?;
    let fold = Fold::new(trace, query)?;
    let costs = costs::Costs::new(&fold, &subject);
    let view = listing::view(&fold, tables, &subject, &costs, asked.syntax);
    if view.lines.is_empty() && view.instructions.is_empty() {
        let reason = subject.missing(trace, tables).to_string().trim_end_matches('.').to_owned();
        return Err(QueryError::NoListing { function: subject.name.clone(), reason });
    }
    Ok(view)
}
