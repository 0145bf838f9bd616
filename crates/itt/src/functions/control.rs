//! The program names its threads, and controls the collection.

use core::ffi::{c_char, c_int};

use dwell_itt_wire::Name;

use crate::functions::function::{Function, functions};
use crate::lock::Entered;
use crate::naming::{say, text};
use crate::{abi, header, process};

pub const FUNCTIONS: &[Function] = functions! {
    "thread_set_name" => thread_set_name,
    "thr_name_set" => thr_name_set,
    "thread_ignore" => thread_ignore,
    "thr_ignore" => thread_ignore,
    "pause" => pause,
    "resume" => resume,
    "pause_scoped" => pause_scoped,
    "resume_scoped" => resume_scoped,
    "detach" => detach,
};

/// Scopes that this collector stands for: none given, and the host. An accelerator is not collected.
const HOST: u32 = 1;

unsafe extern "C" fn thread_set_name(name: *const c_char) {
    let Some(entered) = Entered::new() else { return };
    // SAFETY: a text.
    say(&entered, Name::ThreadName { text: unsafe { text(name) } });
}

unsafe extern "C" fn thr_name_set(name: *const c_char, length: c_int) -> c_int {
    let Some(entered) = Entered::new() else { return 0 };
    let length = usize::try_from(length).unwrap_or(0).min(dwell_itt_wire::TEXT_BYTES);
    // SAFETY: a text of so many bytes.
    say(&entered, Name::ThreadName { text: unsafe { abi::text(name, length) } });
    0
}

extern "C" fn thread_ignore() {
    let Some(entered) = Entered::new() else { return };
    say(&entered, Name::ThreadIgnore);
}

extern "C" fn pause() {
    pause_in(0);
}

extern "C" fn resume() {
    resume_in(0);
}

extern "C" fn pause_scoped(scope: c_int) {
    pause_in(scope as u32);
}

extern "C" fn resume_scoped(scope: c_int) {
    resume_in(scope as u32);
}

fn pause_in(scope: u32) {
    let Some(entered) = Entered::new() else { return };
    if scope == 0 || scope & HOST != 0 {
        say(&entered, Name::Pause { scope });
        process::set_paused(&entered, 1);
    }
}

fn resume_in(scope: u32) {
    let Some(entered) = Entered::new() else { return };
    if (scope == 0 || scope & HOST != 0) && !header::is_detached() {
        process::set_paused(&entered, 0);
        say(&entered, Name::Resume { scope });
    }
}

extern "C" fn detach() {
    let Some(entered) = Entered::new() else { return };
    say(&entered, Name::Detach);
    process::set_paused(&entered, 2);
}
