//! What a truth file may say of call chains: `[[chain]]`.

use anyhow::{Context, Result};
use dwell_store::{ResultFolder, Trace};
use serde::Deserialize;

use crate::recording::Recording;

/// Frames between a program's outermost function and the end of a stack: those of the thread's or program's start.
const MOST_ENTRY_FRAMES: usize = 3;
/// Stands for any number of frames.
const ANY: &str = "...";

/// Every stack that has the function `of` is this chain, from its first function to the outermost frame.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chain {
    /// Functions, leaf first, each the caller of the one before; what the first one calls does not matter. `...` stands
    /// for any frames.
    frames: Vec<String>,
    /// A function that only the meant stacks have [default: the first of `frames`].
    of: Option<String>,
    /// Name of the thread [default: any].
    thread: Option<String>,
    /// Of what the stacks are: `wait` or `sample`; `any` of both, and there are some of each.
    #[serde(default)]
    kind: Kind,
    /// How they end.
    #[serde(default)]
    end: End,
    /// How many there are [default: at least one].
    stacks: Option<usize>,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    #[default]
    Wait,
    Sample,
    Any,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Debug)]
enum End {
    #[default]
    #[serde(rename = "complete")]
    Complete = 1,
    #[serde(rename = "too deep")]
    TooDeep = 4,
    /// The program says nothing of it.
    #[serde(rename = "any")]
    Any = 255,
}

/// A stack of an event: its functions, leaf first, without kernel frames, and its end.
struct Stack {
    functions: Vec<String>,
    end: u8,
}

/// What of `chains` does not hold in the recording.
pub fn mismatches(recording: &Recording, chains: &[Chain]) -> Result<Vec<String>> {
    if chains.is_empty() {
        return Ok(Vec::new());
    }
    let trace = Trace::read(&ResultFolder::open(&recording.path())?).context("reading the tables")?;
    Ok(chains.iter().flat_map(|chain| chain.mismatches(&trace)).collect())
}

impl Chain {
    fn mismatches(&self, trace: &Trace) -> Vec<String> {
        let waits = trace.off_cpu.thread.iter().zip(&trace.off_cpu.stack).zip(&trace.off_cpu.reason);
        let waits = waits.filter(|(_, reason)| **reason == 1).map(|(event, _)| event);
        let samples = trace.samples.thread.iter().zip(&trace.samples.stack).zip(&trace.samples.estimated);
        let samples = samples.filter(|(_, estimated)| !**estimated).map(|(event, _)| event);
        let of = self.of.as_ref().or(self.frames.first()).map_or("", String::as_str);
        let meant = |events: &mut dyn Iterator<Item = (&dwell_model::ThreadId, &dwell_model::StackId)>| {
            let named = |row: usize| self.thread.as_ref().is_none_or(|name| trace.threads.name[row] == *name);
            let own = events.filter(|(thread, _)| thread.get().is_some_and(named));
            let stacks = own.filter_map(|(_, stack)| stack_of(trace, stack.get()?));
            stacks.filter(|stack| stack.functions.iter().any(|it| is_function(it, of))).collect::<Vec<Stack>>()
        };
        let parts = [("wait", self.kind != Kind::Sample, meant(&mut waits.into_iter()))].into_iter().chain([(
            "sample",
            self.kind != Kind::Wait,
            meant(&mut samples.into_iter()),
        )]);
        parts.filter(|(_, asked, _)| *asked).flat_map(|(what, _, stacks)| self.wrong(what, of, &stacks)).collect()
    }

    fn wrong(&self, what: &str, of: &str, stacks: &[Stack]) -> Vec<String> {
        let thread = self.thread.as_deref().unwrap_or("any thread");
        if stacks.is_empty() || self.stacks.is_some_and(|wanted| wanted != stacks.len()) {
            let wanted = self.stacks.map_or("some".into(), |wanted| wanted.to_string());
            return vec![format!("chain: {} {what} stacks of {thread} with {of}, expected {wanted}", stacks.len())];
        }
        let other = stacks.iter().filter(|stack| !self.is(stack));
        let say = |stack: &Stack| {
            let functions = stack.functions.join(" < ");
            format!(
                "chain: a {what} of {thread} is {functions} (end {}), expected {}",
                stack.end,
                self.frames.join(" < ")
            )
        };
        other.take(2).map(say).collect()
    }

    fn is(&self, stack: &Stack) -> bool {
        let first = self.frames.first().map_or("", String::as_str);
        let from = stack.functions.iter().position(|function| is_function(function, first));
        (self.end == End::Any || stack.end == self.end as u8)
            && from.is_some_and(|from| fits(&stack.functions[from..], &self.frames))
    }
}

/// Whether `functions` begin with `frames` and have no more behind than the start of a thread.
fn fits(functions: &[String], frames: &[String]) -> bool {
    match (frames, functions) {
        ([any], _) if any == ANY => true,
        ([any, rest @ ..], _) if any == ANY => (0..functions.len()).any(|skip| fits(&functions[skip..], rest)),
        ([frame, frames @ ..], [function, functions @ ..]) => is_function(function, frame) && fits(functions, frames),
        ([], _) => functions.len() <= MOST_ENTRY_FRAMES,
        (_, []) => false,
    }
}

/// Whether a demangled name is that of the function, without arguments, suffixes of the compiler and namespaces.
fn is_function(name: &str, function: &str) -> bool {
    let plain = name.split(['(', '.', '@']).next().unwrap_or(name);
    plain == function || plain.ends_with(&format!("::{function}"))
}

fn stack_of(trace: &Trace, row: usize) -> Option<Stack> {
    let end = *trace.stacks.end.get(row)?;
    let rows = std::iter::successors(Some(row), |row| trace.stacks.parent.get(*row)?.get());
    let frames = rows.filter_map(|row| trace.stacks.frame.get(row)?.get());
    let user = frames.filter(|frame| !trace.frames.kernel[*frame]);
    Some(Stack { functions: user.map(|frame| trace.frames.function[frame].clone()).collect(), end })
}
