//! Looking at results: `dwell view` as a browser and as others see it, `dwell compare` as a build server does, and the
//! file that `dwell report --html` makes.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::Case;
use crate::recording::{
    Recording, Running, dwell, needs_program, needs_recording, number, run_dwell, sample, text, wait_for,
};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("looking::a_browser_sees_what_the_command_line_says", a_browser_sees_what_the_command_line_says),
        Case::new("looking::under_sudo_the_server_is_the_users", under_sudo_the_server_is_the_users),
        Case::new("looking::a_bookmark_outlives_the_server_for_its_user", a_bookmark_outlives_the_server_for_its_user),
        Case::new("looking::others_need_encryption", others_need_encryption),
        Case::new("looking::what_cannot_be_viewed_says_why", what_cannot_be_viewed_says_why),
        Case::new("looking::a_build_server_is_told_by_the_status", a_build_server_is_told_by_the_status),
        Case::new("looking::one_file_draws_itself", one_file_draws_itself),
    ]
}

fn convoy() -> Result<Recording> {
    Recording::of(&[], &[&sample("convoy")?])
}

/// A server that runs, and what its address says.
pub struct Site {
    pub running: Running,
    /// `127.0.0.1:PORT`.
    host: String,
    token: String,
}

impl Site {
    pub fn open(command: &mut Command) -> Result<Self> {
        let running = Running::start(command)?;
        let printed = || running.stdout().lines().next().filter(|line| line.contains("token=")).map(str::to_owned);
        let url = wait_for("the address of dwell view", printed)?;
        let (host, token) = url.trim_start_matches("http://").split_once("/#").context("no token")?;
        let (_, token) = token.split_once("token=").context("no token")?;
        Ok(Self { host: host.to_owned(), token: token.to_owned(), running })
    }

    /// The head and the body of an answer.
    pub fn ask(&self, path: &str) -> Result<(String, Vec<u8>)> {
        get(&self.host, path, &format!("Authorization: Bearer {}\r\n", self.token))
    }

    /// The body of an answer that is good.
    pub fn get(&self, path: &str) -> Result<Vec<u8>> {
        let (head, body) = self.ask(path)?;
        ensure!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    pub fn json(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_slice(&self.get(path)?)?)
    }
}

/// One request: the head and the body of its answer.
fn get(host: &str, path: &str, headers: &str) -> Result<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(host)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{headers}\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").context("no head")?;
    Ok((String::from_utf8_lossy(&answer[..end]).into_owned(), answer[end + 4..].to_vec()))
}

pub fn view(path: &Path) -> Command {
    let mut command = dwell(&["view", "--no-browser"]);
    command.arg(path);
    command
}

fn a_browser_sees_what_the_command_line_says() -> Result<()> {
    let recording = convoy()?;
    let path = recording.path();
    let site = Site::open(&mut view(&path))?;
    for (path, status) in [("/", "200"), ("/api/results", "401"), ("/api/r/result/log", "401")] {
        let (head, _) = get(&site.host, path, &format!("Cookie: dwell={0}; token={0}\r\n", site.token))?;
        let answered = head.starts_with(&format!("HTTP/1.1 {status}")) && !head.contains("set-cookie");
        ensure!(answered, "{path}, without the token in its header: {head}");
    }
    let results = site.json("/api/results")?;
    ensure!(results[0]["id"] == "result" && results[0]["problem"].is_null(), "{results}");
    for report in ["summary", "waits", "hotspots", "top-down", "threads", "timeline", "findings", "critical-path"] {
        let shown = run_dwell(&["report", report, "--format", "json", &path.display().to_string()])?;
        let served = site.get(&format!("/api/r/result/report/{report}"))?;
        ensure!(served == shown.stdout.as_bytes(), "{report} differs:\n{}", String::from_utf8_lossy(&served));
    }
    let info = site.json("/api/r/result/info")?;
    let threads = info["threads"].as_array().context("no threads")?;
    for thread in threads {
        let life = number(thread, "end_ns")? - number(thread, "start_ns")?;
        let times = ["running_ns", "runnable_ns", "waiting_ns"].map(|field| number(thread, field));
        let sum: f64 = times.into_iter().sum::<Result<f64>>()?;
        ensure!((sum - life).abs() < 1.0, "a life of {life} ns has {sum} ns: {thread}");
    }
    // All ways to look at the waits for the lock tell the same number.
    let waits = site.json("/api/r/result/report/waits")?;
    let lock = &waits["rows"][0];
    let grid = site.json("/api/r/result/grid?group-by=object,function,callers&sort=wait_ns")?;
    let row = &grid["rows"][0];
    ensure!(text(row, "label") == text(lock, "object") && text(lock, "object") == "queue_lock", "{row} {lock}");
    ensure!(row["values"]["wait_ns"] == lock["wait_ns"], "{row} {lock}");
    let key = text(row, "key");
    let pane = site.json(&format!("/api/r/result/stacks?group-by=object&kind=wait&path=%5B%22{key}%22%5D"))?;
    ensure!(pane["total_ns"] == lock["wait_ns"] && pane["frames"][1]["function"] == "push_item", "{pane}");
    let histogram = site.json("/api/r/result/histogram?of=wait&object=queue_lock")?;
    let count: f64 =
        histogram["bins"].as_array().context("no bins")?.iter().filter_map(|it| it["count"].as_f64()).sum();
    ensure!(count == number(lock, "wait_count")?, "{histogram} {lock}");
    let bands = site.json("/api/r/result/bands?by=thread&sort=wait_ns")?;
    ensure!(bands["bands"].as_array().is_some_and(|bands| bands.len() == threads.len()), "{bands}");
    tile_covers_the_threads_life(&site)?;
    site.running.signal(Signal::TERM)?;
    Ok(())
}

/// The first worker's band has no gap from its start to its end.
fn tile_covers_the_threads_life(site: &Site) -> Result<()> {
    let info = site.json("/api/r/result/info")?;
    let worker = &info["threads"][1];
    let bytes = site.get("/api/r/result/tile?by=thread&bands=1&width=200")?;
    let length = u32::from_le_bytes(bytes[..4].try_into()?) as usize;
    let header: Value = serde_json::from_slice(&bytes[4..4 + length])?;
    let segments = header["bands"][0]["segments"].as_u64().context("no segments")? as usize;
    let column = |column: usize| -> Vec<f64> {
        let begin = 4 + length + 8 * segments * column;
        let bytes = bytes[begin..begin + 8 * segments].chunks_exact(8);
        bytes.map(|eight| f64::from_le_bytes(eight.try_into().unwrap_or_default())).collect()
    };
    let (starts, ends) = (column(0), column(1));
    ensure!((10..=400).contains(&segments), "{header}");
    ensure!(ends[..segments - 1] == starts[1..], "there are gaps: {starts:?} {ends:?}");
    let life = (number(worker, "start_ns")?, number(worker, "end_ns")?);
    ensure!((starts[0], ends[segments - 1]) == life, "{worker}: {} to {}", starts[0], ends[segments - 1]);
    Ok(())
}

fn under_sudo_the_server_is_the_users() -> Result<()> {
    let recording = convoy()?;
    let path = recording.path();
    let open = |path: &Path| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755));
    path.ancestors().take(2).try_for_each(open)?;
    let mut command = view(&path);
    command.env("SUDO_USER", "nobody").env("SUDO_UID", "65534").env("SUDO_GID", "65534");
    let site = Site::open(&mut command)?;
    let status = fs::read_to_string(format!("/proc/{}/status", site.running.pid()))?;
    let ids = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    ensure!(ids("Uid:").split_whitespace().all(|id| id == "65534"), "{status}");
    ensure!(ids("Gid:").split_whitespace().all(|id| id == "65534"), "{status}");
    ensure!(ids("Groups:").trim() == "65534", "{status}");
    let capable = u64::from_str_radix(ids("CapEff:").trim(), 16)?;
    ensure!(capable == 0, "{status}");
    ensure!(!site.get("/api/r/result/report/summary")?.is_empty(), "no summary");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let refused = Running::start(&mut command)?.finish()?;
    ensure!(refused.code() == 1 && refused.stderr.contains("chown"), "{}", refused.stderr);
    Ok(())
}

/// The server is root's, and who asks with its token is not.
fn a_bookmark_outlives_the_server_for_its_user() -> Result<()> {
    let (curl, setpriv) = (needs_program("curl")?, needs_program("setpriv")?);
    let recording = convoy()?;
    let state = TempDir::new()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let serve = || {
        let mut command = view(&recording.path());
        Site::open(command.args(["--port", &port]).env("XDG_STATE_HOME", state.path()))
    };
    let first = serve()?;
    let token = first.token.clone();
    first.running.signal(Signal::TERM)?;
    first.running.finish()?;
    let again = serve()?;
    ensure!(again.token == token, "another address after a restart");
    again.get("/api/results")?;
    let (head, _) = get(&again.host, "/api/results", "Authorization: Bearer 0\r\n")?;
    ensure!(head.starts_with("HTTP/1.1 401"), "{head}");
    for path in ["/", "/api/results"] {
        let mut other = Command::new(&setpriv);
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&curl).args(["-s", "--max-time", "20"]);
        other.args(["-w", "%{http_code}", "-H", &format!("Authorization: Bearer {token}")]);
        let answer = Running::start(other.arg(format!("http://{}{path}", again.host)))?.finish()?;
        let refused = answer.stdout.ends_with("403") && answer.stdout.contains("other-user");
        ensure!(refused && !answer.stdout.contains("\"id\""), "{path}: {} {}", answer.stdout, answer.stderr);
    }
    Ok(())
}

fn others_need_encryption() -> Result<()> {
    let recording = convoy()?;
    let path = recording.path();
    let refused = Running::start(view(&path).args(["--listen", "0.0.0.0"]))?.finish()?;
    ensure!(refused.code() == 2 && refused.stderr.contains("--tls-cert"), "{}", refused.stderr);
    let insecure = Site::open(view(&path).args(["--listen", "127.0.0.2", "--insecure"]))?;
    ensure!(insecure.host.starts_with("127.0.0.2:"), "{}", insecure.host);
    let (openssl, curl) = (needs_program("openssl")?, needs_program("curl")?);
    let folder = TempDir::new()?;
    let (key, certificate) = (folder.path().join("key.pem"), folder.path().join("cert.pem"));
    let mut make = Command::new(openssl);
    make.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]);
    make.args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout"]);
    let made = Running::start(make.arg(&key).arg("-out").arg(&certificate))?.finish()?;
    ensure!(made.status.success(), "{}", made.stderr);
    let mut command = view(&path);
    let command = command.args(["--listen", "0.0.0.0", "--tls-cert"]).arg(&certificate).arg("--tls-key").arg(&key);
    let running = Running::start(command)?;
    let url = wait_for("the address", || running.stdout().lines().next().map(str::to_owned))?;
    ensure!(url.starts_with("https://127.0.0.1:"), "{url}");
    let (base, token) = url.split_once("/#token=").context("no token")?;
    let mut fetch = Command::new(&curl);
    fetch.args(["-s", "--max-time", "20", "--cacert"]).arg(&certificate);
    fetch.args(["-H", &format!("Authorization: Bearer {token}"), &format!("{base}/api/results")]);
    let results = Running::start(&mut fetch)?.finish()?;
    ensure!(results.stdout.contains("\"id\":\"result\""), "{} {}", results.stdout, results.stderr);
    let swapped =
        Running::start(view(&path).arg("--tls-cert").arg(&key).arg("--tls-key").arg(&certificate))?.finish()?;
    ensure!(swapped.code() == 1 && swapped.stderr.contains("hint:"), "{}", swapped.stderr);
    Ok(())
}

fn what_cannot_be_viewed_says_why() -> Result<()> {
    let folder = TempDir::new()?;
    for (path, words) in [(folder.path(), "there is no result in"), (Path::new("/no/such"), "is not a Dwell result")] {
        let output = Running::start(&mut view(path))?.finish()?;
        ensure!(output.code() == 1 && output.stderr.contains(words), "{}", output.stderr);
        ensure!(output.stderr.contains("hint: "), "{}", output.stderr);
    }
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port().to_string();
    let recording = convoy()?;
    let output = Running::start(view(&recording.path()).args(["--port", &port]))?.finish()?;
    ensure!(output.code() == 1 && output.stderr.contains("--port"), "{}", output.stderr);
    let certificate = Running::start(view(&recording.path()).args(["--tls-cert", "x"]))?.finish()?;
    ensure!(certificate.code() == 2, "{}", certificate.stderr);
    Ok(())
}

fn a_build_server_is_told_by_the_status() -> Result<()> {
    needs_recording()?;
    let (slow, fixed) = (convoy()?, Recording::of(&[], &[&sample("convoy_fixed")?])?);
    let (slow, fixed) = (slow.path().display().to_string(), fixed.path().display().to_string());
    let compared = run_dwell(&["compare", &slow, &fixed, "--level", "object", "--format", "json"])?;
    let document: Value = serde_json::from_str(&compared.stdout)?;
    let rows = document["rows"].as_array().context("no rows")?;
    let lock = rows.iter().find(|row| row["object"] == "queue_lock").context("no queue_lock")?;
    let [first, second, difference] =
        ["wait_ns_first", "wait_ns_second", "wait_ns_difference"].map(|field| lock[field].as_i64().unwrap_or(i64::MIN));
    ensure!(first - second == difference && second * 20 < first, "{lock}");
    let joined = rows.iter().skip(1).map(|row| row["wait_ns_first"].as_i64().unwrap_or(0)).sum::<i64>();
    ensure!(Some(joined) == rows[0]["wait_ns_first"].as_i64(), "objects do not add up to [all]: {document}");
    let gate = |results: [&String; 2], limit: &str| {
        run_dwell(&["compare", results[0], results[1], "--limit", "3", "--fail-if", limit])
    };
    for (results, limit, status) in [
        ([&slow, &fixed], "wait:queue_lock>+20%", 0),
        ([&fixed, &slow], "wait:queue_lock>+20%", 1),
        ([&fixed, &slow], "wait_count:object=queue_lock>3", 1),
        ([&fixed, &slow], "wait:queue_lock>10%", 1),
        ([&fixed, &slow], "wait:queue_*>+10s", 0),
        ([&slow, &fixed], "elapsed>60s", 0),
        ([&slow, &fixed], "wait:queue_lock>fast", 2),
    ] {
        let output = gate(results, limit)?;
        ensure!(output.code() == status, "{limit}: {}\n{}", output.code(), output.stderr);
        let told = output.stderr.contains("gate: ") && output.stderr.contains("hint: dwell report");
        ensure!(told == (status == 1), "{limit}: {}", output.stderr);
    }
    let missing = run_dwell(&["compare", &slow, "/no/such", "--fail-if", "elapsed>1s"])?;
    ensure!(missing.code() == 2 && missing.stderr.contains("error: "), "{}", missing.stderr);
    Ok(())
}

fn one_file_draws_itself() -> Result<()> {
    let recording = convoy()?;
    let folder = TempDir::new()?;
    let file = folder.path().join("report.html");
    let written = Running::start(dwell(&["report", "--html"]).arg(&file).arg(recording.path()))?.finish()?;
    ensure!(written.status.success() && written.stdout.is_empty(), "{}", written.stderr);
    let page = fs::read_to_string(&file)?;
    ensure!(page.len() < 3_000_000 && page.contains("default-src 'none'"), "{} bytes", page.len());
    let chromium = needs_program("chromium")?;
    let mut command = Command::new(chromium);
    command.args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", "--virtual-time-budget=3000"]);
    command.env("HOME", folder.path()).arg(format!("file://{}", file.display()));
    let drawn = Running::start(&mut command)?.finish()?.stdout;
    for words in ["Where the time went", "queue_lock", "push_item", "worker-0", "<canvas", "Most waited for"] {
        ensure!(drawn.contains(words), "the browser does not show {words:?}");
    }
    Ok(())
}
