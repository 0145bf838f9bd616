//! The Python frames of threads that waited already when recording began.
//! It takes threads' registers and how their interpreter's structures are laid out; it gives the records that the hooks write of
//! threads that move (`python.bpf.h`, which explains the structures).
//! All that it reads is the program's and not believed: searches and walks are bounded, and a code object must have the type of one.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use dwell_v8::HeapMemory as _;
use dwell_wire::{
    Char, MAX_FRAMES, PythonProcess, RecordHeader, RegistersRecord, SCRIPT_BY_COUNT, SCRIPT_CUT, SCRIPT_TABLE_BYTES,
    SCRIPT_TEXT_BYTES, ScriptFrame, ScriptFunctionHeader, ScriptStackHeader, interpreter_style,
};

use crate::programs::memory::ProcessMemory;

/// Interpreters and thread states of a process that are looked at.
const MOST_STATES: usize = 1 << 16;
/// The first owner of a frame that is no Python function.
const OWNED_BY_C: u8 = 3;
/// The first version whose thread states say the kernel's id of the thread, behind what pthread_self gives.
const KNOWS_THREAD_ID: u32 = 11;
/// Of the head of a text object, which has its length and state.
const TEXT_HEAD_BYTES: usize = 48;
/// No honest text or table is longer, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// The Python frames of a thread.
pub struct PythonStack {
    /// Of the native stack of the same key.
    pub header: ScriptStackHeader,
    /// Leaf first.
    pub frames: Vec<ScriptFrame>,
    /// The functions that they run and no stack of the same interpreter had before, each with its line table.
    pub functions: Vec<(ScriptFunctionHeader, Vec<u8>)>,
    /// Whether a frame or a function could not be read: the frames behind it are missing.
    pub is_unreadable: bool,
}

/// The interpreter of a process, for the stacks of all of its threads that wait.
pub struct Interpreter<'p> {
    memory: ProcessMemory,
    process: &'p PythonProcess,
    /// Thread states, by what pthread_self gives; where a thread has one in each of several interpreters, all.
    states: HashMap<u64, Vec<u64>>,
    /// The same by the kernel's id of the thread, where states say it.
    states_by_id: HashMap<u64, Vec<u64>>,
    described: HashSet<u64>,
}

impl<'p> Interpreter<'p> {
    /// That of the process of thread `tid`, with the states of its threads as they are now.
    pub fn of(tid: u32, process: &'p PythonProcess) -> Option<Self> {
        if process.style >= interpreter_style::PHP {
            return None;
        }
        let memory = ProcessMemory::of(tid)?;
        let (states, states_by_id, described) = (HashMap::new(), HashMap::new(), HashSet::new());
        let mut interpreter = Self { memory, process, states, states_by_id, described };
        interpreter.read_states();
        Some(interpreter)
    }

    fn read_states(&mut self) {
        let process = self.process;
        // A list that leads back into itself has an end, too.
        let mut seen: HashSet<u64> = HashSet::new();
        let mut is_new = |address: &u64| seen.len() < MOST_STATES && seen.insert(*address);
        let mut interpreter = self.pointer(process.runtime, process.interpreters);
        while let Some(of) = interpreter.filter(&mut is_new) {
            let mut state = self.pointer(of, process.interpreter_threads);
            while let Some(found) = state.filter(&mut is_new) {
                if let Some(pointer) = self.pointer(found, process.thread_id) {
                    self.states.entry(pointer).or_default().push(found);
                }
                let knows_id = process.version >= KNOWS_THREAD_ID;
                if let Some(id) = knows_id.then(|| self.pointer(found, process.thread_id + 8)).flatten() {
                    self.states_by_id.entry(id).or_default().push(found);
                }
                state = self.pointer(found, process.thread_next);
            }
            interpreter = self.pointer(of, process.interpreter_next);
        }
    }

    /// The Python frames of the thread that `record` is about; none where it runs none.
    pub fn stack(&mut self, record: &RegistersRecord) -> Option<PythonStack> {
        let states = match record.thread_pointer {
            0 => self.states_by_id.get(&u64::from(record.h.tid)),
            pointer => self.states.get(&pointer),
        };
        let frame = states.cloned()?.into_iter().find_map(|state| self.current_frame(state))?;
        let mut stack = PythonStack {
            header: ScriptStackHeader { h: record.h, key: record.key, ..bytemuck::Zeroable::zeroed() },
            frames: Vec::new(),
            functions: Vec::new(),
            is_unreadable: false,
        };
        self.walk(frame, record.h, &mut stack);
        Some(stack)
    }

    fn current_frame(&mut self, state: u64) -> Option<u64> {
        let process = self.process;
        match process.cframe {
            0 => self.pointer(state, process.thread_frame),
            cframe => self.pointer(state, cframe).and_then(|cframe| self.pointer(cframe, process.cframe_frame)),
        }
    }

    fn walk(&mut self, mut frame: u64, h: RecordHeader, stack: &mut PythonStack) {
        let process = self.process;
        let mut segment = 0;
        // Twice as many steps as frames: each may be followed by one on the C stack.
        for _ in 0..2 * MAX_FRAMES {
            let Some(bytes) = self.bytes(frame, process.frame_bytes as usize) else {
                stack.is_unreadable = true;
                break;
            };
            let owner = bytes.get(process.frame_owner as usize).copied().unwrap_or(0);
            if process.style == interpreter_style::SHIM && owner >= OWNED_BY_C {
                segment += 1;
            } else if stack.frames.len() == MAX_FRAMES {
                break;
            } else {
                let is_one_by_one = process.style == interpreter_style::FRAME_OBJECTS;
                let number = if is_one_by_one { stack.frames.len() as u16 } else { segment };
                let Some(found) = self.frame(&bytes, number, h, stack) else {
                    stack.is_unreadable = true;
                    break;
                };
                stack.frames.push(found);
                segment += u16::from(process.style == interpreter_style::ENTRY_MARK && owner != 0);
            }
            match word(&bytes, process.frame_previous) {
                0 => return,
                caller => frame = caller,
            }
        }
        stack.header.flags = SCRIPT_CUT;
    }

    /// The frame in `bytes`; its function is described once.
    fn frame(&mut self, bytes: &[u8], segment: u16, h: RecordHeader, stack: &mut PythonStack) -> Option<ScriptFrame> {
        let process = self.process;
        let code = word(bytes, process.frame_code) & !7;
        let object = self.bytes(code, process.code_bytes as usize)?;
        if word(&object, process.object_type) != process.code_type {
            return None;
        }
        let field = word(bytes, process.frame_instruction);
        let instruction = match process.instruction_bytes {
            0 => field.wrapping_sub(self.first_instruction(bytes, code)?) as i32,
            unit => (field as i32).wrapping_mul(unit as i32),
        };
        let mut hasher = DefaultHasher::new();
        // Another code object may lie there in another process, or later.
        let of = [process.runtime, code, word(&object, process.code_name), word(&object, process.code_table)];
        (self.memory.pid(), of).hash(&mut hasher);
        let key = hasher.finish();
        if self.described.insert(key) {
            let function = self.function(&object, key, h);
            stack.functions.push(function);
        }
        Some(ScriptFrame { code: key, instruction, native: SCRIPT_BY_COUNT, segment })
    }

    /// Where the instructions begin that the frame runs.
    fn first_instruction(&mut self, frame: &[u8], code: u64) -> Option<u64> {
        let process = self.process;
        let copy = if process.frame_copy == 0 { 0 } else { word(frame, process.frame_copy) as u32 };
        match copy {
            0 => Some(code.wrapping_add(u64::from(process.code_start))),
            copy => {
                let copies = self.pointer(code, process.code_copies)?;
                self.pointer(copies, copy.checked_mul(8)?.checked_add(8)?)
            }
        }
    }

    fn function(&mut self, object: &[u8], key: u64, h: RecordHeader) -> (ScriptFunctionHeader, Vec<u8>) {
        let process = self.process;
        let mut code = ScriptFunctionHeader {
            h,
            key,
            first_line: word(object, process.code_line) as u32,
            version: process.version as u8,
            ..bytemuck::Zeroable::zeroed()
        };
        (code.file_bytes, code.file_kind) = self.text(word(object, process.code_file), true, &mut code.file);
        (code.name_bytes, code.name_kind) = self.text(word(object, process.code_name), false, &mut code.name);
        let table = word(object, process.code_table);
        let length = self.pointer(table, process.bytes_length).filter(|length| *length <= MOST_BYTES).unwrap_or(0);
        code.table_bytes = length as u32;
        let present = (length as usize).min(SCRIPT_TABLE_BYTES);
        let bytes = self.bytes(table.wrapping_add(u64::from(process.bytes_data)), present);
        (code, bytes.unwrap_or_default())
    }

    /// A text's characters into `to`: the end of a longer one if `tail`. Gives how many bytes they are, and those of a character.
    fn text(&mut self, address: u64, tail: bool, to: &mut [Char; SCRIPT_TEXT_BYTES]) -> (u16, u8) {
        let process = self.process;
        let head = self.bytes(address, TEXT_HEAD_BYTES).unwrap_or_default();
        let (length, state) = (word(&head, process.text_length), word(&head, process.text_state));
        // struct { kind:3, compact:1, ascii:1 }
        let state = state >> (process.text_width_bit & 15);
        let width = state & 7;
        if state >> 3 & 1 == 0 || ![1, 2, 4].contains(&width) || length > MOST_BYTES {
            return (0, 1);
        }
        let whole = (length * width) as usize;
        let present = whole.min(SCRIPT_TEXT_BYTES);
        let skip = if tail { whole - present } else { 0 };
        let data = if state >> 4 & 1 != 0 { process.text_ascii } else { process.text_compact };
        let Some(bytes) = self.bytes(address.wrapping_add(u64::from(data) + skip as u64), present) else {
            return (0, 1);
        };
        to[..present].copy_from_slice(&bytes);
        (present as u16, width as u8)
    }

    fn bytes(&mut self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.memory.bytes_at(address, length)
    }

    /// The pointer at an offset, which is not null.
    fn pointer(&mut self, address: u64, offset: u32) -> Option<u64> {
        let bytes = self.bytes(address.checked_add(u64::from(offset))?, 8)?;
        Some(word(&bytes, 0)).filter(|pointer| *pointer != 0)
    }
}

/// The word at an offset; 0 where there is none.
fn word(bytes: &[u8], offset: u32) -> u64 {
    let bytes = bytes.get(offset as usize..).and_then(|rest| rest.first_chunk::<8>());
    bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable as _;
    use proptest::prelude::*;

    use super::*;

    const WORDS: usize = 256;

    /// Everything lies in one array, at these words: how CPython 3.12 has it, with fewer fields.
    fn layout(memory: &[u64]) -> PythonProcess {
        let at = |word: usize| memory.as_ptr() as u64 + 8 * word as u64;
        PythonProcess {
            runtime: at(0),
            code_type: at(255),
            version: 12,
            style: interpreter_style::SHIM,
            interpreters: 8,
            interpreter_next: 0,
            interpreter_threads: 8,
            thread_next: 0,
            thread_id: 8,
            thread_frame: 16,
            frame_bytes: 32,
            frame_code: 0,
            frame_previous: 8,
            frame_instruction: 16,
            frame_owner: 24,
            object_type: 0,
            code_bytes: 48,
            code_name: 8,
            code_file: 16,
            code_table: 24,
            code_line: 32,
            code_start: 40,
            text_length: 8,
            text_state: 16,
            text_width_bit: 2,
            text_ascii: 24,
            text_compact: 24,
            bytes_length: 8,
            bytes_data: 16,
            ..PythonProcess::zeroed()
        }
    }

    fn record() -> RegistersRecord {
        let mut record = RegistersRecord { thread_pointer: 77, key: 5, ..RegistersRecord::zeroed() };
        record.h.tid = std::process::id();
        record
    }

    #[test]
    fn frames_are_read_with_their_functions() {
        let mut memory = vec![0u64; WORDS];
        let base = memory.as_ptr() as u64;
        let at = |word: usize| base + 8 * word as u64;
        let text = |memory: &mut [u64], word: usize, text: &str| {
            (memory[word + 1], memory[word + 2]) = (text.len() as u64, 1 << 2 | 1 << 5 | 1 << 6);
            for (number, letters) in text.as_bytes().chunks(8).enumerate() {
                let mut bytes = [0; 8];
                bytes[..letters.len()].copy_from_slice(letters);
                memory[word + 3 + number] = u64::from_ne_bytes(bytes);
            }
        };
        memory[1] = at(10); // runtime -> interpreter
        memory[11] = at(20); // -> a thread of another id -> that of this one
        (memory[20], memory[21]) = (at(30), 1);
        (memory[31], memory[32]) = (77, at(40));
        // A frame, one on the C stack, and its caller; the lowest bit of the code is a mark.
        (memory[40], memory[41], memory[42]) = (at(60) | 1, at(45), at(60) + 40 + 6);
        (memory[46], memory[48]) = (at(50), 3);
        (memory[50], memory[52]) = (at(60), at(60) + 40 + 2);
        (memory[60], memory[61], memory[62], memory[63], memory[64]) = (at(255), at(70), at(80), at(90), 12);
        text(&mut memory, 70, "Client.fetch");
        text(&mut memory, 80, "/srv/app.py");
        (memory[91], memory[92]) = (3, 0x030201);
        let process = layout(&memory);
        let mut interpreter = Interpreter::of(std::process::id(), &process).expect("an interpreter");
        let stack = interpreter.stack(&record()).expect("frames");
        let frames: Vec<(i32, u16)> = stack.frames.iter().map(|frame| (frame.instruction, frame.segment)).collect();
        assert_eq!(frames, [(6, 0), (2, 1)]);
        assert_eq!((stack.header.key, stack.header.flags, stack.functions.len()), (5, 0, 1));
        let (code, table) = &stack.functions[0];
        assert_eq!((&code.name[..usize::from(code.name_bytes)], code.first_line), (b"Client.fetch".as_slice(), 12));
        assert_eq!(&code.file[..usize::from(code.file_bytes)], b"/srv/app.py");
        assert_eq!(table, &[1, 2, 3]);
        let again = interpreter.stack(&record()).expect("frames");
        assert_eq!((again.frames.len(), again.functions.len()), (2, 0), "a function is described once");
        let by_id = RegistersRecord { thread_pointer: 0, ..record() };
        assert!(interpreter.stack(&by_id).is_none(), "no state says this thread's id");
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let mut memory = vec![0u64; WORDS];
        let at = |word: usize| memory.as_ptr() as u64 + 8 * word as u64;
        let (interpreter, state) = (at(10), at(30));
        memory[1] = interpreter;
        memory[11] = state;
        (memory[31], memory[32]) = (77, 8);
        let process = layout(&memory);
        let stack =
            Interpreter::of(std::process::id(), &process).expect("an interpreter").stack(&record()).expect("a stack");
        assert_eq!((stack.frames.len(), stack.is_unreadable, stack.header.flags), (0, true, SCRIPT_CUT));
    }

    proptest! {
        #[test]
        fn nonsense_ends(words in prop::collection::vec(0u64..WORDS as u64, WORDS), random in any::<u64>()) {
            let mut memory = vec![0u64; WORDS];
            let base = memory.as_ptr() as u64;
            for (slot, word) in memory.iter_mut().zip(&words) {
                *slot = if word % 7 == 0 { random } else { base + 8 * word };
            }
            memory[21] = 77;
            let process = layout(&memory);
            let interpreter = Interpreter::of(std::process::id(), &process);
            interpreter.and_then(|mut interpreter| interpreter.stack(&record()));
        }
    }
}
