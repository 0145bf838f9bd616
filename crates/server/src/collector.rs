//! The process that makes collections for the page, as the server asks it: a line of JSON for a line of JSON, over a pair of sockets.
//!
//! The server is confined: it can neither record nor start a program. That process can, takes nothing but what stands here, and
//! checks it again: the server may have been taken over by a hostile result.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use dwell_store::ControlRequest;
use dwell_view::answer;
use serde::{Deserialize, Serialize};

use crate::problem::{Fault, Problem};

/// Where the page asks about collections.
pub const COLLECTIONS: &str = "/api/collections";
/// Bytes of a question at most.
pub const MOST_QUESTION_BYTES: usize = 64 << 10;
/// Bytes of an answer at most: a list of all processes has most.
const MOST_ANSWER_BYTES: u64 = 16 << 20;

/// What the page may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectorQuestion {
    /// The collections that it made: [`CollectionInfo`]s.
    Collections,
    /// The processes that can be attached to: [`ProcessInfo`]s.
    Processes,
    /// What a collection would be, and why it cannot be: a [`CollectionPlan`].
    Plan(CollectionRequest),
    /// To start one: its [`CollectionInfo`].
    Start(CollectionRequest),
    /// What the threads of one do, for as long as it is asked again and again: a [`CollectionPicture`].
    Picture(u32),
    /// To steer one: its [`CollectionInfo`].
    Steer {
        /// Number of the collection.
        collection: u32,
        /// How.
        request: ControlRequest,
    },
}

/// An analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectedAnalysis {
    /// `dwell collect threading`.
    Threading,
    /// `dwell collect latency`.
    Latency,
}

/// What is to be recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectionTarget {
    /// A program that is started for it.
    Program {
        /// Its path or name.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// The folder that it starts in; empty: the results' one.
        folder: String,
    },
    /// Running processes, by their ids.
    Processes(Vec<u32>),
    /// The processes of a control group, by its path.
    Cgroup(String),
    /// All processes of the machine.
    Machine,
}

/// A collection that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionRequest {
    /// What is analyzed.
    pub analysis: CollectedAnalysis,
    /// What is recorded.
    pub target: CollectionTarget,
    /// After how many seconds it ends; 0: with the program, or when it is told.
    pub duration_s: u32,
    /// Whether sockets are recorded, too.
    pub sockets: bool,
    /// Whether the whole machine is: processors, interrupts, traffic.
    pub system: bool,
    /// Whether each change of state of each goroutine is.
    pub exact_fibers: bool,
    /// Whether it begins without recording.
    pub start_paused: bool,
}

answer! {
    /// A collection that the page started.
    pub struct CollectionInfo {
        /// Its number.
        pub id: u32,
        /// Name of the result.
        pub result: String,
        /// The same on the command line.
        pub command: String,
        /// `starting`, `recording`, `paused`, `finalizing`, `finished`, `cancelled` or `failed`.
        pub state: &'static str,
        /// Since its start, ns.
        pub elapsed_ns: u64,
        /// Threads seen.
        pub threads: u64,
        /// Switches and samples recorded.
        pub events: u64,
        /// Records lost, of all kinds.
        pub losses: u64,
        /// Bytes of raw data.
        pub bytes: u64,
        /// The end of what the program printed.
        pub output: String,
        /// Why it failed, or what the collector had to say.
        pub problem: String,
    }
}

answer! {
    /// The collections of GET /api/collections.
    pub struct CollectionList {
        /// Whether this `dwell view` starts any.
        pub enabled: bool,
        /// Those that it started, the newest first.
        pub collections: Vec<CollectionInfo>,
    }
}

answer! {
    /// What a collection would be.
    pub struct CollectionPlan {
        /// The same on the command line.
        pub command: String,
        /// Why it cannot be started; empty: it can.
        pub problem: String,
    }
}

answer! {
    /// A process that can be attached to.
    pub struct ProcessInfo {
        /// Its id.
        pub pid: u32,
        /// Its name.
        pub name: String,
        /// Its command line.
        pub command: String,
        /// Its threads.
        pub threads: u64,
        /// Time of its threads on CPUs in the last second.
        pub running_ns: u64,
        /// Time of its threads in run queues.
        pub runnable_ns: u64,
        /// Time in which its threads were blocked.
        pub waiting_ns: u64,
        /// What they wait for most, and because of whom.
        pub explanation: String,
    }
}

/// An answer on its way to the page.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CollectorAnswer {
    /// The document.
    Document(serde_json::Value),
    /// Why there is none.
    Refused {
        /// One sentence.
        error: String,
        /// What to do.
        hint: String,
    },
}

/// The other process.
#[derive(Debug)]
pub struct Collector {
    socket: Mutex<BufReader<File>>,
}

impl Collector {
    /// The one at the other end of a pair of sockets.
    pub fn behind(socket: OwnedFd) -> Self {
        Self { socket: Mutex::new(BufReader::new(File::from(socket))) }
    }

    /// Asks it, and waits for the answer: a document as JSON.
    pub fn ask(&self, question: &CollectorQuestion) -> Result<String, Problem> {
        let gone = |_: io::Error| {
            let problem = Problem::new(Fault::CollectorGone, "the process that collects for this page is gone");
            problem.hint("start dwell view --collect again; what was recorded is kept")
        };
        let line = self.exchange(question).map_err(gone)?;
        match serde_json::from_str(&line).map_err(|error| gone(error.into()))? {
            CollectorAnswer::Document(document) => Ok(document.to_string()),
            CollectorAnswer::Refused { error, hint } => Err(Problem::new(Fault::NotCollected, error).hint(hint)),
        }
    }

    fn exchange(&self, question: &CollectorQuestion) -> io::Result<String> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        let mut line = serde_json::to_string(question)?;
        line.push('\n');
        socket.get_mut().write_all(line.as_bytes())?;
        let mut answer = String::new();
        (&mut *socket).take(MOST_ANSWER_BYTES).read_line(&mut answer)?;
        if answer.ends_with('\n') { Ok(answer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}
