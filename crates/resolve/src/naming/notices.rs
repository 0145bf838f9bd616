//! Remarks: why code has no names, and what the user can do.

use dwell_model::{Notice, notice};

use super::plan::SymbolRequests;
use super::raw::ReplayedTrace;
use crate::code::jit::how_to_name;
use crate::code::kernel::{KernelFiles, KernelMap, is_this_boot};
use crate::code::modules::{KERNEL, Module, ModuleProblem, Modules};
use crate::code::sites::{Site, Sites};
use crate::code::symbols::{Answer, SymbolPlace};
use crate::topics::delays::tells_functions;

/// Most notices of one kind; the rest is counted in the last one.
const MOST_NOTICES: usize = 20;
/// So many addresses outside of all files are trampolines, not what a program spends its time in.
const FEW_UNNAMED: usize = 3;

/// Says how code that was made at run time gets names, when there is much without.
pub fn unnamed_code(raw: &ReplayedTrace<'_>, modules: &Modules, sites: &Sites) -> Option<Notice> {
    let unnamed = |site: &&Site| modules.get(site.module).is_some_and(Module::is_anonymous);
    let count = sites.sites.keys().iter().filter(unnamed).count();
    if count < FEW_UNNAMED {
        return None;
    }
    let mut processes =
        raw.replay.thread_table.images.iter().map(|image| raw.replay.thread_table.process_name(image.process));
    let how = processes.find_map(how_to_name).unwrap_or("see docs/symbols.md for what its runtime offers");
    Some(notice!(CODE_UNNAMED, count = count, how = how))
}

/// How many files could not be read that code was seen in.
pub fn unreadable(modules: &Modules, problems: &[(u32, ModuleProblem)], plan: &SymbolRequests) -> u64 {
    let missing = problems.iter().filter(|(_, problem)| matches!(problem, ModuleProblem::Missing));
    let seen = missing.filter(|(number, _)| plan.used.get(*number as usize).copied().unwrap_or(false));
    seen.filter(|(number, _)| modules.get(*number).is_some_and(Module::is_file)).count() as u64
}

/// What is wrong with files, a sentence each.
pub fn of_files(
    modules: &Modules,
    problems: &[(u32, ModuleProblem)],
    plan: &SymbolRequests,
    answers: &[Answer],
) -> Vec<Notice> {
    let used = |number: u32| plan.used.get(number as usize).copied().unwrap_or(false);
    let mut notices = Vec::new();
    for (number, problem) in problems.iter().filter(|(number, _)| used(*number)) {
        let Some(module) = modules.get(*number) else { continue };
        let path = &module.path;
        match problem {
            ModuleProblem::Changed(file) => {
                notices.push(notice!(FILE_CHANGED, now = file.display(), path = path));
            }
            ModuleProblem::Missing if path.starts_with('/') && !path.starts_with("//") => {
                notices.push(notice!(FILE_MISSING, path = path));
            }
            ModuleProblem::Missing => {}
        }
    }
    for (number, answer) in answers.iter().enumerate() {
        let path = modules.all().get(number).map_or("", |module| &module.path);
        if let (Some(reason), false) = (&answer.failure, matches!(plan.requests[number].place, SymbolPlace::None)) {
            notices.push(notice!(SYMBOLS_UNREAD, path = path, reason = reason));
        }
        if let Some(reason) = &answer.without_lines {
            notices.push(notice!(DEBUG_INFORMATION_UNREAD, path = path, reason = reason));
        }
    }
    let left_out: usize = answers.iter().map(|answer| answer.listings.left_out).sum();
    if left_out > 0 {
        notices.push(notice!(FUNCTIONS_NOT_LISTED, functions = left_out));
    }
    let more = notices.len().saturating_sub(MOST_NOTICES);
    notices.truncate(MOST_NOTICES);
    if more > 0 {
        notices.push(notice!(MORE_WITHOUT_SYMBOLS, files = more));
    }
    notices
}

/// Why functions of the kernel have no names, when the trace has any.
pub fn kernel_without_names(raw: &ReplayedTrace<'_>, plan: &SymbolRequests, files: &KernelFiles) -> Vec<Notice> {
    let is_used = plan.used.get(KERNEL as usize).copied().unwrap_or(false);
    let why = if !is_used && !tells_functions(&raw.meta.delays) {
        None
    } else if !is_this_boot(raw.manifest) {
        Some(notice!(RESTARTED))
    } else if KernelMap::read(files).is_hidden() {
        Some(notice!(KERNEL_NAMES_HIDDEN))
    } else {
        None
    };
    why.into_iter().collect()
}
