//! Control groups that bound a program's resources.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Result;

use crate::harness::Skip;

/// A control group of the test's own, gone with it.
pub struct Cgroup(PathBuf);

impl Cgroup {
    /// With `version_2` files set in the unified hierarchy, else `version_1` ones in the controller's.
    pub fn new(controller: &str, version_1: &[(&str, &str)], version_2: &[(&str, &str)]) -> Result<Self> {
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        Self::named(&format!("dwell-test-{}-{number}", std::process::id()), controller, version_1, version_2)
    }

    /// The same of this name.
    pub fn named(name: &str, controller: &str, version_1: &[(&str, &str)], version_2: &[(&str, &str)]) -> Result<Self> {
        let places = [
            (PathBuf::from("/sys/fs/cgroup"), version_2),
            (PathBuf::from("/sys/fs/cgroup").join(controller), version_1),
        ];
        for (place, settings) in places {
            let group = Self(place.join(name));
            if !place.join("cgroup.procs").is_file() || fs::create_dir(&group.0).is_err() {
                continue;
            }
            if settings.iter().all(|(file, value)| fs::write(group.0.join(file), value).is_ok()) {
                return Ok(group);
            }
        }
        Err(Skip(format!("no cgroup with {controller} can be made here")).into())
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A command that runs `command` within it.
    pub fn entering(&self, command: &[&str]) -> Vec<String> {
        let enter = self.0.join("cgroup.procs").display().to_string();
        let program = ["sh", "-c", "echo $$ > \"$0\" && exec \"$@\""].map(str::to_owned);
        program.into_iter().chain([enter]).chain(command.iter().map(|word| (*word).to_owned())).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}
