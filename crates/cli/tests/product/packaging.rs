//! The packages: what can be told of them without building one, and those of `make dist` where they are.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Output, Running, needs_program, needs_recording, root, run_dwell};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("packaging::scripts_can_be_read_by_their_shells", scripts_can_be_read_by_their_shells),
        Case::new("packaging::control_files_say_what_is_so", control_files_say_what_is_so),
        Case::new("packaging::each_question_is_declared_and_used", each_question_is_declared_and_used),
        Case::new("packaging::answers_give_and_take_capabilities", answers_give_and_take_capabilities),
        Case::new("packaging::what_runs_only_here_is_refused", what_runs_only_here_is_refused),
        Case::new("packaging::one_version_everywhere", one_version_everywhere),
        Case::new("packaging::made_packages_are_complete", made_packages_are_complete),
    ]
}

/// A group that is likely there, which nobody is in.
const GROUP: &str = "daemon";
const MAINTAINER_SCRIPTS: [&str; 3] = ["config", "postinst", "postrm"];

fn debian(name: &str) -> PathBuf {
    root().join("packaging/debian").join(name)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn run(program: &str, arguments: &[&str]) -> Result<Output> {
    Running::start(Command::new(program).args(arguments))?.finish()
}

fn scripts_can_be_read_by_their_shells() -> Result<()> {
    let mut scripts: Vec<PathBuf> = MAINTAINER_SCRIPTS.map(|name| debian(&format!("dwell.{name}"))).into();
    for entry in fs::read_dir(root().join("scripts"))? {
        let path = entry?.path();
        scripts.extend((path.extension().is_some_and(|it| it == "sh")).then_some(path));
    }
    for path in scripts {
        let text = read(&path)?;
        let shell = text.lines().next().unwrap_or_default();
        let shell = shell.strip_prefix("#!/bin/").or_else(|| shell.strip_prefix("#!/usr/bin/env ")).unwrap_or_default();
        ensure!(["sh", "bash"].contains(&shell), "{} begins with no shell", path.display());
        ensure!(text.contains("\nset -e"), "{} goes on after a failure", path.display());
        let output = run(shell, &["-n", &path.display().to_string()])?;
        ensure!(output.status.success(), "{}", output.stderr);
    }
    Ok(())
}

/// The value of a field of a control file.
fn field<'a>(control: &'a str, name: &str) -> Result<&'a str> {
    let found = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    found.with_context(|| format!("no {name} in\n{control}"))
}

fn control_files_say_what_is_so() -> Result<()> {
    for name in ["dwell", "dwell-dbgsym"] {
        let control = read(&debian(&format!("{name}.control")))?;
        ensure!(field(&control, "Package")? == name, "{control}");
        for (name, value) in [("Version", "@VERSION@"), ("Installed-Size", "@SIZE@"), ("Architecture", "amd64")] {
            ensure!(field(&control, name)? == value, "{name}: {control}");
        }
        for name in ["Maintainer", "Section", "Priority", "Description"] {
            ensure!(!field(&control, name)?.is_empty(), "{name}: {control}");
        }
        ensure!(control.lines().all(|line| line.len() <= 80), "a line is longer than 80 columns:\n{control}");
    }
    let debug = read(&debian("dwell-dbgsym.control"))?;
    ensure!(field(&debug, "Depends")? == "dwell (= @VERSION@)", "{debug}");
    // What the check lets through is what the package asks for.
    let check = read(&root().join("scripts/check-portable.sh"))?;
    let glibc = check.lines().find_map(|line| line.strip_prefix("newest_glibc=")).context("no newest_glibc")?;
    let control = read(&debian("dwell.control"))?;
    ensure!(field(&control, "Depends")?.contains(&format!("libc6 (>= {glibc})")), "glibc {glibc}: {control}");
    Ok(())
}

/// The names behind `before` in `text`.
fn questions(text: &str, before: &str) -> BTreeSet<String> {
    let of_line = |line: &str| {
        let (_, behind) = line.split_once(before)?;
        behind.split_whitespace().next().map(str::to_owned)
    };
    text.lines().filter_map(of_line).map(|word| word.trim_end_matches(';').to_owned()).collect()
}

fn each_question_is_declared_and_used() -> Result<()> {
    let templates = read(&debian("dwell.templates"))?;
    let declared = questions(&templates, "Template: ");
    let mut used = BTreeSet::new();
    for name in MAINTAINER_SCRIPTS {
        let script = read(&debian(&format!("dwell.{name}")))?;
        for before in ["db_get ", "db_set ", "db_input medium "] {
            used.extend(questions(&script, before));
        }
    }
    ensure!(declared == used, "declared {declared:?}, used {used:?}");
    // Nobody is trusted who was not asked about.
    let capabilities = templates.split("\n\n").next().unwrap_or_default();
    ensure!(capabilities.contains("dwell/capabilities\nType: boolean\nDefault: false\n"), "{capabilities}");
    Ok(())
}

/// Maintainer scripts over a folder of their own: `bin/dwell`, and debconf's answers as files.
struct Configured(TempDir);

impl Configured {
    fn new() -> Result<Self> {
        let configured = Self(TempDir::new()?);
        for folder in ["bin", "dwell"] {
            fs::create_dir(configured.path(folder))?;
        }
        fs::copy(env!("CARGO_BIN_EXE_dwell"), configured.program())?;
        fs::set_permissions(configured.program(), fs::Permissions::from_mode(0o755))?;
        let answers = configured.0.path().display();
        let debconf = format!(
            "db_get() {{ RET=$(cat '{answers}'/$1); }}\ndb_set() {{ printf %s \"$2\" > '{answers}'/$1; }}\n\
             db_input() {{ echo \"$2\" >> '{answers}/asked'; }}\ndb_go() {{ :; }}\ndb_purge() {{ rm '{answers}'/dwell/*; }}\n"
        );
        fs::write(configured.path("confmodule"), debconf)?;
        configured.answer("group", GROUP)?;
        configured.answer("made-groups", "")?;
        Ok(configured)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self) -> PathBuf {
        self.path("bin/dwell")
    }

    fn answer(&self, question: &str, answer: &str) -> Result<()> {
        Ok(fs::write(self.path("dwell").join(question), answer)?)
    }

    /// Runs the script `name` as it is, but for the folders in it.
    fn run(&self, name: &str, arguments: &[&str]) -> Result<Output> {
        let folder = self.0.path().display().to_string();
        let mut script = read(&debian(&format!("dwell.{name}")))?;
        for (place, here) in [("/usr/share/debconf", ""), ("/usr/bin", "/bin"), ("/usr/local", "/local"), ("/etc", "")]
        {
            script = script.replace(&format!("{place}/"), &format!("{folder}{here}/"));
        }
        let path = self.path(name);
        fs::write(&path, script)?;
        let output = run("sh", &[&[path.display().to_string().as_str()], arguments].concat())?;
        ensure!(output.status.success(), "{name} {arguments:?}: {}", output.stderr);
        // Standard output would be taken for commands to debconf.
        ensure!(output.stdout.is_empty(), "{name} {arguments:?}: {}", output.stdout);
        Ok(output)
    }

    fn capabilities(&self) -> Result<String> {
        Ok(run(&needs_program("getcap")?, &[&self.program().display().to_string()])?.stdout)
    }

    fn mode(&self) -> Result<u32> {
        Ok(fs::metadata(self.program())?.mode() & 0o7777)
    }
}

fn answers_give_and_take_capabilities() -> Result<()> {
    needs_recording()?;
    let configured = Configured::new()?;
    let asked = |expected: &str| -> Result<()> {
        let _ = fs::remove_file(configured.path("asked"));
        configured.run("config", &["configure"])?;
        let asked = read(&configured.path("asked"))?;
        ensure!(asked == expected, "asked {asked}");
        Ok(())
    };
    configured.answer("capabilities", "false")?;
    asked("dwell/capabilities\n")?;
    let output = configured.run("postinst", &["configure", ""])?;
    ensure!(output.stderr.contains("dpkg-reconfigure dwell"), "{}", output.stderr);
    ensure!(configured.capabilities()?.is_empty() && configured.mode()? == 0o755, "without an agreement");

    configured.answer("capabilities", "true")?;
    asked("dwell/capabilities\ndwell/group\n")?;
    let output = configured.run("postinst", &["configure", ""])?;
    ensure!(output.stderr.contains("CAP_BPF") && output.stderr.contains(GROUP), "{}", output.stderr);
    ensure!(configured.capabilities()?.contains("cap_perfmon") && configured.mode()? == 0o750, "not given");

    configured.answer("capabilities", "false")?;
    configured.run("postinst", &["configure", "0.1.0"])?;
    ensure!(configured.capabilities()?.is_empty() && configured.mode()? == 0o755, "not taken back");
    let left = fs::read_dir(configured.path("bin"))?.count();
    ensure!(left == 1, "{left} files beside the program");

    // A group that cannot be is a message, not a half-configured package.
    configured.answer("capabilities", "true")?;
    configured.answer("group", "No Group")?;
    let output = configured.run("postinst", &["configure", "0.1.0"])?;
    ensure!(output.stderr.contains("installed without capabilities"), "{}", output.stderr);

    fs::write(configured.path("dwell.conf"), "processes = own\n")?;
    configured.run("postrm", &["purge"])?;
    ensure!(!configured.path("dwell.conf").exists(), "the configuration stays");
    ensure!(fs::read_dir(configured.path("dwell"))?.count() == 0, "answers stay");
    Ok(())
}

fn check_portable(files: &[&Path]) -> Result<Output> {
    needs_program("objdump")?;
    Running::start(Command::new(root().join("scripts/check-portable.sh")).args(files))?.finish()
}

fn what_runs_only_here_is_refused() -> Result<()> {
    // Tests are built with this machine's libelf.
    let own = check_portable(&[Path::new(env!("CARGO_BIN_EXE_dwell"))])?;
    ensure!(own.code() == 1 && own.stderr.contains("libelf"), "{} {}", own.code(), own.stderr);

    let folder = TempDir::new()?;
    let [source, program] = ["program.c", "program"].map(|name| folder.path().join(name));
    fs::write(&source, "void _start(void) {}\n")?;
    let paths = [&source, &program].map(|path| path.display().to_string());
    let built = run(&needs_program("gcc")?, &["-static", "-nostdlib", "-o", &paths[1], &paths[0]])?;
    ensure!(built.status.success(), "{}", built.stderr);
    let small = check_portable(&[&program])?;
    ensure!(small.status.success(), "{}", small.stderr);

    File::options().append(true).open(&program)?.set_len(33 << 20)?;
    let large = check_portable(&[&program])?;
    ensure!(large.code() == 1 && large.stderr.contains("more than"), "{} {}", large.code(), large.stderr);
    // One bad file of several is enough, and a file that is no program is no portable program.
    let several = check_portable(&[&source, &program])?;
    ensure!(several.code() == 1 && several.stderr.contains("cannot be read"), "{}", several.stderr);
    Ok(())
}

fn workspace_version() -> Result<String> {
    let manifest: toml::Table = read(&root().join("Cargo.toml"))?.parse()?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.context("no version in Cargo.toml")?.to_owned())
}

fn one_version_everywhere() -> Result<()> {
    let version = workspace_version()?;
    let said = run_dwell(&["--version"])?.stdout;
    ensure!(said.split_whitespace().nth(1) == Some(version.as_str()), "{said} is not {version}");
    // As dist.sh reads it.
    let script = read(&root().join("scripts/dist.sh"))?;
    let line = script.lines().find(|line| line.starts_with("version=")).context("no version in dist.sh")?;
    let command = format!("cd '{}'; {line}; echo $version", root().display());
    let read = run("bash", &["-c", &command])?;
    ensure!(read.stdout.trim() == version, "{line} reads {}", read.stdout);
    Ok(())
}

/// What each package has to have; the folder of the result is the first column of `dpkg-deb --contents`.
const FILES: [&str; 12] = [
    "./usr/bin/dwell",
    "./usr/share/man/man1/dwell.1.gz",
    "./usr/share/bash-completion/completions/dwell",
    "./usr/share/zsh/vendor-completions/_dwell",
    "./usr/share/fish/vendor_completions.d/dwell.fish",
    "./usr/share/doc/dwell/copyright",
    "./usr/share/doc/dwell/changelog.gz",
    "./usr/share/doc/dwell/CHANGELOG.md",
    "./usr/share/doc/dwell/docs/rights.md",
    "./usr/share/doc/dwell/LICENSE-MIT",
    "./usr/share/doc/dwell/examples/dwell-agent.service",
    "./usr/share/doc/dwell/examples/agent.toml",
];

/// The folder of `make dist`, if it has run.
fn made() -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_dwell")).ancestors().nth(2).context("no target folder")?.join("dist");
    if folder.join("SHA256SUMS").is_file() {
        return Ok(folder);
    }
    Err(Skip(format!("no packages in {}: make dist", folder.display())).into())
}

fn made_packages_are_complete() -> Result<()> {
    let folder = made()?;
    let tool = needs_program("dpkg-deb")?;
    let sums =
        Running::start(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&folder))?.finish()?;
    ensure!(sums.status.success() && sums.stdout.lines().count() == 4, "{}{}", sums.stdout, sums.stderr);
    let version = workspace_version()?;
    let stale = || Skip(format!("the packages in {} are of another commit: make dist", folder.display()));
    let package = folder.join(format!("dwell_{version}_amd64.deb"));
    if !package.is_file() {
        return Err(stale().into());
    }
    let package = package.display().to_string();
    let contents = run(&tool, &["--contents", &package])?.stdout;
    for file in FILES {
        let line = contents.lines().find(|line| line.ends_with(&format!(" {file}")));
        let line = line.with_context(|| format!("{file} is not in\n{contents}"))?;
        ensure!(line.contains(" root/root "), "not root's: {line}");
    }
    let unpacked = TempDir::new()?;
    let to = unpacked.path().display().to_string();
    ensure!(run(&tool, &["--raw-extract", &package, &to])?.status.success(), "cannot be unpacked");
    for name in MAINTAINER_SCRIPTS {
        let packed = read(&unpacked.path().join("DEBIAN").join(name))?;
        if packed != read(&debian(&format!("dwell.{name}")))? {
            return Err(stale().into());
        }
    }
    let program = unpacked.path().join("usr/bin/dwell");
    let portable = check_portable(&[&program])?;
    ensure!(portable.status.success(), "{}", portable.stderr);
    let said = run(&program.display().to_string(), &["--version"])?.stdout;
    ensure!(said.split_whitespace().nth(1) == Some(version.as_str()), "{said}");
    Ok(())
}
