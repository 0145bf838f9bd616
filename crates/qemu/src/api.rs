//! QEMU's plug-in interface (include/qemu/qemu-plugin.h, QEMU 6.0 and newer): what is used of it.
//!
//! QEMU loads a plug-in whose `qemu_plugin_version` is between its oldest and its newest version, and 9.0 took the first one
//! away. Of what is used here only the way to an instruction's bytes has changed since ([`insn_data`]), so that one library
//! serves all: it looks which QEMU loads it before it says its version.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicI32, Ordering};

/// The version that QEMU reads when it has loaded the library.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "QEMU's name")]
pub static qemu_plugin_version: AtomicI32 = AtomicI32::new(1);

/// Called when the library is loaded, before QEMU reads anything of it.
#[used]
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = choose_version;

extern "C" fn choose_version() {
    // Which came with version 2.
    let since_two = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"qemu_plugin_num_vcpus".as_ptr()) };
    if !since_two.is_null() {
        qemu_plugin_version.store(2, Ordering::Relaxed);
    }
}

/// The newest version that this QEMU speaks.
static SPOKEN: AtomicI32 = AtomicI32::new(1);

/// Takes note of which version QEMU speaks.
pub fn speaks(info: &Info) {
    SPOKEN.store(info.version[1], Ordering::Relaxed);
}

/// Whether [`insn_data`] copies: since version 3.
fn copies() -> bool {
    SPOKEN.load(Ordering::Relaxed) >= 3
}

/// Whether QEMU may do all iterations of a repeated string instruction in one execution of a block: since 10.0, whose
/// version is 4.
pub fn loops_within_blocks() -> bool {
    SPOKEN.load(Ordering::Relaxed) >= 4
}

/// An instruction's bytes; none are those of one that cannot be.
pub unsafe fn insn_data(instruction: *const Instruction) -> ([u8; LONGEST], usize) {
    let mut bytes = [0; LONGEST];
    unsafe {
        let size = qemu_plugin_insn_size(instruction);
        if size > LONGEST {
            return (bytes, 0);
        }
        let returned = qemu_plugin_insn_data(instruction, bytes.as_mut_ptr(), size);
        if copies() {
            return (bytes, size.min(returned));
        }
        if returned == 0 {
            return (bytes, 0);
        }
        std::ptr::copy_nonoverlapping(returned as *const u8, bytes.as_mut_ptr(), size);
        (bytes, size)
    }
}

/// The most bytes that an instruction has.
pub const LONGEST: usize = 15;

/// Callbacks touch no registers of the guest.
pub const NO_REGS: c_int = 0;
/// Loads and stores (`enum qemu_plugin_mem_rw`). To ask for one of them does not work: QEMU 7.2 compares the wrong bits, and
/// calls for stores where loads were asked for, and for both where stores were.
pub const READS_AND_WRITES: c_int = 3;

/// `qemu_plugin_id_t`.
pub type Id = u64;

/// `qemu_info_t`.
#[repr(C)]
pub struct Info {
    /// The emulated architecture: `x86_64`.
    pub target_name: *const c_char,
    /// Oldest and newest version of the interface that this QEMU has.
    pub version: [c_int; 2],
    /// A whole machine, not one program.
    pub system_emulation: bool,
    /// Virtual CPUs of a machine: initial and most.
    pub cpus: [c_int; 2],
}

/// `struct qemu_plugin_tb`: a block that is being translated.
#[repr(C)]
pub struct Block {
    opaque: [u8; 0],
}

/// `struct qemu_plugin_insn`: an instruction of one.
#[repr(C)]
pub struct Instruction {
    opaque: [u8; 0],
}

/// Called with a virtual CPU's number and what was registered.
pub type OnExecution = extern "C" fn(c_uint, *mut c_void);
/// Called with a virtual CPU's number, what kind of access it is, the address, and what was registered.
pub type OnAccess = extern "C" fn(c_uint, u32, u64, *mut c_void);
/// Called with a virtual CPU's number.
pub type OnCpu = extern "C" fn(Id, c_uint);
/// Called when a block is translated.
pub type OnTranslation = extern "C" fn(Id, *mut Block);
/// Called with a virtual CPU's number, a system call's number and what it returned.
pub type OnReturn = extern "C" fn(Id, c_uint, i64, i64);

unsafe extern "C" {
    pub fn qemu_plugin_register_vcpu_init_cb(id: Id, callback: OnCpu);
    pub fn qemu_plugin_register_atexit_cb(id: Id, callback: extern "C" fn(Id, *mut c_void), data: *mut c_void);
    pub fn qemu_plugin_register_vcpu_exit_cb(id: Id, callback: OnCpu);
    pub fn qemu_plugin_register_vcpu_tb_trans_cb(id: Id, callback: OnTranslation);
    pub fn qemu_plugin_register_vcpu_syscall_ret_cb(id: Id, callback: OnReturn);
    pub fn qemu_plugin_register_vcpu_tb_exec_cb(
        block: *mut Block,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: OnExecution,
        flags: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_register_vcpu_mem_cb(
        instruction: *mut Instruction,
        callback: OnAccess,
        flags: c_int,
        which: c_int,
        data: *mut c_void,
    );
    pub fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    pub fn qemu_plugin_tb_vaddr(block: *const Block) -> u64;
    pub fn qemu_plugin_tb_get_insn(block: *const Block, number: usize) -> *mut Instruction;
    /// From version 3 on it copies and returns how many bytes; before it knew no second and third argument, and returned the
    /// address of the bytes.
    fn qemu_plugin_insn_data(instruction: *const Instruction, into: *mut u8, size: usize) -> usize;
    fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub fn qemu_plugin_insn_haddr(instruction: *const Instruction) -> *const c_void;
    pub fn qemu_plugin_mem_size_shift(kind: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(kind: u32) -> bool;
}
