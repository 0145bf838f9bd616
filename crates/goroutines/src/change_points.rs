//! Where in a Go program a goroutine's state changes: instructions at which a probe sees each change.
//!
//! A probe costs a tenth where the kernel need not execute the instruction behind it in a place of its own: it emulates `push`, jumps and calls
//! (`arch/x86/kernel/uprobes.c`). So a function is probed behind its check of the stack's size, at the `push rbp` of Go 1.21 and later or at
//! the check's own jump, where its arguments are still in their registers (`src/cmd/compile/abi-internal.md`).

use std::path::Path;

use dwell_files::BoundedFile;
use dwell_pclntab::{FunctionTable, code_of};
use object::{Object, ObjectSegment};

use crate::offsets::Offsets;
use crate::process::MOST_FILE_BYTES;
use crate::runtime::{Runtime, Unsupported};

/// The longest code that is looked through for a call.
const MOST_CODE_BYTES: u64 = 4096;
/// The longest name among those looked for, and one more byte: a longer name is another one.
const NAME_BYTES: usize = 40;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateChange {
    /// The goroutine in R14 waits, for the lock in BX.
    Parks,
    /// The one in AX can run again, because of the current one or of the scheduler.
    IsReady,
    /// The one in AX runs on this thread.
    Runs,
    /// The one in AX ends.
    Ends,
    /// The one in AX has to wait for a thread, though it could run.
    Yields,
    /// The one in BX was made by the current one.
    IsMade,
}

/// The functions at whose beginning a goroutine's state changes (`src/runtime/proc.go`).
const FUNCTIONS: [(&str, StateChange); 8] = [
    ("runtime.gopark", StateChange::Parks),
    ("runtime.ready", StateChange::IsReady),
    ("runtime.execute", StateChange::Runs),
    ("runtime.goexit0", StateChange::Ends),
    ("runtime.goschedImpl", StateChange::Yields),
    ("runtime.goyield_m", StateChange::Yields),
    ("runtime.exitsyscall0", StateChange::Yields),
    ("runtime.exitsyscallNoP", StateChange::Yields), // since Go 1.26
];
/// Without these nothing can be said.
const NEEDED: [StateChange; 3] = [StateChange::Parks, StateChange::IsReady, StateChange::Runs];
/// Puts what another one made to those that can run …
const MAKER: &str = "runtime.newproc.func1";
/// … by calling this.
const QUEUES: &str = "runtime.runqput";

/// An instruction at which a goroutine's state changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangePoint {
    /// What changes there.
    pub change: StateChange,
    /// Its offset in the file.
    pub offset: u64,
}

/// The instructions of a program, and how its goroutines lie in memory.
#[derive(Clone, Debug)]
pub struct ChangePoints {
    /// One of each change at least.
    pub all: Vec<ChangePoint>,
    /// Of its version of Go.
    pub offsets: &'static Offsets,
    /// From the address of the point at which a goroutine parks to that of `runtime.semtable`, where the file has symbols.
    pub semaphores: Option<u64>,
}

/// Where the program in file `path` changes the state of its goroutines; `None` where it is no Go program, or cannot be read.
///
/// # Errors
///
/// It is a Go program that does not say so.
pub fn change_points_of(path: &Path) -> Result<Option<ChangePoints>, Unsupported> {
    let Ok(bytes) = BoundedFile::open(path, MOST_FILE_BYTES) else { return Ok(None) };
    let Ok(file) = object::File::parse(&bytes) else { return Ok(None) };
    let Some(Runtime { version, offsets, semaphores, .. }) = Runtime::of(&file)? else { return Ok(None) };
    let all = find(&file).unwrap_or_default();
    let park = all.iter().find(|point| point.change == StateChange::Parks).and_then(|park| address(&file, park.offset));
    let semaphores = semaphores.zip(park).map(|(table, park)| table.wrapping_sub(park));
    if NEEDED.iter().all(|needed| all.iter().any(|point| point.change == *needed)) {
        Ok(Some(ChangePoints { all, offsets, semaphores }))
    } else {
        Err(Unsupported::NoChangePoints(version))
    }
}

fn find<'data>(file: &impl Object<'data>) -> Option<Vec<ChangePoint>> {
    let table = FunctionTable::of_file(file)?;
    let mut all = Vec::new();
    let (mut maker, mut queues) = (None, None);
    for function in table.functions() {
        let Some(name) = table.name(function, NAME_BYTES).and_then(|name| std::str::from_utf8(name).ok()) else {
            continue;
        };
        let change = FUNCTIONS.iter().find(|(wanted, _)| *wanted == name).map(|(_, change)| *change);
        let place = change.and_then(|_| Some(function.start + first_probed(code_of(file, function, MOST_CODE_BYTES)?)));
        all.extend(change.zip(place.and_then(|place| file_offset(file, place))).map(change_point));
        maker = maker.or_else(|| (name == MAKER).then_some(function));
        queues = queues.or_else(|| (name == QUEUES).then_some(function.start));
    }
    let call = maker
        .zip(queues)
        .and_then(|(maker, target)| call_of(code_of(file, maker, MOST_CODE_BYTES)?, maker.start, target));
    all.extend(call.and_then(|call| file_offset(file, call)).map(|offset| change_point((StateChange::IsMade, offset))));
    Some(all)
}

fn change_point((change, offset): (StateChange, u64)) -> ChangePoint {
    ChangePoint { change, offset }
}

fn file_offset<'data>(file: &impl Object<'data>, address: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let within = address.checked_sub(segment.address())?;
        let (offset, length) = segment.file_range();
        (within < length).then(|| offset.checked_add(within))?
    })
}

fn address<'data>(file: &impl Object<'data>, offset: u64) -> Option<u64> {
    file.segments().find_map(|segment| {
        let (start, length) = segment.file_range();
        let within = offset.checked_sub(start).filter(|within| *within < length)?;
        segment.address().checked_add(within)
    })
}

/// From the begin of a function, the instruction to probe: see the head of this file.
///
/// Go checks the stack's size by `cmp rsp, [r14+16]`, or `lea r12, [rsp-n]; cmp r12, [r14+16]` where the frame is large, and a jump to
/// what enlarges it (`src/cmd/internal/obj/x86/obj6.go`).
fn first_probed(code: &[u8]) -> u64 {
    const PUSH_RBP: u8 = 0x55;
    let after_lea = match code {
        [0x4c, 0x8d, 0x64, 0x24, ..] => 5,
        [0x4c, 0x8d, 0xa4, 0x24, ..] => 8,
        _ => 0,
    };
    let jump = match code.get(after_lea..) {
        Some([0x49 | 0x4d, 0x3b, 0x66, 0x10, ..]) => after_lea + 4,
        _ => return 0,
    };
    let behind = match code.get(jump..) {
        Some([0x76, ..]) => jump + 2,
        Some([0x0f, 0x86, ..]) => jump + 6,
        _ => return 0,
    };
    if code.get(behind) == Some(&PUSH_RBP) { behind as u64 } else { jump as u64 }
}

/// Where `code`, which begins at address `start`, first calls the function at `target`.
fn call_of(code: &[u8], start: u64, target: u64) -> Option<u64> {
    let calls = code.windows(5).enumerate().filter(|(_, bytes)| bytes[0] == 0xe8);
    let mut calls = calls.map(|(at, bytes)| {
        let from = start.wrapping_add(at as u64);
        let distance = i32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        (from, from.wrapping_add(5).wrapping_add_signed(i64::from(distance)))
    });
    calls.find(|(_, called)| *called == target).map(|(from, _)| from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_probed_where_the_kernel_emulates_the_instruction() {
        // cmp rsp, [r14+16]; jbe; push rbp
        assert_eq!(first_probed(&[0x49, 0x3b, 0x66, 0x10, 0x76, 0x20, 0x55, 0x48]), 6);
        assert_eq!(first_probed(&[0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 0, 1, 0, 0, 0x55]), 10);
        // Go 1.20: the jump, behind which is sub rsp
        assert_eq!(first_probed(&[0x49, 0x3b, 0x66, 0x10, 0x0f, 0x86, 0, 1, 0, 0, 0x48, 0x83]), 4);
        // lea r12, [rsp-0x48]; cmp r12, [r14+16]; jbe; push rbp
        assert_eq!(first_probed(&[0x4c, 0x8d, 0x64, 0x24, 0xb8, 0x4d, 0x3b, 0x66, 0x10, 0x76, 1, 0x55]), 11);
        assert_eq!(first_probed(&[0x55, 0x48]), 0);
        assert_eq!(first_probed(&[]), 0);
    }

    #[test]
    fn a_call_is_found_by_its_target() {
        let code = [0x90, 0xe8, 0, 0, 0, 0, 0xe8, 0x10, 0, 0, 0];
        assert_eq!(call_of(&code, 0x1000, 0x101b), Some(0x1006));
        assert_eq!(call_of(&code, 0x1000, 0x1000), None);
        assert_eq!(call_of(&code[..8], 0x1000, 0x101b), None);
    }

    #[test]
    fn what_is_no_go_program_has_none() {
        assert!(matches!(change_points_of(Path::new("/proc/self/exe")), Ok(None)));
        assert!(matches!(change_points_of(Path::new("/no/such")), Ok(None)));
    }
}
