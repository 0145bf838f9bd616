//! What each wait is on: by its system call, the object that its arguments name, its kernel frames and the library frames
//! of its user stack.

use dwell_model::{CallKind, MMAP_LOCK, ObjectType, StackId, Syscall};
use dwell_store::raw::wire::{
    FUTEX_COMMANDS, FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_PRIVATE, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI,
    object_kind,
};

use super::fiber_waits;
use super::identity::{ObjectIdentity, ObjectTarget};
use super::java_locks::{is_for_java_lock, of_the_jvm};
use super::kernel::{self, KernelWait};
use super::names;
use super::own_locks::own_lock;
use super::patterns::{PatternRefinement, RecognisedPattern, is_gil, recognise};
use super::pools;
use super::sources::ObjectSources;
use crate::code::mappings::Mappings;
use crate::hash::FastMap;
use crate::replay::numbers::WaitNumber;
use crate::replay::waits::{ALL_ONES, Sleep, WaitKey, WaitTarget};

/// The value of a glibc lock that others wait for.
const LOCKED_WITH_WAITERS: u8 = 2;

/// Classifies waits; a stack is recognised once.
pub struct Classifier<'a> {
    sources: &'a ObjectSources<'a>,
    patterns: FastMap<StackId, Option<RecognisedPattern>>,
}

impl<'a> Classifier<'a> {
    /// For waits that `sources` tell of.
    pub fn new(sources: &'a ObjectSources<'a>) -> Self {
        Self { sources, patterns: FastMap::default() }
    }

    /// The object of wait `number`.
    pub fn target(&mut self, number: WaitNumber, wait: &WaitKey) -> ObjectTarget {
        if let Some(announced) = wait.announced {
            return ObjectTarget {
                identity: ObjectIdentity::Announced(announced),
                address: 0,
                certain: true,
                has_owner: false,
            };
        }
        match wait.sleep {
            Sleep::Fiber => self.fiber(wait),
            Sleep::Stopped => self.stopped(wait),
            Sleep::Device => self.device(wait),
            Sleep::Uninterruptible => self.uninterruptible(wait),
            Sleep::Interruptible => self.interruptible(number, wait),
        }
    }

    /// What a runtime put a fiber aside for: memory where that is known, else the place.
    fn fiber(&self, wait: &WaitKey) -> ObjectTarget {
        let found = fiber_waits::recognise(self.sources.code.callers(self.stack(wait)));
        if wait.object != 0 && found.is_in_memory {
            let base = wait.object.saturating_sub(found.semaphore_at);
            let identity = ObjectIdentity::Memory(wait.image, base, found.kind);
            return ObjectTarget { identity, address: wait.object, certain: true, has_owner: false };
        }
        // One goroutine each has the connections to one address, and a server thousands of them: they are one object.
        let is_socket = wait.object != 0 && found.kind == ObjectType::Socket;
        let connection = is_socket.then(|| names::describe(self.sources.meta, wait.object, u64::MAX)).flatten();
        let in_place = || format!("{} in {}", found.title, self.sources.site(wait));
        ObjectTarget::named(found.kind, connection.map_or_else(in_place, |connection| connection.name))
    }

    fn stopped(&self, wait: &WaitKey) -> ObjectTarget {
        let record = self.sources.meta.object(wait.object, u64::MAX).filter(|record| record.kind == object_kind::STOP);
        let name = record.map_or_else(|| "Stopped by a signal or a debugger".into(), names::stop);
        ObjectTarget::named(ObjectType::Signal, name)
    }

    fn interruptible(&mut self, number: WaitNumber, wait: &WaitKey) -> ObjectTarget {
        let callers = || self.sources.code.callers(self.stack(wait));
        let is_java = wait.hint == WaitTarget::JavaLock;
        let lock = is_java.then(|| names::describe(self.sources.meta, wait.object, u64::MAX)).flatten();
        if let Some(lock) = lock.filter(|_| is_for_java_lock(callers())) {
            return ObjectTarget::described(wait.object, lock.kind);
        }
        if matches!(wait.kind(), CallKind::Poll | CallKind::Futex)
            && let Some((kind, name)) = own_lock(callers())
        {
            return ObjectTarget::named(kind, name);
        }
        if is_java {
            return of_the_jvm(self.sources.site(wait));
        }
        if let WaitTarget::AnyOf(count) = wait.hint {
            let name = format!("Any of {count} futexes in {}", self.sources.site(wait));
            return ObjectTarget::named(ObjectType::Futex, name);
        }
        if wait.kind() == CallKind::Futex && wait.object != 0 {
            return self.futex(number, wait);
        }
        if let Some(target) = self.by_call(wait) {
            return target;
        }
        self.described(wait).or_else(|| self.in_kernel(wait)).unwrap_or_else(|| self.unknown(wait))
    }

    /// A wait of which only the call is known. A path that could not be read was of some file.
    fn unknown(&self, wait: &WaitKey) -> ObjectTarget {
        if Syscall::has_path(wait.syscall) {
            return ObjectTarget::named(ObjectType::Stream, format!("File in {}", self.sources.site(wait)));
        }
        ObjectTarget::named(ObjectType::Unknown, Syscall::name_of(wait.syscall))
    }

    /// What the system call alone tells.
    fn by_call(&self, wait: &WaitKey) -> Option<ObjectTarget> {
        let at_site =
            |kind, what: &str| Some(ObjectTarget::named(kind, format!("{what} in {}", self.sources.site(wait))));
        match wait.kind() {
            CallKind::Sleep => at_site(ObjectType::Sleep, "Sleep"),
            CallKind::Poll if wait.hint == WaitTarget::Files => at_site(ObjectType::Event, "Poll"),
            CallKind::Poll if wait.object == 0 => at_site(ObjectType::Sleep, "Sleep"),
            CallKind::Signal => at_site(ObjectType::Signal, "Signal"),
            CallKind::Child => Some(self.child(wait)),
            CallKind::Spawn => Some(self.children(wait)),
            CallKind::FileSync => Some(self.device(wait)),
            CallKind::Semaphore => at_site(ObjectType::Semaphore, "System V semaphore"),
            CallKind::IoUring if wait.object == 0 => at_site(ObjectType::IoUring, "io_uring"),
            _ => None,
        }
    }

    fn uninterruptible(&mut self, wait: &WaitKey) -> ObjectTarget {
        match wait.kind() {
            CallKind::FileSync => return self.device(wait),
            CallKind::Spawn if self.sources.code.kernel(self.stack(wait)).next().is_none() => {
                return self.children(wait);
            }
            _ => {}
        }
        if let Some(target) = self.in_kernel(wait) {
            return target;
        }
        if wait.syscall < 0 {
            return self.page_fault(wait);
        }
        if let Some(target) = self.described(wait).filter(|_| Syscall::has_path(wait.syscall)) {
            return target;
        }
        let functions = self.sources.code.kernel(self.stack(wait));
        let place = kernel::place(functions).map_or_else(|| Syscall::name_of(wait.syscall), str::to_owned);
        ObjectTarget::named(ObjectType::KernelLock, format!("Kernel lock in {place}"))
    }

    fn in_kernel(&self, wait: &WaitKey) -> Option<ObjectTarget> {
        let functions: Vec<&str> = self.sources.code.kernel(self.stack(wait)).collect();
        Some(match kernel::explain(functions.into_iter())? {
            KernelWait::PageFault => self.page_fault(wait),
            KernelWait::BlockIo => self.device(wait),
            KernelWait::Lock(MMAP_LOCK) => ObjectTarget::named(ObjectType::KernelLock, MMAP_LOCK),
            KernelWait::Lock(function) => {
                ObjectTarget::named(ObjectType::KernelLock, format!("Kernel lock in {function}"))
            }
            KernelWait::Child => self.children(wait),
        })
    }

    /// A wait for a device: for the file's pages where the call names a file.
    fn device(&self, wait: &WaitKey) -> ObjectTarget {
        let fault = wait.syscall < 0 || {
            let mut functions = self.sources.code.kernel(self.stack(wait));
            functions.any(|function| function.contains("page_fault") || function == "handle_mm_fault")
        };
        if fault {
            return self.page_fault(wait);
        }
        match self.is_on_file(wait) {
            true => ObjectTarget::described(wait.object, ObjectType::BlockIo),
            false => ObjectTarget::named(ObjectType::BlockIo, "Block I/O"),
        }
    }

    fn is_on_file(&self, wait: &WaitKey) -> bool {
        let is_file = |kind| matches!(kind, object_kind::FILE | object_kind::PATH);
        wait.kind() != CallKind::Futex
            && self.sources.meta.object(wait.object, u64::MAX).is_some_and(|record| is_file(record.kind))
    }

    /// A page of a mapped file, or of the program's own memory, by why that takes time. In a system call the object is the call's.
    fn page_fault(&self, wait: &WaitKey) -> ObjectTarget {
        if wait.syscall < 0 && self.is_on_file(wait) {
            return ObjectTarget::described(wait.object, ObjectType::PageFault);
        }
        let memory = kernel::awaited_memory(self.sources.code.kernel(self.stack(wait)));
        ObjectTarget::named(ObjectType::PageFault, memory.unwrap_or("Page fault"))
    }

    fn described(&self, wait: &WaitKey) -> Option<ObjectTarget> {
        let known = wait.kind() != CallKind::Futex && wait.object != 0;
        let described = known.then(|| names::describe(self.sources.meta, wait.object, u64::MAX)).flatten()?;
        let record = self.sources.meta.object(wait.object, u64::MAX)?;
        let set = record.kind == object_kind::POLL_SET;
        if record.kind == object_kind::PATH && kernel::opens_fifo(self.sources.code.kernel(self.stack(wait))) {
            return Some(ObjectTarget::named(described.kind, format!("FIFO {}", names::given_path(record))));
        }
        if set && !described.anonymous {
            // The set of one call is made anew each time, and its members come and go.
            return Some(ObjectTarget::named(described.kind, described.name));
        }
        let locked = wait.kind() == CallKind::FileLock;
        Some(ObjectTarget::described(wait.object, if locked { ObjectType::FileLock } else { described.kind }))
    }

    fn child(&self, wait: &WaitKey) -> ObjectTarget {
        match wait.hint {
            WaitTarget::Process(process) => {
                let name = self.sources.thread_table.process_name(process);
                ObjectTarget::named(ObjectType::ChildProcess, format!("Child process {name}"))
            }
            _ => self.children(wait),
        }
    }

    fn children(&self, wait: &WaitKey) -> ObjectTarget {
        let image = self.sources.thread_table.images.get(wait.image as usize);
        let name = image.map_or("?", |image| self.sources.thread_table.process_name(image.process));
        ObjectTarget::named(ObjectType::ChildProcess, format!("Child processes of {name}"))
    }

    fn futex(&mut self, number: WaitNumber, wait: &WaitKey) -> ObjectTarget {
        let command = u32::from(wait.operation) & FUTEX_COMMANDS;
        let stack = self.stack(wait);
        let code = self.sources.code;
        let pattern = *self.patterns.entry(stack).or_insert_with(|| recognise(code.callers(stack)));
        let (kind, refine) = match (command, pattern) {
            (FUTEX_LOCK_PI | FUTEX_LOCK_PI2, _) => (ObjectType::Mutex, PatternRefinement::Same),
            (FUTEX_WAIT_REQUEUE_PI, _) => (ObjectType::ConditionVariable, PatternRefinement::Same),
            // Debian strips libgomp, whose locks expect -1 and whose barriers count rounds (config/linux/mutex.c, bar.c).
            (_, Some(pattern))
                if pattern.kind == ObjectType::OpenMpBarrier && wait.hint == WaitTarget::Value(ALL_ONES) =>
            {
                (ObjectType::Mutex, pattern.refine)
            }
            (_, Some(pattern)) if pattern.kind == ObjectType::Mutex && code.is_python_lock_alone(stack) => {
                (ObjectType::Futex, pattern.refine)
            }
            (_, Some(pattern)) => (pattern.kind, pattern.refine),
            (_, None) => (self.guess(wait), PatternRefinement::Same),
        };
        let inherits_priority = matches!(command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI);
        let locks_pi = matches!(command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2);
        let has_owner = locks_pi || pattern.map_or(kind == ObjectType::Mutex, |pattern| pattern.has_owner);
        let certain = inherits_priority || (kind != ObjectType::Futex && pattern.is_some());
        if matches!(kind, ObjectType::ConditionVariable | ObjectType::Semaphore | ObjectType::Futex)
            && let Some(function) = pools::taken_from(code.functions(stack))
        {
            return ObjectTarget::named(ObjectType::Semaphore, format!("Connection pool in {function}"));
        }
        if let (ObjectType::ThreadJoin, WaitTarget::Thread(thread)) = (kind, wait.hint) {
            return ObjectTarget {
                identity: ObjectIdentity::Thread(thread),
                address: wait.object,
                certain: true,
                has_owner: false,
            };
        }
        match (kind, refine) {
            (ObjectType::ThreadJoin, PatternRefinement::Place) => {
                return ObjectTarget {
                    identity: ObjectIdentity::Ender(number),
                    address: wait.object,
                    certain: true,
                    has_owner: false,
                };
            }
            (_, PatternRefinement::Place) => {
                return ObjectTarget::named(kind, format!("{} in {}", kind.title(), self.sources.site(wait)));
            }
            _ => {}
        }
        let shared = u32::from(wait.operation) & FUTEX_PRIVATE == 0;
        let image = if shared { Mappings::fork_root(self.sources.thread_table, wait.image) } else { wait.image };
        let symbol = self.sources.symbols.get(&(wait.image, wait.object));
        let gil = || symbol.is_some_and(|symbol| is_gil(&symbol.name, code.callers(stack)));
        if wait.hint == WaitTarget::Gil || kind == ObjectType::Gil || gil() {
            return ObjectTarget {
                identity: ObjectIdentity::Gil(image),
                address: wait.object,
                certain: true,
                has_owner: false,
            };
        }
        let mut base = refine.base(wait.object);
        if let Some(symbol) = symbol {
            base = base.max(wait.object.saturating_sub(symbol.offset));
        }
        ObjectTarget { identity: ObjectIdentity::Memory(image, base, kind), address: wait.object, certain, has_owner }
    }

    /// The type of a futex whose C library has no names: by the operations and values that glibc uses. A condition
    /// variable or a read/write lock would show the exported function that it waits in.
    fn guess(&self, wait: &WaitKey) -> ObjectType {
        if let WaitTarget::Thread(_) = wait.hint {
            return ObjectType::ThreadJoin;
        }
        let mut callers = self.sources.code.callers(self.stack(wait)).peekable();
        let unknown = callers.peek().is_none_or(|caller| caller.is_nameless_libc());
        // The program's own frame has to follow, or the walk ended inside the library.
        let outside = callers.find(|caller| !caller.is_nameless_libc());
        let nameless = unknown && outside.is_some_and(|caller| !caller.is_runtime());
        let operation = u32::from(wait.operation);
        let private = operation & FUTEX_PRIVATE != 0;
        match (operation & FUTEX_COMMANDS, wait.hint) {
            (FUTEX_WAIT, WaitTarget::Value(LOCKED_WITH_WAITERS)) if unknown && private => ObjectType::Mutex,
            (FUTEX_WAIT_BITSET, WaitTarget::Value(0)) if nameless && private => ObjectType::Semaphore,
            _ => ObjectType::Futex,
        }
    }

    fn stack(&self, wait: &WaitKey) -> StackId {
        self.sources.stack(wait)
    }
}
