//! What members of the group learn of programs that are not theirs: nothing, unless the configuration allows it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use dwell_store::Folder;
use dwell_store::raw::{Record, Records, SpoolReader, Stream};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Case, Skip};
use crate::recording::{Output, Running, needs_program, number, sample, text, wait_for};
use crate::rights::{GROUP, Installed, NOBODY, waiting};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("rights::where_other_users_code_lies_is_not_told", where_other_users_code_lies_is_not_told),
        Case::new("rights::programs_that_hide_are_left_out", programs_that_hide_are_left_out),
        Case::new("rights::all_users_where_the_configuration_says_so", all_users_where_the_configuration_says_so),
        Case::new("rights::a_service_keeps_its_own", a_service_keeps_its_own),
    ]
}

/// A copy of a program that runs as root whoever starts it.
fn set_user_id(installed: &Installed, program: &str) -> Result<String> {
    let path = installed.home.path().join("set-user-id");
    fs::copy(program, &path)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755))?;
    Ok(path.display().to_string())
}

/// The paths that each process mapped, of a raw result.
fn mapped(result: &Path) -> Result<HashMap<u32, Vec<String>>> {
    let mut paths: HashMap<u32, Vec<String>> = HashMap::new();
    for stream in [Stream::Meta, Stream::Events] {
        let mut reader = SpoolReader::open(&Folder::open(&result.join("spool"))?, stream)?;
        let mut chunk = Vec::new();
        while reader.next_chunk(&mut chunk).is_some() {
            for record in Records::new(&chunk) {
                if let Record::Map(header, path) = record {
                    paths.entry(header.h.tid).or_default().push(String::from_utf8_lossy(path).into_owned());
                }
            }
        }
    }
    Ok(paths)
}

fn loss(result: &Path, name: &str) -> Result<u64> {
    let manifest: Value = serde_json::from_slice(&fs::read(result.join("manifest.json"))?)?;
    let losses = manifest["losses"].as_array().context("no losses")?;
    let found = losses.iter().find(|loss| loss[0] == name).and_then(|loss| loss[1].as_u64());
    Ok(found.unwrap_or(0))
}

/// Neither that of a set-user-ID program that runs on, nor of one that ends before anybody looks at it. A program of the user's
/// own that ends as fast is told.
fn where_other_users_code_lies_is_not_told() -> Result<()> {
    let installed = Installed::new()?;
    let sleep = needs_program("sleep")?;
    let changed = set_user_id(&installed, &sleep)?;
    let own = installed.home.path().join("own");
    fs::copy(&sleep, &own)?;
    let own = own.display();
    // Each shell tells its process id, and becomes the program.
    let as_root = |seconds: &str| format!("sh -c 'echo pid $$; exec {changed} {seconds}'");
    let script = format!("{}; {}; {own} 0; {own} 0; true", as_root("0.5"), as_root("0"));
    let raw = ["--finalization-mode", "none", "--no-itt", "-r", "r", "--", "sh", "-c", &script];
    let output = installed.run(&[&["collect", "threading", "--source", "bpf"], &raw[..]].concat())?;
    ensure!(output.status.success(), "{}", output.stderr);
    let result = installed.home.path().join("r");
    let mapped = mapped(&result)?;
    let of_own = mapped.values().flatten().filter(|path| path.ends_with("/own")).count();
    ensure!(of_own >= 2, "programs of the user's own are not told: {mapped:?}");
    let pids: Vec<u32> =
        output.stdout.lines().filter_map(|line| line.strip_prefix("pid ")?.trim().parse().ok()).collect();
    ensure!(pids.len() == 2, "{}", output.stdout);
    for pid in pids {
        let paths = mapped.get(&pid).context("not even the shell's mappings are told")?;
        let libraries = paths.iter().filter(|path| path.contains("libc.so") || path.contains("ld-linux")).count();
        ensure!(!paths.contains(&changed), "where {changed} lies is told: {paths:?}");
        ensure!(libraries <= 2, "where its libraries lie is told, beside the shell's: {paths:?}");
    }
    ensure!(!mapped.values().flatten().any(|path| *path == changed), "{mapped:?}");
    ensure!(loss(&result, "programs_out_of_scope")? == 2, "not counted: {output:?}", output = output.stderr);
    ensure!(loss(&result, "mappings_out_of_scope")? >= 2, "not counted");
    Ok(())
}

/// A program that its user may run but not read is nothing that its user may look into.
fn programs_that_hide_are_left_out() -> Result<()> {
    let installed = Installed::new()?;
    let hidden = installed.home.path().join("hidden");
    fs::copy(sample("convoy")?, &hidden)?;
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o711))?; // root's
    let script = format!("{}; true", hidden.display());
    let output = installed.run(&["collect", "threading", "--source", "bpf", "-r", "r", "--", "sh", "-c", &script])?;
    ensure!(output.status.success(), "{}", output.stderr);
    let threads = installed.rows(&["threads", "--limit", "100"])?;
    let of_it = threads.iter().filter(|row| text(row, "process") == "hidden").count();
    ensure!(of_it <= 1, "a program that may not be read was recorded: {threads:?}");
    ensure!(loss(&installed.home.path().join("r"), "programs_out_of_scope")? == 1, "not counted");
    Ok(())
}

/// A private copy of /etc, so that nobody else sees the configuration.
struct Etc {
    folder: TempDir,
}

impl Etc {
    fn new() -> Result<Self> {
        let folder = TempDir::new()?;
        let copied = Running::start(Command::new("cp").args(["-a", "/etc/."]).arg(folder.path()))?.finish()?;
        ensure!(copied.status.success(), "copying /etc: {}", copied.stderr);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let _ = fs::remove_file(folder.path().join("dwell.conf")); // it is there in one case only
        Ok(Self { folder })
    }

    fn configuration(&self) -> PathBuf {
        self.folder.path().join("dwell.conf")
    }

    /// Runs the command where this is /etc, with the umask that cautious administrators have.
    fn run(&self, command: &Command) -> Result<Output> {
        let script = "umask 077; mount --bind \"$1\" /etc; shift; exec \"$@\"";
        let mut within = Command::new(needs_program("unshare")?);
        within.args(["--mount", "--propagation", "private", "sh", "-ec", script, "sh"]).arg(self.folder.path());
        within.arg(command.get_program()).args(command.get_args());
        within.current_dir(command.get_current_dir().unwrap_or(Path::new("/")));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        Running::start(&mut within)?.finish()
    }
}

fn all_users_where_the_configuration_says_so() -> Result<()> {
    let installed = Installed::new()?;
    fs::remove_dir_all(installed.prefix.path().join("bin"))?;
    let etc = Etc::new()?;
    let prefix = installed.prefix.path().display().to_string();
    let output =
        etc.run(&crate::recording::dwell(&["install", "--all-users", "--group", GROUP, "--prefix", &prefix]))?;
    ensure!(output.status.success(), "{}", output.stderr);
    ensure!(output.stdout.contains("the programs of all users"), "{}", output.stdout);
    let mode = |path: &Path| Ok::<u32, std::io::Error>(fs::metadata(path)?.mode() & 0o7777);
    ensure!(mode(&etc.configuration())? == 0o644, "members cannot read the configuration");
    ensure!(mode(&installed.prefix.path().join("bin"))? == 0o755, "members cannot reach the program");
    let root = waiting("0")?;
    wait_for("sleep", || {
        let comm = fs::read_to_string(format!("/proc/{}/comm", root.pid())).ok()?;
        (comm.trim() == "sleep").then_some(())
    })?;
    let pid = root.pid().to_string();
    let collect = ["collect", "threading", "-r", "r", "--duration", "0.5", "--target-pid", &pid];
    let refused = installed.run(&collect)?;
    ensure!(refused.code() == 77, "without the configuration: {}", refused.stderr);
    let output = etc.run(&installed.dwell(&collect)?)?;
    ensure!(output.status.success(), "{}", output.stderr);
    let waits = installed.rows(&["waits"])?;
    let stack = |row: &Value| row["top_stack"].as_array().map_or(0, Vec::len);
    ensure!(waits.iter().any(|row| stack(row) > 2), "where root's program waits is not known: {waits:?}");
    a_changed_user_is_recorded(&installed, &etc)?;
    let output = etc.run(&crate::recording::dwell(&["uninstall", "--prefix", &prefix]))?;
    ensure!(output.stdout.contains("Removed /etc/dwell.conf"), "{}{}", output.stdout, output.stderr);
    ensure!(!etc.configuration().exists(), "the configuration is still there");
    Ok(())
}

/// With its rights in a row, and named.
fn a_changed_user_is_recorded(installed: &Installed, etc: &Etc) -> Result<()> {
    fs::remove_dir_all(installed.home.path().join("r"))?;
    let changed = set_user_id(installed, &sample("convoy")?)?;
    let output = etc.run(&installed.dwell(&["collect", "threading", "-r", "r", "--", "sh", "-c", &changed])?)?;
    ensure!(output.status.success(), "{}", output.stderr);
    let threads = installed.rows(&["threads", "--limit", "100"])?;
    let of_it = threads.iter().filter(|row| text(row, "process") == "set-user-id").count();
    ensure!(of_it == 5, "root's program is not whole: {threads:?}");
    let waits = installed.rows(&["waits"])?;
    let lock = waits.iter().find(|row| text(row, "object") == "queue_lock").context("no queue_lock")?;
    ensure!(number(lock, "wait_count")? > 0.0, "{lock}");
    Ok(())
}

/// Capabilities that its user has without Dwell go on to the program.
fn a_service_keeps_its_own() -> Result<()> {
    const NET_BIND_SERVICE: u64 = 1 << 10;
    crate::recording::needs_recording()?;
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    if level.trim().parse::<i32>().is_ok_and(|level| level > 2) {
        return Err(Skip("kernel.perf_event_paranoid is above 2: a plain user records nothing".into()).into());
    }
    let home = TempDir::new()?;
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755))?;
    chown(home.path(), Some(NOBODY), Some(NOBODY))?;
    let copy = home.path().join("dwell");
    fs::copy(env!("CARGO_BIN_EXE_dwell"), &copy)?;
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
    let mut command = Command::new(needs_program("setpriv")?);
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.args(["--inh-caps", "+net_bind_service", "--ambient-caps", "+net_bind_service"]).arg(copy);
    command.args(["collect", "threading", "-r", "r", "--", "cat", "/proc/self/status"]);
    command.current_dir(home.path()).env("HOME", home.path());
    let output = Running::start(&mut command)?.finish()?;
    ensure!(output.status.success(), "{}", output.stderr);
    for set in ["CapAmb", "CapEff"] {
        let held = crate::rights::capabilities(&output.stdout, set)?;
        ensure!(held & NET_BIND_SERVICE != 0, "{set}: the program lost what its user has: {}", output.stdout);
    }
    Ok(())
}
