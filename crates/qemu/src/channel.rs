//! The two pipes: messages to Dwell, by way of the outbox, and the numbers of empty chunks from it.

use std::ffi::{c_int, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering, compiler_fence};

use dwell_itrace::Message;
use dwell_itrace::ring::{OUTBOX_ROOM, Outbox, STOP};

use crate::memory;

/// Above the descriptors that programs count on; they keep theirs as without the emulator.
const LOWEST_DESCRIPTOR: c_int = 900;

static MESSAGES: AtomicI32 = AtomicI32::new(-1);
static TOKENS: AtomicI32 = AtomicI32::new(-1);
/// Messages longer than a pipe writes at once must not mix.
static SENDING: Mutex<()> = Mutex::new(());

/// Takes over the two descriptors.
pub fn open(messages: c_int, tokens: c_int) {
    MESSAGES.store(out_of_the_way(messages), Ordering::Relaxed);
    TOKENS.store(out_of_the_way(tokens), Ordering::Relaxed);
}

/// In a child process: the pipes are the parent's.
pub fn close() {
    for descriptor in [&MESSAGES, &TOKENS] {
        let number = descriptor.swap(-1, Ordering::Relaxed);
        if number >= 0 {
            unsafe { libc::close(number) };
        }
    }
}

/// The same file under a number that the program does not use, closed when it executes another one.
pub fn out_of_the_way(descriptor: c_int) -> c_int {
    let moved = unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR) };
    let moved = if moved < 0 { unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, 0) } } else { moved };
    if moved < 0 {
        return descriptor;
    }
    unsafe { libc::close(descriptor) };
    moved
}

/// Sends a message, or puts it into the outbox if it can wait. Once the reader has gone, nothing is sent any more.
pub fn send(message: &Message) {
    // In a child process, the lock may be held by a thread that is not there.
    if MESSAGES.load(Ordering::Relaxed) < 0 {
        return;
    }
    let bytes = message.encode();
    let Ok(_alone) = SENDING.lock() else { return };
    let Some(outbox) = memory::outbox() else { return };
    // Whoever kills this process finds each message once: in the pipe, or here.
    unsafe {
        if !put(outbox, &bytes) {
            empty(outbox);
            put(outbox, &bytes);
        }
        if !message.can_wait() {
            empty(outbox);
        }
    }
}

/// Puts a message behind the others, if there is room.
unsafe fn put(outbox: *mut Outbox, bytes: &[u8]) -> bool {
    let filled = unsafe { (*outbox).filled } as usize;
    if OUTBOX_ROOM.checked_sub(filled).is_none_or(|room| room < bytes.len()) {
        return false;
    }
    unsafe {
        let place = outbox.add(1).cast::<u8>().add(filled);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        compiler_fence(Ordering::Release);
        (*outbox).filled = (filled + bytes.len()) as u64;
    }
    true
}

/// Writes the outbox to the pipe.
unsafe fn empty(outbox: *mut Outbox) {
    let Outbox { sent, filled } = unsafe { *outbox };
    let bytes = unsafe { std::slice::from_raw_parts(outbox.add(1).cast::<u8>(), OUTBOX_ROOM.min(filled as usize)) };
    write(bytes);
    // One that is killed between the two has nothing here that the reader takes for news.
    unsafe {
        (*outbox).filled = 0;
        compiler_fence(Ordering::Release);
        (*outbox).sent = sent + filled;
    }
}

fn write(bytes: &[u8]) {
    let descriptor = MESSAGES.load(Ordering::Relaxed);
    let mut rest = bytes;
    while descriptor >= 0 && !rest.is_empty() {
        let written = unsafe { libc::write(descriptor, rest.as_ptr().cast::<c_void>(), rest.len()) };
        match usize::try_from(written) {
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(_) if interrupted() => {}
            Err(_) => return MESSAGES.store(-1, Ordering::Relaxed),
        }
    }
}

/// The number of an empty chunk, for which it waits; none when nothing is to be recorded any more.
pub fn empty_chunk() -> Option<u32> {
    let descriptor = TOKENS.load(Ordering::Relaxed);
    if descriptor < 0 || MESSAGES.load(Ordering::Relaxed) < 0 {
        return None;
    }
    let mut bytes = [0u8; 4];
    loop {
        let read = unsafe { libc::read(descriptor, bytes.as_mut_ptr().cast::<c_void>(), bytes.len()) };
        match read {
            4 => return Some(u32::from_le_bytes(bytes)).filter(|&chunk| chunk != STOP),
            _ if read < 0 && interrupted() => {}
            _ => return None,
        }
    }
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
}
