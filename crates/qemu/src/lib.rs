//! The plug-in that QEMU loads for `dwell anatomy`: every block that is executed and every memory access becomes a word
//! (`dwell-itrace`) in memory shared with Dwell. It understands nothing of what it records but repeated string instructions, which
//! newer QEMUs do at once.
//!
//! - [`api`]: what is used of QEMU's interface
//! - [`memory`]: the shared memory
//! - [`lanes`]: a lane of it per virtual CPU
//! - [`channel`]: the two pipes
//! - [`blocks`]: describes blocks when they are translated, and asks for their callbacks
//! - [`maps`]: which file the code of a program is from
//!
//! Its arguments are `library=FD` (the plug-in's own file), `memory=FD`, `messages=FD`, `tokens=FD`, and `gate=closed`
//! when nothing is recorded before the first mark of the guest says so.

mod api;
mod blocks;
mod channel;
mod lanes;
mod maps;
mod memory;

use std::ffi::{CStr, c_char, c_int, c_uint};

use dwell_itrace::{Lost, Message, VERSION};

/// Called by QEMU when it loads the plug-in; another value than 0 makes it give up.
///
/// # Safety
/// The pointers are as QEMU's interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: api::Id,
    info: *const api::Info,
    count: c_int,
    words: *const *const c_char,
) -> c_int {
    let arguments = unsafe { arguments(count, words) };
    let Some(mapped) = number(&arguments, "memory=").and_then(memory::map) else { return 1 };
    let (Some(messages), Some(tokens)) = (number(&arguments, "messages="), number(&arguments, "tokens=")) else {
        return 1;
    };
    channel::open(messages, tokens);
    if let Some(library) = number(&arguments, "library=") {
        unsafe { libc::close(library) };
    }
    lanes::set_recording(!arguments.iter().any(|it| it == "gate=closed"));
    let system = unsafe {
        api::speaks(&*info);
        (*info).system_emulation
    };
    channel::send(&Message::Hello { version: VERSION, memory: mapped, system });
    unsafe {
        api::qemu_plugin_register_vcpu_tb_trans_cb(id, blocks::on_translation);
        api::qemu_plugin_register_vcpu_init_cb(id, on_start);
        api::qemu_plugin_register_vcpu_exit_cb(id, on_end);
        api::qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
        if !system {
            blocks::name_files();
            api::qemu_plugin_register_vcpu_syscall_ret_cb(id, maps::on_return);
            libc::pthread_atfork(None, Some(in_parent), Some(in_child));
        }
    }
    0
}

unsafe fn arguments(count: c_int, words: *const *const c_char) -> Vec<String> {
    let word = |at: usize| unsafe { CStr::from_ptr(*words.add(at)) }.to_string_lossy().into_owned();
    (0..usize::try_from(count).unwrap_or(0)).map(word).collect()
}

fn number(arguments: &[String], name: &str) -> Option<c_int> {
    arguments.iter().find_map(|it| it.strip_prefix(name))?.parse().ok()
}

extern "C" fn on_start(_: api::Id, cpu: c_uint) {
    if !lanes::has(cpu) {
        channel::send(&Message::Lost { what: Lost::Thread });
    }
}

extern "C" fn on_end(_: api::Id, cpu: c_uint) {
    lanes::end(cpu);
}

extern "C" fn on_exit(_: api::Id, _: *mut std::ffi::c_void) {
    channel::send(&Message::Bye);
}

extern "C" fn in_parent() {
    channel::send(&Message::Lost { what: Lost::Child });
}

/// A child process goes on alone: what it executes is not recorded.
extern "C" fn in_child() {
    channel::close();
    lanes::detach();
}
