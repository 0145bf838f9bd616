//! A source of records that needs no rights: perf events of one's own processes, as a plain user may open them where
//! `kernel.perf_event_paranoid` is 2 or less.
//! Takes the targets and their events; gives the same records as the hooks, in the order of time.
//! It cannot see wakers outside the profiled processes, the time between a wake-up and the CPU where the waker is not known,
//! and kernel stacks.
//!
//! Switch records tell when threads leave the CPU and come back, tracepoints of system calls what they wait for, copies of
//! their stacks where. /proc tells what descriptors stand for, and the call of a thread that waits in one that is not traced.

mod attaching;
mod births;
mod calls;
mod closing;
mod entries;
mod events;
mod ids;
mod objects;
mod opening;
pub mod proc_syscall;
mod processes;
pub mod record;
mod recording;
mod replay;
mod ring;
pub mod sockets;
mod source;
mod stacks;
mod threads;
mod unix_peers;
mod wakers;

pub use self::opening::check;
pub use self::recording::Unprivileged;
