//! The words of an address's query: the same as the options of `dwell report`.

use axum::http::Uri;
use dwell_analyze::explore::{GridLevel, Order, parse_grid_levels};
use dwell_analyze::{CallStackMode, Filter, FilterKey, FrameRates, Level, Query, parse_metric};

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
        self.words.retain(|(name, _)| name != "filter" && name != "exclude");
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
        let mut query = Query { subject: self.text("subject").map(str::to_owned), ..Query::default() };
        query.range = match (self.number("from")?, self.number("to")?) {
            (Some(from), Some(to)) => Some((from, to)),
            (None, None) => None,
            _ => return Err(Problem::query("from and to go together")),
        };
        for filter in self.all("filter") {
            query.filters.push(Filter::parse(filter)?);
        }
        for filter in self.all("exclude") {
            query.exclude.push(Filter::parse(filter)?);
        }
        for range in self.all("excluded-range") {
            query.excluded_ranges.push(parse_range(range)?);
        }
        // Grids go on through the stacks behind their last level; reports know levels only.
        let levels = parse_grid_levels(self.text("group-by").unwrap_or_default())?;
        query.group_by = levels.into_iter().filter_map(GridLevel::level).collect();
        for metric in self.text("metrics").into_iter().flat_map(|metrics| metrics.split(',')) {
            query.metrics.push(parse_metric(metric.trim())?);
        }
        // `start` orders the timeline's bands; it is no metric either.
        let metric = |word: &&str| !matches!(*word, "name" | "start" | CPU_SELF | WAIT_SELF);
        query.sort = self.text("sort").filter(metric).map(parse_metric).transpose()?;
        if self.text("key") == Some(FilterKey::Cpu.id()) {
            // The list of CPUs needs sums by CPU.
            query.only_cpus = query.group_by.is_empty();
            query.group_by.push(Level::Cpu);
        }
        query.limit = self.number("limit")?;
        query.bins = self.number("bins")?.unwrap_or(query.bins).max(1);
        query.target_concurrency = self.number("target-concurrency")?.filter(|threads| *threads > 0);
        query.include_idle = self.flag("include-idle");
        query.inlines = self.text("inlines") != Some("off");
        if let Some(mode) = self.text("call-stack-mode") {
            query.call_stack_mode = CallStackMode::parse(mode)?;
        }
        for (name, limit) in [
            ("poor", &mut query.thresholds.poor),
            ("ok", &mut query.thresholds.ok),
            ("ideal", &mut query.thresholds.ideal),
        ] {
            *limit = self.number(name)?.filter(|share: &f64| share.is_finite()).unwrap_or(*limit);
        }
        if let Some(rates) = self.text("frame-rates") {
            query.frame_rates = FrameRates::parse(rates)?;
        }
        Ok(query)
    }

    /// What the rows of a grid are ordered by.
    pub fn order(&self) -> Order {
        match self.text("sort") {
            Some("name") => Order::Name,
            Some(CPU_SELF) => Order::CpuSelf,
            Some(WAIT_SELF) => Order::WaitSelf,
            _ => Order::Metric,
        }
    }

    /// The value of a word, when it has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.words.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Every value of a word.
    pub fn all<'a>(&'a self, name: &'static str) -> impl Iterator<Item = &'a str> {
        self.words.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A word that is a number.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Problem> {
        let parse = |text: &str| text.parse().map_err(|_| Problem::query(format!("`{name}` takes a number")));
        self.text(name).map(parse).transpose()
    }

    /// A word that is 1 or absent.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| matches!(value, "1" | "true" | "yes" | "on"))
    }
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
