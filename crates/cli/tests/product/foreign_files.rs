//! Files of the profiled program that root can read and the result's owner cannot: their content stays out of the result.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{collect, needs_program, needs_recording, run_dwell, sample};
use crate::rights::NOBODY;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("foreign_files::what_may_be_run_but_not_read_is_not_copied", run_but_not_read),
        Case::new("foreign_files::a_result_is_finalized_as_its_owner", as_its_owner),
    ]
}

/// Of the sample convoy.
const FUNCTION: &str = "push_item";

/// A folder of programs, and another one that a program binds over it in a mount namespace of its own.
struct Hidden {
    folder: TempDir,
}

impl Hidden {
    fn new() -> Result<Self> {
        needs_recording()?;
        for program in ["unshare", "objcopy", "mount"] {
            needs_program(program)?;
        }
        if !rustix::process::geteuid().is_root() {
            return Err(Skip("needs root".into()).into());
        }
        let hidden = Self { folder: TempDir::new()? };
        fs::set_permissions(hidden.folder.path(), fs::Permissions::from_mode(0o777))?;
        for name in ["above", "below"] {
            fs::create_dir(hidden.path(name))?;
        }
        Ok(hidden)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes convoy, without a build id, a program in the folder `place`.
    fn make(&self, place: &str, options: &[&str], mode: u32) -> Result<PathBuf> {
        let path = self.path(place).join("program");
        let mut command = Command::new("objcopy");
        command.args(["--remove-section", ".note.gnu.build-id"]).args(options).arg(sample("convoy")?).arg(&path);
        ensure!(command.status()?.success(), "objcopy failed");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        Ok(path)
    }

    /// Collects the program of the folder `below` at the path that it has in the folder `above`.
    fn collect(&self, options: &[&str]) -> Result<Command> {
        let (above, below) = (self.path("above").display().to_string(), self.path("below").display().to_string());
        let script = format!("mount --bind {below} {above} && exec {above}/program");
        let mut command = collect(self.folder.path(), options, &["unshare", "-Urm", "sh", "-c", &script]);
        command.stdout(Stdio::null());
        Ok(command)
    }

    fn modules(&self) -> PathBuf {
        self.path("result").join("modules")
    }

    /// Copies of files with code.
    fn copies(&self) -> Result<Vec<PathBuf>> {
        let files = fs::read_dir(self.modules())?.flatten().map(|entry| entry.path());
        Ok(files.filter(|path| path.extension().is_some_and(|extension| extension == "elf")).collect())
    }
}

/// Under sudo, in the program's own mount namespace, which makes the collector copy it.
fn run_but_not_read() -> Result<()> {
    for (mode, is_copied) in [(0o755, true), (0o711, false)] {
        let hidden = Hidden::new()?;
        let program = hidden.make("below", &[], mode)?;
        let secret = fs::read(&program)?;
        let mut command = hidden.collect(&["--quiet"])?;
        command.env("SUDO_USER", "nobody").env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
        let status = command.status()?;
        ensure!(status.success(), "{mode:o}: {status}");
        let copies: Result<Vec<Vec<u8>>, _> = hidden.copies()?.iter().map(fs::read).collect();
        ensure!(copies?.contains(&secret) == is_copied, "{mode:o}: copied, which should be {is_copied}");
        let losses = run_dwell(&["report", "losses", &hidden.path("result").display().to_string()])?.stdout;
        ensure!(losses.contains("modules_not_kept") != is_copied, "{mode:o}: {losses}");
    }
    Ok(())
}

fn give_to_nobody(path: &Path) -> Result<()> {
    chown(path, Some(NOBODY), Some(NOBODY))?;
    if path.is_dir() {
        fs::read_dir(path)?.flatten().try_for_each(|entry| give_to_nobody(&entry.path()))?;
    }
    Ok(())
}

/// The path of the program leads to a file of root's when root finalizes.
fn as_its_owner() -> Result<()> {
    for (of_nobody, sudo, names_functions) in [(false, false, true), (true, false, false), (true, true, false)] {
        let hidden = Hidden::new()?;
        hidden.make("above", &[], 0o755)?;
        hidden.make("below", &["--strip-all"], 0o755)?;
        fs::set_permissions(hidden.path("above"), fs::Permissions::from_mode(0o700))?;
        let status = hidden.collect(&["--quiet", "--finalization-mode", "none"])?.status()?;
        ensure!(status.success(), "{status}");
        hidden.copies()?.iter().try_for_each(fs::remove_file)?;
        let result = hidden.path("result");
        if of_nobody {
            give_to_nobody(&result)?;
        }
        let mut finalize = crate::recording::dwell(&["finalize", "--quiet", &result.display().to_string()]);
        if sudo {
            finalize.env("SUDO_USER", "nobody").env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
        }
        ensure!(finalize.status()?.success(), "finalize failed");
        let waits = run_dwell(&["report", "bottom-up", &result.display().to_string()])?.stdout;
        ensure!(waits.contains(FUNCTION) == names_functions, "of nobody {of_nobody}, sudo {sudo}: {waits}");
    }
    // One that its owner cannot read is refused, under sudo too: nobody becomes root by that.
    let hidden = Hidden::new()?;
    hidden.make("above", &[], 0o755)?;
    hidden.make("below", &["--strip-all"], 0o755)?;
    let status = hidden.collect(&["--quiet", "--finalization-mode", "none"])?.status()?;
    ensure!(status.success(), "{status}");
    give_to_nobody(&hidden.path("result"))?;
    fs::set_permissions(hidden.path("result/manifest.json"), fs::Permissions::from_mode(0o0))?;
    let mut finalize = crate::recording::dwell(&["finalize", &hidden.path("result").display().to_string()]);
    finalize.env("SUDO_USER", "nobody").env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
    let output = finalize.output().context("finalize")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success() && errors.contains("hint: "), "finalized as root: {errors}");
    Ok(())
}
