//! `dwell anatomy`: instruction traces, and what they would cost on a machine.
//! It takes the command's options, records or replays by `dwell-anatomy`, and prints reports.
//! It models and measures nothing itself.

mod chart;
mod names;
mod replay;
mod run;
mod system;

use std::process::ExitCode;

use crate::args::AnatomyCommand;
use crate::error::Result;

/// Does what the command line says.
pub fn run(command: &AnatomyCommand) -> Result<ExitCode> {
    match command {
        AnatomyCommand::Run(args) => run::program(args),
        AnatomyCommand::System(args) => system::scenario(args),
        AnatomyCommand::Report(args) => replay::report(args),
        AnatomyCommand::Compare(args) => replay::compare(args),
    }
}
