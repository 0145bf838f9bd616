//! Sleeps of libraries: who calls one did not ask to sleep, and waits for somebody whom no wake-up tells.

use crate::stacks::call_stacks::CallStacks;
use crate::study::explain::names::Names;
use crate::study::explain::roots::RootCause;
use crate::study::explain::terms::CauseKind;

/// The function that a sleep is named after, where that is a library's between the program's place and the sleep itself.
pub fn sleep_within<'n>(stacks: &CallStacks<'n>, names: &Names<'_, '_>, root: &RootCause) -> Option<&'n str> {
    if root.cause.kind != CauseKind::Slept {
        return None;
    }
    let function = |stack| stacks.function_name(stacks.function(stack));
    let is_inside = |name: &&str| !root.at.starts_with(name.trim_end_matches("::{{closure}}"));
    stacks.whole_chain(root.stack).map(function).take_while(is_inside).find(|name| names.is_sleep_function(name))
}
