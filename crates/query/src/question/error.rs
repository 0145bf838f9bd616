//! Questions that cannot be answered: each error says which word is wrong, and carries the nearest one.

use dwell_view::duration;

/// A question that cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// A name that is in no table.
    #[error("there is no {what} `{name}`")]
    Unknown {
        /// What it should name: `grouping level`, `object`, …
        what: &'static str,
        /// The name given.
        name: String,
        /// The most similar name that there is.
        nearest: Option<String>,
    },
    /// A handle of nothing that is in the result.
    #[error("there is no {what} `{handle}`")]
    UnknownHandle {
        /// `object`, `thread` or `finding`.
        what: &'static str,
        /// The handle as given.
        handle: String,
    },
    /// The handle of a thread where fibers stand for those that carried them.
    #[error("nothing is told of a thread `{handle}` here: goroutines stand for the threads that carried them")]
    ThreadOfFibers {
        /// The handle as given.
        handle: String,
    },
    /// A handle where two results are asked, each with its own.
    #[error("`{handle}` is the handle of a row of one result, and two are compared")]
    HandleOfOne {
        /// The handle as given.
        handle: String,
    },
    /// A question about fibers of a result without them.
    #[error("no fibers were seen: Dwell knows the goroutines of Go 1.18 to 1.26")]
    NoFibers,
    /// A filter without `=`.
    #[error("`{text}` is no filter: it has the form KEY=VALUE, such as thread=worker*")]
    FilterForm {
        /// The filter as given.
        text: String,
    },
    /// A filter by length without a range.
    #[error("`{text}` is no range of lengths: it has the form FROM-TO, such as 100us-5ms, 1ms- or -10us")]
    LengthForm {
        /// The range as given.
        text: String,
    },
    /// A filter by a counter's value without a condition.
    #[error("`{text}` is no condition of a counter: it has the form NAME<=NUMBER, with one of <= >= < > =")]
    CounterForm {
        /// The condition as given.
        text: String,
    },
    /// A filter by number without one.
    #[error("`{text}` is no number: the filter has a form such as {key}=3")]
    NumberForm {
        /// The filter's key.
        key: &'static str,
        /// The value as given.
        text: String,
    },
    /// Limits of frame rates that are none.
    #[error("`{text}` is no pair of frame rates: it has the form SLOW,FAST in frames a second, such as 40,100")]
    FrameRates {
        /// The limits as given.
        text: String,
    },
    /// The report needs an object or a function.
    #[error("this report needs the name of {what}")]
    SubjectMissing {
        /// `an object` or `a function`.
        what: &'static str,
    },
    /// A name that several have.
    #[error("`{name}` is not one but {}", several(choices, *more))]
    Ambiguous {
        /// The name given.
        name: String,
        /// What it could be: modules, or names.
        choices: Vec<String>,
        /// How many more it could be.
        more: usize,
        /// Whether the module tells them apart.
        by_module: bool,
    },
    /// A function of which there is nothing to list.
    #[error("there is no listing of `{function}`: {reason}")]
    NoListing {
        /// The function.
        function: String,
        /// Why, a clause.
        reason: String,
    },
    /// A range without time in it, or all of it excluded.
    #[error("the time range is empty: it must end after it starts, within the collection's {}", duration(*elapsed_ns))]
    EmptyRange {
        /// Length of the collection.
        elapsed_ns: u64,
    },
}

impl QueryError {
    /// An unknown `name` with the most similar of `known`.
    pub fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Unknown { what, name: name.to_owned(), nearest: nearest(name, known) }
    }
}

/// `2: a, b`.
fn several(choices: &[String], more: usize) -> String {
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}: {}{rest}", choices.len() + more, choices.join(", "))
}

/// The name of `known` that is most similar to `name`, when one is similar at all.
fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let lower = name.to_lowercase();
    let score = |candidate: &str| strsim::jaro_winkler(&lower, &candidate.to_lowercase());
    let scored = known.into_iter().map(|candidate| (score(candidate), candidate));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.7).then(|| best.1.to_owned())
}
