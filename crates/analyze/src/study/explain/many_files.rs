//! Reads of many files are one cause: a program that loads its modules from a cold disk waits a little for each, and no one file is why.

use std::collections::BTreeMap;

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::{CauseKind, RoleId};

/// Calls that look for, open or read a file.
#[rustfmt::skip]
const READS: &[&str] = &[
    "read", "pread64", "readv", "preadv", "preadv2", "open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access",
    "faccessat2", "getdents64", "readlink", "readlinkat",
];
/// Files from which on they are many, where none of them takes half of the time.
const MANY: usize = 4;

/// The causes, those that read many files for one role as one.
pub fn many_files_as_one(names: &mut Names<'_, '_>, causes: Vec<RootCause>) -> Vec<RootCause> {
    let mut of_role: BTreeMap<(RoleId, bool), Vec<RootCause>> = BTreeMap::new();
    let mut merged = Vec::new();
    for root in causes {
        match file_of(names, &root) {
            Some(_) => of_role.entry((root.cause.role, root.is_of_the_end())).or_default().push(root),
            None => merged.push(root),
        }
    }
    for reads in of_role.into_values() {
        if is_of_many(&reads) {
            merged.extend(as_one(names, reads));
        } else {
            merged.extend(reads);
        }
    }
    merged
}

/// The path of the file that the cause reads, where a device is why.
fn file_of<'n>(names: &'n Names<'_, '_>, root: &RootCause) -> Option<&'n str> {
    let label = names.label(root.cause.label);
    let (_, path) = label.strip_suffix(')')?.split_once('(')?;
    let reads = names.call(root.cause.label).is_some_and(|call| READS.contains(&call.as_str()));
    let path = path.strip_prefix("file ").unwrap_or(path);
    (root.cause.kind == CauseKind::Device && reads && path.starts_with('/')).then_some(path)
}

fn is_of_many(reads: &[RootCause]) -> bool {
    let ns = |root: &RootCause| root.wait_ns.max(root.path_ns);
    let (all, most) = reads.iter().map(ns).fold((0, 0), |(all, most), ns| (all + ns, most.max(ns)));
    reads.len() >= MANY && 2 * most < all
}

/// One cause, at the place of the first one; none of none.
fn as_one(names: &mut Names<'_, '_>, reads: Vec<RootCause>) -> Option<RootCause> {
    let folder = reads.iter().filter_map(|root| file_of(names, root)).reduce(shared_folder).unwrap_or("/").to_owned();
    let text = format!("{} files below {folder}", reads.len());
    let mut one = reads.into_iter().reduce(|mut one, other| {
        one.add(other);
        one
    })?;
    one.cause.label = names.label_like(one.cause.label, text);
    Some(one)
}

/// The deepest folder that has both paths below it.
fn shared_folder<'p>(one: &'p str, other: &str) -> &'p str {
    let same = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    match one.as_bytes()[..same].iter().rposition(|byte| *byte == b'/') {
        Some(0) | None => "/",
        Some(end) => &one[..end],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_shared_by_whole_names() {
        let shared = |paths: &[&'static str]| paths.iter().copied().reduce(shared_folder);
        assert_eq!(shared(&["/usr/lib/a.so", "/usr/lib/python3/b.pyc"]), Some("/usr/lib"));
        assert_eq!(shared(&["/usr/lib/ab", "/usr/lib/ac", "/usr/libexec/x"]), Some("/usr"));
        assert_eq!(shared(&["/srv/a", "/usr/b"]), Some("/"));
    }
}
