//! Writes a result as other tools read it, so that they can be put beside Dwell: as a Perfetto trace (context switches, wake-ups,
//! samples with call stacks) and as perf.data (samples, and each interval off the CPU as a sample weighed by its length, as
//! `perf record --off-cpu` has them). The synthetic threads overlap at will: each one has a CPU of its own.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use dwell_model::{StackId, ThreadId};
use dwell_store::{ResultFolder, Trace};

/// Switches of one packet.
const BUNDLE: usize = 2000;
/// State of a thread that waits, as `sched_switch` has it; that of one that was preempted is 0.
const SLEEPING: u64 = 1;

/// Writes `folder` as FILE.pftrace and FILE.perf.
pub fn run(folder: &Path, file: &Path) -> Result<(), Box<dyn Error>> {
    let trace = Trace::read(&ResultFolder::open(folder)?)?;
    let create =
        |extension: &str| Ok::<_, std::io::Error>(BufWriter::new(File::create(file.with_extension(extension))?));
    perfetto(&trace, &mut create("pftrace")?)?;
    perf(&trace, &mut create("perf")?)?;
    Ok(())
}

/// Rows of frames of a stack, leaf first.
fn chain(trace: &Trace, stack: StackId) -> Vec<usize> {
    let row = |stack: &StackId| stack.get();
    let parents = std::iter::successors(row(&stack), |at| row(&trace.stacks.parent[*at]));
    parents.filter_map(|at| trace.stacks.frame[at].get()).collect()
}

fn tid(trace: &Trace, thread: ThreadId) -> u64 {
    thread.get().map_or(0, |row| trace.threads.tid[row].into())
}

fn pid(trace: &Trace, thread: ThreadId) -> u64 {
    let process = thread.get().and_then(|row| trace.threads.process[row].get());
    process.map_or(0, |row| trace.processes.pid[row].into())
}

/// A message of protocol buffers.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// Field numbers are those of perfetto's `protos/perfetto/trace`.
fn perfetto(trace: &Trace, out: &mut impl Write) -> std::io::Result<()> {
    let mut write = |packet: Message| out.write_all(&Message::default().message(1, &packet).0);
    write(Message::default().message(2, &process_tree(trace)).number(10, 1))?;
    for thread in 0..trace.threads.tid.len() {
        switches(trace, thread, &mut write)?;
    }
    write(Message::default().message(12, &interned(trace)).number(13, 1).number(10, 2))?;
    for row in 0..trace.samples.time_ns.len() {
        let thread = trace.samples.thread[row];
        let sample = Message::default()
            .number(1, trace.samples.cpu[row].into())
            .number(2, pid(trace, thread))
            .number(3, tid(trace, thread))
            .number(4, u64::from(trace.samples.stack[row].raw()) + 1);
        let packet = Message::default().number(8, trace.samples.time_ns[row] + 1).message(66, &sample);
        write(packet.number(13, 2).number(10, 2))?;
    }
    Ok(())
}

fn process_tree(trace: &Trace) -> Message {
    let mut tree = Message::default();
    for (pid, name) in trace.processes.pid.iter().zip(&trace.processes.name) {
        tree = tree.message(1, &Message::default().number(1, (*pid).into()).bytes(3, name.as_bytes()));
    }
    for (row, name) in trace.threads.name.iter().enumerate() {
        let thread = ThreadId::new(row);
        let entry = Message::default().number(1, tid(trace, thread)).bytes(2, name.as_bytes());
        tree = tree.message(2, &entry.number(3, pid(trace, thread)));
    }
    tree
}

/// The switches of a thread on the CPU that it has for itself, and its wake-ups.
fn switches(
    trace: &Trace,
    thread: usize,
    write: &mut impl FnMut(Message) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (own, name) = (tid(trace, ThreadId::new(thread)), trace.threads.name[thread].as_bytes());
    let rows = (0..trace.off_cpu.thread.len()).filter(|row| trace.off_cpu.thread[*row].get() == Some(thread));
    let rows: Vec<usize> = rows.collect();
    for rows in rows.chunks(BUNDLE) {
        let mut bundle = Message::default().number(1, thread as u64);
        for &row in rows {
            let leaves = trace.off_cpu.start_ns[row] + 1;
            let woken = leaves + trace.off_cpu.wait_ns[row];
            let state = if trace.off_cpu.wait_ns[row] > 0 { SLEEPING } else { 0 };
            let out = Message::default().bytes(1, name).number(2, own).number(3, 120).number(4, state);
            let out = out.bytes(5, b"swapper").number(6, 0).number(7, 120);
            let back = Message::default().bytes(1, b"swapper").number(2, 0).number(3, 120).number(4, 0);
            let back = back.bytes(5, name).number(6, own).number(7, 120);
            let event = |time: u64, by: u64| Message::default().number(1, time).number(2, by);
            bundle = bundle.message(2, &event(leaves, own).message(4, &out));
            if state == SLEEPING {
                let waking = Message::default().bytes(1, name).number(2, own).number(3, 120).number(5, thread as u64);
                let waker = tid(trace, trace.off_cpu.waker[row]);
                bundle = bundle.message(2, &event(woken, waker).message(20, &waking));
            }
            bundle = bundle.message(2, &event(woken + trace.off_cpu.runnable_ns[row], 0).message(4, &back));
        }
        write(Message::default().message(1, &bundle).number(10, 1))?;
    }
    Ok(())
}

/// Functions, frames and call stacks under the numbers that samples have.
fn interned(trace: &Trace) -> Message {
    let mut data = Message::default();
    for (row, path) in trace.modules.path.iter().enumerate() {
        let id = row as u64 + 1;
        data = data.message(17, &Message::default().number(1, id).bytes(2, path.as_bytes()));
        data = data.message(19, &Message::default().number(1, id).number(5, u64::MAX >> 1).number(7, id));
    }
    for (row, function) in trace.frames.function.iter().enumerate() {
        let id = row as u64 + 1;
        let module = trace.frames.module[row].get().map_or(0, |module| module as u64 + 1);
        data = data.message(5, &Message::default().number(1, id).bytes(2, function.as_bytes()));
        let frame = Message::default().number(1, id).number(2, id).number(3, module).number(4, id * 16);
        data = data.message(6, &frame);
    }
    for row in 0..trace.stacks.frame.len() {
        let mut stack = Message::default().number(1, row as u64 + 1);
        for frame in chain(trace, StackId::new(row)).iter().rev() {
            stack = stack.number(2, *frame as u64 + 1);
        }
        data = data.message(7, &stack);
    }
    data
}

/// Ids of the two events: samples of the running code, and intervals off the CPU.
const SAMPLED: u64 = 1;
const OFF_CPU: u64 = 2;
/// Bytes of `struct perf_event_attr`, version 5, of the header before it all, and of an attribute with the place of its ids.
const ATTR: u64 = 112;
const HEADER: u64 = 104;
const ENTRY: u64 = ATTR + 16;
/// PERF_SAMPLE_IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER.
const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 1 << 5 | 1 << 7 | 1 << 8 | 1 << 16;
/// PERF_CONTEXT_USER.
const USER: u64 = (-512_i64) as u64;

/// As tools/perf/Documentation/perf.data-file-format.txt has it.
fn perf(trace: &Trace, out: &mut impl Write) -> std::io::Result<()> {
    let ids_at = HEADER;
    let attrs_at = ids_at + 16;
    let data_at = attrs_at + 2 * ENTRY;
    let chains: Vec<Vec<u64>> = (0..trace.stacks.frame.len()).map(|row| addresses(trace, StackId::new(row))).collect();
    let mut start = Vec::new();
    names(trace, &mut start);
    let off_cpu = &trace.off_cpu;
    let length = |stack: StackId| 64 + 8 * stack.get().map_or(0, |row| chains[row].len() as u64);
    let data_bytes =
        start.len() as u64 + trace.samples.stack.iter().chain(&off_cpu.stack).map(|stack| length(*stack)).sum::<u64>();
    out.write_all(b"PERFILE2")?;
    let header = [HEADER, ENTRY, attrs_at, 2 * ENTRY, data_at, data_bytes, 0, 0, 0, 0, 0, 0];
    words(out, &header)?;
    words(out, &[SAMPLED, OFF_CPU])?;
    for (config, id_at) in [(0, ids_at), (1, ids_at + 8)] {
        // PERF_TYPE_SOFTWARE; cpu-clock and task-clock, of which reports are apart.
        words(out, &[1 | ATTR << 32, config, 1, SAMPLE_TYPE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, id_at, 8])?;
    }
    out.write_all(&start)?;
    let mut sample = |id: u64, stack: StackId, thread: ThreadId, time_ns: u64, period: u64| {
        let chain = stack.get().map_or(&[][..], |row| &chains[row]);
        let ip = chain.get(1).copied().unwrap_or(0);
        let who = pid(trace, thread) | tid(trace, thread) << 32;
        words(out, &[record(9, length(stack)), id, ip, who, time_ns, 0, period, chain.len() as u64])?;
        words(out, chain)
    };
    let (mut row, samples) = (0, &trace.samples);
    for off in 0..off_cpu.thread.len() {
        while row < samples.thread.len() && samples.time_ns[row] <= off_cpu.start_ns[off] {
            sample(SAMPLED, samples.stack[row], samples.thread[row], samples.time_ns[row], samples.weight_ns[row])?;
            row += 1;
        }
        let length_ns = off_cpu.wait_ns[off] + off_cpu.runnable_ns[off];
        sample(OFF_CPU, off_cpu.stack[off], off_cpu.thread[off], off_cpu.start_ns[off], length_ns)?;
    }
    for row in row..samples.thread.len() {
        sample(SAMPLED, samples.stack[row], samples.thread[row], samples.time_ns[row], samples.weight_ns[row])?;
    }
    Ok(())
}

fn words(out: &mut impl Write, words: &[u64]) -> std::io::Result<()> {
    words.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))
}

/// Type and length of a record; of samples the code is the user's.
fn record(kind: u64, length: u64) -> u64 {
    kind | 2 << 32 | length << 48
}

/// A stack's addresses, leaf first, behind the mark that they are the user's: a function has a place in its file's mapping.
fn addresses(trace: &Trace, stack: StackId) -> Vec<u64> {
    let address = |frame: usize| base(trace.frames.module[frame].get().unwrap_or(0)) + frame as u64 * 16;
    std::iter::once(USER).chain(chain(trace, stack).into_iter().map(address)).collect()
}

fn base(module: usize) -> u64 {
    (module as u64 + 1) << 32
}

/// Names of threads and files: COMM and MMAP records.
fn names(trace: &Trace, out: &mut Vec<u8>) {
    let mut put = |kind: u64, numbers: &[u64], text: &str| {
        let padded = (text.len() + 1).next_multiple_of(8);
        let length = 8 + 8 * numbers.len() as u64 + padded as u64;
        out.extend(record(kind, length).to_le_bytes());
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(text.as_bytes());
        out.resize(out.len() + padded - text.len(), 0);
    };
    for (row, name) in trace.threads.name.iter().enumerate() {
        let thread = ThreadId::new(row);
        put(3, &[pid(trace, thread) | tid(trace, thread) << 32], name);
    }
    for pid in &trace.processes.pid {
        for (module, path) in trace.modules.path.iter().enumerate() {
            let pid = u64::from(*pid);
            put(1, &[pid | pid << 32, base(module), 1 << 31, 0], path);
        }
    }
}
