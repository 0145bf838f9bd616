//! What a collection can look at: the words of `--analyze`.

/// What is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// Threads: where they run, what they wait on. Always recorded.
    Threading,
    /// Sockets: why waits on them take as long as they do.
    Sockets,
    /// The whole machine: network, interrupts, processor time.
    System,
    /// What delays threads while they run or could run.
    Latency,
}

impl Topic {
    /// Every topic.
    pub const ALL: &'static [Self] = &[Self::Threading, Self::Sockets, Self::System, Self::Latency];

    /// The word on the command line and in the manifest.
    pub fn id(self) -> &'static str {
        match self {
            Self::Threading => "threading",
            Self::Sockets => "sockets",
            Self::System => "system",
            Self::Latency => "latency",
        }
    }

    /// One line of help.
    pub fn help(self) -> &'static str {
        match self {
            Self::Threading => "Threads: where they run and what they wait on; always recorded.",
            Self::Sockets => "Sockets: why waits on them take as long as they do.",
            Self::System => "The whole machine: network, interrupts, system calls, processor time.",
            Self::Latency => "What delays threads: interrupts, page faults, preemption, system calls, one by one.",
        }
    }

    /// The topic of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|topic| topic.id() == word)
    }
}
