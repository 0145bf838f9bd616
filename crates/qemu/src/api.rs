//! QEMU's plug-in interface, version 1 (include/qemu/qemu-plugin.h, QEMU 6.0 to 8.2): what is used of it.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// The version that this library is made for.
pub const VERSION: c_int = 1;
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
    pub fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const u8;
    pub fn qemu_plugin_insn_size(instruction: *const Instruction) -> usize;
    pub fn qemu_plugin_insn_haddr(instruction: *const Instruction) -> *const c_void;
    pub fn qemu_plugin_mem_size_shift(kind: u32) -> c_uint;
    pub fn qemu_plugin_mem_is_store(kind: u32) -> bool;
}
