//! Options of `dwell agent`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::parse;

/// The examples of its help.
pub const EXAMPLES: &str = "\
Examples:
  sudo dwell agent --store /var/lib/dwell/fleet
                    # until it is ended: what all processes waited for, a file per service each five minutes
  sudo dwell agent --store fleet --row 1s --duration 30s
  sudo --preserve-env dwell agent --store s3://BUCKET/PREFIX
                    # a bucket, with the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL
  dwell fleet report waits --store fleet
  dwell fleet report causes --store fleet
                    # what is in there, and why, by windows of exact recording
  dwell agent --check --config /etc/dwell/agent.toml
                    # whether a configuration is good, and which processes its rules are about

Every wait is in it, as in `dwell top --exact`: sums of the kernel, without stacks. Why they waited is
recorded in windows, at instants of chance. No command line leaves the host, and of environments only
what a rule names as a version; causes have the names of scripts.";

/// Options of `dwell agent`.
#[derive(Args, Debug)]
pub struct AgentArgs {
    /// Folder that the files are written to, DIR/day=YYYY-MM-DD/service=NAME/HOST-START.parquet, or a bucket: s3://BUCKET/PREFIX.
    #[arg(long, value_name = "DIR|S3", value_hint = ValueHint::DirPath, required_unless_present = "config")]
    pub store: Option<PathBuf>,
    /// Folder in which files wait while the store is away [default: one for each store in /var/lib/dwell/buffers].
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub buffer: Option<PathBuf>,
    /// What may wait there, MiB; then the oldest files are dropped [default: 64].
    #[arg(long, value_name = "MIB", value_parser = parse::mebibytes)]
    pub buffer_mib: Option<u64>,
    /// Time that a row has; rows end at its multiples on the clock [default: 5m].
    #[arg(long, value_name = "TIME", value_parser = parse::positive_seconds)]
    pub row: Option<u64>,
    /// End after so long [default: when SIGTERM or SIGINT comes].
    #[arg(short, long, value_name = "TIME", value_parser = parse::positive_seconds)]
    pub duration: Option<u64>,
    /// Name of this host in the rows [default: the machine's].
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// Length of windows in which the whole machine is recorded exactly, to say why its processes wait; 0 for none [default: 1s].
    #[arg(long, value_name = "TIME", value_parser = parse::window)]
    pub window: Option<u64>,
    /// CPU time that windows may take, percent of one CPU: they come as often as that lets them, at most once in a row [default: 1.0].
    #[arg(long, value_name = "PERCENT", value_parser = parse::cpu_percent)]
    pub cpu_percent: Option<f64>,
    /// Configuration: the options above, and rules that name services, in TOML. Options of the command line come before it; SIGHUP
    /// reads it again.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// Write nothing: tell whether the configuration and the store are good, and which processes each rule is about.
    #[arg(long, requires = "config")]
    pub check: bool,
}
