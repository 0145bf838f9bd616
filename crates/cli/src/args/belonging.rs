//! `--all`, `--cgroup`, `--unit`, `--container`: processes by what they belong to.

use clap::Args;

const HEADING: &str = "What to profile";

/// What the processes belong to. With none of these given, nothing is chosen.
#[derive(Args, Debug, Default)]
#[group(id = "belonging", multiple = true)]
pub struct BelongingArgs {
    /// Every process of the machine; without root, every one of yours.
    #[arg(short, long, help_heading = HEADING, conflicts_with_all = ["cgroup", "unit", "container"])]
    pub all: bool,
    /// The processes of these control groups, and what joins them later: a path, also with * and ?, or a name; can be given several
    /// times.
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub cgroup: Vec<String>,
    /// The processes of these units of systemd; can be given several times.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub unit: Vec<String>,
    /// The processes of these containers or pods, by name or id (Docker, Podman, containerd, Kubernetes, LXC); can be given several
    /// times.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub container: Vec<String>,
}
