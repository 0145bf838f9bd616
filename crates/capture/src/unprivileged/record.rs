//! The kernel's records of the events that `events.rs` opens, parsed. Bytes that are no such record parse to nothing.

use dwell_store::raw::wire::{MAX_FRAMES, RegistersRecord};

use super::ring::HEADER_BYTES;
use crate::kernel::perf::{Mapping, parse_mapping, read_u32, read_u64};

// include/uapi/linux/perf_event.h: enum perf_event_type
const MMAP2: u32 = 10;
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const SWITCH: u32 = 14;
const MISC_CPU_MODE: u16 = 7;
const MISC_KERNEL: u16 = 1;
const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// What `sample_id_all` puts behind every record that is no sample: thread, time, CPU, identifier.
const TRAILER_BYTES: usize = 32;

/// Registers that samples have, as bits of `enum perf_event_x86_regs`, in the order in which they come: ax bx cx dx si di bp
/// sp ip r8 … r15.
pub const REGISTERS: u64 = 0xff_01ff;
const REGISTER_COUNT: usize = 17;
/// Place of each among them of DWARF's registers: ax dx cx bx si di bp sp r8 … r15.
const DWARF: [usize; 16] = [0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16];
const INSTRUCTION_POINTER: usize = 8;
/// Addresses of a call chain from here on are marks: PERF_CONTEXT_KERNEL and others.
const FIRST_MARK: u64 = u64::MAX - 4095;

/// A record's frame: what happened to whom and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Process.
    pub tgid: u32,
    /// Thread.
    pub tid: u32,
    /// CLOCK_MONOTONIC, ns.
    pub time_ns: u64,
    /// CPU.
    pub cpu: u16,
}

/// What a record says.
#[derive(Debug)]
pub enum RecordKind<'r> {
    /// The thread leaves the CPU; `runnable`: it could have gone on.
    Out {
        /// Whether it was preempted, or yielded.
        runnable: bool,
    },
    /// The thread comes to the CPU.
    In,
    /// A thread was made.
    Fork {
        /// Its process, itself, and the same of who made it.
        tgid: u32,
        tid: u32,
        parent_tgid: u32,
        parent_tid: u32,
    },
    /// The thread ends.
    Exit,
    /// The thread has a new name, because its process runs a new program or not.
    Name {
        /// Whether it is that of a new program.
        exec: bool,
        /// Whose it is: others may have given it.
        tgid: u32,
        tid: u32,
        /// The name, cut to 15 bytes.
        name: [u8; 16],
    },
    /// A file was mapped.
    Map(Mapping),
    /// Records were lost.
    Lost(u64),
    /// A sample of the event with this identifier.
    Sample(u64, Sample<'r>),
}

/// What events of one sort sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledEvent {
    /// The clock: registers and stack, and the kernel's stack where that may be seen.
    Clock,
    /// A thread leaves the CPU: the kernel's stack. The switch's own record comes next.
    Leave,
    /// The entry of a system call: number, arguments, registers and stack.
    Enter,
    /// A page fault: nothing but where.
    Fault,
}

/// A sample's own part, still as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'r> {
    rest: &'r [u8],
    /// The kernel was running.
    pub in_kernel: bool,
    /// Addresses of the kernel's stack, leaf first, 8 bytes each; with marks.
    kernel: &'r [u8],
}

/// Where the record of a call's entry has the call's number, 4 bytes, and its arguments, 8 bytes each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLayout {
    number_at: usize,
    arguments_at: usize,
}

impl CallLayout {
    /// Records begin with 8 bytes that all tracepoints have (`struct trace_entry`), with 12 where the kernel adds
    /// `common_preempt_lazy_count`, as PREEMPT_RT did before Linux 6.12. A call's own tracepoint goes on with `int nr`
    /// (`struct syscall_trace_enter` in kernel/trace/trace.h), that of every call with `long id` (include/trace/events/syscalls.h).
    pub fn new(counts_lazily: bool, of_every: bool) -> Self {
        match (counts_lazily, of_every) {
            (false, _) => Self { number_at: 8, arguments_at: 16 },
            (true, false) => Self { number_at: 12, arguments_at: 16 },
            (true, true) => Self { number_at: 16, arguments_at: 24 },
        }
    }
}

/// A system call as it is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i32,
    /// Its arguments; those that it does not have are 0.
    pub arguments: [u64; 6],
}

/// The piece of a stack that a sample holds.
#[derive(Clone, Copy, Debug)]
pub struct StackPiece<'r> {
    /// Registers; of their stack pointer on the bytes are. The header is still to be filled.
    pub registers: RegistersRecord,
    /// From the stack pointer on.
    pub bytes: &'r [u8],
}

/// When a record was written; none of bytes that are no record.
pub fn stamp(record: &[u8]) -> Option<Stamp> {
    let ty = read_u32(record, 0)?;
    let at = if ty == SAMPLE { HEADER_BYTES + 16 } else { record.len().checked_sub(TRAILER_BYTES)? };
    let time_ns = read_u64(record, at + 8)?;
    let cpu = u16::try_from(read_u32(record, at + 16)?).unwrap_or(u16::MAX);
    Some(Stamp { tgid: read_u32(record, at)?, tid: read_u32(record, at + 4)?, time_ns, cpu })
}

/// Parses a record; `None` for one that tells nothing of use. `has_chain`: whether the event of this identifier samples
/// the kernel's stack.
pub fn parse(record: &[u8], has_chain: impl Fn(u64) -> bool) -> Option<(Stamp, RecordKind<'_>)> {
    let stamp = stamp(record)?;
    let ty = read_u32(record, 0)?;
    let misc = u16::from_ne_bytes([*record.get(4)?, *record.get(5)?]);
    let body = record.get(HEADER_BYTES..)?;
    if ty == SAMPLE {
        let identifier = read_u64(body, 0)?;
        let (kernel, rest) = if has_chain(identifier) { chain(body.get(40..)?)? } else { (&[][..], body.get(40..)?) };
        let in_kernel = misc & MISC_CPU_MODE == MISC_KERNEL;
        return Some((stamp, RecordKind::Sample(identifier, Sample { rest, in_kernel, kernel })));
    }
    let body = body.get(..body.len().checked_sub(TRAILER_BYTES)?)?;
    let what = match ty {
        SWITCH if misc & MISC_SWITCH_OUT != 0 => RecordKind::Out { runnable: misc & MISC_SWITCH_OUT_PREEMPT != 0 },
        SWITCH => RecordKind::In,
        FORK => RecordKind::Fork {
            tgid: read_u32(body, 0)?,
            parent_tgid: read_u32(body, 4)?,
            tid: read_u32(body, 8)?,
            parent_tid: read_u32(body, 12)?,
        },
        EXIT => RecordKind::Exit,
        COMM => RecordKind::Name {
            exec: misc & MISC_COMM_EXEC != 0,
            tgid: read_u32(body, 0)?,
            tid: read_u32(body, 4)?,
            name: name(body.get(8..)?),
        },
        MMAP2 => RecordKind::Map(parse_mapping(misc, body, stamp.time_ns)?),
        LOST => RecordKind::Lost(read_u64(body, 8)?),
        _ => return None,
    };
    Some((stamp, what))
}

/// A call chain and what comes behind it.
fn chain(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let count = usize::try_from(read_u64(bytes, 0)?).ok()?;
    bytes.get(8..)?.split_at_checked(count.checked_mul(8)?)
}

fn name(text: &[u8]) -> [u8; 16] {
    let mut name = [0; 16];
    let bytes = text.iter().take(15).take_while(|&&byte| byte != 0);
    name.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    name
}

impl<'r> Sample<'r> {
    /// The system call that a sample of sort [`SampledEvent::Enter`] is the entry of.
    pub fn call(&self, layout: CallLayout) -> Option<Call> {
        let raw = self.raw()?;
        let number = read_u32(raw, layout.number_at)?.cast_signed();
        let arguments = raw.get(layout.arguments_at..).unwrap_or_default();
        let argument = |index: usize| read_u64(arguments, index * 8).unwrap_or(0);
        Some(Call { number, arguments: std::array::from_fn(argument) })
    }

    /// Addresses of the kernel's stack, leaf first; empty where it was not seen.
    pub fn kernel_frames(&self) -> Vec<u64> {
        let addresses = self.kernel.chunks_exact(8).filter_map(|bytes| read_u64(bytes, 0));
        addresses.filter(|&address| address < FIRST_MARK).take(MAX_FRAMES).collect()
    }

    fn raw(&self) -> Option<&'r [u8]> {
        let bytes = read_u32(self.rest, 0)? as usize;
        self.rest.get(4..4usize.checked_add(bytes)?)
    }

    /// Registers and stack of a sample of this sort; none of a thread without user code.
    pub fn piece(&self, sort: SampledEvent) -> Option<StackPiece<'r>> {
        let skipped = match sort {
            SampledEvent::Enter => 4 + self.raw()?.len(),
            SampledEvent::Clock => 0,
            SampledEvent::Fault | SampledEvent::Leave => return None,
        };
        let rest = self.rest.get(skipped..)?;
        if read_u64(rest, 0)? == 0 {
            return None; // PERF_SAMPLE_REGS_ABI_NONE
        }
        let values = |index: usize| read_u64(rest, 8 + index * 8);
        let mut registers = RegistersRecord { ip: values(INSTRUCTION_POINTER)?, ..bytemuck::Zeroable::zeroed() };
        for (to, &from) in registers.registers.iter_mut().zip(&DWARF) {
            *to = values(from)?;
        }
        let stack = rest.get(8 + REGISTER_COUNT * 8..)?;
        Some(StackPiece { registers, bytes: copied(stack).unwrap_or_default() })
    }
}

/// Size, bytes, and how many of them are really there.
fn copied(stack: &[u8]) -> Option<&[u8]> {
    let size = usize::try_from(read_u64(stack, 0)?).ok()?;
    let end = size.checked_add(8)?;
    let there = usize::try_from(read_u64(stack, end)?).ok()?;
    stack.get(8..end)?.get(..there.min(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A record with a trailer: thread 7 of process 5, time 9, CPU 1.
    fn record(ty: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&ty.to_ne_bytes());
        bytes.extend_from_slice(&misc.to_ne_bytes());
        bytes.extend_from_slice(&((HEADER_BYTES + body.len() + TRAILER_BYTES) as u16).to_ne_bytes());
        bytes.extend_from_slice(body);
        for number in [5u32, 7] {
            bytes.extend_from_slice(&number.to_ne_bytes());
        }
        bytes.extend_from_slice(&9u64.to_ne_bytes());
        bytes.extend_from_slice(&1u64.to_ne_bytes());
        bytes.extend_from_slice(&77u64.to_ne_bytes());
        bytes
    }

    #[test]
    fn switches_say_whether_the_thread_could_go_on() {
        let of = |misc| format!("{:?}", parse(&record(SWITCH, misc, &[]), |_| false).map(|(_, what)| what));
        assert_eq!(of(0), "Some(In)");
        assert_eq!(of(MISC_SWITCH_OUT), "Some(Out { runnable: false })");
        assert_eq!(of(MISC_SWITCH_OUT | MISC_SWITCH_OUT_PREEMPT), "Some(Out { runnable: true })");
        assert_eq!(stamp(&record(SWITCH, 0, &[])), Some(Stamp { tgid: 5, tid: 7, time_ns: 9, cpu: 1 }));
    }

    /// A sample whose record has `head` words of 4 bytes before the call's number, and `tail` behind it: a futex's.
    fn entry(head: usize, tail: usize) -> Vec<u8> {
        let mut raw = vec![0xee; head * 4];
        raw.extend_from_slice(&202u32.to_ne_bytes());
        raw.resize(raw.len() + tail * 4, 0);
        raw.extend_from_slice(&0xabcdu64.to_ne_bytes());
        raw.extend_from_slice(&128u64.to_ne_bytes());
        raw.resize(raw.len().next_multiple_of(8) + 4, 0); // its size and itself are a multiple of 8
        let mut bytes = vec![SAMPLE as u8, 0, 0, 0, 0, 0, 0, 0];
        for word in [77u64, 0x40_1000, 7 << 32 | 5, 9, 1] {
            bytes.extend_from_slice(&word.to_ne_bytes());
        }
        bytes.extend_from_slice(&(raw.len() as u32).to_ne_bytes());
        bytes.extend_from_slice(&raw);
        bytes.extend_from_slice(&2u64.to_ne_bytes());
        (0..17u64).for_each(|register| bytes.extend_from_slice(&(100 + register).to_ne_bytes()));
        bytes.extend_from_slice(&16u64.to_ne_bytes());
        bytes.extend_from_slice(&[1; 16]);
        bytes.extend_from_slice(&8u64.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_call_is_read_with_registers_and_stack() {
        let entries = [
            (CallLayout::new(false, false), entry(2, 1)),
            (CallLayout::new(false, true), entry(2, 1)),
            (CallLayout::new(true, false), entry(3, 0)),
            (CallLayout::new(true, true), entry(4, 1)),
        ];
        for (layout, bytes) in entries {
            let Some((stamp, RecordKind::Sample(77, sample))) = parse(&bytes, |_| false) else { panic!("no sample") };
            assert_eq!((stamp.tid, stamp.time_ns), (7, 9));
            assert_eq!(sample.call(layout), Some(Call { number: 202, arguments: [0xabcd, 128, 0, 0, 0, 0] }));
            let piece = sample.piece(SampledEvent::Enter).expect("registers");
            assert_eq!(
                (piece.registers.ip, piece.registers.registers[7], piece.registers.registers[1]),
                (108, 107, 103)
            );
            assert_eq!(piece.bytes, [1; 8]);
        }
    }

    #[test]
    fn a_stack_larger_than_all_memory_is_none() {
        for size in [u64::MAX, u64::MAX - 7, u64::MAX - 8, u64::MAX - 15, 1 << 63] {
            let stack = [size, 0, 0, 0].map(u64::to_ne_bytes).concat();
            assert_eq!(copied(&stack), None, "{size:#x}");
        }
    }

    #[test]
    fn a_chain_is_read_without_its_marks() {
        let words =
            [77u64, 0x40_1000, 7 << 32 | 5, 9, 1, 3, u64::MAX - 127, 0xffff_ffff_8100_0000, 0xffff_ffff_8200_0000];
        let mut bytes = vec![SAMPLE as u8, 0, 0, 0, MISC_KERNEL as u8, 0, 80, 0];
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        let Some((_, RecordKind::Sample(77, sample))) = parse(&bytes, |event| event == 77) else { panic!("no sample") };
        assert!(sample.in_kernel);
        assert_eq!(sample.kernel_frames(), [0xffff_ffff_8100_0000, 0xffff_ffff_8200_0000]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_parsed_or_not(
            bytes in proptest::collection::vec(any::<u8>(), 0..300), ty in 0u32..20, has_chain: bool,
            counts_lazily: bool, of_every: bool
        ) {
            let mut bytes = bytes;
            if let Some(first) = bytes.get_mut(..4) {
                first.copy_from_slice(&ty.to_ne_bytes());
            }
            if let Some((_, RecordKind::Sample(_, sample))) = parse(&bytes, |_| has_chain) {
                let layout = CallLayout::new(counts_lazily, of_every);
                let _ = (sample.call(layout), sample.piece(SampledEvent::Enter), sample.piece(SampledEvent::Clock), sample.kernel_frames());
            }
        }
    }
}
