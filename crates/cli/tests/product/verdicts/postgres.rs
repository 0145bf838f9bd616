//! A PostgreSQL server of the test's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::harness::Skip;
use crate::real_programs::free_port;
use crate::recording::{Running, wait_for};

/// A server of the newest PostgreSQL that is installed, as user nobody, in `folder`.
pub struct Postgres {
    programs: PathBuf,
    port: String,
    pub server: Running,
}

const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

impl Postgres {
    pub fn start(folder: &Path) -> Result<Self> {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let newest = versions.map(|version| version.path().join("bin")).max();
        let programs = newest.ok_or_else(|| Skip("postgresql is not installed".into()))?;
        std::os::unix::fs::chown(folder, Some(65534), Some(65534))?;
        let (port, data) = (free_port()?.to_string(), folder.join("data").display().to_string());
        let run = |program: &str, arguments: &[&str]| {
            let mut command = Command::new(AS_NOBODY[0]);
            command.args(&AS_NOBODY[1..]).arg(programs.join(program)).args(arguments).current_dir(folder);
            command
        };
        let made = Running::start(&mut run("initdb", &["-D", &data, "-A", "trust", "-U", "nobody", "-N"]))?.finish()?;
        ensure!(made.status.success(), "initdb: {}", made.stderr);
        let sockets = folder.display().to_string();
        let server =
            Running::start(&mut run("postgres", &["-D", &data, "-p", &port, "-k", &sockets, "-h", "127.0.0.1"]))?;
        let postgres = Self { programs, port, server };
        wait_for("PostgreSQL to answer", || postgres.ask("select 1").ok())?;
        Ok(postgres)
    }

    pub fn client(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.args(["-h", "127.0.0.1", "-p", &self.port, "-U", "nobody"]).args(arguments);
        command
    }

    pub fn ask(&self, query: &str) -> Result<String> {
        let output = Running::start(&mut self.client("psql", &["-d", "postgres", "-Atc", query]))?.finish()?;
        ensure!(output.status.success(), "{}", output.stderr);
        Ok(output.stdout.trim().to_owned())
    }
}
