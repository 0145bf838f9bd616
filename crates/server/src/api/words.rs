//! The words of requests: those of a question (`dwell_analyze::options`), and here those that only some calls understand. A request
//! is read by these constants, and the page's type of a request is made of them.

use dwell_analyze::options::{self, OptionDef};

/// A word of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestWord(pub &'static str);

/// What follows a word.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One text.
    Text,
    /// Texts; the word can come several times.
    Texts,
    /// A number.
    Number,
    /// 1, or 0 as without it.
    Flag,
}

/// A word that only some calls understand.
#[cfg(test)]
pub struct WordDef {
    /// The word.
    pub word: RequestWord,
    /// What follows it.
    pub kind: Kind,
    /// What it means.
    pub help: &'static str,
}

/// Declares words, and a constant for each.
macro_rules! words {
    ($($name:ident = $word:literal, $kind:ident, $help:literal;)*) => {
        $(#[doc = $help] pub const $name: RequestWord = RequestWord($word);)*

        /// Every word that is of no question.
        #[cfg(test)]
        pub const WORDS: &[WordDef] = &[$(WordDef { word: $name, kind: Kind::$kind, help: $help },)*];
    };
}

words! {
    A = "a", Text, "Id of the first result or trace to compare.";
    AT = "at", Number, "An instant, ns; of an instruction trace, the number of a call.";
    B = "b", Text, "Id of the second result or trace to compare.";
    BANDS = "bands", Text, "Rows of bands, with commas between them.";
    BY = "by", Text, "What bands or rows are of: thread, process, object, cpu, task; phase, function.";
    BY_THREAD = "by-thread", Flag, "A flame graph for each thread.";
    CALL = "call", Number, "Number of a call in an instruction trace.";
    COUNTER = "counter", Texts, "Names of counters; without them, all.";
    DEPTH = "depth", Number, "How deep calls are followed.";
    DESCENDING = "descending", Flag, "The largest first, or the last of the alphabet.";
    FILE = "file", Text, "A source file, in place of a function.";
    FUNCTION = "function", Text, "A function.";
    INDEX = "index", Number, "Which of several stacks, 0 for the heaviest.";
    INVERTED = "inverted", Flag, "From the leaves to their callers.";
    KEY = "key", Text, "The key of a filter whose values are listed.";
    KIND = "kind", Text, "Which stacks: all, cpu, wait, waker, creation.";
    LEVEL = "level", Text, "What the rows of a comparison are.";
    MACHINE = "machine", Text, "The machine that replays an instruction trace.";
    MIN_SHARE = "min-share", Number, "Nodes with a smaller share are left out.";
    MODULE = "module", Text, "The file that the function is in.";
    NUMBER = "number", Number, "Number of a call in an instruction trace.";
    OBJECT = "object", Text, "Only waits on objects of this name.";
    OF = "of", Text, "Which duration: wait, off_cpu, runnable.";
    OFFSET = "offset", Number, "Rows to leave out at the start.";
    PATH = "path", Text, "Keys of the rows from the top to a row, as a JSON array.";
    PHASE = "phase", Texts, "Phases to highlight.";
    SEARCH = "search", Text, "Only names with this in them.";
    SECOND = "second", Text, "The machine that replays the second instruction trace.";
    SYNTAX = "syntax", Text, "How instructions are written: intel, att.";
    TASK = "task", Number, "Row of a task.";
    THREAD = "thread", Number, "Row of a thread.";
    WEIGHT = "weight", Text, "What widths of a flame graph are: cpu, wait, both.";
    WIDTH = "width", Number, "Pixels.";
}

/// The word of an option that has one.
const fn of(option: &OptionDef) -> RequestWord {
    RequestWord(option.words[0])
}

/// `filter`.
pub const FILTER: RequestWord = of(&options::FILTER);
/// `exclude`.
pub const EXCLUDE: RequestWord = of(&options::EXCLUDE);
/// `sort`, which also orders bands and grids by what is no metric.
pub const SORT: RequestWord = of(&options::SORT);
/// `group-by`, which also leads through the stacks of a grid.
pub const GROUP_BY: RequestWord = of(&options::GROUP_BY);
/// `limit`, whose default differs from call to call.
pub const LIMIT: RequestWord = of(&options::LIMIT);
