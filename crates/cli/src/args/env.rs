//! Options of `dwell env`.

use clap::{Args, ValueEnum};

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  eval \"$(dwell env)\"; ./server &
  sudo dwell collect threading --target-process server --duration 10s
                    # with the server's own tasks and counters

A program that Dwell launches needs none of this. While nobody listens, what a
program announces costs it a few nanoseconds. Run it in the same container.";

/// Options of `dwell env`.
#[derive(Args, Debug)]
pub struct EnvArgs {
    /// Commands for a shell, or a JSON object.
    #[arg(long, value_enum, default_value_t)]
    pub format: EnvFormat,
}

/// Form of environment variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EnvFormat {
    /// export NAME=VALUE
    #[default]
    Shell,
    /// {"NAME": "VALUE"}
    Json,
}
