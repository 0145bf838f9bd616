//! Reads of many files are one cause: a program that loads its modules from a cold disk, or goes through a folder that another program serves
//! (FUSE), waits a little for each, and no one file is why.

use std::collections::BTreeMap;

use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::{CauseKind, LabelId, RoleId};

/// Calls that look for, open or read a file.
#[rustfmt::skip]
const READS: &[&str] = &[
    "read", "pread64", "readv", "preadv", "preadv2", "open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access",
    "faccessat2", "getdents64", "readlink", "readlinkat",
];
/// What they are called behind their number.
const FILES: &str = " files";
/// Part of the files that a folder must have below it to be named.
const MOST: f64 = 0.8;
/// Files from which on they are many, where none of them takes half of the time.
const MANY: usize = 4;

/// The causes, those that read many files for one role as one.
pub fn many_files_as_one(names: &mut Names<'_, '_>, causes: Vec<RootCause>) -> Vec<RootCause> {
    let mut of_role: BTreeMap<(RoleId, CauseKind, bool), Vec<RootCause>> = BTreeMap::new();
    let mut merged = Vec::new();
    for root in causes {
        match file_of(names, &root) {
            Some(_) => of_role.entry((root.cause.role, root.cause.kind, root.is_of_the_end())).or_default().push(root),
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

/// The path of the file that the cause reads, where a device or whoever serves the file system is why.
fn file_of<'n>(names: &'n Names<'_, '_>, root: &RootCause) -> Option<&'n str> {
    let may_be = matches!(root.cause.kind, CauseKind::Device | CauseKind::Outside | CauseKind::Kernel);
    called_file(names, root.cause.label).filter(|_| may_be)
}

/// The path of the file that what has the label looks for, opens or reads.
pub fn called_file<'n>(names: &'n Names<'_, '_>, label: LabelId) -> Option<&'n str> {
    let (_, path) = names.label(label).strip_suffix(')')?.split_once('(')?;
    let reads = names.call(label).is_some_and(|call| READS.contains(&call.as_str()));
    let path = path.strip_prefix("file ").unwrap_or(path);
    (reads && path.starts_with('/')).then_some(path)
}

/// Whether what has the label is many files, as [`many_files_as_one`] calls them.
pub fn is_of_many_files(names: &Names<'_, '_>, label: LabelId) -> bool {
    names.label(label).contains(FILES) && names.call(label).is_some_and(|call| READS.contains(&call.as_str()))
}

fn is_of_many(reads: &[RootCause]) -> bool {
    let ns = |root: &RootCause| root.wait_ns.max(root.path_ns);
    let (all, most) = reads.iter().map(ns).fold((0, 0), |(all, most), ns| (all + ns, most.max(ns)));
    reads.len() >= MANY && 2 * most < all
}

/// One cause, at the place of the first one; none of none.
fn as_one(names: &mut Names<'_, '_>, reads: Vec<RootCause>) -> Option<RootCause> {
    let files: Vec<&str> = reads.iter().filter_map(|root| file_of(names, root)).collect();
    let text = match folder_of_most(&files) {
        (folder, below) if below == files.len() => format!("{below}{FILES} below {folder}"),
        (folder, _) => format!("{}{FILES}, most of them below {folder}", files.len()),
    };
    let mut one = reads.into_iter().reduce(|mut one, other| {
        one.add(other);
        one
    })?;
    one.cause.label = names.label_like(one.cause.label, text);
    Some(one)
}

/// The deepest folder that has most of the files below it, and how many that are: a stray file or two say nothing of the others.
fn folder_of_most<'p>(files: &[&'p str]) -> (&'p str, usize) {
    let (mut folder, mut below) = ("/", files.to_vec());
    loop {
        let mut counts: BTreeMap<&'p str, usize> = BTreeMap::new();
        for next in below.iter().filter_map(|file| folder_within(file, folder)) {
            *counts.entry(next).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((next, _)) = most.filter(|(_, count)| *count as f64 >= MOST * files.len() as f64) else {
            return (folder, below.len());
        };
        below.retain(|file| folder_within(file, folder) == Some(next));
        folder = next;
    }
}

/// The folder of `folder` in which the file is; `None` where it is in `folder` itself.
fn folder_within<'p>(file: &'p str, folder: &str) -> Option<&'p str> {
    let begin = if folder == "/" { 1 } else { folder.len() + 1 };
    file.get(begin..)?.find('/').map(|end| &file[..begin + end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_most_files_is_named() {
        assert_eq!(folder_of_most(&["/usr/lib/a.so", "/usr/lib/python3/b.pyc"]), ("/usr/lib", 2));
        assert_eq!(folder_of_most(&["/usr/lib/ab", "/usr/lib/ac", "/usr/libexec/x"]), ("/usr", 3));
        assert_eq!(folder_of_most(&["/srv/a", "/usr/b"]), ("/", 2));
        let many: Vec<String> = (0..40).map(|file| format!("/opt/node/lib/{file}.js")).collect();
        let files: Vec<&str> = many.iter().map(String::as_str).chain(["/etc/hosts", "/x"]).collect();
        assert_eq!(folder_of_most(&files), ("/opt/node/lib", 40));
    }
}
