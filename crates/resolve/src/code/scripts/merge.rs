//! Puts frames of scripts into the native stack of the same moment, each behind the native frame that ran it.
//!
//! From CPython 3.11 on the collector knows which one that was; earlier, each `_PyEval_EvalFrameDefault` ran one.

use dwell_model::{FrameId, StackEnd};
use dwell_store::raw::wire::{SCRIPT_BY_COUNT, SCRIPT_CUT, ScriptFrame};
use dwell_store::tables::Frames;

use super::functions::Functions;
use crate::hash::FastMap;
use crate::input::meta::{RawStack, ScriptStack};

/// The functions of CPython, PHP and Ruby that run functions of scripts. The compiler may have split them: `execute_ex.cold`.
const EVALUATIONS: [&str; 3] = ["_PyEval_EvalFrame", "execute_ex", "rb_vm_exec"];
const COMPLETE: u8 = StackEnd::Complete as u8;
const TOO_DEEP: u8 = StackEnd::TooDeep as u8;

/// Puts the frames of scripts in stacks into their native frames.
pub struct ScriptMerger<'a> {
    functions: &'a Functions,
    rows: FastMap<(u64, i32), FrameId>,
}

impl<'a> ScriptMerger<'a> {
    /// For stacks that call `functions`.
    pub fn new(functions: &'a Functions) -> Self {
        Self { functions, rows: FastMap::default() }
    }

    /// The frames of the stack `script` that has the `native` frames, chains of what is inlined into them, root first.
    pub fn merge(
        &mut self,
        stack: RawStack,
        script: &ScriptStack,
        native: &[&[FrameId]],
        frames: &mut Frames,
    ) -> Vec<FrameId> {
        let places = places(stack, script, native, frames);
        let mut merged = Vec::new();
        let of_place = |place: Option<usize>| {
            let met = places.iter().zip(&script.frames).filter(move |(at, _)| **at == place);
            met.map(|(_, frame)| frame).rev()
        };
        for frame in of_place(None) {
            merged.push(self.frame(frame, frames));
        }
        for (number, chain) in native.iter().enumerate().rev() {
            merged.extend_from_slice(chain);
            for frame in of_place(Some(number)) {
                merged.push(self.frame(frame, frames));
            }
        }
        merged
    }

    fn frame(&mut self, frame: &ScriptFrame, frames: &mut Frames) -> FrameId {
        let functions = self.functions;
        let row = || FrameId::new(frames.push(functions.row(frame)));
        *self.rows.entry((frame.code, frame.instruction)).or_insert_with(row)
    }
}

/// How a stack with these frames ended: a native walk to the end does not help when they are cut.
pub fn end_of(stack: RawStack, script: &ScriptStack) -> u8 {
    if stack.end == COMPLETE && script.flags & SCRIPT_CUT != 0 { TOO_DEEP } else { stack.end }
}

/// For each frame of a script, the native one that ran it. Where the collector does not know, the frames' segments follow the
/// evaluations behind those that it knows; none where the native stack has no more of them.
fn places(stack: RawStack, script: &ScriptStack, native: &[&[FrameId]], frames: &Frames) -> Vec<Option<usize>> {
    let has_native = |frame: &&ScriptFrame| frame.native != SCRIPT_BY_COUNT && usize::from(frame.native) < native.len();
    let known: Vec<usize> =
        script.frames.iter().take_while(has_native).map(|frame| usize::from(frame.native)).collect();
    let rest = &script.frames[known.len()..];
    let behind = known.last().map_or(0, |last| last + 1);
    let evaluates = |number: &usize| {
        let function = |frame: &FrameId| frame.get().and_then(|row| frames.function.get(row));
        native[*number]
            .iter()
            .filter_map(function)
            .any(|function| EVALUATIONS.iter().any(|name| function.starts_with(name)))
    };
    let evaluations: Vec<usize> = (behind..native.len()).filter(evaluates).collect();
    let mut segments: Vec<u16> = rest.iter().map(|frame| frame.segment).collect();
    segments.dedup();
    // One more evaluation than segments, at the leaf: it is about to begin, or over.
    let whole = stack.end == COMPLETE && script.flags & SCRIPT_CUT == 0;
    let between = whole && evaluations.len() == segments.len() + 1 && evaluations.first() == Some(&0);
    let place = |frame: &ScriptFrame| {
        let number = segments.iter().position(|segment| *segment == frame.segment)?;
        evaluations.get(number + usize::from(between)).copied()
    };
    known.iter().copied().map(Some).chain(rest.iter().map(place)).collect()
}

#[cfg(test)]
mod tests {
    use dwell_model::ModuleId;
    use dwell_store::tables::FrameRow;

    use super::*;
    use crate::code::scripts::functions::NAMELESS;

    /// A frames table of functions, and a chain of one frame for each.
    fn native(names: &[&str]) -> (Frames, Vec<Vec<FrameId>>) {
        let mut frames = Frames::default();
        let chains = names.iter().map(|name| {
            let row = FrameRow {
                module: ModuleId::NONE,
                offset: 0,
                function: (*name).to_owned(),
                file: String::new(),
                line: 0,
                inlined: false,
                kernel: false,
                after_call: false,
                script: false,
            };
            vec![FrameId::new(frames.push(row))]
        });
        let chains = chains.collect();
        (frames, chains)
    }

    /// Frames of these native ones and segments.
    fn stack(frames: &[(u16, u16)], flags: u16) -> ScriptStack {
        let frame = |(number, &(native, segment)): (usize, &(u16, u16))| ScriptFrame {
            code: 1,
            instruction: number as i32,
            native,
            segment,
        };
        ScriptStack { frames: frames.iter().enumerate().map(frame).collect(), flags }
    }

    /// The merged stack, root first: native functions, and frames of scripts by their number from the leaf.
    fn merged(names: &[&str], script: &ScriptStack, end: u8) -> String {
        let (mut frames, chains) = native(names);
        let chains: Vec<&[FrameId]> = chains.iter().map(Vec::as_slice).collect();
        let functions = Functions::default();
        let raw = RawStack::of_end(end);
        let all = ScriptMerger::new(&functions).merge(raw, script, &chains, &mut frames);
        let name = |frame: &FrameId| {
            let row = frame.get().expect("row");
            if frames.function[row] == NAMELESS { frames.offset[row].to_string() } else { frames.function[row].clone() }
        };
        all.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    const EVAL: &str = "_PyEval_EvalFrameDefault";

    const NO: u16 = SCRIPT_BY_COUNT;

    #[test]
    fn frames_go_where_the_collector_saw_them() {
        let names = ["read", "eval", "call", "eval", "main"];
        assert_eq!(merged(&names, &stack(&[(1, 0), (1, 0), (3, 1)], 0), COMPLETE), "main eval 2 call eval 1 0 read");
        let deep = stack(&[(1, 0), (NO, 1), (77, 2)], SCRIPT_CUT);
        assert_eq!(merged(&names, &deep, TOO_DEEP), "2 1 main eval call eval 0 read");
    }

    #[test]
    fn frames_are_counted_where_nothing_better_is_known() {
        let two = stack(&[(NO, 0), (NO, 1)], 0);
        let show = |names: &[&str], end| merged(names, &two, end).replace(EVAL, "E");
        assert_eq!(show(&["read", EVAL, "call", EVAL, "main"], COMPLETE), "main E 1 call E 0 read");
        // An evaluation that has no frame yet.
        assert_eq!(show(&[EVAL, "call", EVAL, EVAL, "main"], COMPLETE), "main E 1 E 0 call E");
        // The stack below belongs to another greenlet.
        assert_eq!(show(&["switch", EVAL, EVAL, EVAL, "main"], COMPLETE), "main E E 1 E 0 switch");
        // The rest of the native stack is missing.
        assert_eq!(show(&["read", EVAL], TOO_DEEP), "1 E 0 read");
    }

    #[test]
    fn what_the_collector_did_not_reach_is_counted_by_segments() {
        let names = ["kernel", EVAL, "call", EVAL, "call", EVAL, "main"];
        let show = |frames: &[(u16, u16)]| merged(&names, &stack(frames, 0), COMPLETE).replace(EVAL, "E");
        assert_eq!(show(&[(NO, 0), (NO, 0), (NO, 1), (NO, 2)]), "main E 3 call E 2 call E 1 0 kernel");
        assert_eq!(show(&[(1, 0), (NO, 1), (NO, 1), (NO, 2)]), "main E 3 call E 2 1 call E 0 kernel");
    }

    #[test]
    fn a_cut_list_of_frames_makes_a_cut_stack() {
        assert_eq!(end_of(RawStack::of_end(COMPLETE), &stack(&[], SCRIPT_CUT)), TOO_DEEP);
        assert_eq!(end_of(RawStack::of_end(COMPLETE), &stack(&[], 0)), COMPLETE);
        assert_eq!(end_of(RawStack::of_end(3), &stack(&[], SCRIPT_CUT)), 3);
    }
}
