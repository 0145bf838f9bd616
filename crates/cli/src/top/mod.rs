//! `dwell top`: who runs, who waits, for what, because of whom, right now.

mod exact;
mod explanation;
mod once;
mod sampler;
mod screen;
mod stacks;

use std::process::ExitCode;

use crate::args::TopArgs;
use crate::error::Result;
pub use explanation::{Threads, target_of};
pub use sampler::{BUDGET, Sampler, thread_time};
pub use stacks::{parse as thread_of_process, run as print_stacks};

/// Shows the screen, or prints one interval.
pub fn run(args: &TopArgs) -> Result<ExitCode> {
    let sampler = Sampler::open(args)?;
    if args.once { once::run(args, sampler) } else { screen::run(args, sampler) }
}
