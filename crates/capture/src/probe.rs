//! What can be tried only, not read from files, for `dwell doctor`.

use crate::hooks::Hooks;
use crate::options::{Launch, Options, Target};

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
    let hooks = Hooks::load(&Options::new(Target::Launch(Launch::default())));
    let (available, detail) = match &hooks {
        Ok(_) => (true, "context switches, threads: loaded".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    let mut found = vec![Capability { name: "hooks", available, detail, remedy: None }];
    if let Ok(hooks) = hooks {
        let complete = hooks.notices.is_empty();
        let detail = if complete { "wakers, sampling: loaded".to_owned() } else { hooks.notices.join(" ") };
        found.push(Capability { name: "optional-hooks", available: complete, detail, remedy: None });
    }
    found.push(itt());
    found
}

fn itt() -> Capability {
    let variables = crate::itt::environment();
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
