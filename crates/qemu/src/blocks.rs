//! Describes each block when it is translated, and asks QEMU for the callbacks of its execution.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use dwell_itrace::{Lost, MAX_INSTRUCTIONS, Message, NO_MODULE, Word, marks, strings};

use crate::lanes::Repeated;
use crate::maps::Maps;
use crate::{api, channel, lanes};

/// Whether code is looked up in the process's maps: not that of a whole machine.
static FILES: AtomicBool = AtomicBool::new(false);

/// What was described. QEMU translates a block again when it has thrown its code away.
static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

#[derive(Default)]
struct Known {
    /// Numbers by address, module and code.
    numbers: HashMap<(u64, u32, Box<[u8]>), u32>,
    maps: Maps,
}

/// From now on, blocks are told with the file that they are from.
pub fn name_files() {
    FILES.store(true, Ordering::Relaxed);
}

/// Called when a block is translated.
pub extern "C" fn on_translation(_: api::Id, block: *mut api::Block) {
    if lanes::is_over() {
        return;
    }
    // The pointers that QEMU gives are good until this returns.
    unsafe {
        let Some(Described { number, repeated }) = describe(block) else {
            return channel::send(&Message::Lost { what: Lost::Block });
        };
        let word = Word::block(number).0 as usize as *mut c_void;
        api::qemu_plugin_register_vcpu_tb_exec_cb(block, lanes::on_block, api::NO_REGS, word);
        let count = api::qemu_plugin_tb_n_insns(block);
        for at in 0..count {
            let instruction = api::qemu_plugin_tb_get_insn(block, at);
            match repeated.filter(|_| at + 1 == count) {
                Some(repeated) => ask_for_iterations(instruction, repeated),
                None => ask_for_accesses(instruction, at),
            }
        }
    }
}

unsafe fn ask_for_accesses(instruction: *mut api::Instruction, at: usize) {
    let (both, at) = (api::READS_AND_WRITES, Word::access_by(at as u16).0 as usize as *mut c_void);
    unsafe { api::qemu_plugin_register_vcpu_mem_cb(instruction, lanes::on_access, api::NO_REGS, both, at) };
    let (code, size) = unsafe { api::insn_data(instruction) };
    if let Some(mark) = code.get(..size).and_then(marks::number) {
        let mark = mark as usize as *mut c_void;
        unsafe { api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, lanes::on_mark, api::NO_REGS, mark) };
    }
}

unsafe fn ask_for_iterations(instruction: *mut api::Instruction, repeated: Repeated) {
    let (both, kept) = (api::READS_AND_WRITES, repeated.kept());
    unsafe {
        api::qemu_plugin_register_vcpu_insn_exec_cb(instruction, lanes::on_string, api::NO_REGS, kept);
        api::qemu_plugin_register_vcpu_mem_cb(instruction, lanes::on_string_access, api::NO_REGS, both, kept);
    }
}

/// A block that Dwell knows.
struct Described {
    number: u32,
    /// Its last instruction, where QEMU does all iterations of it at once.
    repeated: Option<Repeated>,
}

/// The block is described when it is new. None when it cannot be.
unsafe fn describe(block: *const api::Block) -> Option<Described> {
    let count = unsafe { api::qemu_plugin_tb_n_insns(block) };
    if !(1..=MAX_INSTRUCTIONS).contains(&count) {
        return None;
    }
    let (mut lengths, mut code) = (Vec::with_capacity(count), Vec::with_capacity(count * 4));
    for at in 0..count {
        let (bytes, size) = unsafe { api::insn_data(api::qemu_plugin_tb_get_insn(block, at)) };
        lengths.push(u8::try_from(size).ok().filter(|&length| length > 0)?);
        code.extend_from_slice(bytes.get(..size)?);
    }
    let address = unsafe { api::qemu_plugin_tb_vaddr(block) };
    let mut known = KNOWN.lock().ok()?;
    let known = known.get_or_insert_default();
    let module = if FILES.load(Ordering::Relaxed) {
        let place = unsafe { api::qemu_plugin_insn_haddr(api::qemu_plugin_tb_get_insn(block, 0)) };
        known.maps.module_at(address, place as u64, &mut |module| channel::send(&module))
    } else {
        NO_MODULE
    };
    let last = code.len() - usize::from(*lengths.last()?);
    let alone = code.get(last..)?.to_vec();
    let number = known.number(address, module, lengths, code);
    let accesses = strings::accesses_per_iteration(&alone).filter(|_| api::loops_within_blocks());
    let repeated = accesses.map(|accesses| {
        let alone = known.number(address + last as u64, module, vec![alone.len() as u8], alone);
        Repeated::new(count - 1, accesses, alone)
    });
    Some(Described { number, repeated })
}

impl Known {
    /// The block's number; Dwell is told of it when it is new.
    fn number(&mut self, address: u64, module: u32, lengths: Vec<u8>, code: Vec<u8>) -> u32 {
        let next = self.numbers.len() as u32;
        match self.numbers.entry((address, module, code.clone().into_boxed_slice())) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                new.insert(next);
                channel::send(&Message::Block { address, module, lengths, code });
                next
            }
        }
    }
}
