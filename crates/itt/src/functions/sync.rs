//! Synchronization objects of the program's own making.

use core::ffi::{c_char, c_int, c_void};

use dwell_itt_wire::{Event, Name};

use crate::events::record;
use crate::functions::function::{Function, functions};
use crate::lock::Entered;
use crate::naming::{say, text};

pub const FUNCTIONS: &[Function] = functions! {
    "sync_create" => sync_create,
    "sync_set_name" => sync_create,
    "sync_rename" => sync_rename,
    "sync_destroy" => sync_destroy,
    "sync_prepare" => sync_prepare,
    "sync_acquired" => sync_acquired,
    "sync_releasing" => sync_releasing,
    "sync_cancel" => sync_cancel,
    "fsync_prepare" => sync_prepare,
    "fsync_acquired" => sync_acquired,
    "fsync_releasing" => sync_releasing,
    "fsync_cancel" => sync_cancel,
    "notify_sync_prepare" => sync_prepare,
    "notify_sync_acquired" => sync_acquired,
    "notify_sync_releasing" => sync_releasing,
    "notify_sync_cancel" => sync_cancel,
};

unsafe extern "C" fn sync_create(address: *const c_void, class: *const c_char, name: *const c_char, attribute: c_int) {
    let Some(entered) = Entered::new() else { return };
    // SAFETY: texts.
    let (class, name) = unsafe { (text(class), text(name)) };
    say(&entered, Name::SyncCreate { address: address as u64, attribute: attribute as u32, class, name });
}

unsafe extern "C" fn sync_rename(address: *const c_void, name: *const c_char) {
    let Some(entered) = Entered::new() else { return };
    // SAFETY: a text.
    say(&entered, Name::SyncRename { address: address as u64, name: unsafe { text(name) } });
}

extern "C" fn sync_destroy(address: *const c_void) {
    let Some(entered) = Entered::new() else { return };
    say(&entered, Name::SyncDestroy { address: address as u64 });
}

extern "C" fn sync_prepare(address: *const c_void) {
    record(Event::SyncPrepare { address: address as u64 });
}

extern "C" fn sync_acquired(address: *const c_void) {
    record(Event::SyncAcquired { address: address as u64 });
}

extern "C" fn sync_releasing(address: *const c_void) {
    record(Event::SyncReleasing { address: address as u64 });
}

extern "C" fn sync_cancel(address: *const c_void) {
    record(Event::SyncCancel { address: address as u64 });
}
