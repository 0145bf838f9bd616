//! Go programs that cases build and record.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::recording::needs_program;

/// Where Go is installed from its own packages, which change no PATH.
const USUAL_PLACE: &str = "/usr/local/go/bin/go";

/// Skips the case unless Go is installed; returns its path.
pub fn needs_go() -> Result<String> {
    let usual = || Path::new(USUAL_PLACE).is_file().then(|| USUAL_PLACE.to_owned());
    needs_program("go").or_else(|missing| usual().ok_or(missing))
}

/// The program that `source` is, in the folder, built with these flags. All cases share one build of Go's library.
pub fn build_go(folder: &Path, name: &str, source: &str, flags: &[&str]) -> Result<PathBuf> {
    let go = needs_go()?;
    let (program, file) = (folder.join(name), folder.join(format!("{name}.go")));
    fs::write(&file, source)?;
    let mut build = Command::new(go);
    build.arg("build").args(flags).arg("-o").args([&program, &file]);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    build.env("GOCACHE", cache).env("GOTOOLCHAIN", "local").env("GO111MODULE", "off");
    ensure!(build.status()?.success(), "{name}.go does not compile");
    Ok(program)
}
