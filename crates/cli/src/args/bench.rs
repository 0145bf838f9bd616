//! The options of `dwell bench`.

use clap::{Args, Subcommand};

use super::format::Format;
use super::parse;

pub const EXAMPLES: &str = "\
Examples:
  dwell bench spsc                # 100,000 packets through a buffer of 10, 100,000 a second
  dwell bench spsc --help         # all options";

const SPSC_EXAMPLES: &str = "\
Examples:
  dwell bench spsc 1000000 10 1000000 --cpus 0,1
  sudo dwell bench spsc 1000000 10 1000000 --compare powersave,performance
                    # once with each frequency governor; the one before comes back
  sudo dwell collect latency -- dwell bench spsc 1000000 10 1000000
                    # each packet is an interval: what made the slow ones slow

A latency above the median and five times the median distance from it is an
outlier, or above --outlier. Both threads spin: each needs a CPU of its own.";

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Packets through a lock-free queue for one sender and one receiver; and messages through queues with and without a lock.
    #[command(after_help = SPSC_EXAMPLES)]
    Spsc(SpscArgs),
}

/// Options of `dwell bench spsc`.
#[derive(Args, Debug)]
pub struct SpscArgs {
    /// Packets to send.
    #[arg(default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub packets: u32,
    /// Packets that the queue holds.
    #[arg(default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub buffer: u32,
    /// Packets to send in a second; 0 for as many as can be.
    #[arg(default_value_t = 100_000, value_name = "PACKETS PER SECOND", value_parser = clap::value_parser!(u32).range(0..=1_000_000_000))]
    pub per_second: u32,
    /// CPUs of the sender and the receiver [default: two cores of one node, and of two nodes where there are several].
    #[arg(long, value_name = "A,B", value_parser = cpus)]
    pub cpus: Option<(u32, u32)>,
    /// Measure once with each of these frequency governors, such as powersave,performance.
    #[arg(long, value_name = "GOVERNORS", value_delimiter = ',')]
    pub compare: Vec<String>,
    /// What is longer is an outlier, such as 50us.
    #[arg(long, value_name = "TIME", value_parser = parse::positive_seconds)]
    pub outlier: Option<u64>,
    /// Leave out the queues with and without a lock.
    #[arg(long)]
    pub no_queues: bool,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

fn cpus(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once(',').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    pair.ok_or_else(|| format!("`{text}` is no pair of CPUs such as 0,1"))
}
