//! Where everything lies in the shared file. Header and slots are arrays of `u64`, named by their index.

/// The environment variable that tells the library where to make its file, and in which state: `recording:FOLDER`,
/// `listening-off:FOLDER`.
pub const VARIABLE: &str = "DWELL_ITT";
/// The environment variable from which a program's static part takes the library's path.
pub const LIBRARY_VARIABLE: &str = "INTEL_LIBITTNOTIFY64";
/// The environment variable from which a run-time compiler takes the library's path.
pub const JIT_VARIABLE: &str = "INTEL_JIT_PROFILER64";
/// The end of the name of every shared file: `PID-NONCE.itt`, the process id as the process itself sees it.
pub const SUFFIX: &str = ".itt";

/// First word of a file that is ready to be read.
pub const MAGIC: u64 = u64::from_le_bytes(*b"dwellITT");
/// Changes with every change of this layout or of the records.
pub const VERSION: u32 = 1;

/// Words of the header.
#[allow(missing_docs, reason = "one line each")]
pub mod header {
    /// [`super::MAGIC`], written last.
    pub const MAGIC: usize = 0;
    /// Version in the low half, [`super::Clock`] in the high one.
    pub const VERSION: usize = 1;
    /// Process id in the low half, its parent's in the high one, as the process itself sees them.
    pub const PROCESS: usize = 2;
    /// Ticks when the file was made, and nanoseconds of `CLOCK_MONOTONIC` at the same time.
    pub const OPENED_TICKS: usize = 3;
    pub const OPENED_NS: usize = 4;
    /// [`super::State`] in the low half, which the collector writes; in the high half 1 while the program has paused
    /// the collection, 2 once it has detached. In a cache line of their own, since every event reads them.
    pub const SWITCH: usize = 8;
    /// Bytes of names that are ready to be read.
    pub const NAMES_HEAD: usize = 16;
    /// Names and pieces of code that found no room.
    pub const NAMES_LOST: usize = 17;
    /// Slots that were ever used.
    pub const SLOTS: usize = 18;
    /// Events of threads for which no ring could be made.
    pub const RINGLESS_LOST: usize = 19;
    /// Words of the header that are used.
    pub const WORDS: usize = 20;
}

/// Words of a slot.
#[allow(missing_docs, reason = "one line each")]
pub mod slot {
    /// Odd while the slot is being given to another thread, and one higher afterwards.
    pub const SEQUENCE: usize = 0;
    /// Bytes ever written, to be taken modulo the capacity.
    pub const HEAD: usize = 1;
    /// Events ever that found the ring full and no larger one available.
    pub const LOST: usize = 2;
    /// Events ever that a signal handler made inside of another call.
    pub const NESTED: usize = 3;
    /// Thread id in the low half, as the thread itself sees it; 1 in the high half once the thread has left the ring.
    pub const THREAD: usize = 4;
    /// Where the ring lies in the file, in bytes.
    pub const OFFSET: usize = 5;
    /// Its size in bytes, a power of two.
    pub const CAPACITY: usize = 6;
    /// Bytes ever read, written by the collector, in a cache line of its own, and its complement: the program
    /// believes them together.
    pub const TAIL: usize = 8;
    pub const TAIL_CHECK: usize = 9;
    pub const WORDS: usize = 16;
}

/// Where the slots lie, and how many there are.
pub const SLOTS_AT: u64 = 4096;
/// See [`SLOTS_AT`].
pub const SLOTS: usize = 8192;
/// Size of a slot.
pub const SLOT_BYTES: u64 = slot::WORDS as u64 * 8;
/// Where the names lie, and how many bytes of them there can be.
pub const NAMES_AT: u64 = 2 << 20;
/// See [`NAMES_AT`].
pub const NAMES_BYTES: u64 = 64 << 20;
/// Where the first ring lies.
pub const RINGS_AT: u64 = NAMES_AT + NAMES_BYTES;
/// All rings of a process together.
pub const RINGS_BYTES: u64 = 256 << 20;
/// Capacity of a thread's first ring.
pub const SMALLEST_RING: u64 = 64 << 10;
/// Capacity of the largest ring.
pub const LARGEST_RING: u64 = 16 << 20;

/// What the collector wants of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Nobody listens: names are written, events are not.
    #[default]
    Off = 0,
    /// Everything is written.
    Recording = 1,
    /// The collection is paused: as nobody listens.
    Paused = 2,
}

impl State {
    /// The value of [`VARIABLE`] for a program that begins in this state and makes its file in `folder`.
    #[cfg(feature = "std")]
    pub fn variable(self, folder: &str) -> String {
        let word = if self == State::Recording { "recording" } else { "listening-off" };
        format!("{word}:{folder}")
    }

    /// The state and folder in the value of [`VARIABLE`].
    pub fn parse_variable(value: &[u8]) -> Option<(State, &[u8])> {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let state = match value.get(..colon)? {
            b"recording" => State::Recording,
            b"listening-off" => State::Off,
            _ => return None,
        };
        value.get(colon.saturating_add(1)..).filter(|folder| !folder.is_empty()).map(|folder| (state, folder))
    }
}

/// What the ticks of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Clock {
    /// The time stamp counter.
    Tsc = 1,
    /// Nanoseconds of `CLOCK_MONOTONIC`, on machines whose counter cannot be used.
    Nanoseconds = 2,
}

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What ticks are.
    pub clock: Clock,
    /// The process, as it sees itself: it may have said anything, and another number in its own pid namespace.
    pub pid: u32,
    /// Its parent.
    pub parent: u32,
    /// When the file was made.
    pub opened_ticks: u64,
    /// When the file was made, `CLOCK_MONOTONIC`.
    pub opened_ns: u64,
    /// Whether the program has paused the collection, or detached from it.
    pub program_paused: bool,
    /// Bytes of names.
    pub names_head: u64,
    /// Names that found no room.
    pub names_lost: u64,
    /// Slots that were ever used.
    pub slots: usize,
    /// Events of threads without a ring.
    pub ringless_lost: u64,
}

impl Header {
    /// Reads the header's bytes; `None` when it is not (yet) one of this version.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; header::WORDS];
        read_words(bytes, &mut words)?;
        let low = |word: u64| word as u32;
        let high = |word: u64| (word >> 32) as u32;
        let version = words[header::VERSION];
        if words[header::MAGIC] != MAGIC || low(version) != VERSION {
            return None;
        }
        let clock = match high(version) {
            1 => Clock::Tsc,
            2 => Clock::Nanoseconds,
            _ => return None,
        };
        Some(Self {
            clock,
            pid: low(words[header::PROCESS]),
            parent: high(words[header::PROCESS]),
            opened_ticks: words[header::OPENED_TICKS],
            opened_ns: words[header::OPENED_NS],
            program_paused: high(words[header::SWITCH]) != 0,
            names_head: words[header::NAMES_HEAD].min(NAMES_BYTES),
            names_lost: words[header::NAMES_LOST],
            slots: words[header::SLOTS].min(SLOTS as u64) as usize,
            ringless_lost: words[header::RINGLESS_LOST],
        })
    }
}

/// Fills `words` from the beginning of `bytes`; `None` when there are not enough.
pub(crate) fn read_words(bytes: &[u8], words: &mut [u64]) -> Option<()> {
    for (index, word) in words.iter_mut().enumerate() {
        *word = word_at(bytes, index)?;
    }
    Some(())
}

/// The word with number `index` of `bytes`.
pub(crate) fn word_at(bytes: &[u8], index: usize) -> Option<u64> {
    let at = index.checked_mul(8)?;
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}
