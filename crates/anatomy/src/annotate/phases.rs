//! Phases: which part of the work a function begins, by a table of patterns.

use dwell_view::glob;
use serde::Deserialize;

/// The table that is part of Dwell.
const DEFAULT: &str = include_str!("phases.toml");
/// The phase of user code that no rule names.
pub const USER: u16 = 0;
/// The phase of kernel code that no rule names.
pub const KERNEL: u16 = 1;
/// Phases that no table lists.
const UNLISTED: [&str; 2] = ["user", "kernel"];
/// Most phases of all tables together.
const MOST: usize = 250;

/// Where the work of a phase is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Half {
    /// In the program.
    #[default]
    User,
    /// In a system call: the top half.
    Top,
    /// In an interrupt's handler.
    Interrupt,
    /// In a soft interrupt: the bottom half.
    Bottom,
    /// Nothing is done.
    Idle,
}

impl Half {
    /// Every half.
    pub const ALL: [Self; 5] = [Self::User, Self::Top, Self::Interrupt, Self::Bottom, Self::Idle];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Top => "top half",
            Self::Interrupt => "interrupt",
            Self::Bottom => "bottom half",
            Self::Idle => "idle",
        }
    }
}

/// A line of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    #[serde(default)]
    half: Option<Half>,
    functions: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    phase: Vec<Rule>,
}

/// The rules, first ones first.
#[derive(Clone, Debug)]
pub struct Phases {
    rules: Vec<(u16, Rule)>,
    names: Vec<String>,
}

/// A table of phases that makes no sense.
#[derive(Debug, thiserror::Error)]
pub enum PhasesError {
    /// It is no table of phases.
    #[error("{0}")]
    Toml(String),
    /// There are too many.
    #[error("more than {MOST} phases")]
    TooMany,
}

impl Phases {
    /// The rules of a table, before those of Dwell.
    pub fn with(table: Option<&str>) -> Result<Self, PhasesError> {
        let mut phases = Self::none();
        for text in table.into_iter().chain([DEFAULT]) {
            let table: Table = toml::from_str(text).map_err(|error| PhasesError::Toml(one_line(&error)))?;
            for rule in table.phase {
                phases.add(rule)?;
            }
        }
        Ok(phases)
    }

    /// No rules.
    pub fn none() -> Self {
        Self { rules: Vec::new(), names: UNLISTED.map(str::to_owned).to_vec() }
    }

    fn add(&mut self, rule: Rule) -> Result<(), PhasesError> {
        let known = self.names.iter().position(|name| *name == rule.name);
        let number = known.unwrap_or(self.names.len());
        if known.is_none() {
            self.names.push(rule.name.clone());
        }
        if number >= MOST {
            return Err(PhasesError::TooMany);
        }
        self.rules.push((number as u16, rule));
        Ok(())
    }

    /// The phase that a function begins, and where that is done; none when it belongs to its caller's.
    pub fn of(&self, module: &str, function: &str) -> Option<(u16, Option<Half>)> {
        let matches = |pattern: &String| match pattern.split_once('!') {
            Some((file, name)) => glob(file, module) && glob(name, function),
            None => glob(pattern, function),
        };
        let found = self.rules.iter().find(|(_, rule)| rule.functions.iter().any(matches))?;
        Some((found.0, found.1.half))
    }

    /// What each phase is called.
    pub fn names(&self) -> &[String] {
        &self.names
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().lines().next().unwrap_or("no table of phases").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name) in
            [("tcp_*", "tcp_v4_rcv"), ("*_intr", "e1000_intr"), ("a*b*c", "aXbYc"), ("f", "f"), ("*", "")]
        {
            assert!(glob(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("tcp_*", "_tcp_v4"), ("*_intr", "e1000_intr_x"), ("a*b*c", "aXc"), ("f", "ff"), ("ab*bc", "abc")]
        {
            assert!(!glob(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn the_users_rules_stand_before_ours() {
        let phases =
            Phases::with(Some("[[phase]]\nname = \"mine\"\nhalf = \"top\"\nfunctions = [\"app!tcp_mine\"]")).unwrap();
        let name = |module, function| phases.of(module, function).map(|it| phases.names()[it.0 as usize].as_str());
        assert_eq!(name("app", "tcp_mine"), Some("mine"));
        assert_eq!(name("kernel", "tcp_mine"), Some("TCP"));
        assert_eq!(name("kernel", "e1000_intr"), Some("interrupt"));
        assert_eq!(name("app", "main"), None);
    }

    #[test]
    fn a_table_of_something_else_is_refused() {
        for table in ["[[phase]]\nname = 3", "[[phase]]\nname = \"x\"\nfunction = []", "nonsense", "[phases]\na = 1"] {
            assert!(Phases::with(Some(table)).is_err(), "{table}");
        }
    }
}
