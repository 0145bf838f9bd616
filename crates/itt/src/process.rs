//! The process's shared file: made once, mapped for ever, made anew in a forked child.

use core::ffi::CStr;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::Release};

use dwell_itt_wire::layout::{
    self, NAMES_AT, NAMES_BYTES, RINGS_AT, RINGS_BYTES, SLOT_BYTES, SLOTS, SLOTS_AT, VERSION, header as words, slot,
};
use dwell_itt_wire::{Named, Slot, State, VARIABLE, names};

use crate::header::{Header, UNOPENED, WAS_OPEN, WIPED, Wiped, header};
use crate::lock::{self, Entered};
use crate::{clock, thread};

/// Most of the names region that code may fill: what is named must find room.
const CODE_BYTES: u64 = NAMES_BYTES / 4 * 3;
/// Names get their pages in steps of this.
const STEP: u64 = 256 << 10;
const PAGE: u64 = 4096;
const FOLDER_BYTES: usize = 512;

/// The file as it is mapped, in a bare clone too; and of a forked child that has not made its own, its parent's.
static MAPPED: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static FOLDER: Folder = Folder([const { AtomicU32::new(0) }; FOLDER_BYTES]);
/// State in which the next file begins, in the words of [`words::SWITCH`].
static FIRST_SWITCH: AtomicU64 = AtomicU64::new(0);
/// Names of the parent that a child takes over.
static INHERITED: AtomicU64 = AtomicU64::new(0);
static NAMES_MADE: AtomicU64 = AtomicU64::new(0);
static SLOTS_MADE: AtomicU64 = AtomicU64::new(0);
static RINGS_MADE: AtomicU64 = AtomicU64::new(0);
static FILES: AtomicU64 = AtomicU64::new(0);
static THREAD_KEY: AtomicU32 = AtomicU32::new(u32::MAX);
static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// The folder's path: bytes, a zero behind them.
struct Folder([AtomicU32; FOLDER_BYTES]);

impl Folder {
    fn set(&self, path: &[u8]) {
        let bytes = path.iter().copied().chain(core::iter::repeat(0));
        self.0.iter().zip(bytes).for_each(|(to, byte)| to.store(u32::from(byte), Relaxed));
    }

    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.iter().map(|byte| byte.load(Relaxed) as u8).take_while(|byte| *byte != 0)
    }
}

/// A ring that a thread was given.
pub struct Ring {
    pub base: *mut u64,
    pub capacity: u64,
    /// Bytes that were ever written into it, and drained.
    pub head: u64,
    pub slot: *const Slot,
}

/// The key whose destructor gives a thread's ring back.
pub fn thread_key() -> Option<libc::pthread_key_t> {
    let key = THREAD_KEY.load(Relaxed);
    (key != u32::MAX).then_some(key)
}

/// The program pauses (1), resumes (0) or leaves (2) the collection.
pub fn set_paused(entered: &Entered, paused: u32) {
    if !is_open(entered) {
        return;
    }
    if let Some(header) = header() {
        let word = header.word(words::SWITCH).as_ptr().cast::<AtomicU32>();
        // SAFETY: the upper half of a word of the shared file. The lower half is the collector's.
        unsafe { (*word.add(1)).store(paused, Relaxed) };
    }
}

/// Makes the file at the first call of the process.
pub fn set_up(entered: &Entered) {
    if IS_SET_UP.swap(true, Relaxed) {
        return;
    }
    // SAFETY: the functions given live for ever; the page is this library's own.
    unsafe {
        if libc::getauxval(libc::AT_SECURE) != 0 {
            return;
        }
        let value = libc::getenv(variable().as_ptr());
        let value = crate::abi::text(value, FOLDER_BYTES);
        let Some((state, folder)) = State::parse_variable(value).filter(|_| value.len() < FOLDER_BYTES) else { return };
        FOLDER.set(folder);
        FIRST_SWITCH.store(state as u64, Relaxed);
        let mut key = 0;
        if libc::pthread_key_create(&raw mut key, Some(thread::ended)) == 0 {
            THREAD_KEY.store(key, Relaxed);
        }
        let page = (&raw const WIPED).cast_mut().cast();
        libc::madvise(page, size_of::<Wiped>(), libc::MADV_WIPEONFORK);
        libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(forked));
    }
    open(entered);
}

/// The name of [`VARIABLE`] for C.
fn variable() -> &'static CStr {
    const NAME: &CStr = c"DWELL_ITT";
    const { assert!(NAME.to_bytes().len() == VARIABLE.len()) }
    NAME
}

/// Whether there is a file to write to; a forked child makes its own here.
pub fn is_open(entered: &Entered) -> bool {
    if WIPED.header.load(Relaxed).cast_const() == &raw const UNOPENED {
        open(entered);
    }
    header().is_some()
}

fn open(_: &Entered) {
    let parent = MAPPED.load(Relaxed).cast_const();
    let opened = make_file();
    // Nothing says yet that anything is recorded: nobody but this thread, which holds the lock, uses these.
    NAMES_MADE.store(0, Relaxed);
    SLOTS_MADE.store(0, Relaxed);
    RINGS_MADE.store(0, Relaxed);
    let Some(base) = opened else {
        WIPED.header.store(null_mut(), Release);
        return;
    };
    MAPPED.store(base, Relaxed);
    // SAFETY: the header's page was made.
    let header: &Header = unsafe { &*base.cast() };
    let set = |index, word| header.word(index).store(word, Relaxed);
    // SAFETY: no arguments.
    let (pid, parent_pid) = unsafe { (libc::getpid() as u32, libc::getppid() as u32) };
    let clock = clock::choose();
    set(words::VERSION, u64::from(VERSION) | (clock as u64) << 32);
    set(words::PROCESS, u64::from(pid) | u64::from(parent_pid) << 32);
    set(words::OPENED_TICKS, clock::ticks());
    set(words::OPENED_NS, clock::nanoseconds());
    set(words::SWITCH, FIRST_SWITCH.load(Relaxed));
    inherit(base, header, parent);
    if !parent.is_null() {
        // SAFETY: the parent's file, of which this process, which has one thread, has taken what it needs.
        unsafe { libc::munmap(parent.cast_mut().cast(), RINGS_AT.wrapping_add(RINGS_BYTES) as usize) };
    }
    header.word(words::MAGIC).store(layout::MAGIC, Release);
    WAS_OPEN.store(true, Relaxed);
    WIPED.header.store(base.cast(), Release);
}

/// Copies the parent's definitions, whose ids the child's structures have.
fn inherit(base: *mut u8, header: &Header, parent: *const u8) {
    let bytes = INHERITED.load(Relaxed);
    if parent.is_null() || bytes == 0 {
        return;
    }
    // SAFETY: the parent only ever appends, and does not unmap.
    let parents = unsafe { core::slice::from_raw_parts(parent.add(NAMES_AT as usize), bytes as usize) };
    for named in names(parents).filter(Named::is_inherited) {
        append(base, header, &named, NAMES_BYTES);
    }
}

/// Makes the file and maps it, its first page ready; `None` when that cannot be.
fn make_file() -> Option<*mut u8> {
    let length = RINGS_AT.checked_add(RINGS_BYTES)?;
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the answer. Beyond the limit the kernel would send a signal.
    if unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } != 0 || limit.rlim_cur < length {
        return None;
    }
    let mut path = [0; FOLDER_BYTES + 64];
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let file = (0..4).find_map(|_| {
        write_path(&mut path);
        // SAFETY: a path that ends with a zero.
        let file = unsafe { libc::open(path.as_ptr().cast(), flags, 0o600) };
        (file >= 0).then_some(file)
    })?;
    // Without access at first: a program that locks all its memory would otherwise get the whole of it.
    let map_flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: a new mapping of a file that is this function's.
    let map = unsafe {
        let is_long = libc::ftruncate(file, length as i64) == 0;
        let map = if is_long {
            libc::mmap(null_mut(), length as usize, libc::PROT_NONE, map_flags, file, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(file);
        map
    };
    if map != libc::MAP_FAILED && make_pages(map.cast(), 0, PAGE) {
        // SAFETY: the mapping just made. A core dump has no use for it.
        unsafe { libc::madvise(map, length as usize, libc::MADV_DONTDUMP) };
        return Some(map.cast());
    }
    // SAFETY: the same path; nobody has seen the file.
    unsafe { libc::unlink(path.as_ptr().cast()) };
    None
}

/// `FOLDER/PID-NONCE.itt`: a process id is used again by exec, and in another namespace.
fn write_path(path: &mut [u8; FOLDER_BYTES + 64]) {
    let mut nonce = clock::nanoseconds().rotate_left(20) ^ FILES.fetch_add(1, Relaxed);
    // SAFETY: a place for 8 bytes. If it fails, the time has to do.
    unsafe { libc::getrandom((&raw mut nonce).cast(), 8, libc::GRND_NONBLOCK) };
    // SAFETY: no arguments.
    let pid = unsafe { libc::getpid() } as u64;
    let digits = |number: u64, radix: u64, count: u32| {
        (0..count).rev().map(move |place| {
            let digit = number.checked_div(radix.saturating_pow(place)).unwrap_or_default().checked_rem(radix);
            b"0123456789abcdef".get(digit.unwrap_or_default() as usize).copied().unwrap_or(b'0')
        })
    };
    let pid_digits = pid.checked_ilog10().unwrap_or_default().wrapping_add(1);
    let name = digits(pid, 10, pid_digits).chain(*b"-").chain(digits(nonce, 16, 16)).chain(layout::SUFFIX.bytes());
    let all = FOLDER.bytes().chain(*b"/").chain(name).chain([0]);
    path.iter_mut().zip(all).for_each(|(to, byte)| *to = byte);
}

/// Gives `length` bytes of the file pages, and access to them. False when the file system has no room.
fn make_pages(base: *mut u8, at: u64, length: u64) -> bool {
    let place = base.wrapping_add(at as usize).cast();
    // SAFETY: within the mapping, on page boundaries.
    unsafe {
        libc::mprotect(place, length as usize, libc::PROT_READ | libc::PROT_WRITE) == 0
            && libc::madvise(place, length as usize, libc::MADV_POPULATE_WRITE) == 0
    }
}

/// Names something; counted when there is no room.
pub fn name(entered: &Entered, named: &Named<'_>) {
    put(entered, named, NAMES_BYTES);
}

/// The same for what can be large.
pub fn code(entered: &Entered, named: &Named<'_>) {
    put(entered, named, CODE_BYTES);
}

fn put(entered: &Entered, named: &Named<'_>, most: u64) {
    if is_open(entered)
        && let Some(header) = header()
    {
        append(MAPPED.load(Relaxed), header, named, most);
    }
}

fn append(base: *mut u8, header: &Header, named: &Named<'_>, most: u64) {
    let head = header.word(words::NAMES_HEAD).load(Relaxed);
    let end = head.wrapping_add(named.bytes() as u64);
    if end > most || !make_names(base, end) {
        header.word(words::NAMES_LOST).fetch_add(1, Relaxed);
        return;
    }
    let mut at = base.wrapping_add((NAMES_AT.wrapping_add(head)) as usize);
    named.encode(|piece| {
        // SAFETY: there is room for all pieces together.
        unsafe { at.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
        at = at.wrapping_add(piece.len());
    });
    header.word(words::NAMES_HEAD).store(end, Release);
}

/// Whether there are pages for the names up to `end`.
fn make_names(base: *mut u8, end: u64) -> bool {
    let made = NAMES_MADE.load(Relaxed);
    let wanted = end.next_multiple_of(STEP);
    if wanted > made {
        if !make_pages(base, NAMES_AT.wrapping_add(made), wanted.wrapping_sub(made)) {
            return false;
        }
        NAMES_MADE.store(wanted, Relaxed);
    }
    true
}

/// Gives the thread `tid` a ring of `capacity` bytes: one that was left and drained, else a new one.
pub fn take_ring(_: &Entered, capacity: u64, tid: u32) -> Option<Ring> {
    let (base, header) = (MAPPED.load(Relaxed), header()?);
    let used = header.word(words::SLOTS).load(Relaxed).min(SLOTS as u64);
    let slot_at = |index: u64| -> &Slot {
        let at = SLOTS_AT.wrapping_add(index.wrapping_mul(SLOT_BYTES));
        // SAFETY: pages were made for all used slots, and are never taken away.
        unsafe { &*base.wrapping_add(at as usize).cast() }
    };
    let (slot, count) = match (0..used).map(slot_at).find(|slot| slot.is_free(capacity)) {
        Some(slot) => (slot, used),
        None => {
            let offset = new_ring(base, used, capacity)?;
            let slot = slot_at(used);
            slot.word(slot::OFFSET).store(offset, Relaxed);
            slot.word(slot::CAPACITY).store(capacity, Relaxed);
            (slot, used.wrapping_add(1))
        }
    };
    let offset = slot.word(slot::OFFSET).load(Relaxed);
    if offset < RINGS_AT || offset.saturating_add(capacity) > RINGS_AT.wrapping_add(RINGS_BYTES) {
        return None;
    }
    let head = slot.give(tid);
    header.word(words::SLOTS).store(count, Release);
    let ring = base.wrapping_add(offset as usize).cast();
    Some(Ring { base: ring, capacity, head, slot })
}

/// Makes a ring, and room for slot `index`; where the ring lies, or `None` when there is no room.
fn new_ring(base: *mut u8, index: u64, capacity: u64) -> Option<u64> {
    let slots_end = index.checked_add(1).filter(|count| *count <= SLOTS as u64)?.checked_mul(SLOT_BYTES)?;
    let slots_made = SLOTS_MADE.load(Relaxed);
    if slots_end > slots_made {
        if !make_pages(base, SLOTS_AT.checked_add(slots_made)?, PAGE) {
            return None;
        }
        SLOTS_MADE.store(slots_made.wrapping_add(PAGE), Relaxed);
    }
    let rings_made = RINGS_MADE.load(Relaxed);
    let end = rings_made.checked_add(capacity).filter(|end| *end <= RINGS_BYTES)?;
    let offset = RINGS_AT.checked_add(rings_made)?;
    if !make_pages(base, offset, capacity) {
        return None;
    }
    RINGS_MADE.store(end, Relaxed);
    Some(offset)
}

/// Nobody holds the lock while the process is copied, and what the child takes over is known.
unsafe extern "C" fn before_fork() {
    if let Some(entered) = Entered::new() {
        entered.stay_inside_and_locked();
        thread::set_forking(true);
    }
    if let Some(header) = header().filter(|header| !core::ptr::eq(*header, &raw const UNOPENED)) {
        INHERITED.store(header.word(words::NAMES_HEAD).load(Relaxed), Relaxed);
        FIRST_SWITCH.store(header.word(words::SWITCH).load(Relaxed), Relaxed);
    }
}

unsafe extern "C" fn after_fork() {
    if thread::is_forking() {
        thread::set_forking(false);
        drop(Entered::held());
    }
}

/// In the child: the parent's file is the parent's. The first call makes another one.
unsafe extern "C" fn forked() {
    lock::renew();
    thread::renew();
    if WAS_OPEN.load(Relaxed) {
        UNOPENED.word(words::SWITCH).store(State::Recording as u64, Relaxed);
        WIPED.header.store((&raw const UNOPENED).cast_mut(), Release);
    }
}
