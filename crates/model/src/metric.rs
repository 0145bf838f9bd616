//! The types of the metric table; the table itself is `dwell_analyze::METRICS`.

/// What a metric counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// A plain count.
    Count,
    /// A fraction, 1 = all.
    Fraction,
    /// Nanoseconds per count: a ratio of two sums.
    NsPerCount,
    /// Threads, a time average.
    Threads,
}

impl Unit {
    /// The word in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Count => "count",
            Self::Fraction => "fraction",
            Self::NsPerCount => "ns-per-count",
            Self::Threads => "threads",
        }
    }
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A lower value.
    Lower,
    /// A higher value.
    Higher,
    /// It depends.
    Neither,
}

impl Better {
    /// The word in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Lower => "lower",
            Self::Higher => "higher",
            Self::Neither => "neither",
        }
    }
}

/// What has to be collected for a metric to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// Context switches.
    Switches,
    /// Context switches and samples.
    Samples,
}

/// One metric: the one place from which columns, JSON fields and documentation are made.
#[derive(Clone, Copy, Debug)]
pub struct MetricDef {
    /// Name in JSON, CSV and on the command line, with its unit: `wait_ns`.
    pub id: &'static str,
    /// Title on the screen: `Wait Time`.
    pub title: &'static str,
    /// Unit of the value.
    pub unit: Unit,
    /// Whether the value of a whole is the sum of its parts'.
    pub additive: bool,
    /// Which direction is good.
    pub better: Better,
    /// What has to be collected.
    pub collector: Collector,
    /// One line.
    pub short_help: &'static str,
    /// The exact definition.
    pub long_help: &'static str,
    /// The title in Japanese.
    pub japanese_title: &'static str,
    /// The definition in Japanese.
    pub japanese_help: &'static str,
}
