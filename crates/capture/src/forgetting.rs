//! What a bounded recording forgets beside old events: threads and processes that ended before all events that are kept, with
//! their names, programs, mappings and stacks.
//!
//! Descriptions of objects stay: processes share them, and the kernel side tells each once.

use std::collections::{HashMap, HashSet};

use bytemuck::pod_read_unaligned;
use dwell_store::Folder;
use dwell_store::raw::wire::RecordHeader;
use dwell_store::raw::{ChunkInfo, Record, Records, SpoolReader, SpoolWriter, Stream};

use crate::error::Result;

/// Rewrites the stream `meta` of the spool in `folder` without what ended before `until_ns`. Everything is in the stream by then
/// that came earlier.
pub fn forget_ended(meta: &mut SpoolWriter, folder: &Folder, until_ns: u64) -> Result<()> {
    let mut lives = Lives::new(until_ns);
    for_each_chunk(folder, &mut |_, bytes| {
        records(bytes).for_each(|(record, _)| lives.note(&record));
        Ok(())
    })?;
    lives.close();
    Ok(meta.replace(&mut |writer| {
        for_each_chunk(folder, &mut |info, bytes| {
            let kept = records(bytes).filter(|(record, _)| lives.keeps(record));
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
struct Life {
    begin_ns: u64,
    end_ns: u64,
    tgid: u32,
    creator_stack: u64,
}

/// Who lived when.
struct Lives {
    until_ns: u64,
    threads: HashMap<u32, Vec<Life>>,
    exits: HashMap<u32, Vec<u64>>,
    processes: HashMap<u32, Vec<Life>>,
    /// Where threads were created that are kept.
    stacks: HashSet<u64>,
}

impl Lives {
    fn new(until_ns: u64) -> Self {
        Self {
            until_ns,
            threads: HashMap::new(),
            exits: HashMap::new(),
            processes: HashMap::new(),
            stacks: HashSet::new(),
        }
    }

    fn note(&mut self, record: &Record<'_>) {
        match record {
            Record::ThreadNew(new) => self.threads.entry(new.h.tid).or_default().push(Life {
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
        let mut of_processes: HashMap<u32, Vec<Life>> = HashMap::new();
        for (tid, lives) in &mut self.threads {
            let exits = self.exits.get(tid).map_or(&[][..], Vec::as_slice);
            lives.sort_unstable_by_key(|life| life.begin_ns);
            for at in 0..lives.len() {
                let next_ns = lives.get(at + 1).map_or(u64::MAX, |next| next.begin_ns);
                let within = exits.iter().filter(|exit| (lives[at].begin_ns..next_ns).contains(exit));
                // Whose end was not seen has ended when another one has its id.
                lives[at].end_ns = within.max().copied().unwrap_or(next_ns);
                of_processes.entry(lives[at].tgid).or_default().push(lives[at]);
                if lives[at].end_ns >= self.until_ns {
                    self.stacks.insert(lives[at].creator_stack);
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

    /// Whether the thread, or process, that had the id at `time_ns`, or last before it, has ended long ago.
    fn has_ended(&self, lives: &HashMap<u32, Vec<Life>>, id: u32, time_ns: u64) -> bool {
        let lives = lives.get(&id).map_or(&[][..], Vec::as_slice);
        let life = lives.iter().rev().find(|life| life.begin_ns <= time_ns);
        life.is_some_and(|life| life.end_ns < self.until_ns)
    }

    fn keeps(&self, record: &Record<'_>) -> bool {
        let thread = |h: &RecordHeader| !self.has_ended(&self.threads, h.tid, h.time_ns);
        let process = |tgid: u32, h: &RecordHeader| !self.has_ended(&self.processes, tgid, h.time_ns);
        match record {
            Record::ThreadNew(new) => thread(&new.h),
            Record::ThreadName(name) => thread(&name.h),
            Record::ThreadExit(exit) => thread(&exit.h),
            Record::Exec(exec) => process(exec.tgid, &exec.h),
            Record::Map(map, _) => process(map.h.tid, &map.h),
            Record::Command(command, _) => process(command.h.tid, &command.h),
            Record::IttNames(names, _) => process(names.tgid, &names.h),
            Record::Stack(stack, _) => process(stack.tgid, &stack.h) || self.stacks.contains(&stack.key),
            Record::PythonStack(stack, _) => {
                let lives = self.threads.get(&stack.h.tid).map_or(&[][..], Vec::as_slice);
                let life = lives.iter().rev().find(|life| life.begin_ns <= stack.h.time_ns);
                life.is_none_or(|life| process(life.tgid, &stack.h)) || self.stacks.contains(&stack.key)
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::Zeroable;
    use dwell_store::raw::RecordBuffer;
    use dwell_store::raw::wire::{StackHeader, ThreadExitRecord, ThreadNewRecord, kind};

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
        let mut told = Vec::new();
        for_each_chunk(folder, &mut |_, bytes| {
            told.extend(records(bytes).map(|(record, _)| match record {
                Record::ThreadNew(new) => format!("{} of {} since {}", new.h.tid, new.tgid, new.h.time_ns),
                Record::ThreadExit(exit) => format!("{} until {}", exit.h.tid, exit.h.time_ns),
                Record::Stack(stack, _) => format!("stack {}", stack.key),
                other => format!("{other:?}"),
            }));
            Ok(())
        })
        .expect("spool");
        told
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
        forget_ended(&mut writer, &folder, 100).expect("rewritten");
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
}
