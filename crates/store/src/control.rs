//! What is asked of a collection that runs, and what it answers: a line each, over the socket in its result's folder.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The socket's name in a result's folder, there while the collection runs.
pub const CONTROL_SOCKET: &str = "control";
/// Bytes of a line at most.
pub const MOST_LINE_BYTES: usize = 4096;
/// Ids of processes in a reply at most.
pub const MOST_PROCESSES: usize = 20_000;

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ControlRequest {
    /// How it goes.
    Status,
    /// Record no more until it is resumed.
    Pause,
    /// Record again.
    Resume,
    /// End as by Ctrl-C: what was recorded is kept.
    Stop,
    /// End, and throw away what was recorded.
    Cancel,
    /// Mark this instant with a text.
    Mark(String),
    /// Make a result of what was recorded until now, and go on.
    Snapshot,
    /// Which processes are recorded now.
    Processes,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ControlReply {
    /// It is done.
    Done,
    /// How it goes.
    Status(ControlStatus),
    /// The folder of the result that was made, within the collection's.
    Snapshot(String),
    /// Their ids, at most [`MOST_PROCESSES`], in no order.
    Processes(Vec<u32>),
    /// It cannot be done: why.
    Refused(String),
}

/// How a collection goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlStatus {
    /// The collector's process.
    pub pid: u32,
    /// Since the start, ns.
    pub elapsed_ns: u64,
    /// Whether recording is paused.
    pub paused: bool,
    /// Threads seen.
    pub threads: u64,
    /// Switches and samples recorded.
    pub events: u64,
    /// Records lost, of all kinds.
    pub losses: u64,
    /// Bytes of raw data.
    pub bytes: u64,
}

/// A line of JSON, with its end.
pub fn to_line(message: &impl Serialize) -> String {
    // These types have no map with keys that are no strings: nothing else fails.
    serde_json::to_string(message).unwrap_or_default() + "\n"
}

/// The message of such a line; none when it is no such message.
pub fn from_line<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_lines() {
        for request in [ControlRequest::Status, ControlRequest::Mark("a \"b\"\nc".into()), ControlRequest::Processes] {
            let line = to_line(&request);
            assert_eq!(line.matches('\n').count(), 1, "{line}");
            assert_eq!(from_line(&line), Some(request));
        }
        assert_eq!(to_line(&ControlRequest::Pause), "\"pause\"\n");
    }
}
