//! Whose programs those may record who are not root: their own, unless `/etc/dwell.conf` says otherwise.
//!
//! The file has lines `processes = own` or `processes = all`, and comments behind `#`. It counts only when it is root's and
//! nobody else can write to it. Nothing in the environment has a say: the program has capabilities, its user has not.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use dwell_rights::{BPF, PERFMON, PTRACE, RIGHTS, Raised, SYSLOG, raise};

use crate::error::{Hinted, Result};
use crate::terminal;

/// Where the configuration is.
pub const FILE: &str = "/etc/dwell.conf";
/// More than that is no configuration.
const MOST_BYTES: u64 = 64 << 10;
const ALL_USERS: &str = "\
# Written by `dwell install --all-users`. Members of Dwell's group may record
# the programs of: own (only themselves), all (every user, root too).
processes = all
";

/// Whether everyone's programs may be recorded.
pub fn all_users() -> bool {
    match read() {
        Ok(text) => says_all(&text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => {
            terminal::print_line(format_args!("dwell: {FILE} does not count: {error}"));
            false
        }
    }
}

/// Keeps the rights that a collection takes, without effect until it raises them. Returns whether only the user's own programs may
/// be recorded: only the kernel restricts root, and users without rights from Dwell's file.
pub fn begin_collection() -> Result<bool> {
    if dwell_rights::held().is_empty() {
        return Ok(false);
    }
    let own_only = !all_users();
    let kept: &[_] = if own_only { &[BPF, PERFMON, PTRACE, SYSLOG] } else { &RIGHTS };
    keep(kept)?;
    Ok(own_only)
}

/// Keeps only these rights, for good.
pub fn keep(rights: &[dwell_rights::Right]) -> Result<()> {
    dwell_rights::keep(rights).map_err(|error| Hinted::new(format!("cannot give up capabilities: {error}")))
}

/// The kernel's symbols in force to be read, and nothing else.
pub fn to_read_symbols() -> Raised {
    raise(&[SYSLOG])
}

fn read() -> io::Result<String> {
    let file = dwell_files::open_regular(Path::new(FILE))?;
    let metadata = file.metadata()?;
    if metadata.uid() != 0 || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "someone other than root can write to it"));
    }
    let mut text = String::new();
    file.take(MOST_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// The last line that says it counts.
fn says_all(text: &str) -> bool {
    let lines = text.lines().rev().map(|line| line.split('#').next().unwrap_or_default());
    let mut values = lines.filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "processes").then(|| value.trim())
    });
    values.next() == Some("all")
}

/// Writes the configuration that allows everyone's programs. One that is there already stays when it says so.
pub fn allow_all_users() -> Result<()> {
    if all_users() {
        return Ok(());
    }
    let failed = |error: io::Error| {
        let hint = format!("write the line `processes = all` into {FILE} yourself");
        Hinted::new(format!("cannot write {FILE}: {error}")).hint(hint)
    };
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o644);
    let mut file = options.open(FILE).map_err(failed)?;
    // Whatever the umask: members read it, or it does not count.
    file.set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed)?;
    file.write_all(ALL_USERS.as_bytes()).map_err(failed)
}

/// Removes the configuration if it is as [`allow_all_users`] wrote it. Returns whether it was.
pub fn forget_all_users() -> Result<bool> {
    if !read().is_ok_and(|text| text == ALL_USERS) {
        return Ok(false);
    }
    fs::remove_file(FILE).map_err(|error| Hinted::new(format!("cannot remove {FILE}: {error}")))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_all_allows_all() {
        assert!(says_all(ALL_USERS));
        assert!(says_all("processes=own\n processes = all # for now\n"));
        for own in
            ["", "processes = own", "# processes = all", "processes = all\nprocesses = own", "all", "processes = ALL"]
        {
            assert!(!says_all(own), "{own}");
        }
    }
}
