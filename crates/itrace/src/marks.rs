//! Marks in the code of the traced program: no-ops of seven bytes whose displacement is a number. The processor passes over
//! them, a recorder writes [`Mark::Note`](crate::Mark::Note) when one is executed.

/// From here on the trace is recorded, when the recorder's gate was closed.
pub const OPEN_GATE: u32 = 1;
/// What follows is not recorded any more.
pub const CLOSE_GATE: u32 = 2;
/// Dwell's ITT collector begins a task of the thread, and ends its innermost one.
pub const TASK_BEGIN: u32 = 4;
/// See [`TASK_BEGIN`].
pub const TASK_END: u32 = 5;

/// `nopl disp32(%rax)` with `disp32` = "DW" and the number: `0f 1f 80 NN NN 57 44`.
const CODE: [u8; 3] = [0x0f, 0x1f, 0x80];
const LETTERS: [u8; 2] = [0x57, 0x44];

/// The number of the mark that an instruction is; none for any other instruction.
pub fn number(instruction: &[u8]) -> Option<u32> {
    match instruction.strip_prefix(&CODE)? {
        [low, high, letters @ ..] if letters == LETTERS => Some(u32::from(u16::from_le_bytes([*low, *high]))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_our_no_ops_are_marks() {
        assert_eq!(number(&[0x0f, 0x1f, 0x80, 2, 1, 0x57, 0x44]), Some(0x102));
        for other in [&[0x0f, 0x1f, 0x80, 0, 0, 0, 0][..], &[0x0f, 0x1f, 0x40, 0], &[0x90], &[]] {
            assert_eq!(number(other), None);
        }
    }
}
