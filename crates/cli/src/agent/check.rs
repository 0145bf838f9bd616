//! `dwell agent --check`: whether a configuration and its store are good, and what each rule is about.

use std::path::Path;
use std::process::ExitCode;

use dwell_cgroups::Selection;
use dwell_fleet::StoreState;

use super::processes::ProcessNames;
use super::settings::AgentSettings;
use super::versions::BuildIds;
use crate::error::Result;
use crate::output;
use crate::text::units::{count, duration};

/// Processes that are named of each rule.
const MOST_NAMED: usize = 5;

/// Prints what would be done; fails where it could not be.
pub fn run(config: &Path, settings: &AgentSettings) -> Result<ExitCode> {
    let AgentSettings { store, buffer, row_ns, duration_ns, host, window_ns, cpu_percent, rules } = settings;
    let state = settings.try_store()?;
    let state = match state {
        StoreState::Writable => "can be written",
        StoreState::Missing => "can be made",
    };
    let until = duration_ns.map_or_else(|| "a signal comes".into(), |ns| format!("{} are over", duration(ns)));
    let mut text = format!("The configuration {} is good.\n\n", config.display());
    text += &format!("store  {store}: {state}\n");
    text += &format!("buffer {}, {} MiB at most\n", buffer.folder.display(), buffer.most_bytes >> 20);
    text += &format!("host   {host}\nrow    {}, until {until}\n", duration(*row_ns));
    text += &match window_ns {
        0 => "causes none: `window` is 0\n".to_owned(),
        ns => format!("causes windows of {}, {cpu_percent} % of one CPU\n", duration(*ns)),
    };
    let mut of_rules = vec![Vec::new(); rules.0.len()];
    let mut others = 0;
    let build_ids = BuildIds::default();
    let names = ProcessNames::by(rules, &build_ids);
    for pid in Selection::Machine.pids() {
        let Some(traits) = names.traits_of(pid) else { continue };
        match rules.rule_of(&traits).and_then(|rule| rules.0.iter().position(|it| it == rule)) {
            Some(at) => of_rules[at].push(format!("{} ({pid})", traits.process)),
            None => others += 1,
        }
    }
    for (rule, processes) in rules.0.iter().zip(&of_rules) {
        let name = rule.name.as_deref().unwrap_or("(version only)");
        text += &format!("rule   {name} (line {}): {}\n", rule.line, matched(processes));
    }
    if !rules.0.is_empty() {
        text += &format!("other  {} by unit, container or name\n", processes_now(others));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn matched(processes: &[String]) -> String {
    let named: Vec<&str> = processes.iter().take(MOST_NAMED).map(String::as_str).collect();
    let dots = if processes.len() > MOST_NAMED { ", …" } else { "" };
    match processes.len() {
        0 => "no process now".into(),
        number => format!("{}: {}{dots}", processes_now(number), named.join(", ")),
    }
}

fn processes_now(number: usize) -> String {
    if number == 1 { "1 process now".into() } else { format!("{} processes now", count(number as u64)) }
}
