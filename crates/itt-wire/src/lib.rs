//! The bytes between the library that an ITT-instrumented program loads (`crates/itt`) and the collector.
//!
//! Each process writes one file, mapped `MAP_SHARED`, in the folder that the environment variable [`VARIABLE`] names. So
//! the program's memory is drained from outside while it runs, and what was written survives its `kill -9`. The file is
//! sparse and has four parts ([`layout`]):
//!
//! | at | what | who writes |
//! |---|---|---|
//! | 0 | header: magic, clock, the collector's [`State`], heads and loss counters | the program, but for the state |
//! | [`layout::SLOTS_AT`] | a slot for each ring: its thread, where it lies, head and tail | the program; the tail the collector |
//! | [`layout::NAMES_AT`] | [`Name`]s one behind the other, only ever appended | the program, under a lock |
//! | [`layout::RINGS_AT`] | the rings: [`Event`]s of one thread each | its thread |
//!
//! Names (domains, strings, counters, sync objects, threads, modules, methods, pauses) are written whether anybody listens or
//! not; events only in [`State::Recording`], and not while the program itself has paused the collection. So an event whose
//! begin or end fell into a pause is missing, and [`Name::Pause`] tells when. Times are ticks of the file's [`Clock`].
//!
//! An event goes into the ring of the thread that makes it. A thread whose ring is full before it was drained moves to
//! another ring that is larger; what it left in the first one is drained from there. So sort a thread's events by their
//! ticks (stable: within a ring they are in the order of the calls, and `_ex` calls and [`Event::FrameSubmit`] choose their
//! ticks themselves). Rings of threads that have ended are used again, with another sequence number.
//!
//! Nothing in the file can be trusted: the program can write anything at any time, and truncate it. So the collector
//! never maps it: [`Reader`] copies by `pread`, the decoders ([`events`], [`names`]) take any bytes, never panic and
//! allocate nothing, and a round reads a bounded number of bytes. Each word of a head can be torn by the copy, so it is
//! read twice. All words are little-endian; every record is a multiple of 8 bytes.
//!
//! A forked child has its own file, which begins with a copy of its parent's definitions, under the same ids.

#![cfg_attr(not(feature = "std"), no_std)]

mod event;
mod events;
pub mod layout;
mod name;
#[cfg(feature = "std")]
mod reader;
mod ring;

#[cfg(feature = "std")]
pub use event::EventsBuffer;
pub use event::{EVENT_NUMBERS, EVENT_TEXT_BYTES, Event, Id, Numbers, Value};
pub use events::{Events, Stamped, events};
pub use layout::{Clock, Header, State, VARIABLE};
#[cfg(feature = "std")]
pub use name::NamesBuffer;
pub use name::{LINES, Lines, Method, Name, Named, Names, OBJECT_BYTES, TEXT_BYTES, names};
#[cfg(feature = "std")]
pub use reader::{CHUNK_BYTES, Reader, Round, Sink};
pub use ring::{Slot, Word};

#[cfg(test)]
mod tests;
