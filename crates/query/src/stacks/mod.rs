//! What surrounds an event: its call stack, the tasks that it lies in, the object that it waits on.
//!
//! Takes keys of a trace; gives functions, and what time there is: work, spinning, overhead of a runtime, or an idle worker's wait.
//! It sums nothing.

pub mod call_stacks;
pub mod channels;
pub mod collectors;
pub mod connecting;
pub mod frames;
pub mod go_runtime;
pub mod idle;
pub mod java_locks;
pub mod name_words;
pub mod object;
pub mod own_code;
pub mod project;
pub mod spin;
pub mod stack_questions;
pub mod system_calls;
pub mod tasks;
