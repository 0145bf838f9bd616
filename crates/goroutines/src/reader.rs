//! Passes over a program's goroutines.

use std::collections::HashMap;

use crate::connections::{Connections, NETWORK, NetworkWait};
use crate::objects::{self, Waited};
use crate::offsets::{G_BYTES, Offsets};
use crate::runtime::Runtime;
use crate::stack::{self, Start};
use crate::stretches::{coalesced, read_each, word_at};
use crate::{MemoryStretch, StretchReader};

/// Goroutines of a program that are looked at; those behind them are counted.
const MOST_GOROUTINES: usize = 1 << 20;
/// Stacks of goroutines that stand where they stood, read anew in a pass: the functions that called the waiting one may be others.
const MOST_STACKS_AGAIN: usize = 512;
/// Where waitreason is behind goid in `runtime.g`: behind schedlink and waitsince.
pub(crate) const WAIT_REASON: usize = 24;
/// Set in a goroutine's status while the garbage collector looks at its stack.
const SCAN: u32 = 0x1000;

/// What a goroutine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GoroutineState {
    /// It could run, and waits for a thread.
    Ready,
    /// It runs on a thread.
    Running,
    /// It is in a system call, and keeps its thread.
    InCall,
    /// It waits for something of the program.
    Waiting,
}

impl GoroutineState {
    /// Of the status in `runtime.g`; `None` of one that has ended or is being made.
    fn of(status: u32) -> Option<Self> {
        match status & !SCAN {
            1 | 9 => Some(Self::Ready),   // runnable, preempted
            2 | 8 => Some(Self::Running), // running, its stack being moved
            3 => Some(Self::InCall),
            4 => Some(Self::Waiting),
            _ => None,
        }
    }
}

/// A goroutine as a pass saw it.
#[derive(Clone, Debug)]
pub struct Goroutine<'p> {
    /// Its number, `runtime.g.goid`; never used again.
    pub id: u64,
    /// That of the goroutine that started it; 0 where that is not known.
    pub parent: u64,
    /// Return address of the `go` statement, 0 where there is none.
    pub created_at: u64,
    /// The function that it began with.
    pub entry: u64,
    /// What it does.
    pub state: GoroutineState,
    /// Of [`GoroutineState::Running`] and [`GoroutineState::InCall`]: the id of its thread in the program's pid namespace, 0 where it was not read.
    pub thread: u32,
    /// Of [`GoroutineState::Waiting`]: the channel's address or the semaphore's within a lock, 0 where it waits for neither or for several.
    pub object: u64,
    /// Of one that waits for the network: its descriptor, where that was found.
    pub descriptor: Option<u32>,
    /// Where it stands, leaf first; `None` where it stands as in the pass before, and of a running one. Empty where it moved while
    /// that was read.
    pub stack: Option<&'p [u64]>,
}

/// What a pass came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassCounts {
    /// Goroutines that were handed out.
    pub seen: u64,
    /// That moved while they were read, so that where they stood is not known; left out.
    pub torn: u64,
    /// That could not be read.
    pub unreadable: u64,
    /// Behind the most that are looked at.
    pub left_out: u64,
}

/// What is remembered of a goroutine between passes.
struct Before {
    id: u64,
    standing: Standing,
    object: u64,
    descriptor: Option<u32>,
}

/// Where a goroutine stands: equal in two passes if it stood still, or came back to the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Standing {
    status: u32,
    sp: u64,
    pc: u64,
    bp: u64,
}

/// The words of a `runtime.g`.
#[derive(Clone, Copy)]
struct Words {
    id: u64,
    standing: Standing,
    stack_end: u64,
    thread: u64,
    parent: u64,
    created_at: u64,
    entry: u64,
    waiting: u64,
    wait_reason: u8,
}

impl Words {
    fn of(g: &[u8], offsets: &Offsets) -> Option<Self> {
        let word = |at: usize| word_at(g, at);
        let status = u32::from_le_bytes(g.get(offsets.status..offsets.status + 4)?.try_into().ok()?);
        let in_call = status & !SCAN == 3;
        let (sp, pc, bp) = if in_call {
            (offsets.call_sp, offsets.call_sp + 8, offsets.call_bp.unwrap_or(offsets.sched_bp))
        } else {
            (offsets.sched_sp, offsets.sched_sp + 8, offsets.sched_bp)
        };
        Some(Self {
            id: word(offsets.id)?,
            standing: Standing { status: status & !SCAN, sp: word(sp)?, pc: word(pc)?, bp: word(bp)? },
            stack_end: word(8)?,
            thread: word(offsets.thread)?,
            parent: offsets.parent.and_then(word).unwrap_or(0),
            created_at: word(offsets.created_at)?,
            entry: word(offsets.entry)?,
            waiting: word(offsets.waiting)?,
            wait_reason: word(offsets.id + WAIT_REASON)?.to_le_bytes()[0],
        })
    }
}

/// Reads the goroutines of one process, pass by pass.
pub struct GoroutineReader {
    runtime: Runtime,
    /// What the program's addresses are above those in its file.
    bias: u64,
    /// Of all goroutines that ever were: the list only grows.
    addresses: Vec<u64>,
    /// How many of `addresses` were in the list; they are sorted since.
    known: usize,
    before: HashMap<u64, Before>,
    connections: Connections,
    next_again: usize,
}

impl GoroutineReader {
    /// Of a process that runs the program of `runtime`, `bias` above the addresses in its file.
    pub fn new(runtime: Runtime, bias: u64) -> Self {
        Self {
            runtime,
            bias,
            addresses: Vec::new(),
            known: 0,
            before: HashMap::new(),
            connections: Connections::default(),
            next_again: 0,
        }
    }

    /// Forgets where goroutines stood: the next pass hands out every stack.
    pub fn forget_stacks(&mut self) {
        self.before.clear();
    }

    /// Looks at every goroutine once. `None` when the list cannot be read: the process has ended, or is no such program.
    pub fn pass(&mut self, memory: &mut dyn StretchReader, each: &mut dyn FnMut(&Goroutine<'_>)) -> Option<PassCounts> {
        let left_out = self.read_list(memory)?;
        let mut pass = PassCounts { left_out: left_out as u64, ..PassCounts::default() };
        let words = self.read_words(memory, &self.addresses);
        pass.unreadable = (self.addresses.len() - words.len()) as u64;
        let live: Vec<(u64, Words, GoroutineState)> = words
            .into_iter()
            .filter_map(|(address, words)| Some((address, words, state_of(&words)?)))
            .filter(|(_, words, _)| words.id != 0)
            .collect();
        let wanted = self.wanted_stacks(&live);
        let starts: Vec<Start> = wanted.iter().map(|&number| start_of(&live[number].1)).collect();
        let stacks = stack::read(memory, &starts);
        // At once: what moves meanwhile is not whole.
        let looked_at: Vec<u64> = sorted(wanted.iter().map(|&number| live[number].0).collect());
        let again: HashMap<u64, Words> = self.read_words(memory, &looked_at).into_iter().collect();
        let waited = self.read_objects(memory, wanted.iter().map(|&number| &live[number]));
        let descriptors = self.read_descriptors(memory, wanted.iter().map(|&number| &live[number]));
        let threads = self.read_threads(memory, &live);
        let mut stack_of: Vec<Option<usize>> = vec![None; live.len()];
        wanted.iter().enumerate().for_each(|(at, &number)| stack_of[number] = Some(at));
        let mut before = HashMap::with_capacity(live.len());
        for (number, (address, words, state)) in live.iter().enumerate() {
            let has_stood = again.get(address).is_some_and(|now| now.id == words.id && now.standing == words.standing);
            let known = self.before.get(address).filter(|it| it.id == words.id && it.standing == words.standing);
            let stack = match (state, stack_of[number]) {
                (GoroutineState::Running, _) => None,
                (_, Some(at)) if has_stood => Some(stacks[at].as_slice()),
                // It was there, whatever came of its stack since.
                _ if known.is_some() => None,
                (GoroutineState::InCall, _) => Some(&[][..]),
                _ => {
                    pass.torn += 1;
                    self.before.remove(address).map(|it| before.insert(*address, it));
                    continue;
                }
            };
            pass.seen += 1;
            let (object, descriptor) = match known {
                Some(before) if stack_of[number].is_none() => (before.object, before.descriptor),
                _ => (waited.of(*address), descriptors.get(address).copied()),
            };
            each(&Goroutine {
                id: words.id,
                parent: words.parent,
                created_at: words.created_at,
                entry: words.entry,
                state: *state,
                thread: threads.get(&words.thread).copied().unwrap_or(0),
                object,
                descriptor,
                stack,
            });
            before.insert(*address, Before { id: words.id, standing: words.standing, object, descriptor });
        }
        self.before = before;
        Some(pass)
    }

    /// Takes in what is new in the list. Returns how many are left out; `None` when it cannot be read.
    fn read_list(&mut self, memory: &mut dyn StretchReader) -> Option<usize> {
        let mut slice = [0; 16];
        let address = self.runtime.allgs.wrapping_add(self.bias);
        let whole = memory.read(&[MemoryStretch { address, length: slice.len() }], &mut slice) == slice.len();
        let (first, count) = (word_at(&slice, 0)?, usize::try_from(word_at(&slice, 8)?).ok()?);
        let taken = count.min(MOST_GOROUTINES);
        if !whole || taken < self.known {
            return None;
        }
        let mut bytes = vec![0; (taken - self.known) * 8];
        let from = first.wrapping_add(self.known as u64 * 8);
        let read = memory.read(&[MemoryStretch { address: from, length: bytes.len() }], &mut bytes);
        self.addresses.extend(bytes[..read].chunks_exact(8).filter_map(|word| word_at(word, 0)));
        self.known += read / 8;
        self.addresses.sort_unstable();
        self.addresses.dedup();
        Some(count - taken)
    }

    /// The words of the goroutines at the sorted `addresses` that can be read, by address.
    fn read_words(&self, memory: &mut dyn StretchReader, addresses: &[u64]) -> Vec<(u64, Words)> {
        let (stretches, firsts) = coalesced(addresses, G_BYTES);
        let mut found = Vec::with_capacity(addresses.len());
        read_each(memory, &stretches, &mut |number, bytes| {
            let start = stretches[number].address;
            for &address in &addresses[firsts[number]..firsts[number + 1]] {
                let at = (address - start) as usize;
                let words = bytes.get(at..at + G_BYTES).and_then(|g| Words::of(g, self.runtime.offsets));
                found.extend(words.map(|words| (address, words)));
            }
        });
        found
    }

    /// Whose stacks are read: of all that moved, and of some that stand as before.
    fn wanted_stacks(&mut self, live: &[(u64, Words, GoroutineState)]) -> Vec<usize> {
        let standing = live.iter().enumerate().filter(|(_, (.., state))| *state != GoroutineState::Running);
        let is_same = |(_, (address, words, _)): &(usize, &(u64, Words, GoroutineState))| {
            self.before.get(address).is_some_and(|it| it.id == words.id && it.standing == words.standing)
        };
        let (same, moved): (Vec<_>, Vec<_>) = standing.partition(is_same);
        let from = if same.is_empty() { 0 } else { self.next_again % same.len() };
        let again = same.iter().cycle().skip(from).take(same.len().min(MOST_STACKS_AGAIN));
        let wanted = moved.iter().chain(again).map(|(number, _)| *number).collect();
        self.next_again = from + MOST_STACKS_AGAIN;
        wanted
    }

    /// What those of `looked_at` wait for that wait.
    fn read_objects<'l>(
        &self,
        memory: &mut dyn StretchReader,
        looked_at: impl Iterator<Item = &'l (u64, Words, GoroutineState)>,
    ) -> Waited {
        let waiting: Vec<_> = looked_at.filter(|(.., state)| *state == GoroutineState::Waiting).collect();
        let is_at_channel = |words: &Words| words.waiting != 0;
        let may_be_at_lock = waiting.iter().any(|(_, words, _)| !is_at_channel(words));
        let channels = waiting
            .iter()
            .filter(|(_, words, _)| is_at_channel(words))
            .map(|(address, words, _)| (*address, words.waiting));
        let semaphores = self.runtime.semaphores.filter(|_| may_be_at_lock);
        let semaphores = semaphores.map(|address| address.wrapping_add(self.bias));
        objects::read(memory, &channels.collect::<Vec<_>>(), semaphores, self.runtime.offsets)
    }

    /// The descriptors of those of `looked_at` that wait for the network.
    fn read_descriptors<'l>(
        &mut self,
        memory: &mut dyn StretchReader,
        looked_at: impl Iterator<Item = &'l (u64, Words, GoroutineState)>,
    ) -> HashMap<u64, u32> {
        let for_network = |(_, words, state): &&(u64, Words, GoroutineState)| {
            *state == GoroutineState::Waiting && words.waiting == 0 && words.wait_reason == NETWORK
        };
        let wait = |(address, words, _): &(u64, Words, GoroutineState)| NetworkWait {
            goroutine: *address,
            sp: words.standing.sp,
            end: words.stack_end,
        };
        let waits: Vec<NetworkWait> = looked_at.filter(for_network).map(wait).collect();
        self.connections.read(memory, &waits)
    }

    /// The kernel's id of each thread that has a goroutine, by the address of its `runtime.m`.
    fn read_threads(&self, memory: &mut dyn StretchReader, live: &[(u64, Words, GoroutineState)]) -> HashMap<u64, u32> {
        let on_thread =
            live.iter().filter(|(.., state)| matches!(state, GoroutineState::Running | GoroutineState::InCall));
        let mut machines: Vec<u64> = on_thread.map(|(_, words, _)| words.thread).filter(|&m| m != 0).collect();
        machines.sort_unstable();
        machines.dedup();
        let place =
            |&m: &u64| MemoryStretch { address: m.wrapping_add(self.runtime.offsets.thread_id as u64), length: 8 };
        let stretches: Vec<MemoryStretch> = machines.iter().map(place).collect();
        let mut found = HashMap::new();
        read_each(memory, &stretches, &mut |number, bytes| {
            let id = word_at(bytes, 0).and_then(|id| u32::try_from(id).ok());
            found.extend(id.map(|id| (machines[number], id)));
        });
        found
    }
}

/// What a goroutine does. The collector's call themselves waiting while they mark, so that others may look at their stacks
/// (`casGToWaitingForGC`, src/runtime/proc.go); but none that waits is on a thread.
fn state_of(words: &Words) -> Option<GoroutineState> {
    let state = GoroutineState::of(words.standing.status)?;
    let is_on_thread = state == GoroutineState::Waiting && words.thread != 0;
    Some(if is_on_thread { GoroutineState::Running } else { state })
}

fn sorted(mut addresses: Vec<u64>) -> Vec<u64> {
    addresses.sort_unstable();
    addresses
}

fn start_of(words: &Words) -> Start {
    let Standing { sp, pc, bp, .. } = words.standing;
    Start { pc, sp, bp, end: words.stack_end }
}
