//! The query of an address: a question in the words of `dwell_analyze::options`, and the words of single calls.

use axum::http::Uri;
use dwell_analyze::explore::{GridLevel, Order, parse_grid_levels};
use dwell_analyze::options::{Form, OPTIONS, OptionDef};
use dwell_analyze::{CallStackMode, FilterKey, Level, Query};

use super::words::{self, RequestWord};
use crate::problem::Problem;

/// Columns of trees through the stacks, which are no metrics.
const CPU_SELF: &str = "cpu_self_ns";
const WAIT_SELF: &str = "wait_self_ns";

/// The question of a request: what every view understands, and the words of one view only.
#[derive(Clone, Debug)]
pub struct Params {
    /// Selection, grouping, metrics.
    pub query: Query,
    words: Vec<(String, String)>,
}

impl Params {
    /// The question without its filters: of all that is in the range.
    pub fn without_filters(mut self) -> Self {
        self.query.filters.clear();
        self.query.exclude.clear();
        self.words.retain(|(name, _)| name != words::FILTER.0 && name != words::EXCLUDE.0);
        self
    }

    /// Understands the query of `uri`. Fails with the word that makes no sense.
    pub fn parse(uri: &Uri) -> Result<Self, Problem> {
        let pairs = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
        let words: Vec<(String, String)> =
            pairs.map(|(key, value)| (key.into_owned(), value.into_owned())).filter(|(_, v)| !v.is_empty()).collect();
        let mut params = Self { query: Query::default(), words };
        params.query = params.understand()?;
        Ok(params)
    }

    fn understand(&self) -> Result<Query, Problem> {
        let mut query = Query::default();
        for row in OPTIONS.iter().filter(|row| !row.words.is_empty()) {
            self.give(row, &mut query)?;
        }
        if self.text(words::KEY) == Some(FilterKey::Cpu.id()) {
            // The list of CPUs needs sums by CPU.
            query.only_cpus = query.group_by.is_empty();
            query.group_by.push(Level::Cpu);
        }
        Ok(query)
    }

    /// Does to `query` what the words of an option say.
    fn give(&self, row: &OptionDef, query: &mut Query) -> Result<(), Problem> {
        let word = RequestWord(row.words[0]);
        let text = || self.text(word).filter(|text| is_of_question(word, text));
        match row.form {
            Form::Flag(set) if self.flag(word) => set(query),
            Form::Flag(_) => {}
            Form::Switch(set) => set(query, text() != Some("off")),
            Form::Text(set) => text().map_or(Ok(()), |text| set(query, text))?,
            Form::Texts(set) => self.all(word).try_for_each(|text| set(query, text))?,
            Form::List(set) => self.list(word)?.into_iter().try_for_each(|text| set(query, text))?,
            Form::Mode(set) => if_some(text().map(CallStackMode::parse).transpose()?, |mode| set(query, mode)),
            Form::Number(least, most, set) => {
                // A number that is too small is as good as no number.
                let number = self.number(word)?.filter(|number: &u64| *number >= least);
                if_some(number, |number| set(query, number.min(most)));
            }
            Form::Share(set) => {
                let share = self.number(word)?.filter(|share: &f64| share.is_finite());
                if_some(share, |share| set(query, share));
            }
            Form::Time(set) => if_some(self.number(word)?, |ns| set(query, ns)),
            Form::Range(set) => if_some(self.range(row)?, |range| set(query, range)),
            Form::Ranges(set) => {
                for text in self.all(word) {
                    set(query, parse_range(text)?);
                }
            }
        }
        Ok(())
    }

    /// The words of a list. Grids go on through the stacks behind their last level; a question knows levels only.
    fn list(&self, word: RequestWord) -> Result<Vec<&str>, Problem> {
        if word != words::GROUP_BY {
            return Ok(self.text(word).into_iter().flat_map(|text| text.split(',')).map(str::trim).collect());
        }
        let levels = parse_grid_levels(self.text(word).unwrap_or_default())?;
        Ok(levels.into_iter().filter_map(GridLevel::level).map(Level::id).collect())
    }

    /// A range has a word for each end.
    fn range(&self, row: &OptionDef) -> Result<Option<(u64, u64)>, Problem> {
        let [from, to] = row.words else { return Ok(None) };
        match (self.number(RequestWord(from))?, self.number(RequestWord(to))?) {
            (Some(from), Some(to)) => Ok(Some((from, to))),
            (None, None) => Ok(None),
            _ => Err(Problem::query(format!("{from} and {to} go together"))),
        }
    }

    /// What the rows of a grid are ordered by.
    pub fn order(&self) -> Order {
        match self.text(words::SORT) {
            Some("name") => Order::Name,
            Some(CPU_SELF) => Order::CpuSelf,
            Some(WAIT_SELF) => Order::WaitSelf,
            _ => Order::Metric,
        }
    }

    /// The value of a word, when it has one.
    pub fn text(&self, word: RequestWord) -> Option<&str> {
        self.words.iter().find(|(key, _)| key == word.0).map(|(_, value)| value.as_str())
    }

    /// Every value of a word.
    pub fn all(&self, word: RequestWord) -> impl Iterator<Item = &str> {
        self.words.iter().filter(move |(key, _)| key == word.0).map(|(_, value)| value.as_str())
    }

    /// A word that is a number.
    pub fn number<T: std::str::FromStr>(&self, word: RequestWord) -> Result<Option<T>, Problem> {
        let parse = |text: &str| text.parse().map_err(|_| Problem::query(format!("`{}` takes a number", word.0)));
        self.text(word).map(parse).transpose()
    }

    /// The value of a word that must be there.
    pub fn needed(&self, word: RequestWord) -> Result<&str, Problem> {
        self.text(word).ok_or_else(|| Problem::query(format!("`{}` is missing", word.0)))
    }

    /// A number that must be there.
    pub fn needed_number<T: std::str::FromStr>(&self, word: RequestWord) -> Result<T, Problem> {
        self.number(word)?.ok_or_else(|| Problem::query(format!("`{}` is missing", word.0)))
    }

    /// A word that is 1 or absent.
    pub fn flag(&self, word: RequestWord) -> bool {
        self.text(word).is_some_and(|value| matches!(value, "1" | "true" | "yes" | "on"))
    }
}

fn if_some<T>(value: Option<T>, then: impl FnOnce(T)) {
    if let Some(value) = value {
        then(value);
    }
}

/// Whether a question understands the text. `start` orders the timeline's bands, and the others the rows of trees; none is a metric.
fn is_of_question(word: RequestWord, text: &str) -> bool {
    word != words::SORT || !matches!(text, "name" | "start" | CPU_SELF | WAIT_SELF)
}

/// `FROM-TO` in ns.
fn parse_range(text: &str) -> Result<(u64, u64), Problem> {
    let range = text.split_once('-').and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    range.ok_or_else(|| Problem::query("`excluded-range` is FROM-TO in nanoseconds"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_differ_in_filters_alone_are_one_without_them() {
        let parse = |text: &str| format!("{:?}", Params::parse(&text.parse().unwrap()).unwrap().without_filters());
        assert_eq!(parse("/?limit=7&filter=thread=a&exclude=thread=b&from=1&to=2"), parse("/?limit=7&from=1&to=2"));
        assert_ne!(parse("/?from=1&to=2"), parse("/?from=1&to=3"));
    }

    fn parse(query: &str) -> Result<Params, Problem> {
        Params::parse(&format!("/x?{query}").parse().unwrap())
    }

    #[test]
    fn words_are_the_command_lines() {
        let params =
            parse("from=5&to=9&filter=thread%3Da*&filter=cpu=1&group-by=object,function&metrics=wait_ns&ok=0.9");
        let query = params.unwrap().query;
        assert_eq!((query.range, query.filters.len(), query.group_by.len()), (Some((5, 9)), 2, 2));
        assert_eq!((query.metrics[0].id, query.thresholds.ok), ("wait_ns", 0.9));
        assert!(parse("sort=start").unwrap().query.sort.is_none());
    }

    #[test]
    fn nonsense_is_an_error() {
        for query in ["from=1", "from=x&to=2", "filter=tread=x", "group-by=functoin", "limit=-1", "sort=size"] {
            assert!(parse(query).is_err(), "{query}");
        }
        assert!(parse("ideal=NaN&poor=inf&bins=0").unwrap().query.thresholds.poor.is_finite());
    }
}
