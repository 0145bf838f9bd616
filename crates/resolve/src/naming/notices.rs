//! Remarks: why code has no names, and what the user can do.

use super::plan::Plan;
use super::raw::Raw;
use crate::code::jit::how_to_name;
use crate::code::kernel::{KernelFiles, KernelMap, is_this_boot};
use crate::code::modules::{KERNEL, Module, Modules, Problem};
use crate::code::sites::{Site, Sites};
use crate::code::symbols::{Answer, Place};
use crate::topics::delays::tells_functions;

/// Most notices of one kind; the rest is counted in the last one.
const MOST_NOTICES: usize = 20;
/// So many addresses outside of all files are trampolines, not what a program spends its time in.
const FEW_UNNAMED: usize = 3;

/// Says how code that was made at run time gets names, when there is much without.
pub fn unnamed_code(raw: &Raw<'_>, modules: &Modules, sites: &Sites) -> Option<String> {
    let unnamed = |site: &&Site| modules.get(site.module).is_some_and(Module::is_anonymous);
    let count = sites.sites.keys().iter().filter(unnamed).count();
    if count < FEW_UNNAMED {
        return None;
    }
    let mut processes = raw.replay.lives.images.iter().map(|image| raw.replay.lives.process_name(image.process));
    let how = processes.find_map(how_to_name).unwrap_or("see docs/symbols.md for what its runtime offers");
    Some(format!("Code made at run time has no names ({count} addresses): {how}."))
}

/// How many files could not be read that code was seen in.
pub fn unreadable(modules: &Modules, problems: &[(u32, Problem)], plan: &Plan) -> u64 {
    let missing = problems.iter().filter(|(_, problem)| matches!(problem, Problem::Missing));
    let seen = missing.filter(|(number, _)| plan.used.get(*number as usize).copied().unwrap_or(false));
    seen.filter(|(number, _)| modules.get(*number).is_some_and(Module::is_file)).count() as u64
}

/// What is wrong with files, a sentence each.
pub fn of_files(modules: &Modules, problems: &[(u32, Problem)], plan: &Plan, answers: &[Answer]) -> Vec<String> {
    let used = |number: u32| plan.used.get(number as usize).copied().unwrap_or(false);
    let mut notices = Vec::new();
    for (number, problem) in problems.iter().filter(|(number, _)| used(*number)) {
        let Some(module) = modules.get(*number) else { continue };
        let path = &module.path;
        match problem {
            Problem::Changed(file) => notices.push(format!(
                "{} is not the file that was profiled as {path} (its build id or date differs): code in it has no names.",
                file.display()
            )),
            Problem::Missing if path.starts_with('/') && !path.starts_with("//") => notices.push(format!(
                "{path} could not be read: code in it has no names; give its folder with --search-dir."
            )),
            Problem::Missing => {}
        }
    }
    for (number, answer) in answers.iter().enumerate() {
        let path = modules.all().get(number).map_or("", |module| &module.path);
        if let (Some(reason), false) = (&answer.failure, matches!(plan.requests[number].place, Place::None)) {
            notices.push(format!("The symbols of {path} could not be read: {reason}."));
        }
        if let Some(reason) = &answer.without_lines {
            notices.push(format!(
                "The debug information of {path} is not read: {reason}. Names are of its symbol table, without source lines."
            ));
        }
    }
    let left_out: usize = answers.iter().map(|answer| answer.listings.left_out).sum();
    if left_out > 0 {
        notices.push(format!(
            "{left_out} functions that threads were in are not listed by dwell source: their code is too large."
        ));
    }
    let more = notices.len().saturating_sub(MOST_NOTICES);
    notices.truncate(MOST_NOTICES);
    if more > 0 {
        notices.push(format!("{more} more files have no symbols."));
    }
    notices
}

/// Why functions of the kernel have no names, when the trace has any.
pub fn kernel_without_names(raw: &Raw<'_>, plan: &Plan, files: &KernelFiles) -> Vec<String> {
    let is_used = plan.used.get(KERNEL as usize).copied().unwrap_or(false);
    let why = if !is_used && !tells_functions(&raw.meta.delays) {
        None
    } else if !is_this_boot(raw.manifest) {
        Some("The machine was restarted since the collection: kernel code has no names.")
    } else if KernelMap::read(files).is_hidden() {
        Some(
            "Kernel code has no names: /proc/kallsyms hides addresses from this user (kernel.kptr_restrict, CAP_SYSLOG). \
             Block I/O and locks in the kernel are not told apart, nor what other CPUs interrupted for.",
        )
    } else {
        None
    };
    why.map(str::to_owned).into_iter().collect()
}
