//! speedscope's own JSON: two profiles of the same threads, one weighed by CPU time and one by wait time. The outermost frame of
//! each stack is its thread.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Result, Write};

use dwell_analyze::Fold;
use dwell_analyze::selected::{frame_rows, idle_wait_ns, thread_name};
use dwell_model::{StackId, ThreadId};
use serde::Serialize;

use crate::losses;
use crate::stack_sums::{StackWeight, stack_sums};

const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

#[derive(Serialize)]
struct File<'f> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    name: String,
    exporter: &'static str,
    shared: Shared<'f>,
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Shared<'f> {
    frames: Vec<Frame<'f>>,
}

/// A function; its lines are not told apart.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Frame<'f> {
    name: Cow<'f, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'f str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    unit: &'static str,
    start_value: u64,
    end_value: u64,
    /// Rows of the frames, outermost first.
    samples: Vec<Vec<usize>>,
    weights: Vec<u64>,
}

/// Writes what the fold's query selects. What was lost, and the waits of idle workers that were left out, is told in the name.
/// Fails where `out` does.
pub fn write(fold: &Fold<'_>, out: &mut dyn Write) -> Result<()> {
    let mut frames = FrameRows::default();
    let profiles = [("CPU time", StackWeight::Cpu), ("Wait time", StackWeight::Wait)];
    let profiles = profiles.map(|(name, weight)| profile(fold, (name, weight), &mut frames)).into();
    let shared = Shared { frames: frames.frames };
    let name = losses::title(fold.trace, idle_wait_ns(fold), Vec::new());
    let file = File { schema: SCHEMA, name, exporter: losses::EXPORTER, shared, profiles };
    serde_json::to_writer(&mut *out, &file)?;
    writeln!(out)
}

fn profile<'t>(fold: &Fold<'t>, (name, weight): (&'static str, StackWeight), frames: &mut FrameRows<'t>) -> Profile {
    let sums = stack_sums(fold, weight);
    let weights: Vec<u64> = sums.values().copied().collect();
    let samples = sums.keys().map(|(thread, stack)| frames.stack(fold, *thread, *stack)).collect();
    let end_value = weights.iter().sum();
    Profile { kind: "sampled", name, unit: "nanoseconds", start_value: 0, end_value, samples, weights }
}

#[derive(Default)]
struct FrameRows<'t> {
    frames: Vec<Frame<'t>>,
    rows: HashMap<Frame<'t>, usize>,
}

impl<'t> FrameRows<'t> {
    fn stack(&mut self, fold: &Fold<'t>, thread: ThreadId, stack: StackId) -> Vec<usize> {
        let of_trace = &fold.trace.frames;
        let frame = |row: usize| Frame { name: of_trace.function[row].as_str().into(), file: &of_trace.file[row] };
        let thread = Frame { name: thread_name(fold, thread).into(), file: "" };
        let functions = frame_rows(&fold.sums.stacks, stack).map(frame);
        let mut rows: Vec<usize> = functions.chain([thread]).map(|frame| self.row(frame)).collect();
        rows.reverse();
        rows
    }

    fn row(&mut self, frame: Frame<'t>) -> usize {
        *self.rows.entry(frame).or_insert_with_key(|frame| {
            self.frames.push(frame.clone());
            self.frames.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use dwell_analyze::Query;
    use serde_json::Value;

    use super::*;
    use crate::test_trace::two_threads;

    #[test]
    fn both_profiles_have_the_sums() {
        let (trace, query) = (two_threads(), Query::default());
        let mut out = Vec::new();
        write(&Fold::new(&trace, &query).unwrap(), &mut out).unwrap();
        let file: Value = serde_json::from_slice(&out).unwrap();
        let (cpu, wait) = (&file["profiles"][0], &file["profiles"][1]);
        assert_eq!(cpu["endValue"], 5_000_000);
        assert_eq!(wait["weights"], serde_json::json!([3_000_000]));
        let name = |row: &Value| file["shared"]["frames"][row.as_u64().unwrap() as usize]["name"].clone();
        let stack: Vec<Value> = wait["samples"][0].as_array().unwrap().iter().map(name).collect();
        assert_eq!(stack, ["work;er (11)", "main", "push_item", "pthread_mutex_lock"]);
        assert!(file["name"].as_str().unwrap().contains("7"), "{}", file["name"]);
    }
}
