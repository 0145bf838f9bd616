//! Stacks as the query wants to see them: system functions folded into their callers by the call-stack mode, inlined
//! functions shown or not, functions as numbers.

use std::collections::HashMap;

use dwell_model::{FrameId, ModuleId, RUN_TIME_CODE, StackId};
use dwell_store::Trace;

use crate::question::level::CallStackMode;
use crate::question::query::Query;
use crate::stacks::own_code::{
    is_interpreter, is_javascript, is_standard_code, is_standard_name, is_system_module, is_telling_script_library,
    is_trampoline,
};
use crate::stacks::project::{is_in_packages, project_of};

/// A row of the functions that this query tells apart: name and module.
pub type FunctionId = u32;

/// No function: an empty stack.
pub const NO_FUNCTION: FunctionId = u32::MAX;

/// What to show of each stack.
pub struct CallStacks<'t> {
    trace: &'t Trace,
    inlines: bool,
    /// For each stack, the one that is left of it after folding system functions.
    shown: Vec<StackId>,
    /// For each stack, whether it has a function of a script.
    in_script: Vec<bool>,
    function_of_frame: Vec<FunctionId>,
    functions: Vec<(&'t str, ModuleId)>,
    system: Vec<bool>,
    /// The folder of the program's own sources.
    project: &'t str,
    /// The frames of interpreters.
    interpreter: Vec<bool>,
    /// The frames of functions that a JavaScript engine brings, among the code that it makes.
    engine_function: Vec<bool>,
    /// Whether they are not shown among the functions that they run.
    hides_interpreters: bool,
}

/// What folding knows of a stack, its callers included.
#[derive(Clone, Copy, Default)]
struct Folding {
    /// It has a function of the program's own.
    has_user: bool,
    /// Such a function is its innermost one, but for what an interpreter does to run it.
    ends_in_user: bool,
    /// It has a function of a script.
    in_script: bool,
}

impl<'t> CallStacks<'t> {
    /// Prepares every stack of the trace: time and memory in proportion to the stacks table.
    pub fn new(trace: &'t Trace, query: &Query) -> Self {
        let (function_of_frame, functions) = intern_functions(trace);
        let system = frames_of(trace, is_system_module, true);
        let own = trace.frames.file.iter().zip(&system).filter(|(_, system)| !**system);
        let mut stacks = Self {
            trace,
            inlines: query.inlines,
            shown: Vec::new(),
            in_script: Vec::new(),
            function_of_frame,
            functions,
            project: project_of(own.map(|(file, _)| file.as_str())),
            system,
            interpreter: frames_of(trace, |path| is_interpreter(path) || is_trampoline(path), false),
            engine_function: engine_functions(trace),
            hides_interpreters: query.call_stack_mode != CallStackMode::All,
        };
        stacks.fold_system_frames(query.call_stack_mode);
        stacks
    }

    /// Parents come before their children, so that one pass is enough.
    fn fold_system_frames(&mut self, mode: CallStackMode) {
        let mut rows: Vec<Folding> = Vec::with_capacity(self.trace.stacks.frame.len());
        for row in 0..self.trace.stacks.frame.len() {
            let stack = StackId::new(row);
            let parent = self.parent(stack).get();
            let below = parent.map_or_else(Folding::default, |parent| rows[parent]);
            let above = parent.map_or(StackId::NONE, |parent| self.shown[parent]);
            let is_user = !self.is_system(stack);
            let transparent = self.hides_interpreters && below.in_script && self.is_interpreter(stack);
            let hidden = transparent || (!self.inlines && self.is_inlined(stack));
            let keep = match mode {
                CallStackMode::All => true,
                _ if is_user || !below.has_user => true,
                CallStackMode::User => false,
                // An inlined frame of the one system function belongs to that function.
                CallStackMode::UserPlusOne => below.ends_in_user,
            };
            self.shown.push(if keep && !hidden { stack } else { above });
            rows.push(Folding {
                has_user: is_user || below.has_user,
                ends_in_user: if transparent { below.ends_in_user } else { is_user },
                in_script: below.in_script || self.is_script(stack),
            });
        }
        self.in_script = rows.iter().map(|row| row.in_script).collect();
    }

    /// What is shown of `stack`: a stack whose frame is the one that the time is attributed to.
    pub fn shown(&self, stack: StackId) -> StackId {
        stack.get().and_then(|row| self.shown.get(row)).copied().unwrap_or(StackId::NONE)
    }

    /// The stacks from what is shown of `stack` to the root: one for each frame shown. What an interpreter does to run
    /// scripts is left out.
    pub fn chain(&self, stack: StackId) -> impl Iterator<Item = StackId> + '_ {
        let shown = self.shown(stack);
        let in_script = self.hides_interpreters && shown.get().is_some_and(|row| self.in_script[row]);
        let visible = move |stack: &StackId| {
            (self.inlines || !self.is_inlined(*stack)) && !(in_script && self.is_interpreter(*stack))
        };
        self.whole_chain(shown).filter(visible)
    }

    /// The stacks from `stack` to the root, whatever the query shows.
    pub fn whole_chain(&self, stack: StackId) -> impl Iterator<Item = StackId> + '_ {
        let next = |stack: &StackId| Some(self.parent(*stack));
        std::iter::successors(Some(stack), next).take_while(|stack| self.frame(*stack).is_some())
    }

    /// The caller's stack. One that is not before its callee, which no sound trace has, counts as none.
    fn parent(&self, stack: StackId) -> StackId {
        let parent = stack.get().and_then(|row| self.trace.stacks.parent.get(row)).copied().unwrap_or(StackId::NONE);
        if parent < stack { parent } else { StackId::NONE }
    }

    /// The frame at the end of `stack`.
    pub fn frame(&self, stack: StackId) -> Option<usize> {
        let frame = stack.get().and_then(|row| self.trace.stacks.frame.get(row)).copied().and_then(FrameId::get)?;
        (frame < self.trace.frames.function.len()).then_some(frame)
    }

    /// The function at the end of `stack`.
    pub fn function(&self, stack: StackId) -> FunctionId {
        self.frame(stack).map_or(NO_FUNCTION, |frame| self.function_of_frame[frame])
    }

    /// The function at the end of `stack` that is not inlined.
    pub fn source_function(&self, stack: StackId) -> FunctionId {
        let outer = self.whole_chain(stack).find(|stack| !self.is_inlined(*stack));
        outer.map_or(NO_FUNCTION, |stack| self.function(stack))
    }

    /// Name of a function.
    pub fn function_name(&self, function: FunctionId) -> &'t str {
        self.functions.get(function as usize).map_or("[unknown]", |(name, _)| name)
    }

    /// Path of the file that a function's code is in.
    pub fn module_path(&self, function: FunctionId) -> Option<&'t str> {
        let (_, module) = self.functions.get(function as usize)?;
        self.trace.modules.path.get(module.get()?).map(String::as_str)
    }

    /// Names of the frames shown, leaf first.
    pub fn names(&self, stack: StackId) -> Vec<String> {
        self.chain(stack).map(|stack| self.function_name(self.function(stack)).to_owned()).collect()
    }

    /// Names of all frames, leaf first.
    pub fn whole_names(&self, stack: StackId) -> impl Iterator<Item = &'t str> + '_ {
        self.whole_chain(stack).map(|stack| self.function_name(self.function(stack)))
    }

    /// The program's own place on `stack`: `function (file:line)`, the innermost one that is neither the system's nor
    /// a standard library's, as far as there is one.
    pub fn place(&self, stack: StackId) -> Option<String> {
        let frame = self.frame(self.own(stack))?;
        let name = &self.trace.frames.function[frame];
        Some(match self.source_line(frame) {
            Some(line) => format!("{name} ({})", line.strip_prefix(self.project).unwrap_or(&line)),
            None => name.clone(),
        })
    }

    /// The innermost stack of `stack` that ends in the program's own code; else outside the system's, else itself.
    pub fn own(&self, stack: StackId) -> StackId {
        let is_user = |stack: &StackId| !self.is_system(*stack);
        let own = self.whole_chain(stack).find(|stack| self.is_own(*stack));
        let in_script = || self.whole_chain(stack).find(|stack| self.is_own(*stack) && self.is_script(*stack));
        let own = own.map(|own| if self.is_native_of_package(own) { in_script().unwrap_or(own) } else { own });
        // Of a standard library alone, what it does for the program tells more than how it waits.
        let is_telling = |stack: &StackId| is_user(stack) && !self.is_runtime(*stack);
        let standard = || self.whole_chain(stack).find(is_telling).or_else(|| self.whole_chain(stack).find(is_user));
        own.or_else(standard).unwrap_or(stack)
    }

    /// Whether the function at the end of `stack` is a runtime's, by its name.
    pub fn is_runtime(&self, stack: StackId) -> bool {
        is_standard_name(self.function_name(self.function(stack)))
    }

    /// Whether the frame at the end of `stack` is the program's own: neither the system's nor a standard library's nor an interpreter's.
    pub fn is_own(&self, stack: StackId) -> bool {
        !self.is_system(stack) && !self.is_standard_library(stack) && !self.is_interpreter(stack)
    }

    /// Whether the frame at the end of `stack` is native code of a package, whose sources nobody has: where a script calls it, the script's
    /// line tells more.
    fn is_native_of_package(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| {
            let frames = &self.trace.frames;
            let in_package = || self.module_path(self.function(stack)).is_some_and(is_in_packages);
            !frames.script[frame] && frames.file[frame].is_empty() && in_package()
        })
    }

    /// Whether the code was compiled into the program from a standard library's sources.
    fn is_standard_library(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| {
            let (file, name) = (&self.trace.frames.file[frame], &self.trace.frames.function[frame]);
            let is_script = self.trace.frames.script[frame];
            self.engine_function[frame] || is_standard_code(file, name, is_script)
        })
    }

    /// Whether the frame at the end of `stack` is a function of Python's standard library that tells what a thread does.
    pub fn is_telling_script_library(&self, stack: StackId) -> bool {
        let file = |frame: usize| self.trace.frames.file[frame].as_str();
        self.is_script(stack) && self.frame(stack).is_some_and(|frame| is_telling_script_library(file(frame)))
    }

    /// `file:line` of a frame, as far as known.
    pub fn source_line(&self, frame: usize) -> Option<String> {
        let (file, line) = (&self.trace.frames.file[frame], self.trace.frames.line[frame]);
        match (file.as_str(), line) {
            ("", _) => None,
            (file, 0) => Some(file.to_owned()),
            (file, line) => Some(format!("{file}:{line}")),
        }
    }

    /// Whether the frame at the end of `stack` is of the system: kernel, C library, a threading runtime.
    pub fn is_system(&self, stack: StackId) -> bool {
        self.frame(stack).is_none_or(|frame| self.system[frame])
    }

    fn is_script(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| self.trace.frames.script[frame])
    }

    fn is_interpreter(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| self.interpreter.get(frame).copied().unwrap_or(false))
    }

    /// Whether the frame at the end of `stack` is kernel code.
    pub fn is_kernel(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| self.trace.frames.kernel[frame])
    }

    fn is_inlined(&self, stack: StackId) -> bool {
        self.frame(stack).is_some_and(|frame| self.trace.frames.inlined[frame])
    }
}

fn intern_functions(trace: &Trace) -> (Vec<FunctionId>, Vec<(&str, ModuleId)>) {
    let mut ids = HashMap::new();
    let mut functions = Vec::new();
    let of_frame = trace.frames.function.iter().zip(&trace.frames.module).map(|(name, module)| {
        *ids.entry((name.as_str(), *module)).or_insert_with(|| {
            functions.push((name.as_str(), *module));
            functions.len() as FunctionId - 1
        })
    });
    (of_frame.collect(), functions)
}

/// For each frame, whether it is in a module that `belongs`; for those of the kernel `kernel`.
fn frames_of(trace: &Trace, belongs: fn(&str) -> bool, kernel: bool) -> Vec<bool> {
    let modules: Vec<bool> = trace.modules.path.iter().map(|path| belongs(path)).collect();
    let of_module = |module: &ModuleId| module.get().and_then(|row| modules.get(row)).copied().unwrap_or(false);
    let frames = trace.frames.module.iter().zip(&trace.frames.kernel);
    frames.map(|(module, in_kernel)| (*in_kernel && kernel) || of_module(module)).collect()
}

/// For each frame, whether it is a function that a JavaScript engine brings (`forEach`, `RegExp`): it has no file, unlike the script's
/// functions, which are in the same code. WebAssembly, which has none either, is the program's.
fn engine_functions(trace: &Trace) -> Vec<bool> {
    let frames = &trace.frames;
    let is_run_time_code = |path: &String| path.starts_with(RUN_TIME_CODE);
    let run_time_code: Vec<bool> = trace.modules.path.iter().map(is_run_time_code).collect();
    let mut javascript = vec![false; run_time_code.len()];
    for (module, file) in frames.module.iter().zip(&frames.file) {
        if let Some(module) = module.get().filter(|module| run_time_code.get(*module) == Some(&true)) {
            javascript[module] |= is_javascript(file);
        }
    }
    let is_in = |module: &ModuleId| module.get().and_then(|row| javascript.get(row)).copied().unwrap_or(false);
    let functions = frames.module.iter().zip(frames.file.iter().zip(&frames.function));
    functions.map(|(module, (file, name))| is_in(module) && file.is_empty() && !name.starts_with("wasm")).collect()
}

#[cfg(test)]
mod tests {
    use dwell_store::tables::{FrameRow, ModuleRow, StackRow};

    use super::*;

    /// A trace with one stack: module and function of each frame, root first; `py` in front of a Python function.
    fn stack_of(frames: &[(&str, &str)]) -> (Trace, StackId) {
        let mut trace = Trace::new(dwell_trace_dsl::manifest(1, 1));
        let mut parent = StackId::NONE;
        for (path, function) in frames {
            let module = trace.modules.push(ModuleRow { path: (*path).into(), build_id: String::new() });
            let frame = trace.frames.push(FrameRow {
                module: ModuleId::new(module),
                offset: 0,
                function: function.trim_start_matches("py ").into(),
                file: String::new(),
                line: 0,
                inlined: false,
                kernel: false,
                after_call: false,
                script: function.starts_with("py "),
            });
            parent = StackId::new(trace.stacks.push(StackRow { parent, frame: FrameId::new(frame), end: 1 }));
        }
        (trace, parent)
    }

    #[test]
    fn what_runs_python_functions_is_not_shown_among_them() {
        let (trace, stack) = stack_of(&[
            ("/usr/lib/libc.so.6", "__libc_start_main"),
            ("/usr/bin/python3.12", "Py_BytesMain"),
            ("/usr/bin/python3.12", "_PyEval_EvalFrameDefault"),
            ("/srv/app.py", "py main"),
            ("[jit] python3.12", "work"),
            ("/usr/bin/python3.12", "_PyEval_EvalFrameDefault"),
            ("/srv/app.py", "py work"),
            ("/usr/bin/python3.12", "time_sleep"),
            ("/usr/lib/libc.so.6", "clock_nanosleep"),
        ]);
        let shown = |mode| {
            let query = Query { call_stack_mode: mode, ..Query::default() };
            CallStacks::new(&trace, &query).names(stack).join(" ")
        };
        assert_eq!(shown(CallStackMode::User), "work main __libc_start_main");
        assert_eq!(shown(CallStackMode::UserPlusOne), "clock_nanosleep work main __libc_start_main");
        assert_eq!(shown(CallStackMode::All).split(' ').count(), 9);
        let stacks = CallStacks::new(&trace, &Query::default());
        assert_eq!(stacks.place(stack).as_deref(), Some("work"));
    }

    #[test]
    fn what_a_javascript_engine_brings_is_no_code_of_the_program() {
        let (mut trace, stack) = stack_of(&[
            ("/usr/bin/node", "node::Start"),
            ("[jit] node", "check"),
            ("[jit] node", "forEach"),
            ("[jit] node", "wasm-function[7]"),
            ("[jit] java", "com.example.Pool.take"),
        ]);
        (2..4).for_each(|frame| trace.frames.module[frame] = trace.frames.module[1]);
        let own = |trace: &Trace| {
            let query = Query::default();
            let stacks = CallStacks::new(trace, &query);
            let own = |stack: &StackId| stacks.is_own(*stack);
            stacks.whole_chain(stack).map(|stack| own(&stack)).collect::<Vec<bool>>()
        };
        assert_eq!(own(&trace), [true; 5], "which of them has a file is not known");
        trace.frames.file[1] = "/srv/app.mjs".into();
        assert_eq!(own(&trace), [true, true, false, true, true]);
    }
}
