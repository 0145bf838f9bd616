//! Results that others made, or made other than they were: root writes through no link, nothing but a regular file is opened,
//! and one bad result keeps nobody from the others.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_store::{CodeTables, ResultFolder, State, Trace};
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::process::geteuid;
use tempfile::TempDir;

use crate::bad_input::{expect_error, manifest, small_trace};
use crate::harness::{Case, Skip};
use crate::looking::{Site, view};
use crate::recording::{Output, Running, collect, dwell, needs_recording, run_dwell, sample};

/// `nobody`, who called sudo in these cases.
const USER: u32 = 65534;
const SECRET: &str = "only root may read this\n";
/// A command that hangs takes for ever; one that is only slow on a loaded machine does not.
const PROMPTLY: Duration = Duration::from_secs(30);

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("hostile_folders::result_moved_away", result_moved_away),
        Case::new("hostile_folders::links_in_a_collected_result", links_in_a_collected_result),
        Case::new("hostile_folders::failed_start_deletes_nothing_else", failed_start_deletes_nothing_else),
        Case::new("hostile_folders::log_of_another", log_of_another),
        Case::new("hostile_folders::strange_files_are_refused", strange_files_are_refused),
        Case::new("hostile_folders::strange_index", strange_index),
        Case::new("hostile_folders::flipped_index", flipped_index),
        Case::new("hostile_folders::index_of_another", index_of_another),
    ]
}

/// A folder of the user's, and things of root's outside that must stay as they are.
struct Stakes {
    user: TempDir,
    root: TempDir,
}

impl Stakes {
    fn new() -> Result<Self> {
        if !geteuid().is_root() {
            return Err(Skip("only root can be misled".into()).into());
        }
        let stakes = Self { user: TempDir::new()?, root: TempDir::new()? };
        chown(stakes.user.path(), Some(USER), Some(USER))?;
        fs::set_permissions(stakes.user.path(), Permissions::from_mode(0o755))?;
        fs::set_permissions(stakes.root.path(), Permissions::from_mode(0o711))?;
        fs::write(stakes.secret(), SECRET)?;
        fs::set_permissions(stakes.secret(), Permissions::from_mode(0o600))?;
        fs::create_dir(stakes.folder())?;
        fs::write(stakes.folder().join("kept"), SECRET)?;
        Ok(stakes)
    }

    /// A file that only root may read and write.
    fn secret(&self) -> PathBuf {
        self.root.path().join("secret")
    }

    /// A folder of root's.
    fn folder(&self) -> PathBuf {
        self.root.path().join("folder")
    }

    /// `dwell` as sudo starts it for the user.
    fn sudo<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let (uid, gid) = (USER.to_string(), USER.to_string());
        command.env("SUDO_USER", "nobody").env("SUDO_UID", uid).env("SUDO_GID", gid).current_dir(self.user.path())
    }

    /// Root's things are as they were.
    fn is_untouched(&self) -> Result<()> {
        let metadata = fs::symlink_metadata(self.secret()).context("the file is gone")?;
        let text = fs::read_to_string(self.secret())?;
        ensure!(text == SECRET, "the file was written to: {text}");
        let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
        ensure!(metadata.is_file() && mode == 0o600 && owner == 0, "the file is {owner}'s with mode {mode:o}");
        let names: Vec<_> = fs::read_dir(self.folder())?.flatten().map(|entry| entry.file_name()).collect();
        ensure!(names == ["kept"], "the folder has {names:?}");
        let kept = fs::symlink_metadata(self.folder().join("kept"))?;
        ensure!(kept.uid() == 0 && self.folder().metadata()?.uid() == 0, "the folder changed hands");
        ensure!(fs::read_to_string(self.folder().join("kept"))? == SECRET, "a file in the folder was written to");
        Ok(())
    }

    /// The commands of a shell that put links to root's things where a result's files will be.
    fn links(&self, result: &str) -> String {
        let (secret, folder) = (self.secret().display().to_string(), self.folder().display().to_string());
        let links = |target: &str, names: &[&str]| {
            names.iter().map(|name| format!("ln -sfn {target} {result}/{name}; ")).collect::<String>()
        };
        links(&secret, &["manifest.json.partial", "log.txt", "log.txt.partial", "index.cache"])
            + &links(&folder, &["tables.partial", "tables"])
    }
}

fn succeeded(output: &Output) -> Result<()> {
    ensure!(output.status.success(), "status {}\n{}", output.code(), output.stderr);
    Ok(())
}

/// All that is in the folder belongs to the user, and there is no link in it.
fn is_the_users(folder: &Path) -> Result<()> {
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        ensure!(metadata.uid() == USER, "{} is {}'s", path.display(), metadata.uid());
        if metadata.is_dir() {
            left.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        }
    }
    Ok(())
}

/// The profiled program moves the result away and puts another one in its place, full of links: Dwell goes on in the one
/// that it made, and root's files stay as they are.
fn result_moved_away() -> Result<()> {
    needs_recording()?;
    let stakes = Stakes::new()?;
    let script = format!(
        "mv result moved; mkdir result; {} \
         ln -s {2} result/spool; ln -s {2} result/modules; cp -s {1} result/manifest.json; {3}; sleep 0.3",
        stakes.links("result"),
        stakes.secret().display(),
        stakes.folder().display(),
        sample("convoy")?,
    );
    for options in [&[][..], &["--ring-buffer", "1"]] {
        for name in ["result", "moved"] {
            let _ = fs::remove_dir_all(stakes.user.path().join(name));
        }
        let mut command = collect(Path::new(""), options, &["sh", "-c", &script]);
        let output = Running::start(stakes.sudo(&mut command))?.finish()?;
        stakes.is_untouched()?;
        succeeded(&output)?;
        let moved = stakes.user.path().join("moved");
        is_the_users(&moved)?;
        let waits = run_dwell(&["report", "waits", &moved.display().to_string()])?;
        ensure!(waits.stdout.contains("queue_lock"), "nothing was recorded: {}{}", waits.stdout, waits.stderr);
        let placed = fs::symlink_metadata(stakes.user.path().join("result/log.txt"))?;
        ensure!(placed.is_symlink(), "Dwell wrote into the folder that it did not make");
    }
    Ok(())
}

/// The same in a result that was given to the user, or received: `dwell finalize` replaces the links, and follows none.
fn links_in_a_collected_result() -> Result<()> {
    needs_recording()?;
    for by_sudo in [true, false] {
        let stakes = Stakes::new()?;
        let mut command = collect(Path::new(""), &["--finalization-mode", "deferred"], &[&sample("convoy")?]);
        succeeded(&Running::start(stakes.sudo(&mut command))?.finish()?)?;
        let result = stakes.user.path().join("result");
        is_the_users(&result)?;
        let mut user = Command::new("setpriv");
        user.args(["--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c", &stakes.links("result")]);
        succeeded(&Running::start(user.current_dir(stakes.user.path()))?.finish()?)?;
        let mut command = dwell(&["finalize", "result"]);
        if by_sudo {
            stakes.sudo(&mut command);
        }
        let output = Running::start(command.current_dir(stakes.user.path()))?.finish()?;
        stakes.is_untouched()?;
        succeeded(&output)?;
        is_the_users(&result)?;
        let log = Running::start(stakes.sudo(&mut dwell(&["report", "log", "result"])))?.finish()?;
        ensure!(log.stdout.contains("finalize: finalized"), "the log: {}{}", log.stdout, log.stderr);
        ensure!(!log.stdout.contains(SECRET.trim()), "the log has what only root may read: {}", log.stdout);
    }
    Ok(())
}

/// A collection that cannot begin leaves no folder of its own, and deletes no other.
fn failed_start_deletes_nothing_else() -> Result<()> {
    needs_recording()?;
    let stakes = Stakes::new()?;
    let mut command = collect(Path::new(""), &[], &["/no/such/program"]);
    let output = Running::start(stakes.sudo(&mut command))?.finish()?;
    expect_error(&output, &["/no/such/program"])?;
    ensure!(!stakes.user.path().join("result").exists(), "an empty result is left");
    symlink(stakes.folder(), stakes.user.path().join("result"))?;
    let mut command = collect(Path::new(""), &[], &["true"]);
    let output = Running::start(stakes.sudo(&mut command))?.finish()?;
    expect_error(&output, &["already exists"])?;
    stakes.is_untouched()
}

/// `dwell report log` shows the result's own log: neither what a link leads to, nor another user's file under a second name.
fn log_of_another() -> Result<()> {
    let stakes = Stakes::new()?;
    let result = write(&stakes.user.path().join("result"), small_trace())?;
    chown(&result, Some(USER), Some(USER))?;
    let log = result.join("log.txt");
    let shown = || run_dwell(&["report", "log", &result.display().to_string()]);
    for is_link in [true, false] {
        let secret = stakes.secret();
        if is_link { symlink(secret, &log) } else { fs::hard_link(secret, &log) }?;
        let output = shown()?;
        fs::remove_file(&log)?;
        ensure!(!(output.stdout + &output.stderr).contains(SECRET.trim()), "the log shows what only root may read");
    }
    symlink(stakes.secret(), &log)?;
    expect_error(&shown()?, &["log.txt", "a link is in its place"])?;
    fs::remove_file(&log)?;
    fs::write(&log, "the result's own\n")?;
    ensure!(shown()?.stdout.contains("the result's own"), "the log is not shown");
    Ok(())
}

/// Writes a finalized result.
pub fn write(path: &Path, mut trace: Trace) -> Result<PathBuf> {
    let result = ResultFolder::create(path)?;
    trace.write(&result, &CodeTables::default())?;
    Ok(result.path().to_owned())
}

/// What can be in the place of a file, and how it comes there.
pub type Strange = (&'static str, fn(&Path) -> Result<()>);

pub const STRANGE: [Strange; 5] = [
    ("a pipe", |path| Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o666), 0)?)),
    ("a socket", |path| {
        UnixListener::bind(path)?;
        Ok(())
    }),
    ("a link", |path| Ok(symlink("/dev/zero", path)?)),
    ("a folder", |path| Ok(fs::create_dir(path)?)),
    ("a device", |path| Ok(mknodat(CWD, path, FileType::CharacterDevice, Mode::from_raw_mode(0o666), makedev(1, 5))?)),
];

/// Puts something strange in the place of a file; tells the commands, and puts the file back.
fn with_strange(file: &Path, check: impl Fn(&str) -> Result<()>) -> Result<()> {
    let kept = file.with_extension("kept");
    let had = fs::rename(file, &kept).is_ok();
    for (what, make) in STRANGE {
        if what == "a device" && !geteuid().is_root() {
            continue;
        }
        make(file).with_context(|| format!("making {what}"))?;
        check(what).with_context(|| format!("{what} in the place of {}", file.display()))?;
        let is_folder = file.symlink_metadata()?.is_dir();
        if is_folder { fs::remove_dir(file) } else { fs::remove_file(file) }?;
    }
    if had { Ok(fs::rename(&kept, file)?) } else { Ok(()) }
}

fn promptly(arguments: &[&str]) -> Result<Output> {
    Running::start(&mut dwell(arguments))?.finish_within(PROMPTLY)
}

/// Every command on a result in which a pipe, a socket, a device, a folder or a link is in the place of a file ends, and says
/// what is wrong with which file.
fn strange_files_are_refused() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder.path().join("r000th"), small_trace())?;
    let other = write(&folder.path().join("r001th"), small_trace())?;
    let (path, other) = (result.display().to_string(), other.display().to_string());
    let html = folder.path().join("report.html").display().to_string();
    let merged = folder.path().join("merged").display().to_string();
    let readers: [&[&str]; 6] = [
        &["report", "summary", &path],
        &["report", "waits", "--format", "json", &path],
        &["report", "--html", &html, &path],
        &["compare", &other, &path],
        &["merge", "--result-dir", &merged, &other, &path, "--offset-ns", "0"],
        &["view", "--no-browser", &path],
    ];
    let manifest = result.join("manifest.json");
    with_strange(&manifest, |what| {
        let more: [&[&str]; 3] = [&["finalize", &path], &["source", &path, "main"], &["report", "log", &path]];
        readers.iter().chain(&more).try_for_each(|words| expect_error(&promptly(words)?, &["manifest.json", what]))
    })?;
    for table in ["threads.parquet", "off_cpu.parquet", "notices.parquet"] {
        with_strange(&result.join("tables").join(table), |what| {
            readers[..5].iter().try_for_each(|words| expect_error(&promptly(words)?, &[table, what]))
        })?;
    }
    with_strange(&result.join("log.txt"), |what| {
        expect_error(&promptly(&["report", "log", &path])?, &["log.txt", what])?;
        succeeded(&promptly(&["report", "summary", &path])?)
    })?;
    ensure!(!Path::new(&merged).exists(), "a merge that failed left a folder");
    succeeded(&promptly(&["report", "summary", &path])?)?;
    strange_spool(&folder.path().join("raw"))
}

/// A spool that holds anything but regular files counts as empty.
fn strange_spool(path: &Path) -> Result<()> {
    let result = ResultFolder::create(path)?;
    let words = path.display().to_string();
    with_strange(&path.join("spool/events-000000.dws"), |_| {
        fs::create_dir_all(path.join("spool"))?;
        result.write_manifest(&manifest(State::Collected))?;
        let output = promptly(&["finalize", &words])?;
        ensure!(!output.stderr.contains("panicked") && output.code() < 128, "{}", output.stderr);
        fs::create_dir_all(path.join("spool"))?;
        let _ = fs::write(path.join("spool/events-000000.dws"), ""); // for who takes it away again
        Ok(())
    })
}

/// A result that is large enough for an index.
fn long_trace() -> Result<Trace> {
    const EVENTS: u64 = 200_000;
    let mut trace = small_trace();
    let row = trace.off_cpu.row(0).context("a wait")?;
    trace.off_cpu = dwell_store::tables::OffCpu::default();
    for wait in 0..EVENTS {
        let (start_ns, wait_ns) = (wait * 10, 1 + wait * 7919 % 8);
        trace.off_cpu.push(dwell_store::tables::OffCpuRow { start_ns, wait_ns, runnable_ns: 1, ..row.clone() });
    }
    trace.threads.end_ns[0] = EVENTS * 10;
    trace.processes.end_ns[0] = EVENTS * 10;
    trace.manifest.end_ns = EVENTS * 10;
    Ok(trace)
}

/// The rows of a report that reads all waits in a part of the time.
fn waits(result: &Path) -> Result<String> {
    let result = result.display().to_string();
    let output = promptly(&["report", "waits", "--format", "csv", "--time-range", "100us-1900us", &result])?;
    succeeded(&output)?;
    Ok(output.stdout)
}

/// An index that is a pipe is made anew, or the result is read without.
fn strange_index() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder.path().join("r000th"), long_trace()?)?;
    let expected = waits(&result)?;
    let index = result.join("index.cache");
    ensure!(index.is_file(), "no index was made");
    with_strange(&index, |_| {
        let rows = waits(&result)?;
        ensure!(rows == expected, "other rows: {rows}");
        Ok(())
    })
}

/// An index with a flipped bit changes no row, and is made anew.
fn flipped_index() -> Result<()> {
    let folder = TempDir::new()?;
    let result = write(&folder.path().join("r000th"), long_trace()?)?;
    let expected = waits(&result)?;
    let index = result.join("index.cache");
    let whole = fs::read(&index)?;
    let mut made_anew = 0;
    for seed in 0..5usize {
        let mut bytes = whole.clone();
        let bit = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&index, &bytes)?;
        let rows = waits(&result)?;
        ensure!(rows == expected, "other rows with bit {bit} flipped: {rows}");
        made_anew += usize::from(fs::read(&index)? != bytes);
    }
    ensure!(made_anew > 0, "no flipped bit was noticed");
    let site = Site::open(&mut view(&result))?;
    let shown = site.json("/api/r/r000th/report/waits")?;
    drop(site);
    // Every part that is used has some.
    let mut bytes = whole.clone();
    bytes[4096..].iter_mut().step_by(1000).for_each(|byte| *byte ^= 0x10);
    fs::write(&index, &bytes)?;
    let again = Site::open(&mut view(&result))?.json("/api/r/r000th/report/waits")?;
    ensure!(again == shown, "the server shows other rows: {again}");
    Ok(())
}

/// Root maps no index of another user, who could cut it off meanwhile, and puts its own elsewhere.
fn index_of_another() -> Result<()> {
    let stakes = Stakes::new()?;
    let result = write(&stakes.user.path().join("r000th"), long_trace()?)?;
    waits(&result)?;
    let index = result.join("index.cache");
    ensure!(index.is_file(), "no index was made");
    for path in [&result, &index] {
        chown(path, Some(USER), Some(USER))?;
    }
    let caches = TempDir::new()?;
    let words = ["report", "waits", &result.display().to_string()].map(String::from);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let traced = |calls: &Path| -> Result<String> {
        let mut command = Command::new("strace");
        command.args(["-f", "-e", "trace=mmap,openat", "-y", "-o"]).arg(calls);
        let mut dwell = dwell(&words);
        command.arg(dwell.env("XDG_CACHE_HOME", caches.path()).get_program()).args(&words);
        command.env("XDG_CACHE_HOME", caches.path());
        succeeded(&Running::start(&mut command)?.finish()?)?;
        Ok(fs::read_to_string(calls)?)
    };
    if Command::new("strace").arg("-V").output().is_err() {
        return Err(Skip("strace is not installed".into()).into());
    }
    let calls = traced(&caches.path().join("calls"))?;
    let mapped = |name: &str| calls.lines().any(|line| line.contains("mmap(") && line.contains(name));
    ensure!(!mapped(&index.display().to_string()), "root mapped the user's index");
    ensure!(mapped(".index") || mapped("partial"), "no index of root's was mapped");
    let own = fs::read_dir(caches.path().join("dwell"))?.count();
    ensure!(own == 1, "root has {own} indexes of its own");
    Ok(())
}
