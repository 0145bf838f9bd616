//! The table of offsets that CPython carries itself, from 3.13 on.

use dwell_wire::{PythonProcess, interpreter_style};

use super::layouts::{TEXT_WIDTH_BIT, with_extents};

/// `_Py_Debug_Cookie`.
const COOKIE: &[u8] = b"xdebugpy";
/// No honest structure is larger.
const MAX_OFFSET: u64 = 1 << 24;
/// The same without a GIL, where `interned` is a byte.
const TEXT_WIDTH_BIT_WITHOUT_GIL: u32 = 8;

/// Where `_Py_DebugOffsets` (Include/internal/pycore_debug_offsets.h) of a version holds each offset that is read of it.
pub(super) struct DescribedFields {
    /// Bytes of it that hold all of these.
    pub(super) bytes: u64,
    interpreters: usize,
    interpreter_next: usize,
    interpreter_threads: usize,
    gil_pointer: usize,
    gil: usize,
    gil_locked: usize,
    gil_holder: usize,
    thread_next: usize,
    thread_frame: usize,
    thread_id: usize,
    frame_previous: usize,
    frame_code: usize,
    frame_instruction: usize,
    frame_owner: usize,
    /// 0 = there is none.
    frame_copy: usize,
    code_file: usize,
    code_name: usize,
    code_table: usize,
    code_line: usize,
    code_start: usize,
    /// 0 = there is none.
    code_copies: usize,
    object_type: usize,
    bytes_length: usize,
    bytes_data: usize,
    text_state: usize,
    text_length: usize,
    text_ascii: usize,
}

pub(super) const FIELDS_3_13: DescribedFields = DescribedFields {
    bytes: 584,
    interpreters: 40,
    interpreter_next: 64,
    interpreter_threads: 72,
    gil_pointer: 112,
    gil: 120,
    gil_locked: 136,
    gil_holder: 144,
    thread_next: 168,
    thread_frame: 184,
    thread_id: 192,
    frame_previous: 232,
    frame_code: 240,
    frame_instruction: 248,
    frame_owner: 264,
    frame_copy: 0,
    code_file: 280,
    code_name: 296,
    code_table: 304,
    code_line: 312,
    code_start: 344,
    code_copies: 0,
    object_type: 360,
    bytes_length: 520,
    bytes_data: 528,
    text_state: 544,
    text_length: 552,
    text_ascii: 560,
};

pub(super) const FIELDS_3_14: DescribedFields = DescribedFields {
    bytes: 760,
    interpreters: 40,
    interpreter_next: 64,
    interpreter_threads: 72,
    gil_pointer: 120,
    gil: 128,
    gil_locked: 144,
    gil_holder: 152,
    thread_next: 192,
    thread_frame: 208,
    thread_id: 216,
    frame_previous: 256,
    frame_code: 264,
    frame_instruction: 272,
    frame_owner: 288,
    frame_copy: 304,
    code_file: 320,
    code_name: 336,
    code_table: 344,
    code_line: 352,
    code_start: 384,
    code_copies: 392,
    object_type: 408,
    bytes_length: 600,
    bytes_data: 608,
    text_state: 624,
    text_length: 632,
    text_ascii: 640,
};

/// The offsets that the interpreter states itself, from 3.13 on.
pub(super) fn self_described(bytes: &[u8], minor: u32, at: &DescribedFields) -> Option<PythonProcess> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let offset =
        |at: usize| word(at).filter(|offset| *offset < MAX_OFFSET).and_then(|offset| u32::try_from(offset).ok());
    if bytes.get(..8)? != COOKIE || word(8)? >> 16 != u64::from(0x0300 | minor) {
        return None;
    }
    let optional = |at: usize| if at == 0 { Some(0) } else { offset(at) };
    // Some releases count them from the interpreter on, in which the lock lies.
    let in_gil = |field: usize| {
        let (field, gil) = (offset(field)?, offset(at.gil)?);
        Some(if field < gil { field } else { field - gil })
    };
    let text_ascii = offset(at.text_ascii)?;
    let has_gil = word(16)? == 0;
    let offsets = PythonProcess {
        runtime: 0,
        code_type: 0,
        version: minor,
        style: interpreter_style::SHIM,
        instruction_bytes: 0,
        interpreters: offset(at.interpreters)?,
        interpreter_next: offset(at.interpreter_next)?,
        interpreter_threads: offset(at.interpreter_threads)?,
        thread_next: offset(at.thread_next)?,
        thread_id: offset(at.thread_id)?,
        thread_frame: offset(at.thread_frame)?,
        cframe: 0,
        cframe_frame: 0,
        cframe_previous: 0,
        frame_bytes: 0,
        frame_previous: offset(at.frame_previous)?,
        frame_code: offset(at.frame_code)?,
        frame_instruction: offset(at.frame_instruction)?,
        frame_owner: offset(at.frame_owner)?,
        frame_copy: optional(at.frame_copy)?,
        object_type: offset(at.object_type)?,
        code_bytes: 0,
        code_start: offset(at.code_start)?,
        code_copies: optional(at.code_copies)?,
        code_name: offset(at.code_name)?,
        code_file: offset(at.code_file)?,
        code_table: offset(at.code_table)?,
        code_line: offset(at.code_line)?,
        bytes_length: offset(at.bytes_length)?,
        bytes_data: offset(at.bytes_data)?,
        text_length: offset(at.text_length)?,
        text_state: offset(at.text_state)?,
        text_width_bit: if has_gil { TEXT_WIDTH_BIT } else { TEXT_WIDTH_BIT_WITHOUT_GIL },
        text_ascii,
        text_compact: text_ascii + 16, // the length and the pointer of the UTF-8 form
        gil_pointer: offset(at.gil_pointer)?,
        gil: 0,
        gil_holder: in_gil(at.gil_holder)?,
        gil_locked: in_gil(at.gil_locked)?,
        reserved: 0,
    };
    with_extents(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `_Py_DebugOffsets` with the numbers of 3.13.0 where they matter.
    fn described() -> Vec<u8> {
        let mut bytes = vec![0; FIELDS_3_13.bytes as usize];
        let mut set = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        let numbers = [
            (8, 0x030d_00f0),
            (40, 632),
            (64, 7264),
            (72, 7344),
            (112, 16),
            (136, 16),
            (144, 8),
            (168, 8),
            (184, 72),
            (192, 152),
            (232, 8),
            (240, 0),
            (248, 56),
            (264, 70),
            (280, 112),
            (296, 128),
            (304, 136),
            (312, 68),
            (344, 200),
            (360, 8),
            (520, 16),
            (528, 32),
            (544, 32),
            (552, 16),
            (560, 40),
        ];
        numbers.iter().for_each(|&(at, value)| set(at, value));
        bytes[..8].copy_from_slice(COOKIE);
        bytes
    }

    #[test]
    fn an_interpreter_that_describes_itself_is_believed() {
        let offsets = self_described(&described(), 13, &FIELDS_3_13).expect("offsets");
        assert_eq!((offsets.interpreters, offsets.interpreter_threads, offsets.thread_frame), (632, 7344, 72));
        assert_eq!((offsets.frame_bytes, offsets.code_bytes, offsets.text_compact), (72, 144, 56));
    }

    #[test]
    fn nonsense_is_not_believed() {
        let mut bytes = described();
        assert_eq!(self_described(&bytes, 12, &FIELDS_3_13), None);
        assert_eq!(self_described(&bytes[..100], 13, &FIELDS_3_13), None);
        bytes[240] = 255; // the code object far outside of what is read of a frame
        assert_eq!(self_described(&bytes, 13, &FIELDS_3_13), None);
        bytes[240] = 0;
        bytes[47] = 0xff;
        assert_eq!(self_described(&bytes, 13, &FIELDS_3_13), None);
        assert_eq!(self_described(&[0; FIELDS_3_13.bytes as usize], 13, &FIELDS_3_13), None);
    }

    #[test]
    fn a_lock_counted_from_the_interpreter_is_found_in_itself() {
        let mut bytes = vec![0; FIELDS_3_14.bytes as usize];
        bytes[..8].copy_from_slice(COOKIE);
        let mut set = |at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        set(8, 0x030e_0af0);
        [(128, 7784), (144, 7800), (152, 7792), (304, 0)].iter().for_each(|&(at, value)| set(at, value));
        let offsets = self_described(&bytes, 14, &FIELDS_3_14).expect("offsets");
        assert_eq!((offsets.gil_locked, offsets.gil_holder, offsets.text_width_bit), (16, 8, 2));
        bytes[16] = 1;
        assert_eq!(self_described(&bytes, 14, &FIELDS_3_14).expect("offsets").text_width_bit, 8);
    }
}
