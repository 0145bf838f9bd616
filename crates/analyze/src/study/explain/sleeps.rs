//! What is called a sleep: a library's, whose caller did not ask to sleep and waits for somebody whom no wake-up tells; and a timed
//! wait that a function which sleeps makes.

use dwell_model::{ObjectType, Outcome, StackId};
use dwell_query::stacks::call_stacks::CallStacks;
use dwell_query::stacks::frames::{frame_rows, functions, module_path};
use dwell_query::stacks::name_words::without_template_arguments;
use dwell_query::stacks::object::object_type;
use dwell_store::{EventKey, Trace};

use crate::study::explain::lock_looks::takes_lock;
use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// In names of functions without a symbol.
const NAMELESS: &str = "func@";

/// Whether waits of a key are sleeps that end: who sleeps as long as it is looked at answers nobody.
pub fn is_ended_sleep(trace: &Trace, key: &EventKey) -> bool {
    object_type(trace, key.object()) == ObjectType::Sleep && Outcome::from_code(key.outcome()) != Outcome::Unfinished
}

/// The function that a sleep is named after, or that sleeps until it has a lock, where that is a library's between the program's place and the sleep itself.
pub fn sleep_within<'n>(stacks: &CallStacks<'n>, names: &Names<'_, '_>, root: &RootCause) -> Option<&'n str> {
    if root.cause.kind != CauseKind::Slept {
        return None;
    }
    let function = |stack| stacks.function_name(stacks.function(stack));
    let is_inside =
        |name: &&str| !root.at.starts_with(&without_template_arguments(name.trim_end_matches("::{{closure}}")));
    let tells = |name: &&str| names.is_sleep_function(name) && !name.contains(NAMELESS);
    let calls = || stacks.whole_chain(root.stack).map(function).take_while(is_inside);
    calls().find(|name| takes_lock(name)).or_else(|| calls().find(tells))
}

/// Whether a sleep is a look whether a lock is free.
pub fn sleeps_for_lock(stacks: &CallStacks<'_>, names: &Names<'_, '_>, root: &RootCause) -> bool {
    sleep_within(stacks, names, root).is_some_and(takes_lock)
}

/// Frames at the leaf in which the function is that sleeps.
const DEPTH: usize = 12;

/// Whether a timed wait may be a sleep, by its stack: a function says so, or has no name.
pub fn may_sleep(trace: &Trace, stack: StackId) -> bool {
    let says_so = |function: &str| function.contains(NAMELESS) || function.to_ascii_lowercase().contains("sleep");
    functions(trace, stack).take(DEPTH).any(says_so)
}

/// How files of Ruby are called that hold its interpreter.
const RUBY: &[&str] = &["libruby", "ruby"];
/// How the C library's functions begin in which Ruby waits until a time; the thread that has the signals polls its own descriptor.
const TIMED_WAITS: &[&str] = &["pthread_cond_timedwait", "ppoll", "__ppoll"];
/// How the functions of Ruby's condition variables begin.
const CONDITION: &str = "rb_mutex_sleep";

/// Of each key: whether it is of timed waits that are Ruby's `sleep`.
pub fn ruby_sleeps(trace: &Trace) -> Vec<bool> {
    let keys = &trace.events().keys;
    let has_ruby = trace.modules.path.iter().any(|path| is_ruby(path));
    let timed_out = |key: &EventKey| Outcome::from_code(key.outcome()) == Outcome::TimedOut;
    keys.iter().map(|key| has_ruby && timed_out(key) && is_ruby_sleep(trace, key.stack())).collect()
}

/// Whether a timed wait is Ruby's `sleep`, by its stack: the interpreter waits until a time for a function of the program, and for no
/// condition. So it waits for its lock, too, which goes on until it has it.
fn is_ruby_sleep(trace: &Trace, stack: StackId) -> bool {
    let (table, mut is_timed, mut in_ruby) = (&trace.frames, false, false);
    for frame in frame_rows(trace, stack).filter(|frame| !table.kernel[*frame]) {
        let function = table.function[frame].as_str();
        if table.script[frame] {
            return is_timed && in_ruby;
        }
        is_timed |= TIMED_WAITS.iter().any(|name| function.starts_with(name));
        in_ruby |= is_ruby(module_path(trace, frame));
        if function.starts_with(CONDITION) {
            return false;
        }
    }
    false
}

/// Whether a file holds Ruby's interpreter.
fn is_ruby(path: &str) -> bool {
    let base = path.rsplit('/').next().unwrap_or_default();
    RUBY.iter().any(|name| base.starts_with(name))
}
