//! A guest: a kernel in QEMU, which needs no KVM, and in it `dwell` with the programs that it records.
//!
//! The guest is 10 to 30 times slower than this machine: it only records. What it recorded comes out through a serial port and
//! is finalized and judged here, where the programs lie under the same paths. Its clock counts its instructions: to the guest it
//! is a machine of 500 million instructions a second, however busy this one is, and where it sleeps no time passes here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dwell_anatomy::system::Initramfs;
use tempfile::TempDir;

use crate::recording::{Output, Recording, Running, needs_program, root, run_dwell};

/// Where `dwell` lies in the guest.
const DWELL: &str = "/usr/bin/dwell";
/// No job in a guest may take longer, in seconds.
const MOST_JOB_S: u32 = 100;

/// The guest's first program. Results leave through the second serial port as soon as they are there.
const INIT: &str = "#!/bin/busybox sh
export PATH=/usr/bin:/bin HOME=/ COLUMNS=160 PYTHONDONTWRITEBYTECODE=1
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /out
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /dev/pts; mount -t tmpfs -o mode=1777 shm /dev/shm; mount -t devpts devpts /dev/pts
mount -t securityfs securityfs /sys/kernel/security; mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup2 /sys/fs/cgroup; chmod 1777 /tmp
# Where the checkout lies below it, its programs are there.
[ -n \"$(ls -A /tmp)\" ] || mount -t tmpfs tmp /tmp
ip link set lo up; ulimit -c 0
stty -F /dev/ttyS1 raw
exec > /dev/console 2>&1
run() { # NAME COMMAND…
  echo \"GUEST $1 at $(cut -d' ' -f1 /proc/uptime) s\"
  mkdir /out/$1; cd /out/$1; name=$1; shift
  \"$@\" > stdout 2> stderr < /dev/null; echo $? > status
  cd /; tar c -C /out $name | gzip -1 > /dev/ttyS1; rm -r /out/$name
}
run release uname -r
. /jobs
run done true
reboot -f
";

/// A command that runs in a guest, in a folder of its own.
#[derive(Clone)]
pub struct Job {
    pub name: &'static str,
    /// The program and its arguments; `dwell` is there.
    pub command: Vec<String>,
    pub environment: Vec<(String, String)>,
}

impl Job {
    fn line(&self) -> String {
        let environment = self.environment.iter().map(|(key, value)| quoted(&format!("{key}={value}")));
        let command = self.command.iter().map(|word| quoted(word));
        let words: Vec<String> = environment.chain(command).collect();
        format!("run {} timeout {MOST_JOB_S} env {}\n", self.name, words.join(" "))
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A kernel, how it is started, and what the guest does before its jobs.
pub struct Guest<'a> {
    pub image: &'a Path,
    /// Linux 7 gives BPF programs memory only where the processor has cmpxchg16b, as all do since 2006. Behind it QEMU's flags are
    /// garbage at times (EFLAGS 81ef6242, which no processor has), and the allocator of older kernels panics.
    pub has_cx16: bool,
    /// Words for the kernel's command line.
    pub kernel_options: &'a str,
    /// Lines of its shell.
    pub before: &'a str,
}

/// What a job left behind: its output, and the result in its folder when it made one.
pub struct Done {
    folder: TempDir,
    pub output: Output,
}

impl Done {
    /// The recording as the guest made it.
    pub fn raw(self) -> Result<Recording> {
        Recording::in_folder(self.folder, self.output)
    }

    /// The recording, finalized here.
    pub fn finalized(self) -> Result<Recording> {
        let recording = self.raw()?;
        let output = run_dwell(&["finalize", "--quiet", &recording.path().display().to_string()])?;
        ensure!(output.status.success(), "dwell finalize: {}", output.stderr);
        Ok(recording)
    }
}

impl Guest<'_> {
    /// Boots, does the jobs, and shuts down: what each job left, and `release`, by name.
    pub fn run(&self, jobs: &[Job], limit: Duration) -> Result<BTreeMap<String, Done>> {
        let emulator = needs_program("qemu-system-x86_64")?;
        let folder = TempDir::new()?;
        let at = |name: &str| folder.path().join(name);
        fs::write(at("initrd"), [files()?, &self.script(jobs)].concat())?;
        // It ends with the tests, however they end.
        let mut command = Command::new(needs_program("setpriv")?);
        command.args(["--pdeathsig", "KILL", &emulator]);
        command.args("-nodefaults -no-user-config -no-reboot -display none -machine q35 -smp 1 -m 2G".split(' '));
        // Real-time kernels take the serial port's interrupts for stray ones and stop them: noirqdebug.
        // With more threads than one QEMU loses its way where a kernel changes its own code.
        let processor = if self.has_cx16 { "max,-la57" } else { "max,-la57,-cx16" };
        command.args(["-accel", "tcg,thread=single", "-cpu", processor, "-icount", "shift=1,sleep=off"]);
        command.arg("-kernel").arg(self.image).arg("-initrd").arg(at("initrd"));
        command.args([
            "-append",
            &format!("console=ttyS0 quiet panic=-1 no_timer_check noirqdebug {}", self.kernel_options),
        ]);
        for port in ["console", "results"] {
            command.arg("-serial").arg(format!("file:{}", at(port).display()));
        }
        let ended = Running::start(&mut command)?.finish_within(limit);
        let console = fs::read(at("console")).unwrap_or_default();
        let console = last_lines(&String::from_utf8_lossy(&console));
        ended.with_context(|| format!("the guest says:\n{console}"))?;
        let mut ran = results(&at("results")).with_context(|| format!("the guest says:\n{console}"))?;
        ensure!(ran.remove("done").is_some(), "the guest ended before its jobs did; it says:\n{console}");
        Ok(ran)
    }

    /// A second archive behind that of the files, as the kernel allows.
    fn script(&self, jobs: &[Job]) -> Vec<u8> {
        let mut archive = Initramfs::default();
        let lines: String = jobs.iter().map(Job::line).collect();
        archive.file("jobs", format!("{}\n{lines}", self.before).as_bytes(), false);
        archive.finish()
    }
}

fn last_lines(console: &str) -> String {
    let lines: Vec<&str> = console.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

/// Unpacks what came out: an archive for each job, one behind the other.
fn results(archives: &Path) -> Result<BTreeMap<String, Done>> {
    let folder = TempDir::new()?;
    let unpack = format!("gzip -dc {} | tar -xi -C {}", archives.display(), folder.path().display());
    let unpacked = Running::start(Command::new("sh").args(["-c", &unpack]))?.finish()?;
    ensure!(unpacked.status.success(), "the results cannot be unpacked: {}", unpacked.stderr);
    let jobs = fs::read_dir(folder.path())?.collect::<Result<Vec<_>, _>>()?;
    jobs.iter().map(|job| Ok((job.file_name().to_string_lossy().into_owned(), done(&job.path())?))).collect()
}

fn done(job: &Path) -> Result<Done> {
    let text = |name: &str| String::from_utf8_lossy(&fs::read(job.join(name)).unwrap_or_default()).into_owned();
    let code: i32 = text("status").trim().parse().with_context(|| format!("no status of {}", job.display()))?;
    let folder = TempDir::new()?;
    if job.join("result").is_dir() {
        fs::rename(job.join("result"), folder.path().join("result"))?;
    }
    let output = Output {
        status: ExitStatus::from_raw(code << 8),
        stdout: text("stdout"),
        stderr: text("stderr"),
        waits_have_delays: false,
        stolen_ns: 0.0,
    };
    Ok(Done { folder, output })
}

/// The guest's files, the same for all guests.
fn files() -> Result<&'static [u8]> {
    static FILES: OnceLock<Result<Vec<u8>, String>> = OnceLock::new();
    let made = FILES.get_or_init(|| make_files().map_err(|error| format!("{error:#}")));
    made.as_deref().map_err(|why| anyhow::anyhow!("the guest's files: {why}"))
}

fn make_files() -> Result<Vec<u8>> {
    let mut files = Files::default();
    files.archive.folder("dev");
    files.archive.console();
    files.add("/init", INIT.as_bytes())?;
    files.add("/bin/busybox", &fs::read(needs_program("busybox")?)?)?;
    let stripped = TempDir::new()?;
    let own = stripped.path().join("dwell");
    let built = env!("CARGO_BIN_EXE_dwell");
    let strip =
        Running::start(Command::new(needs_program("strip")?).arg("-o").args([&own, Path::new(built)]))?.finish()?;
    ensure!(strip.status.success(), "strip: {}", strip.stderr);
    files.add(DWELL, &fs::read(&own)?)?;
    files.add_libraries(Path::new(built))?;
    for program in ["setpriv", "getent"] {
        let path = PathBuf::from(needs_program(program)?);
        files.add(&format!("/usr/bin/{program}"), &fs::read(&path)?)?;
        files.add_libraries(&path)?;
    }
    files.add("/etc/group", b"daemon:x:1:\n")?;
    for sample in fs::read_dir(root().join("samples/bin"))? {
        files.add_program(&fs::canonicalize(sample?.path())?)?;
    }
    files.add_python()?;
    Ok(files.archive.finish())
}

/// Files on their way into the guest, each under its path here.
#[derive(Default)]
struct Files {
    archive: Initramfs,
    folders: BTreeSet<PathBuf>,
    there: BTreeSet<PathBuf>,
}

impl Files {
    fn add(&mut self, path: &str, content: &[u8]) -> Result<()> {
        let path = Path::new(path).strip_prefix("/")?;
        if !self.there.insert(path.to_owned()) {
            return Ok(());
        }
        let folders: Vec<&Path> = path.ancestors().skip(1).filter(|folder| *folder != Path::new("")).collect();
        for folder in folders.into_iter().rev() {
            if self.folders.insert(folder.to_owned()) {
                self.archive.folder(&folder.to_string_lossy());
            }
        }
        self.archive.file(&path.to_string_lossy(), content, true);
        Ok(())
    }

    /// A file as it is.
    fn add_file(&mut self, path: &Path) -> Result<()> {
        let content = fs::read(path).with_context(|| path.display().to_string())?;
        self.add(&path.to_string_lossy(), &content)
    }

    fn add_program(&mut self, path: &Path) -> Result<()> {
        self.add_file(path)?;
        self.add_libraries(path)
    }

    /// The shared libraries that a program needs, and its loader; a static one needs none.
    fn add_libraries(&mut self, program: &Path) -> Result<()> {
        let listed = Command::new("ldd").arg(program).output()?;
        let lines = String::from_utf8_lossy(&listed.stdout).into_owned();
        let paths = lines.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
        paths.into_iter().try_for_each(|path| self.add_file(Path::new(path)))
    }

    /// The distribution's Python with the modules of the scripts below.
    fn add_python(&mut self) -> Result<()> {
        let Ok(python) = fs::canonicalize(PYTHON) else { return Ok(()) };
        self.add_program(&python)?;
        self.add(PYTHON, &fs::read(&python)?)?;
        let listed = Command::new(&python).args(["-c", PYTHON_FILES]).output()?;
        for path in String::from_utf8_lossy(&listed.stdout).lines() {
            self.add_program(Path::new(path))?;
        }
        Ok(())
    }
}

/// The Python of the guest.
pub const PYTHON: &str = "/usr/bin/python3";
/// Prints the files of the modules that a guest's scripts need.
const PYTHON_FILES: &str = "
import queue, sys, threading, time
print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)), sep='\\n')
import os, encodings
print(*(os.path.join(encodings.__path__[0], f'{name}.py') for name in ('ascii', 'latin_1', 'utf_8', 'aliases')), sep='\\n')
";

/// The folder of downloaded kernels.
pub fn kernels() -> Option<PathBuf> {
    Some(Path::new(env!("CARGO_BIN_EXE_dwell")).ancestors().nth(2)?.join("kernels"))
}

/// The folder of a kernel that `scripts/fetch-kernels.sh` downloaded.
fn fetched(name: &str) -> Option<PathBuf> {
    Some(kernels()?.join(name)).filter(|folder| folder.is_dir())
}

/// The image of a downloaded kernel.
pub fn kernel(name: &str) -> Option<PathBuf> {
    fetched(name).map(|folder| folder.join("vmlinuz")).filter(|image| image.is_file())
}

/// The package of a downloaded kernel.
pub fn package(name: &str) -> Option<PathBuf> {
    let files = fs::read_dir(fetched(name)?).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "deb"))
}
