//! The folder of a program's own sources, which its places need not repeat.

use std::iter::zip;

/// Where what others wrote lies, though it is compiled into the program or loaded by it.
const FOREIGN: &[&str] =
    &["/.cargo/registry/", "/.cargo/git/", "/go/pkg/mod/", "/site-packages/", "/dist-packages/", "/node_modules/"];
/// The same from the root on.
const FOREIGN_ROOTS: &[&str] = &["/usr/", "/build/", "/rustc/"];

/// The deepest folder that all of the files lie in that are the program's own, with the slash at its end; empty where they
/// share only the root, or where no path is absolute.
pub fn project_of<'t>(files: impl Iterator<Item = &'t str>) -> &'t str {
    let own = files.filter(|file| file.starts_with('/') && !is_foreign(file));
    let shared = own.map(folder).reduce(|shared, folder| &shared[..common(shared, folder)]).unwrap_or_default();
    if shared.len() > 1 { shared } else { "" }
}

fn is_foreign(file: &str) -> bool {
    FOREIGN_ROOTS.iter().any(|root| file.starts_with(root)) || FOREIGN.iter().any(|part| file.contains(part))
}

fn folder(file: &str) -> &str {
    &file[..file.rfind('/').map_or(0, |slash| slash + 1)]
}

/// Length of the folders that both begin with.
fn common(first: &str, second: &str) -> usize {
    let same = zip(first.bytes(), second.bytes()).take_while(|(a, b)| a == b).count();
    first.as_bytes()[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[&'static str]) -> &'static str {
        project_of(files.iter().copied())
    }

    #[test]
    fn the_deepest_folder_that_own_sources_share() {
        assert_eq!(
            project(&["/home/me/app/src/a.c", "/home/me/app/src/io/b.c", "/usr/include/x.h"]),
            "/home/me/app/src/"
        );
        assert_eq!(project(&["/home/me/app/src/a.c", "/home/me/app/lib/b.c"]), "/home/me/app/");
        assert_eq!(project(&["/home/me/appl/a.c", "/home/me/app/b.c"]), "/home/me/");
        assert_eq!(project(&["/home/me/.cargo/registry/src/x/y.rs", "/home/me/app/b.rs"]), "/home/me/app/");
        assert_eq!(project(&["/app/ä/a.c", "/app/ö/b.c"]), "/app/");
    }

    #[test]
    fn files_without_one_keep_their_names() {
        for files in [&["/a/b.c", "/c/d.c"][..], &["src/a.c", "src/b.c"], &["/usr/src/a.c"], &["/a.c"], &[]] {
            assert_eq!(project(files), "");
        }
    }
}
