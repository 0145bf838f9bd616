//! The words of a task probe.

use std::path::PathBuf;

/// A task by its probes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskProbe {
    /// What its tasks are called.
    pub name: String,
    /// The program or library, by path or by name; `None` for the profiled program.
    pub file: Option<PathBuf>,
    /// Where in it.
    pub place: TaskPlaces,
}

/// Where a task begins and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskPlaces {
    /// From a function's entry to its return.
    Function(String),
    /// From one function's entry, or an address, to another's.
    Between {
        /// Where it begins.
        begin: String,
        /// Where it ends.
        end: String,
    },
    /// From one USDT probe to another.
    Usdt {
        /// Whose probes.
        provider: String,
        /// The one where it begins.
        begin: String,
        /// The one where it ends.
        end: String,
    },
    /// From one entry of a function to the same thread's next.
    Period(String),
    /// From one point to another, whatever they are.
    Points {
        /// Where it begins.
        begin: Point,
        /// Where it ends.
        end: Point,
    },
}

/// One end of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// The program or library, as of [`TaskProbe::file`].
    pub file: Option<PathBuf>,
    /// What in it.
    pub at: At,
}

/// What one end of an interval is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A function's entry, or an address.
    Function(String),
    /// A USDT probe.
    Usdt {
        /// Whose.
        provider: String,
        /// Its name.
        name: String,
    },
    /// A system call, by its name: its begin, or its end.
    Call(String),
}

const INTERVALS: &str = "socket, period:[FILE:]FUNCTION, or [name=NAME,]begin=PROBE,end=PROBE with PROBE one of \
                         uprobe:[FILE:]FUNCTION, usdt:[FILE:]PROVIDER:NAME and syscall:NAME";

const FORMS: &str =
    "NAME=uprobe:[FILE:]FUNCTION, NAME=uprobe:[FILE:]BEGIN..END or NAME=usdt:[FILE:]PROVIDER:BEGIN..END";

impl TaskProbe {
    /// Reads `NAME=uprobe:[FILE:]FUNCTION`, `NAME=uprobe:[FILE:]BEGIN..END` or `NAME=usdt:[FILE:]PROVIDER:BEGIN..END`.
    ///
    /// # Errors
    ///
    /// A sentence for the user.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let wrong = |why: &str| format!("{why}; a task probe is {FORMS}");
        let (name, probe) = text.split_once('=').ok_or_else(|| wrong(&format!("`{text}` has no name")))?;
        if name.is_empty() {
            return Err(wrong(&format!("`{text}` has no name")));
        }
        let (file, place) = match probe.split_once(':') {
            Some(("uprobe", rest)) => uprobe(rest),
            Some(("usdt", rest)) => usdt(rest),
            _ => return Err(wrong(&format!("`{probe}` begins neither with uprobe: nor with usdt:"))),
        }
        .ok_or_else(|| wrong(&format!("`{probe}` is incomplete")))?;
        Ok(Self { name: name.to_owned(), file: path(file), place })
    }
}

impl TaskProbe {
    /// Reads `period:[FILE:]FUNCTION` or `[name=NAME,]begin=PROBE,end=PROBE`.
    ///
    /// # Errors
    ///
    /// A sentence for the user.
    pub fn interval(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}` is no interval; one is {INTERVALS}");
        if let Some(rest) = text.strip_prefix("period:") {
            let Some((file, TaskPlaces::Function(function))) = uprobe(rest) else { return Err(wrong()) };
            let (name, file) = (format!("period {function}"), path(file));
            return Ok(Self { name, file, place: TaskPlaces::Period(function) });
        }
        let (name, rest) = match text.strip_prefix("name=").map(|rest| rest.split_once(",begin=")) {
            Some(named) => named.map(|(name, rest)| (Some(name), rest)).ok_or_else(wrong)?,
            None => (None, text.strip_prefix("begin=").ok_or_else(wrong)?),
        };
        let (begin, end) = rest.split_once(",end=").ok_or_else(wrong)?;
        let (begin, end) = point(begin).zip(point(end)).ok_or_else(wrong)?;
        let name = name.map_or_else(|| format!("{} to {}", begin.at.name(), end.at.name()), str::to_owned);
        Ok(Self { name, file: None, place: TaskPlaces::Points { begin, end } })
    }
}

impl At {
    fn name(&self) -> &str {
        match self {
            Self::Function(name) | Self::Usdt { name, .. } | Self::Call(name) => name,
        }
    }
}

pub(crate) fn path(file: Option<&str>) -> Option<PathBuf> {
    file.filter(|file| !file.is_empty()).map(PathBuf::from)
}

fn point(text: &str) -> Option<Point> {
    match text.split_once(':')? {
        ("uprobe", rest) => {
            let (file, TaskPlaces::Function(function)) = uprobe(rest)? else { return None };
            Some(Point { file: path(file), at: At::Function(function) })
        }
        ("usdt", rest) => {
            let (rest, name) = rest.rsplit_once(':').filter(|(_, name)| !name.is_empty())?;
            let (file, provider) =
                rest.rsplit_once(':').map_or((None, rest), |(file, provider)| (Some(file), provider));
            let at = At::Usdt { provider: provider.to_owned(), name: name.to_owned() };
            (!provider.is_empty()).then(|| Point { file: path(file), at })
        }
        ("syscall", name) => (!name.is_empty()).then(|| Point { file: None, at: At::Call(name.to_owned()) }),
        _ => None,
    }
}

type Parsed<'a> = Option<(Option<&'a str>, TaskPlaces)>;

fn uprobe(text: &str) -> Parsed<'_> {
    let (file, function) = match single_colon(text) {
        Some(at) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    };
    let place = match between(function) {
        Some((begin, end)) => TaskPlaces::Between { begin, end },
        None if function.is_empty() => return None,
        None => TaskPlaces::Function(function.to_owned()),
    };
    Some((file, place))
}

fn usdt(text: &str) -> Parsed<'_> {
    let (rest, probes) = text.rsplit_once(':')?;
    let (begin, end) = between(probes)?;
    let (file, provider) = rest.rsplit_once(':').map_or((None, rest), |(file, provider)| (Some(file), provider));
    (!provider.is_empty()).then(|| (file, TaskPlaces::Usdt { provider: provider.to_owned(), begin, end }))
}

/// `BEGIN..END`; the three dots of a C++ argument list separate nothing.
fn between(text: &str) -> Option<(String, String)> {
    let (begin, end) = text.split_once("..").filter(|(_, end)| !end.starts_with('.'))?;
    (!begin.is_empty() && !end.is_empty()).then(|| (begin.to_owned(), end.to_owned()))
}

/// The first colon that is not one of a `::`.
pub(crate) fn single_colon(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_single =
        |&at: &usize| bytes[at] == b':' && bytes.get(at + 1) != Some(&b':') && (at == 0 || bytes[at - 1] != b':');
    (0..bytes.len()).find(is_single)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> TaskProbe {
        TaskProbe::parse(text).expect("good")
    }

    #[test]
    fn functions_may_have_a_file_and_a_scope() {
        let probe = parse("parse=uprobe:/usr/bin/app:http::parse");
        assert_eq!((probe.name.as_str(), probe.file), ("parse", Some(PathBuf::from("/usr/bin/app"))));
        assert_eq!(probe.place, TaskPlaces::Function("http::parse".into()));
        assert_eq!(parse("x=uprobe:http::parse").file, None);
        assert_eq!(
            parse("x=uprobe::http::parse(int, ...)").place,
            TaskPlaces::Function("http::parse(int, ...)".into())
        );
        let place = TaskPlaces::Between { begin: "a::b".into(), end: "+0x10".into() };
        assert_eq!(parse("x=uprobe:libx.so:a::b..+0x10").place, place);
    }

    #[test]
    fn usdt_probes_have_a_provider() {
        let place =
            |begin: &str| TaskPlaces::Usdt { provider: "python".into(), begin: begin.into(), end: "stop".into() };
        let probe = parse("gc=usdt:/usr/bin/python3:python:start..stop");
        assert_eq!((probe.file, probe.place), (Some("/usr/bin/python3".into()), place("start")));
        assert_eq!(parse("gc=usdt:python:start..stop").file, None);
    }

    #[test]
    fn intervals_have_two_ends_or_a_period() {
        let interval = |text: &str| TaskProbe::interval(text).expect("good");
        let period = interval("period:/srv/app:ui::loop");
        assert_eq!((period.name.as_str(), period.file), ("period ui::loop", Some("/srv/app".into())));
        assert_eq!(period.place, TaskPlaces::Period("ui::loop".into()));
        let point = |file: Option<&str>, at| Point { file: file.map(PathBuf::from), at };
        let both = interval("begin=syscall:read,end=uprobe:libx.so:answer(int, char)");
        assert_eq!(both.name, "read to answer(int, char)");
        let (begin, end) = (At::Call("read".into()), At::Function("answer(int, char)".into()));
        assert_eq!(both.place, TaskPlaces::Points { begin: point(None, begin), end: point(Some("libx.so"), end) });
        let named = interval("name=turn,begin=usdt:app:start,end=usdt:/bin/x:app:stop");
        let usdt = |name: &str| At::Usdt { provider: "app".into(), name: name.into() };
        let place = TaskPlaces::Points { begin: point(None, usdt("start")), end: point(Some("/bin/x"), usdt("stop")) };
        assert_eq!((named.name.as_str(), named.place), ("turn", place));
        for bad in
            ["", "period:", "period:a..b", "begin=uprobe:f", "begin=f,end=g", "name=x", "begin=syscall:,end=syscall:a"]
        {
            let error = TaskProbe::interval(bad).expect_err(bad);
            assert!(error.contains("period:[FILE:]FUNCTION"), "{error}");
        }
    }

    #[test]
    fn what_is_incomplete_is_refused_with_the_forms() {
        let bad =
            ["", "x", "=uprobe:f", "x=f", "x=kprobe:f", "x=uprobe:", "x=uprobe:/bin/ls:", "x=usdt:p:a", "x=usdt:a..b"];
        for text in bad {
            let error = TaskProbe::parse(text).expect_err(text);
            assert!(error.contains("NAME=uprobe:[FILE:]FUNCTION"), "{error}");
        }
    }
}
