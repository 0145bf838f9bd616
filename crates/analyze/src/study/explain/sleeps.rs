//! What is called a sleep: a library's, whose caller did not ask to sleep and waits for somebody whom no wake-up tells; and a timed
//! wait that a function which sleeps makes.

use dwell_model::StackId;
use dwell_store::Trace;

use crate::stacks::call_stacks::CallStacks;
use crate::stacks::frames::functions;
use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// In names of functions without a symbol.
const NAMELESS: &str = "func@";

/// The function that a sleep is named after, where that is a library's between the program's place and the sleep itself.
pub fn sleep_within<'n>(stacks: &CallStacks<'n>, names: &Names<'_, '_>, root: &RootCause) -> Option<&'n str> {
    if root.cause.kind != CauseKind::Slept {
        return None;
    }
    let function = |stack| stacks.function_name(stacks.function(stack));
    let is_inside = |name: &&str| !root.at.starts_with(name.trim_end_matches("::{{closure}}"));
    let tells = |name: &&str| names.is_sleep_function(name) && !name.contains(NAMELESS);
    stacks.whole_chain(root.stack).map(function).take_while(is_inside).find(tells)
}

/// Frames at the leaf in which the function is that sleeps.
const DEPTH: usize = 12;

/// Whether a timed wait may be a sleep, by its stack: a function says so, or has no name.
pub fn may_sleep(trace: &Trace, stack: StackId) -> bool {
    let says_so = |function: &str| function.contains(NAMELESS) || function.to_ascii_lowercase().contains("sleep");
    functions(trace, stack).take(DEPTH).any(says_so)
}
