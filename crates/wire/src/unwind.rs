//! Where a walk of a stack finds its tables, and how an interpreter's structures are laid out. User space writes both
//! into maps.

use crate::declare::{codes, constants, enums, records};

constants! {
    /// Mappings of a process: with its header an entry of the hash map fits two pages.
    UNWIND_MAPPINGS: usize = 336, UNWIND_MAPPINGS;
    /// Logarithm of the words of a shard: 4 MiB. Each new one waits for a grace period of RCU.
    UNWIND_SHARD_SHIFT: u32 = 19, UNWIND_SHARD_SHIFT;
    /// Most shards; user space may change it before loading.
    UNWIND_SHARDS: u32 = 256, UNWIND_SHARDS;
    /// A block of code has an index word of its own: 2^8 bytes (3 % of the code's size), which hold about ten rows.
    UNWIND_BLOCK_SHIFT: u32 = 8, UNWIND_BLOCK_SHIFT;
    /// In a row: the caller's rbp is not known.
    UNWIND_RBP_LOST: i8 = -128, UNWIND_RBP_LOST;
    /// Offset in `ucontext_t` (sys/ucontext.h) of the interrupted rbp.
    UCONTEXT_RBP: u64 = 120, UNWIND_UCONTEXT_RBP;
    /// Offset in `ucontext_t` of the interrupted rsp.
    UCONTEXT_RSP: u64 = 160, UNWIND_UCONTEXT_RSP;
    /// Offset in `ucontext_t` of the interrupted rip.
    UCONTEXT_RIP: u64 = 168, UNWIND_UCONTEXT_RIP;
    /// `mov $15,%rax; syscall`, its first 8 bytes: a signal trampoline that has no table.
    SIGNAL_TRAMPOLINE: u64 = 0x0f0000000fc0c748, UNWIND_TRAMPOLINE;
    /// Set in a frame of a stack that is no code address but the `Method*` that HotSpot's interpreter runs there. No address of
    /// user space has this bit, and those of the kernel have the one above it, too.
    INTERPRETED_METHOD: u64 = 0x4000000000000000, UNWIND_INTERPRETED_METHOD;
    /// Set in such a frame whose bytecode is known: [`BYTECODE_BITS`] of the bytecode's address follow, from [`BYTECODE_SHIFT`] on.
    KNOWS_BYTECODE: u64 = 1, UNWIND_KNOWS_BYTECODE;
    /// Above the addresses of user space.
    BYTECODE_SHIFT: u32 = 47, UNWIND_BYTECODE_SHIFT;
    /// The lowest bits of an address: few methods have longer code.
    BYTECODE_BITS: u64 = 0x7fff, UNWIND_BYTECODE_BITS;
    /// Most that is read of a frame of a script.
    SCRIPT_FRAME_BYTES: u32 = 128, SCRIPT_FRAME_BYTES;
    /// Most that is read of a function of a script.
    SCRIPT_FUNCTION_BYTES: u32 = 192, SCRIPT_FUNCTION_BYTES;
}

/// In logs of run-time code that Dwell writes: what code between two addresses is of. Begin and end (64 bits each), how many functions
/// (32 bits), and of each the line (32 bits), the name and the file, which end with a zero; outermost first.
pub const CODE_CALLS: u32 = 0x6c6c_6163;

/// What HotSpot calls the code of its interpreter.
pub const JAVA_INTERPRETER: &str = "Interpreter";

/// Whether a stack's frame is a method that HotSpot's interpreter runs there, or a function of JavaScript ([`INTERPRETED_METHOD`]), and
/// no code address.
pub fn is_interpreted_method(frame: u64) -> bool {
    frame >> 62 == INTERPRETED_METHOD >> 62
}

/// The frame of a method at `method`, in the bytecode at the address `bytecode` where that is known.
pub fn interpreted_frame(method: u64, bytecode: Option<u64>) -> u64 {
    let bits = bytecode.map_or(0, |address| KNOWS_BYTECODE | (address & BYTECODE_BITS) << BYTECODE_SHIFT);
    method | INTERPRETED_METHOD | bits
}

/// The address of the method in such a frame, and the lowest bits ([`BYTECODE_BITS`]) of that of the bytecode.
pub fn interpreted_method(frame: u64) -> (u64, Option<u32>) {
    let method = frame & !(INTERPRETED_METHOD | KNOWS_BYTECODE | BYTECODE_BITS << BYTECODE_SHIFT);
    let bits = (frame >> BYTECODE_SHIFT & BYTECODE_BITS) as u32;
    (method, (frame & KNOWS_BYTECODE != 0).then_some(bits))
}

enums! {
    /// Numbers of [`PythonProcess::style`].
    interpreter_style: u32 = interpreter_style, INTERPRETER_ {
        /// A C frame for each Python frame.
        FRAME_OBJECTS = 0,
        /// A frame that was entered from C is marked.
        ENTRY_MARK = 1,
        /// A frame that was entered from C is followed by one on the C stack.
        SHIM = 2,
        /// No CPython: the process's value is a `PhpProcess`.
        PHP = 3,
        /// No CPython: the process's value is a `RubyProcess`.
        RUBY = 4,
    }
}

codes! {
    /// How the canonical frame address (CFA) of a frame is found. The caller's stack pointer is the CFA, and the return
    /// address lies at CFA - 8, unless the rule says otherwise.
    Rule = unwind_rule {
        /// The file says nothing about these addresses.
        NoTable = 0, UNWIND_RULE_NO_TABLE;
        /// CFA = rsp + 8 * cfa.
        Rsp = 1, UNWIND_RULE_RSP;
        /// CFA = rbp + 8 * cfa.
        Rbp = 2, UNWIND_RULE_RBP;
        /// The procedure linkage table: CFA = rsp + 8 + ((rip & 15) >= 11 ? 8 : 0).
        Plt = 3, UNWIND_RULE_PLT;
        /// The signal trampoline: rsp points to a `ucontext_t`, from which rip, rsp and rbp are restored.
        Signal = 4, UNWIND_RULE_SIGNAL;
        /// The outermost frame (the return address is undefined): `_start`, the entry of a thread.
        End = 5, UNWIND_RULE_END;
        /// A rule that no row can say; the walk goes on in user space, with a copy of the stack.
        Unsupported = 6, UNWIND_RULE_UNSUPPORTED;
        /// Realigned stack: CFA = \*(rbp + 8 * cfa), and the caller's rbp lies at \*rbp.
        RbpDeref = 7, UNWIND_RULE_RBP_DEREF;
        /// Stack pointer kept on the stack, as in OpenSSL's assembly: CFA = \*(rsp + 8 * cfa) + 8.
        RspDeref = 8, UNWIND_RULE_RSP_DEREF;
        /// An `Extra` of dwell-unwind: `cfa` is its number. It needs registers that are known in the innermost frame
        /// only.
        Extra = 9, UNWIND_RULE_EXTRA;
        /// A frame that runs on another stack than its caller's, as Go's `systemstack` does: CFA = rbp + 16, where it
        /// may lie below the frame, and the caller's rbp at CFA - 16.
        StackSwitch = 10, UNWIND_RULE_STACK_SWITCH;
        /// A frame of HotSpot's interpreter: the caller's rbp lies at \*rbp, the return address at rbp + 8, the caller's stack
        /// pointer at rbp - 8 (frame_x86.hpp: `interpreter_frame_sender_sp_offset`), since arguments may lie between; the `Method*`
        /// at rbp - 24 (`interpreter_frame_method_offset`).
        Interpreted = 11, UNWIND_RULE_INTERPRETED;
    }
}

records! {
    /// A file with code, mapped into a process.
    UnwindMapping = unwind_mapping, 24 {
        /// Address of its first byte.
        start: u64,
        /// Its length.
        pages: u32,
        /// The table's address for `start`.
        offset: u32,
        /// The table's first word.
        table: u32,
        /// Index words of the table; 0 = no table.
        blocks: u32,
    }
    /// The fixed part of what is known of a process; [`UNWIND_MAPPINGS`] mappings follow, ascending by `start`.
    UnwindProcess = unwind_process, 8 {
        /// Mappings that there are.
        count: u32,
        /// Where the process runs V8: offset of a function's description in a `JSFunction`; 0 elsewhere.
        javascript: u32,
    } followed by mappings: [UnwindMapping; UNWIND_MAPPINGS]
    /// What is known of a process that runs CPython. All numbers from `interpreters` on are offsets in bytes, but for
    /// those that say otherwise.
    PythonProcess = python_process, 168 {
        /// Address of `_PyRuntime`.
        runtime: u64,
        /// Address of `PyCode_Type`.
        code_type: u64,
        /// 3.x.
        version: u32,
        /// How frames tell which evaluation ran them: one of [`interpreter_style`].
        style: u32,
        /// What the frame's instruction number counts; 0 = the frame has a pointer.
        instruction_bytes: u32,
        /// Of the first interpreter in the runtime.
        interpreters: u32,
        /// Of the next interpreter in an interpreter.
        interpreter_next: u32,
        /// Of the first thread state in an interpreter.
        interpreter_threads: u32,
        /// Of the next one in a thread state.
        thread_next: u32,
        /// Of what pthread_self gives in a thread state.
        thread_id: u32,
        /// Of the current frame in a thread state, where `cframe` is 0.
        thread_frame: u32,
        /// Of the pointer to the current evaluation's record in a thread state.
        cframe: u32,
        /// Of the current frame in that record.
        cframe_frame: u32,
        /// Of the calling evaluation's record.
        cframe_previous: u32,
        /// Bytes of a frame that hold all of these.
        frame_bytes: u32,
        /// Of the calling frame.
        frame_previous: u32,
        /// Of the code object.
        frame_code: u32,
        /// Of the current instruction: a number or a pointer.
        frame_instruction: u32,
        /// Of the owner, or of the mark of entry frames.
        frame_owner: u32,
        /// Of the number of the copy of the instructions that the frame runs; 0 = there are no copies.
        frame_copy: u32,
        /// Of the type in every object.
        object_type: u32,
        /// Bytes of a code object that hold all of these.
        code_bytes: u32,
        /// Of the first instruction in a code object.
        code_start: u32,
        /// Of the pointer to the copies of its instructions: their number, then a pointer for each.
        code_copies: u32,
        /// Of the qualified name, or the name where there is none.
        code_name: u32,
        /// Of the file's path.
        code_file: u32,
        /// Of the line table.
        code_table: u32,
        /// Of the first line's number.
        code_line: u32,
        /// Of the length of a bytes object.
        bytes_length: u32,
        /// Of its contents.
        bytes_data: u32,
        /// Of the number of characters of a text.
        text_length: u32,
        /// Of the bits that tell how it is stored.
        text_state: u32,
        /// The first of these that tells the width of a character; whether it is compact and ASCII follows.
        text_width_bit: u32,
        /// Of the characters of an ASCII text.
        text_ascii: u32,
        /// Of the characters of another text.
        text_compact: u32,
        /// Of the pointer to the lock in an interpreter; 0 = the lock lies in the runtime.
        gil_pointer: u32,
        /// Of the lock in the runtime.
        gil: u32,
        /// Of the thread state that took the lock last.
        gil_holder: u32,
        /// Of whether it is held.
        gil_locked: u32,
        /// 0.
        reserved: u32,
    }
    /// What is known of a process that runs PHP, instead of a [`PythonProcess`], with which it shares the first fields. What
    /// is the same in all known versions is in `php.bpf.h`.
    PhpProcess = php_process, 32 {
        /// Address of the pointer to the current frame: `EG(current_execute_data)`.
        current: u64,
        /// 0.
        reserved: u64,
        /// 10 * major + minor.
        version: u32,
        /// [`interpreter_style::PHP`].
        style: u32,
        /// Of the file's path in a function of PHP.
        function_file: u32,
        /// Of the first line's number.
        function_line: u32,
    }
    /// What is known of a process that runs Ruby, instead of a [`PythonProcess`], with which it shares the first fields but one.
    /// What is the same in all known versions is in `ruby.bpf.h`.
    RubyProcess = ruby_process, 48 {
        /// Where the thread-local variable `ruby_current_ec` lies in the module's block, or from the thread pointer; else where the
        /// block's variables begin.
        variable: u64,
        /// Address of the number that the module's blocks have; 0 = it is the program.
        module: u64,
        /// 10 * major + minor.
        version: u32,
        /// [`interpreter_style::RUBY`].
        style: u32,
        /// Bytes of a thread's pointer to a module's block.
        block_bytes: u32,
        /// Bytes of a frame.
        frame_bytes: u32,
        /// Of what is known of lines, in the body of a function.
        lines: u32,
        /// Bytes of a row of the line table.
        line_bytes: u32,
        /// The words from `variable` on, of which one is the variable.
        words: u32,
        /// Nothing.
        reserved: u32,
    }
}
