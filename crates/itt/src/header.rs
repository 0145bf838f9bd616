//! The header of the process's shared file, and the page that says where it is.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::Acquire, Ordering::Relaxed};

use dwell_itt_wire::layout::header as words;

/// The page that a bare clone finds empty. It says where the header is; null while nothing is recorded.
#[repr(C, align(4096))]
pub struct Wiped {
    pub header: AtomicPtr<Header>,
    rest: [u8; 4088],
}

/// The page.
pub static WIPED: Wiped = Wiped { header: AtomicPtr::new(null_mut()), rest: [0; 4088] };

/// What [`words::WORDS`] names of the shared file, or the one of a forked child that has not made its file yet.
pub struct Header([AtomicU64; words::WORDS]);

/// In a forked child: seems to record, so that the first call comes to [`crate::process::is_open`] and makes the file.
pub static UNOPENED: Header = Header([const { AtomicU64::new(0) }; words::WORDS]);

/// Whether there was a shared file: when [`WIPED`] is empty then, this is a bare clone.
pub static WAS_OPEN: AtomicBool = AtomicBool::new(false);

impl Header {
    /// A word by its number.
    #[inline]
    pub fn word(&self, index: usize) -> &AtomicU64 {
        self.0.get(index).unwrap_or(&NOWHERE)
    }
}

static NOWHERE: AtomicU64 = AtomicU64::new(0);

/// The header of the shared file; `None` while nothing is recorded.
#[inline(always)]
pub fn header() -> Option<&'static Header> {
    // SAFETY: what the page points to is never unmapped.
    unsafe { WIPED.header.load(Acquire).as_ref() }
}

/// What is wanted, in the words of [`words::SWITCH`]; `None` when nothing is recorded.
#[inline(always)]
pub fn switch() -> Option<u64> {
    header().map(|header| header.word(words::SWITCH).load(Relaxed))
}

/// Whether a bare clone of this process could have been made while somebody held the lock, which is now held for ever.
pub fn may_have_lost_the_lock() -> bool {
    header().is_none() && WAS_OPEN.load(Relaxed)
}

/// An event found no ring to go to.
pub fn count_ringless() {
    count(words::RINGLESS_LOST);
}

/// A name was given inside of another call, or beyond what memory and numbers are there for, and is not recorded.
pub fn count_lost_name() {
    count(words::NAMES_LOST);
}

fn count(index: usize) {
    if let Some(header) = header() {
        header.word(index).fetch_add(1, Relaxed);
    }
}

/// Ticks and nanoseconds when the shared file was made.
pub fn opened_at() -> (u64, u64) {
    let word = |index| header().map_or(0, |header| header.word(index).load(Relaxed));
    (word(words::OPENED_TICKS), word(words::OPENED_NS))
}

/// Whether the program has left the collection.
pub fn is_detached() -> bool {
    switch().is_some_and(|switch| switch >> 32 == 2)
}
