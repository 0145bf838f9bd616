//! Options of `dwell control`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Format;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Words:
  status            how the collection goes
  pause, resume     record no more, and again; paused time is left out everywhere
  stop              end the collection and finalize it, as Ctrl-C does
  cancel            end it and delete its result
  mark TEXT         mark this instant on the timeline
  snapshot          make a result of what was recorded until now, and go on

Examples:
  dwell control status
                    # of the newest result here
  dwell control r003th mark 'deployed 1.2'
  dwell report explain $(dwell control snapshot)

Only the owner of the result and root can steer its collection.";

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ControlWord {
    /// How it goes.
    Status,
    /// Record no more.
    Pause,
    /// Record again.
    Resume,
    /// End, and keep the result.
    Stop,
    /// End, and delete the result.
    Cancel,
    /// Mark this instant.
    Mark,
    /// Make a result of what was recorded until now.
    Snapshot,
}

/// Options of `dwell control`.
#[derive(Args, Debug)]
pub struct ControlArgs {
    /// The result's folder [default: the newest here], what is asked, and the text of a mark.
    #[arg(required = true, num_args = 1.., value_name = "WORD")]
    pub words: Vec<PathBuf>,
    /// Form of the status.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}
