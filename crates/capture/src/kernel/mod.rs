//! What the kernel offers: BPF objects and their maps, perf events, and what depends on which Linux runs.
//! Takes names of hook families; gives loaded and attached objects, open events, and reasons for what is missing.
//! It does not decide what is recorded, and reads no record of a hook.

pub mod at_once;
pub mod btf;
pub mod core_types;
#[cfg(test)]
mod hook_instructions;
pub mod loading;
pub mod map_events;
pub mod mapped;
pub mod maps;
pub mod namespace;
pub mod perf;
pub mod requirements;
pub mod version;
pub mod walk;
