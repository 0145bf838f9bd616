//! Which object each wait was on, and what it is called.
//! It takes the distinct waits with their named stacks; it gives the table of objects and the row of each wait in it.
//! It does not say why a wait on an object was long.

mod callers;
mod classify;
mod fiber_waits;
mod identity;
mod java_locks;
mod joins;
mod kernel;
mod names;
mod own_locks;
mod patterns;
mod pools;
mod rows;
mod sources;
mod table;

pub use callers::StackFrames;
pub use names::{path as file_path, socket_address};
pub use sources::ObjectSources;
pub use table::{ResolvedObjects, data_addresses, resolve};
