//! What can be tried only, not read from files, for `dwell doctor`.

use std::os::fd::AsFd as _;

use bytemuck::Zeroable as _;
use dwell_model::Notice;
use dwell_rights::{BPF, PERFMON, Right};
use dwell_wire::Scope;

use crate::drain::source::Targets;
use crate::error::{Error, Result};
use crate::hooks::families::LoadedHooks;
use crate::kernel::loading;
use crate::kernel::requirements;
use crate::options::{Launch, Options, Target};
use crate::topics::task_probes::ProbePlaces;
use crate::unprivileged;

/// What loading hooks takes.
const TO_LOAD: [Right; 2] = [BPF, PERFMON];

/// One thing that a collection uses.
#[derive(Clone, Debug)]
pub struct Capability {
    /// What it is.
    pub name: &'static str,
    /// Whether it is there.
    pub available: bool,
    /// What was found.
    pub detail: String,
    /// The command that gives it, when it is not there and there is one.
    pub remedy: Option<String>,
}

/// Loads the hooks for a moment, and looks for a place for the ITT library.
pub fn probe() -> Vec<Capability> {
    let hooks = {
        let _raised = dwell_rights::raise(&TO_LOAD);
        let nothing =
            Targets { pids: &[], program: None, probes: &ProbePlaces::default(), value_probes: &[], libraries: &[] };
        LoadedHooks::load(&Options::new(Target::Launch(Launch::default())), &nothing)
    };
    let (detail, remedy) = match &hooks {
        Ok(_) => ("context switches, threads: loaded".to_owned(), None),
        Err(Error::Unsupported { reason, remedy, .. }) => (reason.clone(), Some(remedy.clone())),
        Err(error) => (error.to_string(), None),
    };
    let mut found = vec![Capability { name: "hooks", available: hooks.is_ok(), detail, remedy }];
    if let Ok(hooks) = hooks {
        let complete = hooks.notices.is_empty();
        let detail = if complete { "wakers, sampling: loaded".to_owned() } else { joined(&hooks.notices) };
        found.push(Capability { name: "optional-hooks", available: complete, detail, remedy: None });
    }
    found.push(perf_events());
    found.push(itt());
    found
}

/// What every user may record without rights, as the kernel is set.
fn perf_events() -> Capability {
    let events = unprivileged::check();
    let detail = match &events {
        Ok(true) => "own programs are recorded without rights, and what the kernel does for them".to_owned(),
        Ok(false) => "own programs are recorded without rights, but not what the kernel does for them".to_owned(),
        Err(error) => error.to_string(),
    };
    let remedy = events.is_err().then(|| "sudo sysctl kernel.perf_event_paranoid=2".to_owned());
    Capability { name: "perf-events", available: events.is_ok(), detail, remedy }
}

/// One hook as the kernel loaded it.
#[derive(Clone, Debug)]
pub struct VerifiedHook {
    /// The family that it is of.
    pub family: &'static str,
    /// Its name.
    pub name: String,
    /// Instructions that the kernel's verifier walked through; 0 before Linux 5.16, which does not tell.
    pub steps: u32,
}

fn joined(notices: &[Notice]) -> String {
    notices.iter().map(Notice::to_string).collect::<Vec<_>>().join(" ")
}

/// Loads every hook, and attaches none. Returns with them what this kernel cannot tell.
pub fn verify_hooks() -> Result<(Vec<VerifiedHook>, Vec<String>)> {
    let _raised = dwell_rights::raise(&TO_LOAD);
    requirements::check()?;
    let shared = loading::make_maps(&Scope::zeroed())?;
    let (mut hooks, mut notices) = (Vec::new(), Vec::new());
    for (family, _) in loading::FAMILIES {
        let loaded = match loading::load(family, &shared, &Scope::zeroed()) {
            Ok(loaded) => loaded,
            Err(error) => {
                notices.push(format!("{family}: {}", error.reason()));
                continue;
            }
        };
        notices.extend(loaded.notices.iter().map(Notice::to_string));
        hooks.extend(loading::loaded(&loaded.object).map(|program| VerifiedHook {
            family,
            name: program.name().to_string_lossy().into_owned(),
            steps: loading::info(program.as_fd()).verified_insns,
        }));
    }
    Ok((hooks, notices))
}

fn itt() -> Capability {
    let variables = crate::topics::itt::environment();
    let detail = match &variables {
        Ok(variables) => {
            let library = variables.first().map(|(_, path)| path.to_string_lossy().into_owned());
            format!("tasks and counters through {}", library.unwrap_or_default())
        }
        Err(error) => format!("the library for programs cannot be stored: {error}"),
    };
    let remedy =
        variables.is_err().then(|| "sudo mount -t tmpfs tmpfs /dev/shm; sudo mkdir -m 755 /var/cache/dwell".into());
    Capability { name: "itt", available: variables.is_ok(), detail, remedy }
}
