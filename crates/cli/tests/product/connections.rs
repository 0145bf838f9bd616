//! Connections that a program opens for each request, and those that it keeps.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::harness::Case;
use crate::recording::{Recording, needs_program, sample, text};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("connections::kept_ones_are_not_told", kept_ones_are_not_told),
        Case::new("connections::a_script_is_told_at_its_line", a_script_is_told_at_its_line),
    ]
}

fn churn(recording: &Recording) -> Result<Option<Value>> {
    Ok(recording.findings()?.into_iter().find(|row| text(row, "id") == "connection-churn"))
}

/// The same requests as those of truth::connections.
fn kept_ones_are_not_told() -> Result<()> {
    let told = churn(&Recording::of(&[], &[&sample("connections")?, "--keep"])?)?;
    ensure!(told.is_none(), "{told:?}");
    Ok(())
}

/// A client of HTTP/1.0, which is closed after each answer.
const SCRIPT: &str = "
import http.client, http.server, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header('Content-Length', '2'); self.end_headers(); self.wfile.write(b'ok')
    def log_message(self, *of): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def fetch():
    connection = http.client.HTTPConnection(*server.server_address)
    connection.request('GET', '/')
    connection.getresponse().read()
    connection.close()
for _ in range(300): fetch()
";

fn a_script_is_told_at_its_line() -> Result<()> {
    needs_program("python3")?;
    let folder = tempfile::TempDir::new()?;
    let script = folder.path().join("fetch.py");
    std::fs::write(&script, SCRIPT)?;
    let recording = Recording::of(&[], &["python3", &script.display().to_string()])?;
    let told = churn(&recording)?.context("not told")?;
    ensure!(text(&told, "evidence").contains("opened 300 connections to TCP 127.0.0.1:"), "{told}");
    ensure!(text(&told, "location").contains("fetch ("), "{told}");
    Ok(())
}
