//! Stacks, native and of scripts, and what the collector walks itself.

use crate::declare::{Char, constants, enums, records};
use crate::header::{MAX_FRAMES, RecordHeader};

constants! {
    /// [`ScriptFrame::native`]: not known here. The segments follow the evaluations of the native stack that come after
    /// those that are known.
    SCRIPT_BY_COUNT: u16 = 0xfffe, SCRIPT_BY_COUNT;
    /// Bytes of a script's function's name, or of its file's path, that a record holds.
    SCRIPT_TEXT_BYTES: usize = 256, DWELL_SCRIPT_TEXT_BYTES;
    /// Most bytes of a script's function's line table that a record holds.
    SCRIPT_TABLE_BYTES: usize = 16384, DWELL_SCRIPT_TABLE_BYTES;
}

enums! {
    /// Bits of [`StackHeader::flags`].
    stack_flag: u8 = stack_flag, STACK_ {
        /// The frames are kernel addresses.
        KERNEL = 1,
    }
    /// Bits of [`ScriptStackHeader::flags`].
    script_flag: u16 = script_flag, SCRIPT_ {
        /// There are more frames, or they could not be read.
        CUT = 1,
    }
    /// Numbers of [`ScriptFunctionHeader::language`].
    script_language: u8 = script_language, LANGUAGE_ {
        /// Python; the table is that of the version.
        PYTHON = 0,
        /// PHP; the table is the name of the class. A frame's `instruction` is its line.
        PHP = 1,
        /// Ruby; the table is a its line table, which lines.rs of dwell-resolve describes.
        RUBY = 2,
    }
}

pub use script_flag::CUT as SCRIPT_CUT;
pub use stack_flag::KERNEL as STACK_KERNEL;

records! {
    /// The fixed part of a stack record; `count` addresses follow, leaf first: instruction pointer, then return
    /// addresses; methods in HotSpot's interpreter ([`crate::INTERPRETED_METHOD`]).
    StackHeader = record_stack, 32 {
        /// `tid`: the thread that was seen with this stack first.
        h: RecordHeader,
        /// What other records name it by.
        key: u64,
        /// Whose addresses they are.
        tgid: u32,
        /// Frames.
        count: u16,
        /// Of [`stack_flag`].
        flags: u8,
        /// StackEnd of the model crate.
        end: u8,
    } followed by frames: [u64; MAX_FRAMES]
    /// A frame of a script.
    ScriptFrame = script_frame, 16 {
        /// Key of a script's function's record.
        code: u64,
        /// Bytes from the first instruction; negative before it.
        instruction: i32,
        /// Number of the native frame that ran it, leaf first.
        native: u16,
        /// Frames that one evaluation ran have the same number, counted from the leaf.
        segment: u16,
    }
    /// The fixed part of the record of a stack's frames of a script; `count` frames follow, leaf first.
    ScriptStackHeader = record_script_stack, 32 {
        /// `tid`: as in the stack record.
        h: RecordHeader,
        /// Of the stack record.
        key: u64,
        /// Frames.
        count: u16,
        /// Of [`script_flag`].
        flags: u16,
        /// 0.
        reserved: u32,
    } followed by frames: [ScriptFrame; MAX_FRAMES]
    /// The fixed part of a script's function's record; its line table follows, of the version's format, as much as the
    /// record's size leaves.
    ScriptFunctionHeader = record_script_function, 552 {
        /// `tid`: the thread that ran it first.
        h: RecordHeader,
        /// What frames name it by.
        key: u64,
        /// Line of its beginning.
        first_line: u32,
        /// Of the whole line table, may exceed what is present.
        table_bytes: u32,
        /// Present; of a longer one the end.
        file_bytes: u16,
        /// Present; of a longer one the beginning.
        name_bytes: u16,
        /// Bytes of a character of the file's path: 1 (Latin-1), 2, 4; 0 = UTF-8.
        file_kind: u8,
        /// The same of the name.
        name_kind: u8,
        /// Of CPython, 3.x; of others 10 * major + minor.
        version: u8,
        /// Of [`script_language`].
        language: u8,
        /// Path of its source.
        file: [Char; SCRIPT_TEXT_BYTES],
        /// Its qualified name.
        name: [Char; SCRIPT_TEXT_BYTES],
    } followed by table: [Char; SCRIPT_TABLE_BYTES]
    /// Where a thread stands whose stack is walked by user space: one that waited before recording began, or one whose
    /// stack the kernel side cannot walk; of the latter a copy of the stack follows, from its stack pointer on. For the
    /// collector, never in a spool.
    RegistersRecord = record_registers, 184 {
        /// `tid`: the thread.
        h: RecordHeader,
        /// Of the stack record to be.
        key: u64,
        /// Instruction pointer.
        ip: u64,
        /// As DWARF numbers them; 7 is the stack pointer.
        registers: [u64; 16],
        /// nvcsw + nivcsw of the task: unchanged as long as it has not moved.
        switches: u64,
        /// Base of the thread's local storage, which is what pthread_self gives; 0 = not known.
        thread_pointer: u64,
        /// Its process.
        tgid: u32,
        /// Of the copy.
        bytes: u32,
    }
}
