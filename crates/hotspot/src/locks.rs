//! The threads of a JVM, and what it says of the locks that they wait for.

use crate::error::Result;
use crate::layout::{Description, EXPORTS, Layout};
use crate::lock_layout::LockLayout;
use crate::memory::{RemoteMemory, number, number_at, records, word_at, words_at};
use crate::names::class_names;

/// Threads that are read at most.
const MOST_THREADS: u32 = 1 << 15;

/// A thread of Java code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JavaThread {
    /// Of its JavaThread.
    pub address: u64,
    /// As gettid(2) gives it, in the process's own pid namespace.
    pub tid: u32,
    /// Its stack: from its lowest address to behind the highest.
    pub stack: (u64, u64),
    /// As Java numbers it; 0 where that is not needed.
    pub number: u64,
}

/// Offsets of the list of threads, and of what is read of each.
#[derive(Clone, Copy, Debug)]
struct ThreadLayout {
    /// Address of the pointer to the list.
    list: u64,
    list_threads: u64,
    list_length: u64,
    system_thread: u64,
    system_thread_id: u64,
    /// Address of the pointer to the heap, and offset in it of the number of collections.
    collections: Option<(u64, u64)>,
}

/// Where a JVM keeps what its threads wait for; see the module.
#[derive(Clone, Debug)]
pub struct LockReader {
    code: Layout,
    locks: LockLayout,
    threads: ThreadLayout,
}

impl LockReader {
    /// Of the JVM in `memory`. `exports`: the addresses of [`EXPORTS`], in their order.
    ///
    /// # Errors
    ///
    /// The JVM does not describe what leads to its locks, or has not begun.
    pub fn open(memory: &mut impl RemoteMemory, exports: &[u64; EXPORTS.len()]) -> Result<Self> {
        let is = Description::read(memory, exports)?;
        let code = Layout::of(&is)?;
        let threads = ThreadLayout {
            list: is.field("ThreadsSMRSupport::_java_thread_list")?.place,
            list_threads: is.offset("ThreadsList::_threads")?,
            list_length: is.offset("ThreadsList::_length")?,
            system_thread: is.offset("JavaThread::_osthread").or_else(|_| is.offset("Thread::_osthread"))?,
            system_thread_id: is.offset("OSThread::_thread_id")?,
            collections: is
                .field("Universe::_collectedHeap")
                .and_then(|heap| Ok((heap.place, is.offset("CollectedHeap::_total_collections")?)))
                .ok(),
        };
        Ok(Self { locks: LockLayout::read(memory, &is, &code)?, code, threads })
    }

    /// Where what a thread waits for is told.
    pub fn layout(&self) -> LockLayout {
        self.locks
    }

    /// The threads of Java code as they are now; `None` where their list changed while it was read.
    pub fn threads(&self, memory: &mut impl RemoteMemory) -> Option<Vec<JavaThread>> {
        let list = word_at(memory, self.threads.list);
        let length = u64::from(number_at(memory, list.wrapping_add(self.threads.list_length)).min(MOST_THREADS));
        let first = word_at(memory, list.wrapping_add(self.threads.list_threads));
        let places: Vec<u64> = (0..length).map(|index| first.wrapping_add(index * 8)).collect();
        let addresses = words_at(memory, &places, 0);
        let system_threads = words_at(memory, &addresses, self.threads.system_thread);
        let places: Vec<u64> =
            system_threads.iter().map(|thread| thread.wrapping_add(self.threads.system_thread_id)).collect();
        let mut bytes = Vec::new();
        let tids: Vec<u32> = records(memory, &places, 4, &mut bytes).map(|bytes| number(bytes, 0)).collect();
        let ends = words_at(memory, &addresses, u64::from(self.locks.stack_base));
        let sizes = words_at(memory, &addresses, u64::from(self.locks.stack_size));
        let numbers = self.numbers(memory, &addresses);
        if list == 0 || word_at(memory, self.threads.list) != list {
            return None;
        }
        let thread = |index: usize| JavaThread {
            address: addresses[index],
            tid: tids[index],
            stack: (ends[index].saturating_sub(sizes[index]), ends[index]),
            number: numbers.get(index).copied().unwrap_or(0),
        };
        let is_whole = |it: &JavaThread| it.address != 0 && it.tid != 0 && it.stack.0 < it.stack.1;
        Some((0..addresses.len()).map(thread).filter(is_whole).collect())
    }

    /// What Java numbers the threads as, where monitors name their owners by it.
    fn numbers(&self, memory: &mut impl RemoteMemory, addresses: &[u64]) -> Vec<u64> {
        let Some(offset) = self.locks.thread_number else { return Vec::new() };
        let handles = words_at(memory, addresses, u64::from(self.locks.thread_object));
        let objects = words_at(memory, &handles, 0);
        words_at(memory, &objects, u64::from(offset))
    }

    /// How often the garbage collector may have moved objects; `None` where that is not told.
    pub fn collections(&self, memory: &mut impl RemoteMemory) -> Option<u32> {
        let (place, offset) = self.threads.collections?;
        let heap = word_at(memory, place);
        Some(number_at(memory, heap.wrapping_add(offset)))
    }

    /// The name of the class that objects have as `narrow`, such as `java.util.ArrayList`; `None` where it cannot be read.
    pub fn class_name(&self, memory: &mut impl RemoteMemory, narrow: u32) -> Option<String> {
        let class = Some(self.locks.class(narrow)).filter(|_| narrow != 0)?;
        class_names(memory, &self.code, &[class]).pop().filter(|name| !name.is_empty())
    }
}
