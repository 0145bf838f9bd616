//! An instruction trace: what a recorder (an emulator's plug-in) says of a run, and what a model of the machine replays.
//!
//! A trace is a table of [`Block`]s, described once each, and one stream of [`Word`]s, 64 bits each: which block was
//! executed, then the memory accesses of that execution in the program's order. Everything that can be known without running
//! (classes, dependences, lines of code) is the reader's to work out, once per block. So an executed instruction costs a
//! fraction of a word, and nothing is decoded twice.
//!
//! What the stream does not say, since emulators do not: registers, page tables, whether a branch was taken. The outcome of a
//! block's last instruction is where the next block of the same thread begins.

mod block;
pub mod marks;
mod message;
pub mod ring;
pub mod strings;
mod word;

pub use block::{Block, BlockError, MAX_INSTRUCTION_BYTES, MAX_INSTRUCTIONS};
pub use message::{Lost, Message, NO_MODULE, VERSION};
pub use word::{Access, Event, MOST_THREADS, Mark, WRITES, Word};
