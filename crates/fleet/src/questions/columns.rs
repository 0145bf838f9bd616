//! The columns of answers: one table, from which the headings, the help and the types of their values come.

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Texts.
    Text,
    /// Plain numbers.
    Count,
    /// Nanoseconds.
    Duration,
    /// Unix times in ns.
    Instant,
    /// Numbers with a fraction.
    Real,
}

/// A column of an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name in SQL, JSON and CSV.
    pub id: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What its values are.
    pub kind: CellKind,
}

macro_rules! answer_columns {
    ($($kind:ident $id:literal $title:literal $help:literal;)*) => {
        static COLUMNS: &[AnswerColumn] =
            &[$(AnswerColumn { id: $id, title: $title, help: $help, kind: CellKind::$kind },)*];
    };
}

answer_columns! {
    Text "day" "Day" "Day in UTC";
    Text "service" "Service" "Unit of systemd, else the container, else the name of the process";
    Text "host" "Host" "Name of the host";
    Text "process" "Process" "Name of the process";
    Text "version" "Version" "Version of the program: of a variable, of the container's image, or the first digits of the build id";
    Text "object" "Object" "What was waited for";
    Text "object_type" "Type" "Type of the object";
    Text "kind" "Kind" "Kind of wait";
    Duration "wait_ns" "Wait Time" "Waiting time of all threads";
    Count "waits" "Waits" "Waits that ended";
    Duration "longest_ns" "Longest" "The longest wait, from where it began";
    Duration "running_ns" "Running" "Time on CPUs";
    Duration "runnable_ns" "Runnable" "Time in the run queue";
    Duration "length_ns" "Length" "Length of the row of time";
    Count "processes" "Processes" "Names of processes";
    Count "services" "Services" "Services";
    Count "hosts" "Hosts" "Hosts";
    Count "rows_of_time" "Rows" "Rows of time";
    Instant "first_t" "From" "Begin of the first row of time";
    Instant "t" "From" "Begin of the step";
    Duration "covered_ns" "Covered" "Time that rows of time cover, of all hosts";
    Real "per_s" "Wait/s" "Waiting time in seconds per second covered";
    Real "base_per_s" "Base Wait/s" "Waiting time of the first rows in seconds per second of a host";
    Real "new_per_s" "New Wait/s" "The same of the second rows";
    Real "difference_per_s" "Difference" "First - second";
    Real "ratio" "Ratio" "Second / first";
    Real "base_waits_per_s" "Base Waits/s" "Waits of the first rows per second of a host";
    Real "new_waits_per_s" "New Waits/s" "The same of the second rows";
    Text "cause" "Cause" "What waits are because of: who did what, where";
    Text "who" "Who" "The role of threads whose time it was";
    Text "place" "Place" "Where in the program";
    Text "chain" "Chain" "Who waited for what, because of whom: the largest one";
    Text "advice" "Advice" "What to do about it";
    Instant "row_t" "Stands From" "Begin of the time that the window stands for";
    Real "wait_per_s" "Wait/s" "Waiting time in seconds per second of a host, estimated by windows";
    Real "wait_per_s_error" "±" "Half of the 95 % interval around it, by the spread between windows; none with fewer than 3";
    Count "windows" "Windows" "Windows of exact recording in which the service had a process";
    Count "versions" "Versions" "Versions";
    Duration "window_ns" "Recorded" "Length of all windows";
    Duration "row_length_ns" "Stands For" "Length of the time that the window stands for";
    Duration "wall_ns" "Wall Time" "Time of the window in which anybody was delayed by it";
    Duration "cost_ns" "CPU Time" "CPU time that windows took";
    Real "cpu_percent" "CPU %" "The same per time that the windows stand for, percent of one CPU";
    Instant "end_t" "To" "End of the last row of time";
}

/// Columns that rows of waits can be grouped by.
pub(crate) const WAIT_GROUPS: [&str; 8] =
    ["day", "service", "host", "process", "version", "object", "object_type", "kind"];
/// The same of causes.
pub(crate) const CAUSE_GROUPS: [&str; 9] =
    ["day", "service", "host", "process", "version", "object", "kind", "cause", "who"];
/// The same of windows.
pub(crate) const WINDOW_GROUPS: [&str; 2] = ["day", "host"];
/// Columns that rows of some report can be grouped by.
pub const GROUPS: [&str; 10] =
    ["day", "service", "host", "process", "version", "object", "object_type", "kind", "cause", "who"];

/// The columns of the view `causes`.
pub(crate) fn columns_of_causes() -> impl Iterator<Item = &'static AnswerColumn> {
    let others =
        ["place", "chain", "advice", "t", "row_t", "window_ns", "row_length_ns", "wait_ns", "wall_ns", "cost_ns"];
    columns_of(CAUSE_GROUPS.into_iter().chain(others)).into_iter()
}

/// The columns of the view `waits`.
pub(crate) fn columns_of_views() -> impl Iterator<Item = &'static AnswerColumn> {
    let others = ["t", "length_ns", "waits", "wait_ns", "longest_ns", "running_ns", "runnable_ns"];
    columns_of(WAIT_GROUPS.into_iter().chain(others)).into_iter()
}

/// The columns of these names, in this order; a name that no column has is left out.
pub(crate) fn columns_of(ids: impl IntoIterator<Item = &'static str>) -> Vec<&'static AnswerColumn> {
    ids.into_iter().filter_map(|id| COLUMNS.iter().find(|column| column.id == id)).collect()
}
