//! `dwell install` and `dwell uninstall`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

pub const INSTALL_EXAMPLES: &str = "\
Examples:
  sudo dwell install                    # /usr/local/bin/dwell, for the group dwell
  sudo usermod -aG dwell anna           # anna, once logged in again, needs no sudo:
  dwell collect threading -- ./app
  sudo dwell install --group profilers --prefix /opt/dwell
  sudo dwell install --all-users        # members may record everyone's programs
  sudo dwell install --in-place         # no copy: this file itself, as the Debian package does";

pub const UNINSTALL_EXAMPLES: &str = "\
Examples:
  sudo dwell uninstall
  sudo dwell uninstall --prefix /opt/dwell
  sudo dwell uninstall --in-place       # the file stays, without capabilities, for everybody";

/// Where the program is installed, and for whom.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Who may run it: this group and root. The group is made if it is not there.
    #[arg(long, value_name = "GROUP", default_value = "dwell", value_parser = parse_group)]
    pub group: String,
    /// The program goes to DIR/bin/dwell.
    #[arg(long, value_name = "DIR", default_value = "/usr/local", value_hint = ValueHint::DirPath)]
    pub prefix: PathBuf,
    /// Give the capabilities to this program where it lies, instead of to a copy.
    #[arg(long, conflicts_with = "prefix")]
    pub in_place: bool,
    /// Allow members to record the programs of all users, root's too; writes /etc/dwell.conf.
    #[arg(long)]
    pub all_users: bool,
}

/// What is to be removed.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// The program is DIR/bin/dwell.
    #[arg(long, value_name = "DIR", default_value = "/usr/local", value_hint = ValueHint::DirPath)]
    pub prefix: PathBuf,
    /// Take the capabilities from this program, which stays and which everybody may run.
    #[arg(long, conflicts_with = "prefix")]
    pub in_place: bool,
}

/// A name that groupadd(8) takes.
fn parse_group(word: &str) -> Result<String, String> {
    let begins = word.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let rest = word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
    if begins && rest && word.len() <= 32 {
        Ok(word.to_owned())
    } else {
        Err("a group's name has lower-case letters, digits, - and _, 32 at most, and begins with a letter or _".into())
    }
}
