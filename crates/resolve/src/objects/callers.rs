//! The resolved stacks, as the naming of objects reads them: from the leaf outwards.

use dwell_model::{FrameId, StackId};
use dwell_store::raw::wire::JAVA_INTERPRETER;
use dwell_store::tables::{Frames, Stacks};

use super::patterns::{Caller, PYTHON_LIBRARY, PYTHON_THREADING, is_library, python_module};
use crate::code::modules::Modules;
use crate::hash::StableHash;

/// Where threads begin, besides the runtimes' own functions.
const ENTRIES: &[&str] =
    &["_start", "clone", "clone3", "__clone", "__clone3", "start_thread", "execute_native_thread_routine"];

/// The folder of the native parts of Python's standard library.
const PYTHON_NATIVE: &str = "/lib-dynload/";

/// How CPython's functions begin that wait for the locks of which Python's conditions, events and queues are made.
const PYTHON_LOCK: &str = "PyThread_acquire_lock";

/// Whether a Python file is of the standard library.
fn is_python_library(path: &str) -> bool {
    path.starts_with("<frozen ") || (path.contains("/lib/python3") && !path.contains("-packages/"))
}

/// Stacks, frames and the modules' names.
#[derive(Clone, Copy)]
pub struct StackFrames<'a> {
    /// The trie.
    pub stacks: &'a Stacks,
    /// Its frames.
    pub frames: &'a Frames,
    /// The modules that frames name.
    pub modules: &'a Modules,
}

impl<'a> StackFrames<'a> {
    /// Frames from the leaf to the root.
    pub fn walk(self, stack: StackId) -> impl Iterator<Item = usize> + 'a {
        let stacks = self.stacks;
        let nodes =
            std::iter::successors(stack.get(), move |&row| stacks.parent.get(row).copied().and_then(StackId::get));
        nodes.filter_map(move |row| stacks.frame.get(row).copied().and_then(FrameId::get))
    }

    fn user(self, stack: StackId) -> impl Iterator<Item = usize> + 'a {
        self.walk(stack).filter(move |&frame| !self.frames.kernel[frame])
    }

    /// The user frames from the leaf to the root.
    pub fn callers(self, stack: StackId) -> impl Iterator<Item = Caller<'a>> {
        self.user(stack).map(move |frame| self.caller(frame))
    }

    /// The functions of the user frames, from the leaf outwards.
    pub fn functions(self, stack: StackId) -> impl Iterator<Item = &'a str> {
        let frames = self.frames;
        self.user(stack).map(move |frame| frames.function[frame].as_str())
    }

    /// The kernel frames' functions, from the leaf outwards.
    pub fn kernel(self, stack: StackId) -> impl Iterator<Item = &'a str> {
        let frames = self.frames;
        self.walk(stack).filter(move |&frame| frames.kernel[frame]).map(move |frame| frames.function[frame].as_str())
    }

    fn caller(self, frame: usize) -> Caller<'a> {
        let module = self.modules.get(self.frames.module[frame].raw());
        if self.frames.script[frame] {
            // A Python function is called as it likes: its file alone tells whose it is.
            return match module {
                Some(module) if is_python_library(&module.path) => {
                    Caller { module: python_module(&module.path), function: self.frames.function[frame].as_str() }
                }
                Some(module) => Caller { module: module.base(), function: "" },
                // PHP's own functions are in no file.
                None => Caller { module: PYTHON_LIBRARY, function: "" },
            };
        }
        let base = match module {
            Some(module) if module.path.contains(PYTHON_NATIVE) => PYTHON_LIBRARY,
            Some(module) => module.base(),
            None => "",
        };
        Caller { module: base, function: self.frames.function[frame].as_str() }
    }

    /// The user frames from the program's own code outwards; all of them when it is library code throughout.
    fn own_frames(self, stack: StackId) -> Vec<usize> {
        let frames: Vec<usize> = self.user(stack).collect();
        let first = frames.iter().position(|&frame| !is_library(self.caller(frame)));
        frames[first.unwrap_or(0)..].to_vec()
    }

    /// The function of the program's own code that called the libraries to wait; else the interpreted library's that did, or
    /// the runtime's.
    pub fn site(self, stack: StackId) -> Option<&'a str> {
        // The JVM's interpreter and stubs say nothing of the program either.
        let nameless = ["[unknown]", "[anon]", "StubRoutines ("];
        let named = |frame: &usize| {
            let function = self.frames.function[*frame].as_str();
            function != JAVA_INTERPRETER && !nameless.iter().any(|name| function.starts_with(name))
        };
        let is_own = |frame: &usize| named(frame) && !is_library(self.caller(*frame));
        let interpreted = |frame: &usize| self.frames.script[*frame] && self.caller(*frame).module != PYTHON_THREADING;
        let runtime = |frame: &usize| named(frame) && !self.caller(*frame).is_libc();
        let frames = || self.user(stack);
        // Right below code without names: what it called.
        let called = || frames().any(|frame| !named(&frame)).then(|| frames().take_while(named).filter(runtime).last());
        let site = frames().find(is_own).or_else(|| frames().find(interpreted));
        let site = site.or_else(|| called().flatten()).or_else(|| frames().find(runtime))?;
        // The line tells which of the closures in a function waits.
        Some(self.frames.function[site].trim_end_matches("::{{closure}}"))
    }

    /// Whether CPython waits for a lock of its own making there, and no Python function is known that would say whether it is one of a
    /// condition, an event or a queue: as of the waits in which Dwell finds threads when it attaches.
    pub fn is_python_lock_alone(self, stack: StackId) -> bool {
        let is_lock = |frame: usize| self.frames.function[frame].starts_with(PYTHON_LOCK);
        self.user(stack).any(is_lock) && !self.user(stack).any(|frame| self.frames.script[frame])
    }

    /// A hash of the place of a wait that is the same in every run of the same files.
    pub fn hash(self, what: &str, stack: StackId) -> u32 {
        let mut hash = StableHash::new();
        hash.add(what.as_bytes());
        for frame in self.own_frames(stack) {
            hash.add(self.caller(frame).module.as_bytes());
            // Addresses outside of files differ from run to run.
            if self.modules.get(self.frames.module[frame].raw()).is_some_and(|module| module.path.starts_with('/')) {
                hash.add(&self.frames.offset[frame].to_le_bytes());
            }
        }
        hash.folded()
    }

    /// The function that a thread with this stack was started to run.
    pub fn thread_function(self, stack: StackId) -> Option<&'a str> {
        let is_own = |frame: &usize| {
            let caller = self.caller(*frame);
            !is_library(caller) && !ENTRIES.contains(&caller.function) && !caller.function.starts_with('[')
        };
        let frames: Vec<usize> = self.user(stack).collect();
        frames.into_iter().rev().find(is_own).map(|frame| self.frames.function[frame].as_str())
    }
}
