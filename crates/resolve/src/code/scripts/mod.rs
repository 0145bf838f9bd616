//! Functions of Python, PHP and Ruby in native stacks.
//! It takes the interpreter's own list of frames, recorded with a native stack; it gives that stack with these frames in it.
//! It does not read the interpreter's memory: the collector does.

mod functions;
mod merge;
mod python;
mod ruby;

pub use functions::Functions;
pub use merge::{ScriptMerger, end_of};
pub use python::line_of;
