//! The folders of the mounted cgroup file systems.

use std::fs;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

use crate::engines::Engines;
use crate::path::container_id;

/// Folders below each other that are looked into, and how many in all: a machine of 1,000 containers has some 5,000.
const DEEPEST: usize = 16;
const MOST_FOLDERS: usize = 100_000;

/// No control group fits what was asked for.
#[derive(Debug, PartialEq, Eq)]
pub struct NoSuchGroup {
    /// Where groups were looked for.
    pub roots: Vec<PathBuf>,
}

/// The mounted cgroup file systems: the unified one first, then those of the controllers.
pub struct Folders {
    roots: Vec<PathBuf>,
}

impl Folders {
    /// Those of this machine.
    pub fn here() -> Self {
        Self::of_mounts(&fs::read_to_string("/proc/self/mounts").unwrap_or_default())
    }

    fn of_mounts(text: &str) -> Self {
        let mut mounts: Vec<(bool, PathBuf)> = text
            .lines()
            .filter_map(|line| {
                let mut fields = line.split(' ');
                let (point, kind) = (fields.nth(1)?, fields.next()?);
                matches!(kind, "cgroup" | "cgroup2").then(|| (kind == "cgroup", PathBuf::from(point)))
            })
            .collect();
        mounts.sort_by_key(|(is_v1, _)| *is_v1);
        Self { roots: mounts.into_iter().map(|(_, point)| point).collect() }
    }

    /// The groups that a path names, with `*` and `?` in it: `/system.slice/nginx.service`, `/sys/fs/cgroup/docker/*`; without a
    /// slash, all of this name wherever they lie.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn matching(&self, pattern: &str) -> Result<Vec<PathBuf>, NoSuchGroup> {
        let at_a_root = |root: &PathBuf| Path::new(pattern).starts_with(root);
        let found = if self.roots.iter().any(at_a_root) {
            globbed(Path::new(pattern))
        } else if pattern.trim_matches('/').contains('/') || pattern.starts_with('/') {
            self.first_of_roots(|root| globbed(&root.join(pattern.trim_start_matches('/'))))
        } else {
            let wanted = glob::Pattern::new(pattern).ok();
            self.named(|name| wanted.as_ref().is_some_and(|wanted| wanted.matches(name)))
        };
        self.some(found)
    }

    /// The group of a unit of systemd: `nginx`, `nginx.service`, `session-3.scope`, `user.slice`.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn unit(&self, name: &str) -> Result<Vec<PathBuf>, NoSuchGroup> {
        let full = if name.contains('.') { name.to_owned() } else { format!("{name}.service") };
        self.some(self.named(|found| found == full))
    }

    /// The groups of a container, by its name, or by its id or the beginning of it.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn container(&self, name: &str, engines: &Engines) -> Result<Vec<PathBuf>, NoSuchGroup> {
        let ids = engines.ids_named(name);
        let is_wanted = |found: &str| {
            let Some(id) = container_id(found) else { return false };
            ids.contains(&id) || id == name || (is_beginning(name) && id.starts_with(name))
        };
        self.some(self.named(is_wanted))
    }

    /// Folders whose name is `wanted`, of the first hierarchy that has any.
    fn named(&self, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
        let is_wanted = |folder: &PathBuf| folder.file_name().and_then(|name| name.to_str()).is_some_and(&wanted);
        self.first_of_roots(|root| below(root).into_iter().filter(is_wanted).collect())
    }

    /// What `find` finds in the first hierarchy in which that has processes, else in the first in which it finds anything.
    fn first_of_roots(&self, find: impl Fn(&Path) -> Vec<PathBuf>) -> Vec<PathBuf> {
        let mut found = self.roots.iter().map(|root| find(root)).filter(|found| !found.is_empty()).collect::<Vec<_>>();
        let has_processes = |folders: &Vec<PathBuf>| folders.iter().any(|folder| !processes_in(folder).is_empty());
        let best = found.iter().position(has_processes).unwrap_or(0);
        if found.is_empty() { Vec::new() } else { found.swap_remove(best) }
    }

    fn some(&self, found: Vec<PathBuf>) -> Result<Vec<PathBuf>, NoSuchGroup> {
        if found.is_empty() { Err(NoSuchGroup { roots: self.roots.clone() }) } else { Ok(found) }
    }
}

/// Whether a text may be the beginning of an id: Docker shows 12 digits of it.
fn is_beginning(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn globbed(pattern: &Path) -> Vec<PathBuf> {
    let Some(text) = pattern.to_str() else { return Vec::new() };
    let options = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
    let found = glob::glob_with(text, options).into_iter().flatten().flatten();
    found.filter(|path| path.is_dir()).take(MOST_FOLDERS).collect()
}

/// The folders below `root`, itself left out.
fn below(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![root.to_path_buf()];
    for _ in 0..DEEPEST {
        level = level.iter().flat_map(|folder| folders_in(folder)).collect();
        found.extend_from_slice(&level);
        if level.is_empty() || found.len() > MOST_FOLDERS {
            break;
        }
    }
    found
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// The processes of a group and of those within it. Where threads of one are in several groups (threaded ones), all of it.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    let of = |folder: &Path| {
        let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse::<u32>().ok()).filter(|&pid| pid != 0).collect::<Vec<_>>()
    };
    let mut pids = of(folder);
    pids.extend(below(folder).iter().flat_map(|folder| of(folder)));
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hierarchies with the same groups, of which only the second has processes.
    fn two_hierarchies() -> (tempfile::TempDir, Folders) {
        let machine = tempfile::tempdir().expect("a folder");
        let id = "f".repeat(64);
        for (root, procs) in [("unified", ""), ("pids", "7\n9\n")] {
            for group in ["system.slice/web.service", "system.slice/db.service/inner", &format!("docker/{id}")] {
                let folder = machine.path().join(root).join(group);
                fs::create_dir_all(&folder).expect("a group");
                fs::write(folder.join("cgroup.procs"), procs).expect("its processes");
            }
        }
        let at = machine.path().display();
        let mounts =
            format!("pids {at}/pids cgroup rw 0 0\ntmpfs /tmp tmpfs rw 0 0\nall {at}/unified cgroup2 rw 0 0\n");
        let folders = Folders::of_mounts(&mounts);
        (machine, folders)
    }

    /// The last two parts of each path.
    fn names(found: Result<Vec<PathBuf>, NoSuchGroup>) -> Vec<String> {
        let of = |path: PathBuf| {
            let parts: Vec<_> = path.iter().rev().take(2).map(|part| part.to_string_lossy()[..4].to_owned()).collect();
            parts.join(" in ")
        };
        found.unwrap_or_default().into_iter().map(of).collect()
    }

    #[test]
    fn groups_are_found_by_path_name_unit_and_container() {
        let (machine, folders) = two_hierarchies();
        assert_eq!(folders.roots[0], machine.path().join("unified"), "the unified one comes first");
        let web = folders.matching("/system.slice/web.service").expect("a path");
        assert_eq!(web, [machine.path().join("pids/system.slice/web.service")], "where its processes are");
        assert_eq!(processes_in(&web[0]), [7, 9]);
        assert_eq!(names(folders.matching("system.slice/*.service")), ["db.s in syst", "web. in syst"]);
        assert_eq!(names(folders.matching("web*")), ["web. in syst"]);
        assert_eq!(names(folders.unit("db")), ["db.s in syst"]);
        let engines = Engines::default();
        assert_eq!(names(folders.container("ffff", &engines)), ["ffff in dock"]);
        assert!(folders.container("web", &engines).is_err() && folders.matching("none").is_err());
        assert!(folders.unit("web.socket").is_err() && folders.matching("[").is_err());
        let within = machine.path().join("pids/system.slice/db.service");
        assert_eq!(processes_in(&within), [7, 9], "those of groups within it");
    }
}
