//! Makes changes, and tells what was there before.

use std::fs;

use crate::change::{Change, write_command};
use crate::machine::{Machine, chosen};

/// What became of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The check that it is of.
    pub name: &'static str,
    /// The file's path.
    pub path: String,
    /// What it said before.
    pub before: String,
    /// What it says now.
    pub after: String,
    /// Why it was not written.
    pub error: Option<String>,
}

/// Writes the files of a change, if it has any.
pub fn apply(machine: &Machine, name: &'static str, change: &Change) -> Vec<Applied> {
    let Change::Write { files, value, .. } = change else { return Vec::new() };
    files.iter().map(|path| write(machine, name, path, value)).collect()
}

fn write(machine: &Machine, name: &'static str, path: &str, value: &str) -> Applied {
    let read = || machine.text(path).map(|text| chosen(&text).to_owned()).unwrap_or_default();
    let before = read();
    let error = fs::write(machine.path(path), value).err().map(|error| error.to_string());
    Applied { name, path: path.into(), before, after: read(), error }
}

/// Writes back what was there before. Returns what could not be written.
pub fn restore(machine: &Machine, applied: &[Applied]) -> Vec<Applied> {
    let changed = applied.iter().filter(|done| done.before != done.after);
    let back = changed.map(|done| write(machine, done.name, &done.path, &done.before));
    back.filter(|done| done.error.is_some()).collect()
}

/// The commands that bring back what was there before, one for each value.
pub fn undo(applied: &[Applied]) -> Vec<String> {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for done in applied.iter().filter(|done| done.before != done.after) {
        match commands.iter_mut().find(|(value, _)| *value == done.before) {
            Some((_, files)) => files.push(&done.path),
            None => commands.push((&done.before, vec![&done.path])),
        }
    }
    commands.into_iter().map(|(value, files)| write_command(value, &files.join(" "))).collect()
}
