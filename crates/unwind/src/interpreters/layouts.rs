//! How the structures of CPython 3.8 to 3.12 are laid out.

use dwell_wire::{PythonProcess, SCRIPT_FRAME_BYTES, SCRIPT_FUNCTION_BYTES, interpreter_style};

/// `struct { interned:2, kind:3, … }`, Include/cpython/unicodeobject.h.
pub(super) const TEXT_WIDTH_BIT: u32 = 2;

/// 3.8: Include/frameobject.h, Include/cpython/pystate.h, Include/code.h, Include/internal/pycore_pystate.h,
/// pycore_gil.h, Include/cpython/unicodeobject.h.
pub(super) const V3_8: PythonProcess = PythonProcess {
    runtime: 0,
    code_type: 0,
    version: 8,
    style: interpreter_style::FRAME_OBJECTS,
    instruction_bytes: 1,
    interpreters: 32,
    interpreter_next: 0,
    interpreter_threads: 8,
    thread_next: 8,
    thread_id: 176,
    thread_frame: 24,
    cframe: 0,
    cframe_frame: 0,
    cframe_previous: 0,
    frame_bytes: 112,
    frame_previous: 24,
    frame_code: 32,
    frame_instruction: 104,
    frame_owner: 0,
    frame_copy: 0,
    object_type: 8,
    code_bytes: 176,
    code_start: 0,
    code_copies: 0,
    code_name: 112,
    code_file: 104,
    code_table: 120,
    code_line: 40,
    bytes_length: 16,
    bytes_data: 32,
    text_length: 16,
    text_state: 32,
    text_width_bit: TEXT_WIDTH_BIT,
    text_ascii: 48,
    text_compact: 72,
    gil_pointer: 0,
    gil: 1152,
    gil_holder: 8,
    gil_locked: 16,
    reserved: 0,
};

/// 3.9: the same files; Include/internal/pycore_runtime.h.
pub(super) const V3_9: PythonProcess = PythonProcess { version: 9, gil: 352, ..V3_8 };

/// 3.10: the same; the instruction number counts pairs of bytes, Include/cpython/frameobject.h.
pub(super) const V3_10: PythonProcess =
    PythonProcess { version: 10, instruction_bytes: 2, frame_instruction: 96, frame_bytes: 104, ..V3_9 };

/// 3.11: Include/internal/pycore_frame.h, Include/cpython/pystate.h (`_PyCFrame`), Include/cpython/code.h,
/// Include/internal/pycore_interp.h, pycore_runtime.h.
pub(super) const V3_11: PythonProcess = PythonProcess {
    version: 11,
    style: interpreter_style::ENTRY_MARK,
    instruction_bytes: 0,
    interpreters: 40,
    interpreter_threads: 16,
    thread_id: 152,
    thread_frame: 0,
    cframe: 56,
    cframe_frame: 8,
    cframe_previous: 16,
    frame_bytes: 72,
    frame_previous: 48,
    frame_instruction: 56,
    frame_owner: 68,
    code_start: 184,
    code_name: 128,
    code_file: 112,
    code_table: 136,
    code_line: 72,
    gil: 360,
    ..V3_10
};

/// 3.12: the same files.
pub(super) const V3_12: PythonProcess = PythonProcess {
    version: 12,
    style: interpreter_style::SHIM,
    interpreter_threads: 72,
    thread_id: 136,
    cframe_frame: 0,
    cframe_previous: 8,
    frame_previous: 8,
    frame_code: 0,
    frame_owner: 70,
    code_start: 192,
    code_line: 68,
    text_ascii: 40,
    text_compact: 56,
    gil_pointer: 384,
    gil: 0,
    ..V3_11
};

/// How much of a frame and of a code object has to be read for all fields; none when that is too much.
pub(super) fn with_extents(offsets: PythonProcess) -> Option<PythonProcess> {
    let frame = [
        offsets.frame_previous,
        offsets.frame_code,
        offsets.frame_instruction,
        offsets.frame_owner,
        offsets.frame_copy,
    ];
    let code = [offsets.object_type, offsets.code_name, offsets.code_file, offsets.code_table, offsets.code_line];
    let end = |fields: &[u32]| fields.iter().max().map_or(0, |last| (last & !7) + 8);
    let (frame_bytes, code_bytes) = (end(&frame), end(&code));
    let fits = frame_bytes <= SCRIPT_FRAME_BYTES && code_bytes <= SCRIPT_FUNCTION_BYTES;
    fits.then_some(PythonProcess { frame_bytes, code_bytes, ..offsets })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_fits_what_is_read() {
        for offsets in [V3_8, V3_9, V3_10, V3_11, V3_12] {
            let extents = with_extents(offsets).expect("fits");
            assert!(offsets.frame_bytes >= extents.frame_bytes && offsets.code_bytes >= extents.code_bytes);
            assert!(offsets.frame_bytes <= SCRIPT_FRAME_BYTES && offsets.code_bytes <= SCRIPT_FUNCTION_BYTES);
        }
    }
}
