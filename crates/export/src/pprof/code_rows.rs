//! Where code is: mappings, locations and functions, each once. Ids are rows plus one, since pprof has 0 for none.

use std::collections::HashMap;

use dwell_analyze::Fold;
use dwell_analyze::selected::frame_rows;
use dwell_model::StackId;
use dwell_store::Trace;

use super::message::{Function, Line, Location, Mapping, Profile};
use super::string_rows::StringRows;

/// What a stack without a known frame is called.
const UNKNOWN: &str = "[unknown]";

/// Mappings, locations and functions so far.
#[derive(Debug, Default)]
pub struct CodeRows {
    mappings: Vec<Mapping>,
    /// Id by row of the modules.
    mapping_ids: HashMap<usize, u64>,
    locations: Vec<Location>,
    /// Id by rows of the frames at one address, innermost first.
    location_ids: HashMap<Vec<usize>, u64>,
    functions: Vec<Function>,
    /// Id by rows of name and file in the string table.
    function_ids: HashMap<(i64, i64), u64>,
    /// What a stack is, by its id: places share stacks.
    stacks: HashMap<StackId, Vec<u64>>,
}

impl CodeRows {
    /// The locations of what the query shows of `stack`, leaf first. One without a known frame is one unknown function, so that its
    /// time is seen.
    pub fn stack(&mut self, fold: &Fold<'_>, stack: StackId, strings: &mut StringRows) -> Vec<u64> {
        if let Some(known) = self.stacks.get(&stack) {
            return known.clone();
        }
        let frames: Vec<usize> = frame_rows(&fold.sums.stacks, stack).collect();
        let trace = fold.trace;
        let groups = frames.chunk_by(|inner, outer| is_inlined_at(trace, *inner, *outer));
        let mut ids: Vec<u64> = groups.map(|group| self.location(trace, group, strings)).collect();
        if ids.is_empty() {
            ids.push(self.location(trace, &[], strings));
        }
        self.stacks.insert(stack, ids.clone());
        ids
    }

    fn location(&mut self, trace: &Trace, frames: &[usize], strings: &mut StringRows) -> u64 {
        if let Some(known) = self.location_ids.get(frames) {
            return *known;
        }
        let id = self.locations.len() as u64 + 1;
        let location = match frames.last() {
            None => {
                let function_id = self.function(strings.row(UNKNOWN), 0);
                Location { id, line: vec![Line { function_id, line: 0 }], ..Location::default() }
            }
            Some(outermost) => Location {
                id,
                mapping_id: self.mapping(trace, *outermost, strings),
                address: address(trace, *outermost),
                line: frames.iter().map(|frame| self.line(trace, *frame, strings)).collect(),
            },
        };
        self.locations.push(location);
        self.location_ids.insert(frames.to_vec(), id);
        id
    }

    fn line(&mut self, trace: &Trace, frame: usize, strings: &mut StringRows) -> Line {
        let (name, file) = (strings.row(&trace.frames.function[frame]), strings.row(&trace.frames.file[frame]));
        Line { function_id: self.function(name, file), line: trace.frames.line[frame].into() }
    }

    fn function(&mut self, name: i64, filename: i64) -> u64 {
        *self.function_ids.entry((name, filename)).or_insert_with(|| {
            let id = self.functions.len() as u64 + 1;
            self.functions.push(Function { id, name, system_name: name, filename });
            id
        })
    }

    /// The mapping of a frame's module, which grows to hold its address; 0 without a module.
    fn mapping(&mut self, trace: &Trace, frame: usize, strings: &mut StringRows) -> u64 {
        let module = trace.frames.module[frame].get().filter(|row| *row < trace.modules.path.len());
        let Some(module) = module else { return 0 };
        let id = *self.mapping_ids.entry(module).or_insert_with(|| {
            let id = self.mappings.len() as u64 + 1;
            self.mappings.push(Mapping {
                id,
                memory_start: 0,
                memory_limit: 0,
                filename: strings.row(&trace.modules.path[module]),
                build_id: strings.row(&trace.modules.build_id[module]),
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            });
            id
        });
        let mapping = &mut self.mappings[id as usize - 1];
        mapping.memory_limit = mapping.memory_limit.max(address(trace, frame).saturating_add(1));
        id
    }

    /// All of them.
    pub fn finish(self) -> Profile {
        Profile { mapping: self.mappings, location: self.locations, function: self.functions, ..Profile::default() }
    }
}

/// Whether the compiler put the function of `inner` into that of `outer` at the same address.
fn is_inlined_at(trace: &Trace, inner: usize, outer: usize) -> bool {
    let at = |frame: usize| (trace.frames.module[frame], trace.frames.offset[frame]);
    trace.frames.inlined[inner] && at(inner) == at(outer)
}

/// The address in the module, of a call that of its last byte, as pprof has it; 0 for Python, whose functions have none.
fn address(trace: &Trace, frame: usize) -> u64 {
    if trace.frames.script[frame] {
        return 0;
    }
    trace.frames.offset[frame].saturating_sub(u64::from(trace.frames.after_call[frame]))
}
