//! What a finding says in numbers, and where anybody can read them: a question of a report with the column that shows it.

use dwell_query::engine::fold::Fold;
use dwell_query::question::filter::{Filter, FilterKey};
use dwell_query::question::query::Query;

/// How a number of a finding is to what the report shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The report shows it.
    Is,
    /// The report shows it or more: the finding speaks of a part.
    AtLeast,
}

impl Relation {
    /// Its name in JSON.
    pub fn id(self) -> &'static str {
        match self {
            Self::Is => "is",
            Self::AtLeast => "at-least",
        }
    }
}

/// A number of the evidence. The column's sum over the outermost rows of the report, or over one kind of them, is to be it.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The report's name.
    pub report: &'static str,
    /// What it is asked.
    pub query: Query,
    /// Only the rows that have this value in this column.
    pub rows: Option<(&'static str, String)>,
    /// The column.
    pub column: &'static str,
    /// How the column is to the number.
    pub relation: Relation,
    /// The number: ns, or a count.
    pub number: u64,
}

impl Claim {
    /// The report shows this number, asked what `query` asks and this filter instead of others of its key.
    pub fn is(report: &'static str, query: &Query, column: &'static str, number: u64) -> Self {
        Self { report, query: query.selection(), rows: None, column, relation: Relation::Is, number }
    }

    /// The report shows this number or more.
    pub fn at_least(report: &'static str, query: &Query, column: &'static str, number: u64) -> Self {
        Self { relation: Relation::AtLeast, ..Self::is(report, query, column, number) }
    }

    /// The same of the rows that have this value in this column.
    pub fn of(self, column: &'static str, value: &str) -> Self {
        Self { rows: Some((column, value.to_owned())), ..self }
    }

    /// The report's name and options, as `dwell report` takes them.
    pub fn arguments(&self) -> Vec<String> {
        let query = &self.query;
        let range = |(from, to): &(u64, u64)| format!("{from}ns-{to}ns");
        let filter = |filter: &Filter| format!("{}={}", filter.key.id(), filter.value);
        let options = [
            ("--filter", query.filters.iter().map(filter).collect::<Vec<_>>()),
            ("--exclude", query.exclude.iter().map(filter).collect()),
            ("--time-range", query.range.iter().map(range).collect()),
            ("--excluded-range", query.excluded_ranges.iter().map(range).collect()),
            ("--target-concurrency", query.target_concurrency.iter().map(u32::to_string).collect()),
        ];
        let options =
            options.into_iter().flat_map(|(name, values)| values.into_iter().map(move |it| [name.into(), it]));
        std::iter::once(self.report.to_owned()).chain(options.flatten()).collect()
    }
}

/// The query with this filter instead of others of its key.
pub fn only(query: &Query, key: FilterKey, value: &str) -> Query {
    let mut query = query.selection();
    query.filters.retain(|filter| filter.key != key);
    query.filters.push(Filter { key, value: value.to_owned() });
    query
}

/// What the thread does in the range, whatever else is filtered.
pub fn of_thread(fold: &Fold<'_>, thread: usize, range: (u64, u64)) -> Query {
    let query = Query { range: Some(range), filters: Vec::new(), exclude: Vec::new(), ..fold.query.selection() };
    only(&query, FilterKey::Tid, &fold.trace.threads.tid[thread].to_string())
}
