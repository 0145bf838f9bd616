//! The machines that come with Dwell, and reading others.

use toml::{Table, Value};

use crate::check;
use crate::description::Machine;
use crate::error::MachineError;

/// The machine that is taken where none is named.
pub const DEFAULT_MACHINE: &str = "skylake-sp";

/// The embedded machines: name and file.
pub const MACHINES: &[(&str, &str)] = &[
    ("p4-xeon", include_str!("../machines/p4-xeon.toml")),
    ("skylake-sp", include_str!("../machines/skylake-sp.toml")),
    ("sapphire-rapids", include_str!("../machines/sapphire-rapids.toml")),
    ("zen4", include_str!("../machines/zen4.toml")),
    ("zen5", include_str!("../machines/zen5.toml")),
];

/// Files that are based on one another: an embedded one is based on nothing.
const MAX_BYTES: usize = 1 << 20;

impl Machine {
    /// An embedded machine.
    pub fn named(name: &str) -> Result<Self, MachineError> {
        Self::parse(text(name)?)
    }

    /// A machine's file. `base = "NAME"` begins with an embedded machine; then only what differs is given, and a level
    /// that is `false` is not there.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine: Self = with_base(table(text)?)?.try_into().map_err(|error| explain(&error))?;
        machine.check()?;
        Ok(machine)
    }

    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), MachineError> {
        check::check(self)
    }
}

fn text(name: &str) -> Result<&'static str, MachineError> {
    MACHINES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text).ok_or_else(|| {
        let names: Vec<_> = MACHINES.iter().map(|(name, _)| *name).collect();
        MachineError::new(
            format!("there is no machine {name:?}"),
            format!("the machines are {}; a file of your own is read by --machine FILE", names.join(", ")),
        )
    })
}

fn table(text: &str) -> Result<Table, MachineError> {
    if text.len() > MAX_BYTES {
        return Err(MachineError::new(
            "the machine's file is larger than 1 MiB",
            "give a TOML file that describes a machine",
        ));
    }
    text.parse().map_err(|error: toml::de::Error| explain(&error))
}

/// The first line is what is wrong; where it is comes with the pieces of the file below it.
fn explain(error: &toml::de::Error) -> MachineError {
    let what = error.message().lines().next().unwrap_or("it is no TOML").to_owned();
    let hint =
        "docs/anatomy-machine.md says what a machine's file has; base = \"skylake-sp\" begins with a complete one";
    MachineError::new(format!("the machine's file: {what}"), hint)
}

fn with_base(mut file: Table) -> Result<Table, MachineError> {
    let Some(base) = file.remove("base") else { return Ok(file) };
    let Value::String(name) = base else {
        return Err(MachineError::new("base is no name", "write base = \"skylake-sp\""));
    };
    let mut machine = table(text(&name)?)?;
    overlay(&mut machine, file);
    Ok(machine)
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (_, Value::Boolean(false)) if ["l1i", "l2", "llc", "uop-cache", "second"].contains(&key.as_str()) => {
                below.remove(&key);
            }
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}
