//! The library that an ITT-instrumented program loads (`INTEL_LIBITTNOTIFY64`, `INTEL_JIT_PROFILER64`): writes what the
//! program announces into a file that the collector drains (`crates/itt-wire`).
//!
//! It runs inside of somebody else's program, so:
//! - It cannot panic: no indexing, no arithmetic that checks, nothing that allocates from the program's heap. Its own memory
//!   is mapped ([`arena`]).
//! - The way of an event ([`events::record`]) has no lock, no system call and no allocation. What is rare (a first event, a
//!   full ring, anything that names) takes one lock.
//! - A signal handler may call while the same thread is inside of a call: the inner call is dropped and counted, and a
//!   create is answered with an object that is not recorded.
//! - What cannot be recorded (no folder, no space, a setuid program) is not recorded, and every function works.
//! - Nothing is ever unmapped or freed: threads outlive exit handlers, and programs keep pointers.
//! - The shared file is mapped without access and opened piece by piece, its pages made by `MADV_POPULATE_WRITE`: a full file
//!   system is an error here and no SIGBUS, and no file descriptor is kept that the program could close.
//! - A forked child has a file of its own from its first call on. A child made by a bare `clone` without the fork handlers
//!   records nothing: the page that says where to write is wiped in it.
//! - Built to be shipped (feature `bare`, `panic = "abort"`), it has nothing of Rust's standard library in it, and needs the C
//!   library alone: a library that cannot be loaded makes static parts free objects that are in use.

#![cfg_attr(all(feature = "bare", panic = "abort"), no_std)]

mod abi;
mod arena;
mod bind;
mod clock;
mod events;
mod functions;
mod header;
mod jit;
mod lock;
mod naming;
mod process;
mod table;
mod thread;

pub use bind::{__itt_api_fini, __itt_api_init};
pub use functions::stitch::dwell_itt_stack_caller;
pub use jit::{Initialize, NotifyEvent};

/// What the compiler asks for. Nothing here panics.
#[cfg(all(feature = "bare", panic = "abort"))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: no arguments.
    unsafe { libc::abort() }
}
