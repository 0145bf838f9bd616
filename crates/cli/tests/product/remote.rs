//! `--target ssh:…`: collections on another machine. Here that is this one, by way of an ssh server of its own; what
//! other machines would be like is played by a stand-in for ssh.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{Output, Recording, Running, collect, needs_program, needs_recording, sample, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("remote::the_result_is_brought_back", brought_back),
        Case::new("remote::ctrl_c_ends_it_there_too", ctrl_c),
        Case::new("remote::a_lost_connection_leaves_nothing_behind", lost_connection),
        Case::new("remote::a_program_that_is_not_there", no_program),
        Case::new("remote::hosts_that_cannot_be_reached", unreachable),
        Case::new("remote::machines_that_do_not_fit", unfit),
        Case::new("remote::a_machine_without_tar", no_tar),
        Case::new("remote::an_older_c_library_there", old_library),
        Case::new("remote::a_full_disk_there", full_disk),
        Case::new("remote::a_hostile_machine", hostile),
    ]
}

/// An ssh server on loopback with keys and configuration of its own; far from it, everything lies in `far`.
struct Server {
    folder: TempDir,
    port: u16,
    child: Child,
    made_run: bool,
}

impl Server {
    fn start() -> Result<Self> {
        needs_recording()?;
        let (sshd, keygen, _) = (needs_program("sshd")?, needs_program("ssh-keygen")?, needs_program("ssh")?);
        let folder = TempDir::new()?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new(&keygen).args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]).status()?;
            ensure!(made.success(), "ssh-keygen failed");
        }
        fs::create_dir(folder.path().join("far"))?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let host_key = fs::read_to_string(path("host.pub"))?;
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\n\
             UsePAM no\nPasswordAuthentication no\nSetEnv TMPDIR={}\n",
            path("host"),
            path("user.pub"),
            path("far")
        );
        fs::write(path("sshd_config"), server)?;
        fs::write(path("known"), format!("[127.0.0.1]:{port} {host_key}"))?;
        let client = |known: &str| {
            format!(
                "IdentityFile {}\nIdentitiesOnly yes\nUserKnownHostsFile {}\nStrictHostKeyChecking yes\n",
                path("user"),
                path(known)
            )
        };
        fs::write(path("config"), client("known"))?;
        fs::write(path("config-unknown"), client("none"))?;
        // The server insists on this folder; it makes nothing in it.
        let made_run = fs::create_dir("/run/sshd").is_ok();
        let child = Command::new(sshd)
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stdin(Stdio::null())
            .stderr(fs::File::create(path("log"))?)
            .spawn()?;
        let server = Self { port, child, made_run, folder };
        wait_for("the ssh server", || std::net::TcpStream::connect(("127.0.0.1", port)).ok())?;
        Ok(server)
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn target(&self) -> String {
        format!("ssh:root@127.0.0.1:{}", self.port)
    }

    /// `dwell collect threading --target …` into `folder/result`.
    fn collect(&self, folder: &Path, options: &[&str], program: &[&str]) -> Command {
        let target = self.target();
        let options: Vec<&str> = ["--target", &target].iter().chain(options).copied().collect();
        let mut command = collect(folder, &options, program);
        command.env("DWELL_SSH", format!("ssh -F {}", self.file("config")));
        command
    }

    /// What lies on the far side.
    fn left_behind(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("far")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Connections outlive the server that accepted them.
        let own = self.child.id();
        let accepted = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
        for pid in accepted.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        if self.made_run {
            let _ = fs::remove_dir("/run/sshd");
        }
    }
}

fn brought_back() -> Result<()> {
    let server = Server::start()?;
    let folder = TempDir::new()?;
    let script = format!("{}; exit 3", sample("convoy")?);
    let output = Running::start(&mut server.collect(folder.path(), &[], &["sh", "-c", &script]))?.finish()?;
    ensure!(output.code() == 3, "exit status {}, expected the program's\n{}", output.code(), output.stderr);
    ensure!(output.stdout.contains("truth "), "the program's output did not come:\n{}", output.stdout);
    ensure!(output.stdout.contains("Where the time went"), "no summary:\n{}", output.stdout);
    let recording = Recording::in_folder(folder, output)?;
    let waits = recording.rows(&["waits"])?;
    ensure!(waits.iter().any(|row| row["object"] == "queue_lock"), "no names in the result: {waits:?}");
    ensure!(server.left_behind().is_empty(), "left behind: {:?}", server.left_behind());
    Ok(())
}

/// As long as copying a program that is not optimized takes on a busy machine.
fn wait_longer<T>(what: &str, condition: impl Fn() -> Option<T>) -> Result<T> {
    (0..5).find_map(|_| wait_for(what, &condition).ok()).with_context(|| format!("waited too long for {what}"))
}

/// Starts a collection of a program that runs on, and returns when it runs.
fn long_one(server: &Server, folder: &Path) -> Result<(Running, u32)> {
    let pid_file = server.file("pid");
    let script = format!("echo $$ > {pid_file}; exec sleep 300");
    let running = Running::start(&mut server.collect(folder, &[], &["sh", "-c", &script]))?;
    let pid = wait_longer("the program", || fs::read_to_string(&pid_file).ok()?.trim().parse().ok())?;
    Ok((running, pid))
}

fn is_there(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}/cmdline")).exists()
}

fn ctrl_c() -> Result<()> {
    let server = Server::start()?;
    let folder = TempDir::new()?;
    let (running, pid) = long_one(&server, folder.path())?;
    running.signal(Signal::INT)?;
    let output = running.finish()?;
    ensure!(!is_there(pid), "the program still runs there");
    let recording = Recording::in_folder(folder, output)?;
    ensure!(!recording.rows(&["threads"])?.is_empty(), "no threads in the result");
    ensure!(server.left_behind().is_empty(), "left behind: {:?}", server.left_behind());
    Ok(())
}

fn lost_connection() -> Result<()> {
    let server = Server::start()?;
    let folder = TempDir::new()?;
    let (running, pid) = long_one(&server, folder.path())?;
    ensure!(!server.left_behind().is_empty(), "nothing lies there meanwhile");
    drop(running); // kills it: it can tidy up nothing
    wait_longer("the program's end", || (!is_there(pid)).then_some(()))?;
    wait_longer("the far folder to go", || server.left_behind().is_empty().then_some(()))
}

fn expect_error(output: &Output, words: &[&str]) -> Result<()> {
    ensure!(output.code() != 0, "succeeded: {}", output.stdout);
    let lines = |start: &str| output.stderr.lines().filter(|line| line.starts_with(start)).count();
    ensure!(lines("error: ") >= 1 && lines("hint: ") >= 1, "no error with a hint:\n{}", output.stderr);
    for word in words {
        ensure!(output.stderr.contains(word), "the error does not say {word:?}:\n{}", output.stderr);
    }
    Ok(())
}

fn no_program() -> Result<()> {
    let server = Server::start()?;
    let folder = TempDir::new()?;
    let output = Running::start(&mut server.collect(folder.path(), &[], &["/no/such/program"]))?.finish()?;
    expect_error(&output, &["/no/such/program", "there is no result on root@127.0.0.1"])?;
    ensure!(!folder.path().join("result").exists(), "a result was made of nothing");
    ensure!(server.left_behind().is_empty(), "left behind: {:?}", server.left_behind());
    Ok(())
}

fn unreachable() -> Result<()> {
    let server = Server::start()?;
    let folder = TempDir::new()?;
    let with = |ssh: &str| -> Result<Output> {
        let mut command = server.collect(folder.path(), &[], &["true"]);
        Running::start(command.env("DWELL_SSH", ssh))?.finish()
    };
    let unknown = with(&format!("ssh -F {}", server.file("config-unknown")))?;
    expect_error(&unknown, &["key that is not known", "shows the key"])?;
    let no_key = with(&format!("ssh -F {} -o PubkeyAuthentication=no", server.file("config")))?;
    expect_error(&no_key, &["does not let us in", "ssh-copy-id"])?;
    expect_error(&with("/no/such/ssh")?, &["cannot run ssh", "apt-get install openssh-client"])?;
    let mut refused = collect(folder.path(), &["--target", "ssh:root@127.0.0.1:1"], &["true"]);
    refused.env("DWELL_SSH", format!("ssh -F {}", server.file("config")));
    expect_error(&Running::start(&mut refused)?.finish()?, &["no ssh server that answers"])?;
    ensure!(!folder.path().join("result").exists(), "a result was made of nothing");
    Ok(())
}

/// A stand-in for ssh that runs the scripts on a machine with these programs in place of its own.
fn stand_in(folder: &Path, programs: &[(&str, &str)]) -> Result<String> {
    let bin = folder.join("bin");
    fs::create_dir(&bin)?;
    for (name, text) in programs {
        fs::write(bin.join(name), format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(bin.join(name), Permissions::from_mode(0o755))?;
    }
    let far = folder.join("far");
    fs::create_dir_all(&far)?;
    let ssh = folder.join("ssh");
    let (bin, far) = (bin.display(), far.display());
    let text = format!(
        "#!/bin/sh\nfor last; do :; done\ncase \"$*\" in *'-O exit'*) exit 0;; esac\n\
         PATH={bin}:$PATH TMPDIR={far} exec sh -c \"$last\"\n"
    );
    fs::write(&ssh, text)?;
    fs::set_permissions(&ssh, Permissions::from_mode(0o755))?;
    Ok(ssh.display().to_string())
}

fn unfit() -> Result<()> {
    type Programs = &'static [(&'static str, &'static str)];
    let machines: [(Programs, &[&str]); 2] = [
        (
            &[("uname", "[ \"$1\" = -s ] && echo Linux || echo aarch64")],
            &["Linux on aarch64", "collect on a machine of"],
        ),
        (&[("id", "echo 1000"), ("sudo", "exit 1")], &["no root on there", "--target ssh:root@there"]),
    ];
    for (programs, words) in machines {
        let folder = TempDir::new()?;
        let ssh = stand_in(folder.path(), programs)?;
        let mut command = collect(folder.path(), &["--target", "ssh:there"], &["true"]);
        expect_error(&Running::start(command.env("DWELL_SSH", ssh))?.finish()?, words)?;
        let left = fs::read_dir(folder.path().join("far"))?.count();
        ensure!(left == 0, "{left} left behind");
    }
    Ok(())
}

/// A machine that has these programs and no others.
fn no_tar() -> Result<()> {
    let folder = TempDir::new()?;
    let ssh = stand_in(folder.path(), &[("id", "echo 0")])?;
    for program in ["sh", "uname", "mktemp", "setsid", "rm"] {
        std::os::unix::fs::symlink(needs_program(program)?, folder.path().join("bin").join(program))?;
    }
    fs::write(&ssh, fs::read_to_string(&ssh)?.replace(":$PATH", ""))?;
    let mut command = collect(folder.path(), &["--target", "ssh:there"], &["true"]);
    let output = Running::start(command.env("DWELL_SSH", ssh))?.finish()?;
    expect_error(&output, &["there has no tar", "ssh there apt-get install tar"])?;
    ensure!(fs::read_dir(folder.path().join("far"))?.count() == 0, "something was left behind");
    Ok(())
}

/// The copy there does not start: the loader says why.
fn old_library() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let loader = "echo \"dwell: /lib/x86_64-linux-gnu/libc.so.6: version \\`GLIBC_2.34' not found\" >&2; exit 1";
    let ssh = stand_in(folder.path(), &[("chmod", loader)])?;
    let mut command = collect(folder.path(), &["--target", "ssh:there"], &["true"]);
    let output = Running::start(command.env("DWELL_SSH", ssh))?.finish()?;
    expect_error(&output, &["there has an older C library", "make dist"])?;
    ensure!(fs::read_dir(folder.path().join("far"))?.count() == 0, "something was left behind");
    Ok(())
}

/// The far side sends a program with a foreign user's rights, and a disk of this machine.
fn hostile() -> Result<()> {
    needs_recording()?;
    let tar = needs_program("tar")?;
    for (sent, comes) in [("cp /bin/true setuid && chmod 6755 setuid", true), ("mknod disk b 8 0", false)] {
        let folder = TempDir::new()?;
        let prepared = folder.path().join("hostile");
        fs::create_dir(&prepared)?;
        ensure!(Command::new("sh").args(["-c", sent]).current_dir(&prepared).status()?.success(), "{sent}");
        let more = format!("exec {tar} \"$@\" -C {} .", prepared.display());
        let sender = format!("case \"$*\" in *-cf*) {more};; *) exec {tar} \"$@\";; esac");
        let ssh = stand_in(folder.path(), &[("tar", &sender)])?;
        let mut command = collect(folder.path(), &["--target", "ssh:there"], &["true"]);
        let output = Running::start(command.env("DWELL_SSH", ssh))?.finish()?;
        let result = folder.path().join("result");
        if !comes {
            expect_error(&output, &["bringing the result here"])?;
            ensure!(!result.exists(), "the result stayed");
            continue;
        }
        ensure!(output.code() == 0, "{}", output.stderr);
        let mode = fs::metadata(result.join("setuid"))?.permissions().mode() & 0o7777;
        ensure!(mode == 0o755, "a program of mode {mode:o}");
    }
    Ok(())
}

/// The disk on the far side has less room than the program takes.
fn full_disk() -> Result<()> {
    needs_recording()?;
    let mount = needs_program("mount")?;
    let folder = TempDir::new()?;
    let ssh = stand_in(folder.path(), &[])?;
    let far = folder.path().join("far");
    let mounted = Command::new(mount).args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&far).status()?;
    ensure!(mounted.success(), "cannot mount a small disk");
    let mut command = collect(folder.path(), &["--target", "ssh:there"], &["true"]);
    let output = Running::start(command.env("DWELL_SSH", ssh)).and_then(Running::finish);
    let left = fs::read_dir(&far).map(Iterator::count);
    let unmounted = Command::new("umount").arg(&far).status()?;
    expect_error(&output?, &["no room", "df -h"])?;
    ensure!(unmounted.success() && left.context("the far folder")? == 0, "something was left behind");
    Ok(())
}
