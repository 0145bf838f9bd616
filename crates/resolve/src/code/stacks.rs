//! Turns the raw stacks into frames and a trie of stacks.
//!
//! First every distinct address becomes a *site*: a place in a module. Then each site is named once. Then the stacks
//! are woven root first, user frames before kernel frames, so that a parent's row comes before its child's.

use std::collections::HashMap;

use dwell_model::{FrameId, ModuleId, StackId};
use dwell_store::tables::{FrameRow, Frames, ModuleRow, Modules as ModuleTable, StackRow, Stacks};

use crate::code::function::Function;
use crate::code::modules::{KERNEL, Modules};
use crate::code::scripts::{self, Functions, ScriptMerger};
use crate::code::sites::{Site, Sites};
use crate::code::symbols::Answer;
use crate::hash::FastMap;
use crate::input::meta::Meta;
use crate::replay::numbers::StackNumber;
use crate::replay::waits::StackKey;
use crate::row_of::RowOf;

/// Functions between a trace point and a BPF program.
const TRACING: &[&str] =
    &["bpf_trace_run", "__bpf_trace", "bpf_prog", "__traceiter", "perf_trace", "bpf_overflow", "__bpf_overflow"];
/// Frames at the leaf that can be theirs.
const MOST_TRACING_FRAMES: usize = 8;

/// The tables of code.
#[derive(Default)]
pub struct StackTable {
    /// Files.
    pub modules: ModuleTable,
    /// Functions at addresses.
    pub frames: Frames,
    /// The trie.
    pub stacks: Stacks,
    /// The row of each raw stack.
    pub rows: RowOf<StackNumber, StackId>,
}

/// Weaves the raw stacks `keys`, in the order of their numbers. `names` has the functions at their sites.
pub fn build_stacks(
    keys: &[StackKey],
    meta: &Meta,
    sites: &Sites,
    modules: &Modules,
    names: &SiteFunctions,
) -> StackTable {
    let mut woven = StackTable::default();
    for module in modules.all() {
        woven.modules.push(ModuleRow { path: module.path.clone(), build_id: module.build_id.clone() });
    }
    let chains: Vec<Vec<FrameId>> = sites
        .sites
        .keys()
        .iter()
        .enumerate()
        .map(|(number, &site)| frames(&mut woven.frames, modules, names, number, site))
        .collect();
    let tracing = tracing_sites(sites, &woven.frames, &chains);
    let mut merger = ScriptMerger::new(names.scripts);
    let mut nodes: FastMap<(StackId, FrameId, u8), StackId> = FastMap::default();
    let mut rows = Vec::with_capacity(keys.len());
    for key in keys {
        let mut frames_of = |key| user_frames(key, meta, sites, &chains, (&mut merger, &mut woven.frames));
        let (mut user, end) = frames_of(key.user);
        if key.asker.stack != 0 {
            let (asked, (base, _)) = (frames_of(key.asker.stack).0, frames_of(key.asker.base));
            user = stitch(asked, &base, &user, &woven.frames);
        }
        let kernel = sites.of(key.kernel);
        let ours = kernel.iter().take(MOST_TRACING_FRAMES).rposition(|&site| tracing[site as usize]);
        let kernel = kernel[ours.map_or(0, |last| last + 1)..].iter().rev();
        let kernel = kernel.flat_map(|&site| &chains[site as usize]);
        let mut at = StackId::NONE;
        for &frame in user.iter().chain(kernel) {
            let stacks = &mut woven.stacks;
            at = *nodes
                .entry((at, frame, end))
                .or_insert_with(|| StackId::new(stacks.push(StackRow { parent: at, frame, end })));
        }
        rows.push(at);
    }
    StackTable { rows: rows.into_iter().collect(), ..woven }
}

/// The frames of work below those of the thread that requested it, all root first. Frames that the working thread begins
/// with anyway are left out: those that it shares with `base`, where it was before.
fn stitch(mut asked: Vec<FrameId>, base: &[FrameId], work: &[FrameId], frames: &Frames) -> Vec<FrameId> {
    asked.pop(); // the function of ITT that was called to say so
    let named = |frame: &FrameId| {
        let function = frame.get().map(|row| (frames.module[row], frames.function[row].as_str()));
        function.filter(|(_, name)| !name.starts_with('['))
    };
    let same = |(a, b): &(&FrameId, &FrameId)| a == b || named(a).is_some_and(|function| named(b) == Some(function));
    let common = base.iter().zip(work).take_while(same).count();
    let common = common.min(work.len().saturating_sub(1));
    asked.extend_from_slice(&work[common..]);
    asked
}

/// The frames of the user stack of `key`, root first, and how the walk ended.
fn user_frames(
    key: u64,
    meta: &Meta,
    sites: &Sites,
    chains: &[Vec<FrameId>],
    (merger, frames): (&mut ScriptMerger<'_>, &mut Frames),
) -> (Vec<FrameId>, u8) {
    let native: Vec<&[FrameId]> = sites.of(key).iter().map(|&site| chains[site as usize].as_slice()).collect();
    match (meta.stack(key), meta.script_stack(key)) {
        (Some(stack), Some(script)) => (merger.merge(stack, script, &native, frames), scripts::end_of(stack, script)),
        (stack, _) => {
            (native.iter().rev().flat_map(|chain| chain.iter().copied()).collect(), stack.map_or(0, |s| s.end))
        }
    }
}

/// Which sites are in what the kernel runs to record them: they are no part of the program's stack.
fn tracing_sites(sites: &Sites, frames: &Frames, chains: &[Vec<FrameId>]) -> Vec<bool> {
    let traces = |frame: &FrameId| {
        let function = frame.get().map_or("", |row| frames.function[row].as_str());
        TRACING.iter().any(|name| function.starts_with(name))
    };
    let kernel = |number: usize| sites.sites.keys()[number].module == KERNEL;
    chains.iter().enumerate().map(|(number, chain)| kernel(number) && chain.iter().any(traces)).collect()
}

/// The functions found for each site, and those of scripts.
pub struct SiteFunctions<'a> {
    by_site: HashMap<usize, &'a [Function]>,
    /// Where functions without a name begin.
    starts: HashMap<usize, u64>,
    scripts: &'a Functions,
}

impl<'a> SiteFunctions<'a> {
    /// The function at a site.
    pub fn function(&self, site: usize) -> Option<&'a Function> {
        self.by_site.get(&site)?.first()
    }

    /// `requests` holds, for each answer, the numbers of the sites that were asked for.
    pub fn new(requests: &[Vec<u32>], answers: &'a [Answer], scripts: &'a Functions) -> Self {
        let pairs = || requests.iter().zip(answers);
        let starts = pairs().flat_map(|(sites, answer)| {
            sites.iter().zip(&answer.starts).filter_map(|(&site, start)| Some((site as usize, (*start)?)))
        });
        let by_site = pairs().flat_map(|(sites, answer)| {
            sites.iter().zip(&answer.code).map(|(&site, functions)| (site as usize, functions.as_slice()))
        });
        Self { by_site: by_site.collect(), starts: starts.collect(), scripts }
    }
}

/// The rows of one site: the function, then what is inlined into it.
fn frames(table: &mut Frames, modules: &Modules, names: &SiteFunctions<'_>, number: usize, site: Site) -> Vec<FrameId> {
    let known = modules.get(site.module);
    let module = known.map_or(ModuleId::NONE, |_| ModuleId::new(site.module as usize));
    let kernel = site.module == KERNEL;
    let row = |function: String, file: String, line: u32, inlined: bool| FrameRow {
        module,
        offset: site.address,
        function,
        file,
        line,
        inlined,
        kernel,
        after_call: !site.exact,
        script: false,
    };
    let functions = names.by_site.get(&number).copied().unwrap_or_default();
    if functions.is_empty() {
        // An address outside of all modules differs from run to run: its number would tell nobody anything.
        let name = known.map_or_else(
            || "[unknown]".to_owned(),
            |module| match names.starts.get(&number) {
                Some(start) => module.function_name(*start),
                None => module.code_name(site.address),
            },
        );
        return vec![FrameId::new(table.push(row(name, String::new(), 0, false)))];
    }
    let rows = functions.iter().enumerate().map(|(depth, function)| {
        FrameId::new(table.push(row(function.name.clone(), function.file.clone(), function.line, depth > 0)))
    });
    rows.collect()
}
