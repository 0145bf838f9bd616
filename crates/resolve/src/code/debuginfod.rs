//! Debug files from debuginfod servers, which the user names in `DEBUGINFOD_URLS` and nobody else does.
//!
//! `curl` fetches, so that Dwell carries no cryptography of its own; the cache is that of elfutils' client, which gdb and
//! others share. What comes is read under a limit, and kept only with the build id that was asked for. A server that
//! fails is not asked again: with its time limits it costs some seconds, once.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use dwell_model::{Notice, notice};

use crate::code::modules::{read_build_id, same_build};

/// The program that fetches.
const CURL: &str = "curl";
const CONNECT_SECONDS: &str = "5";
/// Slower than this, in bytes a second, for `Settings::stall_seconds` is a server that hangs.
const SLOWEST: &str = "1000";
/// No such file on this server: curl's exit status for an HTTP error, and the error.
const HTTP_ERROR: i32 = 22;
const NOT_FOUND: &str = "404";

/// Which servers to ask, and how far to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebuginfodSettings {
    /// `http://` and `https://` addresses, in the order to ask.
    pub urls: Vec<String>,
    /// Where fetched files are kept: `BUILDID/debuginfo` in it.
    pub cache: PathBuf,
    /// After how many seconds without data a server is given up.
    pub stall_seconds: u64,
    /// How many seconds one file may take.
    pub most_seconds: u64,
    /// Largest file that is taken, bytes.
    pub most_bytes: u64,
}

/// The servers, as far as they answer.
pub struct Debuginfod {
    settings: DebuginfodSettings,
    /// What went wrong, a sentence each.
    pub notices: Vec<Notice>,
}

impl Debuginfod {
    /// Asks nobody yet.
    pub fn new(settings: DebuginfodSettings) -> Self {
        Self { settings, notices: Vec::new() }
    }

    /// The debug file of this build id, in hexadecimal: from the cache, or fetched into it.
    pub fn debug_file(&mut self, build_id: &str) -> Option<PathBuf> {
        if build_id.len() < 8 || !build_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let path = self.settings.cache.join(build_id).join("debuginfo");
        if is_build(&path, build_id) {
            return Some(path);
        }
        let mut found = None;
        for server in std::mem::take(&mut self.settings.urls) {
            let fetched = if found.is_some() { Ok(false) } else { self.fetch(&server, build_id, &path) };
            match fetched {
                Ok(there) => {
                    found = found.or_else(|| there.then(|| path.clone()));
                    self.settings.urls.push(server);
                }
                Err(why) => self.notices.push(notice!(DEBUGINFOD_FAILED, server = server, why = why)),
            }
        }
        found
    }

    /// Fetches into `path`; false when the server has no such file.
    fn fetch(&self, server: &str, build_id: &str, path: &Path) -> Result<bool, String> {
        let url = format!("{}/buildid/{build_id}/debuginfo", server.trim_end_matches('/'));
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let partial = folder.join(format!(".debuginfo.{}", std::process::id()));
        let fetched = match self.run(&url, &partial) {
            Ok(true) if !is_build(&partial, build_id) => Err("it sent another file than it was asked for".into()),
            fetched => fetched,
        };
        match fetched {
            Ok(true) => fs::rename(&partial, path).map_err(|error| format!("{}: {error}", path.display()))?,
            _ => drop(fs::remove_file(&partial)),
        }
        fetched
    }

    fn run(&self, url: &str, target: &Path) -> Result<bool, String> {
        let (stall, most) = (self.settings.stall_seconds.to_string(), self.settings.most_seconds.to_string());
        let limits = ["--connect-timeout", CONNECT_SECONDS, "--speed-limit", SLOWEST, "--speed-time", &stall];
        let mut child = Command::new(CURL)
            .args(["--silent", "--show-error", "--fail", "--location", "--max-redirs", "5"])
            .args(["--proto", "=http,https", "--max-time", &most, "--globoff"])
            .args(limits)
            .args(["--url", url])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => format!("{CURL} fetches from it and is not installed"),
                _ => format!("{CURL}: {error}"),
            })?;
        let copied = self.copy(&mut child, target);
        if copied.is_err() {
            let _ = child.kill();
        }
        let output = child.wait_with_output().map_err(|error| error.to_string())?;
        copied?;
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        match output.status.code() {
            Some(0) => Ok(true),
            Some(HTTP_ERROR) if message.ends_with(NOT_FOUND) => Ok(false),
            _ => Err(message.lines().next().unwrap_or("curl failed").to_owned()),
        }
    }

    fn copy(&self, child: &mut Child, target: &Path) -> Result<(), String> {
        let Some(source) = child.stdout.take() else { return Err("it has no output".into()) };
        let failed = |error: io::Error| format!("{}: {error}", target.display());
        let _ = fs::remove_file(target); // of a run that died; never written through a link
        let mut file = OpenOptions::new().write(true).create_new(true).open(target).map_err(failed)?;
        let copied = io::copy(&mut source.take(self.settings.most_bytes + 1), &mut file).map_err(failed)?;
        if copied > self.settings.most_bytes {
            return Err(format!("a file is larger than {} bytes", self.settings.most_bytes));
        }
        Ok(())
    }
}

fn is_build(path: &Path, build_id: &str) -> bool {
    read_build_id(path).is_some_and(|found| same_build(&found, build_id))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    use super::*;

    /// A server that gives every request the same answer, and keeps the connection open when there is none.
    fn server(answer: Option<Vec<u8>>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("address");
        std::thread::spawn(move || {
            let mut open = Vec::new();
            for connection in listener.incoming().flatten() {
                let mut connection = connection;
                if let Some(answer) = &answer {
                    let _ = connection.read(&mut [0; 4096]);
                    let _ = connection.write_all(answer);
                } else {
                    open.push(connection);
                }
            }
        });
        format!("http://{address}/")
    }

    fn answer(status: &str, body: &[u8]) -> Option<Vec<u8>> {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        Some([head.as_bytes(), body].concat())
    }

    fn client(urls: Vec<String>, cache: &Path) -> Debuginfod {
        let (most_bytes, cache) = (1 << 30, cache.to_owned());
        Debuginfod::new(DebuginfodSettings { urls, cache, stall_seconds: 1, most_seconds: 20, most_bytes })
    }

    fn own_build() -> Option<(Vec<u8>, String)> {
        let file = ["/bin/true", "/usr/bin/env"]
            .iter()
            .find_map(|path| Some((fs::read(path).ok()?, read_build_id(Path::new(path)).filter(|id| !id.is_empty())?)));
        file.filter(|_| Command::new(CURL).arg("--version").output().is_ok())
    }

    #[test]
    fn a_file_is_fetched_once_and_checked() {
        let Some((bytes, build_id)) = own_build() else { return };
        let cache = tempfile::tempdir().expect("folder");
        let urls = vec![server(answer("404 Not Found", b"")), server(answer("200 OK", &bytes))];
        let mut client = client(urls, cache.path());
        let found = client.debug_file(&build_id).expect("fetched");
        assert_eq!(found, cache.path().join(&build_id).join("debuginfo"));
        assert!(client.notices.is_empty(), "{:?}", client.notices);
        client.settings.urls.clear();
        assert!(client.debug_file(&build_id).is_some(), "from the cache");
        assert_eq!(client.debug_file("../../etc"), None);
    }

    #[test]
    fn servers_that_lie_hang_or_break_are_left() {
        let Some((bytes, _)) = own_build() else { return };
        let cache = tempfile::tempdir().expect("folder");
        let liar = server(answer("200 OK", &bytes));
        let broken = server(answer("500 Internal Server Error", b""));
        let silent = server(None);
        let mut client = client(vec![liar, broken, silent], cache.path());
        let begun = Instant::now();
        assert_eq!(client.debug_file("0123456789abcdef"), None);
        assert_eq!(client.notices.len(), 3, "{:?}", client.notices);
        assert!(client.settings.urls.is_empty());
        assert_eq!(client.debug_file("0123456789abcdef"), None);
        assert!(begun.elapsed() < Duration::from_secs(20), "a server that hangs costs its time limit once");
        assert!(!cache.path().join("0123456789abcdef/debuginfo").exists());
    }

    #[test]
    fn a_file_that_is_too_large_is_not_taken() {
        let Some((bytes, build_id)) = own_build() else { return };
        let cache = tempfile::tempdir().expect("folder");
        let mut client = client(vec![server(answer("200 OK", &bytes))], cache.path());
        client.settings.most_bytes = 1000;
        assert_eq!(client.debug_file(&build_id), None);
        assert!(client.notices[0].to_string().contains("larger"), "{:?}", client.notices);
    }
}
