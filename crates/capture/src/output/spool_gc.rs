//! What a bounded recording forgets beside old events: threads and processes that ended before all events that are kept, with
//! their names, programs, mappings and stacks; and descriptions of stacks, objects and functions of scripts that no kept event needs.
//!
//! The kernel side describes each of the latter once, for all processes, until it is told to describe everything anew. A keep
//! time later all events that are left are of after that, and what was described before can go.

use std::collections::{HashMap, HashSet};

use bytemuck::pod_read_unaligned;
use dwell_store::Folder;
use dwell_store::raw::wire::RecordHeader;
use dwell_store::raw::{ChunkInfo, Record, Records, SpoolReader, SpoolWriter, Stream};

use crate::error::Result;

/// What kept events need.
#[derive(Clone, Copy, Debug)]
pub struct RetentionCutoffs {
    /// Threads and processes, unless they ended before this. Everything is in the stream by then that came earlier.
    pub ended_ns: u64,
    /// Descriptions, unless they are from before this.
    pub described_ns: u64,
}

/// Rewrites the stream `meta` of the spool in `folder` without what is not `needed`.
pub fn forget(meta: &mut SpoolWriter, folder: &Folder, needed: RetentionCutoffs) -> Result<()> {
    let mut spans = LifeSpans::new(needed);
    for_each_record(folder, &mut |record| spans.note(&record))?;
    spans.close();
    for_each_record(folder, &mut |record| spans.note_functions(&record))?;
    Ok(meta.replace(&mut |writer| {
        for_each_chunk(folder, &mut |info, bytes| {
            let kept = records(bytes).filter(|(record, _)| spans.keeps(record));
            let kept: Vec<u8> = kept.flat_map(|(_, bytes)| bytes).copied().collect();
            writer.append(&kept, info.first_ns, info.last_ns)
        })
    })?)
}

fn for_each_chunk(
    folder: &Folder,
    act: &mut dyn FnMut(ChunkInfo, &[u8]) -> dwell_store::Result<()>,
) -> dwell_store::Result<()> {
    let mut reader = SpoolReader::open(folder, Stream::Meta)?;
    let mut bytes = Vec::new();
    while let Some(info) = reader.next_chunk(&mut bytes) {
        act(info, &bytes)?;
    }
    Ok(())
}

fn for_each_record(folder: &Folder, act: &mut dyn FnMut(Record<'_>)) -> dwell_store::Result<()> {
    for_each_chunk(folder, &mut |_, bytes| {
        records(bytes).for_each(|(record, _)| act(record));
        Ok(())
    })
}

/// The records of a chunk, each with its bytes.
fn records(mut bytes: &[u8]) -> impl Iterator<Item = (Record<'_>, &[u8])> {
    std::iter::from_fn(move || {
        let header: RecordHeader = pod_read_unaligned(bytes.get(..size_of::<RecordHeader>())?);
        let (record, rest) = bytes.split_at_checked(usize::from(header.size))?;
        bytes = rest;
        Some((Records::new(record).next()?, record))
    })
}

/// From its birth to its end; ids are used again.
#[derive(Clone, Copy, Debug)]
struct LifeSpan {
    begin_ns: u64,
    end_ns: u64,
    tgid: u32,
    creator_stack: u64,
}

/// Who lived when.
struct LifeSpans {
    needed: RetentionCutoffs,
    threads: HashMap<u32, Vec<LifeSpan>>,
    exits: HashMap<u32, Vec<u64>>,
    processes: HashMap<u32, Vec<LifeSpan>>,
    /// Where threads were created that are kept.
    stacks: HashSet<u64>,
    /// The functions of scripts in these stacks.
    functions: HashSet<u64>,
}

impl LifeSpans {
    fn new(needed: RetentionCutoffs) -> Self {
        Self {
            needed,
            threads: HashMap::new(),
            exits: HashMap::new(),
            processes: HashMap::new(),
            stacks: HashSet::new(),
            functions: HashSet::new(),
        }
    }

    fn note(&mut self, record: &Record<'_>) {
        match record {
            Record::ThreadNew(new) => self.threads.entry(new.h.tid).or_default().push(LifeSpan {
                begin_ns: new.h.time_ns,
                end_ns: u64::MAX,
                tgid: new.tgid,
                creator_stack: new.creator_stack,
            }),
            Record::ThreadExit(exit) => self.exits.entry(exit.h.tid).or_default().push(exit.h.time_ns),
            _ => {}
        }
    }

    /// After all records: finds the ends, and the lives of processes.
    fn close(&mut self) {
        let mut of_processes: HashMap<u32, Vec<LifeSpan>> = HashMap::new();
        for (tid, spans) in &mut self.threads {
            let exits = self.exits.get(tid).map_or(&[][..], Vec::as_slice);
            spans.sort_unstable_by_key(|life| life.begin_ns);
            for at in 0..spans.len() {
                let next_ns = spans.get(at + 1).map_or(u64::MAX, |next| next.begin_ns);
                let within = exits.iter().filter(|exit| (spans[at].begin_ns..next_ns).contains(exit));
                // Whose end was not seen has ended when another one has its id.
                spans[at].end_ns = within.max().copied().unwrap_or(next_ns);
                of_processes.entry(spans[at].tgid).or_default().push(spans[at]);
                if spans[at].end_ns >= self.needed.ended_ns {
                    self.stacks.insert(spans[at].creator_stack);
                }
            }
        }
        for (tgid, mut threads) in of_processes {
            threads.sort_unstable_by_key(|life| life.begin_ns);
            let processes = self.processes.entry(tgid).or_default();
            for thread in threads {
                match processes.last_mut().filter(|process| thread.begin_ns <= process.end_ns) {
                    Some(process) => process.end_ns = process.end_ns.max(thread.end_ns),
                    None => processes.push(thread),
                }
            }
        }
    }

    /// After `close`.
    fn note_functions(&mut self, record: &Record<'_>) {
        if let Record::ScriptStack(stack, frames) = record
            && self.stacks.contains(&stack.key)
        {
            self.functions.extend(frames.iter().map(|frame| frame.code));
        }
    }

    /// Whether the thread, or process, that had the id at `time_ns`, or last before it, has ended long ago.
    fn has_ended(&self, spans: &HashMap<u32, Vec<LifeSpan>>, id: u32, time_ns: u64) -> bool {
        let spans = spans.get(&id).map_or(&[][..], Vec::as_slice);
        let life = spans.iter().rev().find(|life| life.begin_ns <= time_ns);
        life.is_some_and(|life| life.end_ns < self.needed.ended_ns)
    }

    fn keeps(&self, record: &Record<'_>) -> bool {
        let thread = |h: &RecordHeader| !self.has_ended(&self.threads, h.tid, h.time_ns);
        let process = |tgid: u32, h: &RecordHeader| !self.has_ended(&self.processes, tgid, h.time_ns);
        let described = |h: &RecordHeader| h.time_ns >= self.needed.described_ns;
        match record {
            Record::ThreadNew(new) => thread(&new.h),
            Record::ThreadName(name) => thread(&name.h),
            Record::ThreadExit(exit) => thread(&exit.h),
            Record::ThreadAccount(io) => thread(&io.h),
            Record::Exec(exec) => process(exec.tgid, &exec.h),
            Record::Map(map, _) => process(map.h.tid, &map.h),
            Record::Command(text, _) | Record::Belonging(text, _) => process(text.h.tid, &text.h),
            Record::IttNames(names, _) => process(names.tgid, &names.h),
            Record::Stack(stack, _) => {
                (described(&stack.h) && process(stack.tgid, &stack.h)) || self.stacks.contains(&stack.key)
            }
            Record::ScriptStack(stack, _) => {
                let spans = self.threads.get(&stack.h.tid).map_or(&[][..], Vec::as_slice);
                let life = spans.iter().rev().find(|life| life.begin_ns <= stack.h.time_ns);
                let lives_on = life.is_none_or(|life| process(life.tgid, &stack.h));
                (described(&stack.h) && lives_on) || self.stacks.contains(&stack.key)
            }
            Record::ScriptFunction(code, _) => described(&code.h) || self.functions.contains(&code.key),
            Record::Object(object) => described(&object.h),
            Record::Members(members, _) => described(&members.h),
            Record::FiberNew(fiber) => described(&fiber.h),
            Record::FiberState(state) => described(&state.h),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::{Zeroable, bytes_of};
    use dwell_store::raw::RecordBuffer;
    use dwell_store::raw::wire::{
        FiberStateRecord, ObjectRecord, ScriptFrame, ScriptFunctionHeader, ScriptStackHeader, StackHeader,
        ThreadExitRecord, ThreadNewRecord, kind,
    };

    use super::*;

    fn header(kind: u16, size: usize, tid: u32, time_ns: u64) -> RecordHeader {
        RecordHeader { kind, size: size as u16, tid, time_ns }
    }

    fn born(buffer: &mut RecordBuffer, tid: u32, tgid: u32, time_ns: u64) {
        let h = header(kind::THREAD_NEW, size_of::<ThreadNewRecord>(), tid, time_ns);
        buffer.fixed(&ThreadNewRecord { h, tgid, creator_stack: time_ns + 1000, ..ThreadNewRecord::zeroed() });
    }

    fn ends(buffer: &mut RecordBuffer, tid: u32, tgid: u32, time_ns: u64) {
        let h = header(kind::THREAD_EXIT, size_of::<ThreadExitRecord>(), tid, time_ns);
        buffer.fixed(&ThreadExitRecord { h, tgid, ..ThreadExitRecord::zeroed() });
    }

    fn stack(buffer: &mut RecordBuffer, key: u64, tgid: u32, time_ns: u64) {
        let h = header(kind::STACK, 0, tgid, time_ns);
        buffer.stack(StackHeader { h, key, tgid, ..StackHeader::zeroed() }, &[1, 2]);
    }

    /// What is left, in words.
    fn left(folder: &Folder) -> Vec<String> {
        let mut kept = Vec::new();
        for_each_chunk(folder, &mut |_, bytes| {
            kept.extend(records(bytes).map(|(record, _)| match record {
                Record::ThreadNew(new) => format!("{} of {} since {}", new.h.tid, new.tgid, new.h.time_ns),
                Record::ThreadExit(exit) => format!("{} until {}", exit.h.tid, exit.h.time_ns),
                Record::Stack(stack, _) => format!("stack {}", stack.key),
                Record::Object(object) => format!("object {}", object.key),
                Record::FiberState(state) => format!("fiber {}", state.fiber),
                Record::ScriptStack(stack, _) => format!("script stack {}", stack.key),
                Record::ScriptFunction(code, _) => format!("function {}", code.key),
                other => format!("{other:?}"),
            }));
            Ok(())
        })
        .expect("spool");
        kept
    }

    fn fiber(buffer: &mut RecordBuffer, tgid: u32, time_ns: u64) {
        let h = header(kind::FIBER_STATE, 0, 0, time_ns);
        buffer.fixed(&FiberStateRecord { h, tgid, fiber: 1, ..FiberStateRecord::zeroed() });
    }

    #[test]
    fn whoever_ended_long_ago_is_forgotten() {
        let folder = tempfile::tempdir().expect("folder");
        let folder = Folder::open(folder.path()).expect("folder");
        let mut writer = SpoolWriter::create(&folder, Stream::Meta).expect("spool");
        let mut buffer = RecordBuffer::default();
        born(&mut buffer, 7, 7, 10); // lives on
        stack(&mut buffer, 71, 7, 11);
        born(&mut buffer, 8, 7, 20); // a thread of it that ended
        ends(&mut buffer, 8, 7, 30);
        born(&mut buffer, 9, 9, 40); // a process that ended
        stack(&mut buffer, 91, 9, 41);
        stack(&mut buffer, 1150, 9, 42); // where 10 was created
        ends(&mut buffer, 9, 9, 50);
        writer.append(&buffer.bytes, 0, 50).expect("written");
        let mut buffer = RecordBuffer::default();
        born(&mut buffer, 9, 9, 140); // its id again
        stack(&mut buffer, 92, 9, 141);
        born(&mut buffer, 10, 10, 150);
        ends(&mut buffer, 10, 10, 160); // within what is kept
        writer.append(&buffer.bytes, 60, 160).expect("written");
        forget(&mut writer, &folder, RetentionCutoffs { ended_ns: 100, described_ns: 0 }).expect("rewritten");
        let kept = [
            "7 of 7 since 10",
            "stack 71",
            "stack 1150",
            "9 of 9 since 140",
            "stack 92",
            "10 of 10 since 150",
            "10 until 160",
        ];
        assert_eq!(left(&folder), kept);
        assert_eq!(folder.names().expect("names").len(), 1, "in one file");
        let mut buffer = RecordBuffer::default();
        born(&mut buffer, 11, 11, 170);
        writer.append(&buffer.bytes, 170, 170).expect("written");
        assert_eq!(left(&folder).len(), kept.len() + 1, "and the stream goes on");
    }

    fn object(buffer: &mut RecordBuffer, key: u64, time_ns: u64) {
        let h = header(kind::OBJECT, size_of::<ObjectRecord>(), 7, time_ns);
        buffer.fixed(&ObjectRecord { h, key, ..ObjectRecord::zeroed() });
    }

    fn script(buffer: &mut RecordBuffer, key: u64, time_ns: u64) {
        let code = key + 5;
        let h = header(kind::SCRIPT_FUNCTION, size_of::<ScriptFunctionHeader>(), 0, time_ns);
        buffer.fixed(&ScriptFunctionHeader { h, key: code, ..ScriptFunctionHeader::zeroed() });
        let size = size_of::<ScriptStackHeader>() + size_of::<ScriptFrame>();
        let h = header(kind::SCRIPT_STACK, size, 7, time_ns);
        buffer.bytes.extend_from_slice(bytes_of(&ScriptStackHeader {
            h,
            key,
            count: 1,
            ..ScriptStackHeader::zeroed()
        }));
        buffer.bytes.extend_from_slice(bytes_of(&ScriptFrame { code, ..ScriptFrame::zeroed() }));
    }

    #[test]
    fn what_is_described_anew_is_forgotten_once() {
        let folder = tempfile::tempdir().expect("folder");
        let folder = Folder::open(folder.path()).expect("folder");
        let mut writer = SpoolWriter::create(&folder, Stream::Meta).expect("spool");
        let mut buffer = RecordBuffer::default();
        born(&mut buffer, 7, 7, 10); // created at stack 1010, lives on
        stack(&mut buffer, 1010, 6, 9);
        script(&mut buffer, 1010, 9);
        for time_ns in [20, 60] {
            stack(&mut buffer, 71, 7, time_ns);
            script(&mut buffer, 71, time_ns);
            object(&mut buffer, 72, time_ns);
            fiber(&mut buffer, 7, time_ns);
        }
        object(&mut buffer, 73, 21);
        writer.append(&buffer.bytes, 0, 60).expect("written");
        forget(&mut writer, &folder, RetentionCutoffs { ended_ns: 100, described_ns: 50 }).expect("rewritten");
        let of_creator = ["7 of 7 since 10", "stack 1010", "function 1015", "script stack 1010"];
        let told_again = ["stack 71", "function 76", "script stack 71", "object 72", "fiber 1"];
        assert_eq!(left(&folder), [&of_creator[..], &told_again].concat());
    }
}
