//! Which object each wait was on, and what it is called.
//!
//! Every distinct wait is classified by its system call, the object that its arguments name, its kernel frames and the
//! library frames of its user stack; waits with the same identity share one object. Objects are numbered in the order
//! of their first wait.

mod code;
mod joins;
mod kernel;
mod names;
mod patterns;

use std::collections::HashMap;

use dwell_model::{CallKind, ObjectId, ObjectType, ProcessId, StackId, Syscall, ThreadId};
use dwell_store::raw::wire::object_kind;
use dwell_store::tables::{ObjectRow, Objects, OffCpu};

pub use code::Code;
use kernel::KernelWait;
use names::Described;
use patterns::{Recognised, Refine, is_gil, recognise};

use crate::annotations::{SyncId, SyncObject, TextId, Texts};
use crate::function::DataSymbol;
use crate::hash::FastMap;
use crate::input::Meta;
use crate::lives::{ImageId, Lives};
use crate::mappings::Mappings;
use crate::waits::{Hint, Sleep, Wait};

const FUTEX_PRIVATE: u16 = 0x80;
const FUTEX_COMMANDS: u16 = 0x7f;
const FUTEX_WAIT: u16 = 0;
const FUTEX_LOCK_PI: u16 = 6;
const FUTEX_WAIT_BITSET: u16 = 9;
const FUTEX_WAIT_REQUEUE_PI: u16 = 11;
const FUTEX_LOCK_PI2: u16 = 13;
/// The value of a glibc lock that others wait for.
const LOCKED_WITH_WAITERS: u8 = 2;

/// What decides whether two waits are on the same object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Identity {
    /// Memory of a program: the object's address.
    Memory(ImageId, u64, ObjectType),
    /// What an object record describes.
    Described(u64, ObjectType),
    /// The end of a thread.
    Thread(ThreadId),
    /// The end of the thread that ends these waits: the wait's number.
    Ender(u32),
    /// CPython's global interpreter lock: a mutex and a condition variable of a program.
    Gil(ImageId),
    /// All that is called so.
    Named(ObjectType, String),
    /// What the program says that it waits for.
    Told(SyncId),
}

/// A wait's object before it has a row.
struct Target {
    identity: Identity,
    /// The word of memory that was waited on, 0 for none.
    address: u64,
    /// Whether something named the type, or it was guessed at most.
    certain: bool,
}

impl Target {
    fn described(key: u64, kind: ObjectType) -> Self {
        Self { identity: Identity::Described(key, kind), address: 0, certain: true }
    }

    fn named(kind: ObjectType, name: impl Into<String>) -> Self {
        Self { identity: Identity::Named(kind, name.into()), address: 0, certain: true }
    }
}

/// What the naming of objects reads.
pub struct Sources<'a> {
    /// Stacks with their functions.
    pub code: Code<'a>,
    /// The stack of each raw stack.
    pub stacks: &'a [StackId],
    /// Object records.
    pub meta: &'a Meta,
    /// Threads, processes and images.
    pub lives: &'a Lives,
    /// Data symbols over the addresses that were waited on.
    pub symbols: &'a FastMap<(ImageId, u64), DataSymbol>,
    /// The intervals, still with raw numbers.
    pub off_cpu: &'a OffCpu,
    /// Objects that programs told of.
    pub told: &'a [SyncObject],
    /// Their names.
    pub texts: &'a Texts,
}

impl<'a> Sources<'a> {
    fn stack(&self, wait: &Wait) -> StackId {
        self.stacks.get(wait.stack as usize).copied().unwrap_or(StackId::NONE)
    }

    fn site(&self, wait: &Wait) -> &'a str {
        self.code.site(self.stack(wait)).unwrap_or("unknown code")
    }
}

/// The table of objects, and who is where in it.
#[derive(Default)]
pub struct Resolved {
    /// The table.
    pub objects: Objects,
    /// The object of each wait.
    pub of_waits: Vec<ObjectId>,
    /// The row of each object that programs told of and waited for.
    pub of_told: Vec<ObjectId>,
}

/// Finds and names the objects.
pub fn resolve(waits: &[Wait], first_ns: &[u64], sources: &Sources<'_>) -> Resolved {
    let mut classifier = Classifier { sources, patterns: FastMap::default() };
    let mut targets: Vec<Target> = (0..).zip(waits).map(|(number, wait)| classifier.target(number, wait)).collect();
    adopt_untyped(&mut targets);
    adopt_told(&mut targets, sources.told);
    find_enders(&mut targets, waits, sources);
    let joined = targets.iter().filter_map(|target| match target.identity {
        Identity::Thread(thread) => Some(thread),
        _ => None,
    });
    let joined = joins::functions(&joined.collect(), sources);
    let (objects, numbers) = (Objects::default(), HashMap::new());
    let mut namer = Namer { sources, joined, objects, numbers, taken: HashMap::new(), alike: HashMap::new() };
    let ids = targets.iter().zip(waits).zip(first_ns);
    let of_waits = ids.map(|((target, wait), &time_ns)| namer.object(target, wait, time_ns)).collect();
    let of_told = (0..sources.told.len() as u32).map(|number| namer.told_object(SyncId(number))).collect();
    Resolved { objects: namer.objects, of_waits, of_told }
}

/// Whose end a wait was for that only a lock of the ended thread shows: its waker's, unless it had several. Then the place
/// of the wait stands for them.
fn find_enders(targets: &mut [Target], waits: &[Wait], sources: &Sources<'_>) {
    let wanted = targets.iter().filter_map(|target| match target.identity {
        Identity::Ender(number) => Some(number),
        _ => None,
    });
    let enders = joins::enders(&wanted.collect(), sources.off_cpu);
    for (target, wait) in targets.iter_mut().zip(waits) {
        let Identity::Ender(number) = target.identity else { continue };
        target.identity = match enders.get(&number) {
            Some(&thread) => Identity::Thread(thread),
            None => Identity::Named(ObjectType::ThreadJoin, format!("Threads joined in {}", sources.site(wait))),
        };
    }
}

/// What lies where a program told of an object is that object, also where a wait was not announced.
fn adopt_told(targets: &mut [Target], told: &[SyncObject]) {
    let waited = told.iter().enumerate().filter_map(|(number, object)| Some((object.image?, object.address, number)));
    let at: HashMap<(ImageId, u64), SyncId> =
        waited.map(|(image, address, number)| ((image, address), SyncId(number as u32))).collect();
    for target in targets {
        if let Identity::Memory(image, base, _) = target.identity
            && let Some(&id) = at.get(&(image, base)).or_else(|| at.get(&(image, target.address)))
        {
            target.identity = Identity::Told(id);
        }
    }
}

/// A word of memory that some wait says is part of a known object is part of it in every wait.
fn adopt_untyped(targets: &mut [Target]) {
    let mut known: FastMap<(ImageId, u64), Identity> = FastMap::default();
    for target in targets.iter().filter(|target| target.certain) {
        if let Identity::Memory(image, ..) | Identity::Gil(image) = target.identity {
            known.entry((image, target.address)).or_insert_with(|| target.identity.clone());
        }
    }
    for target in targets.iter_mut().filter(|target| !target.certain) {
        if let Identity::Memory(image, ..) = target.identity
            && let Some(identity) = known.get(&(image, target.address))
        {
            target.identity.clone_from(identity);
        }
    }
}

/// The data addresses whose symbols are wanted: image and address.
pub fn data_addresses(waits: &[Wait], told: &[SyncObject]) -> Vec<(ImageId, u64)> {
    let futexes = waits.iter().filter(|wait| wait.kind() == CallKind::Futex && wait.object != 0);
    let nameless = told.iter().filter(|object| object.name == TextId::EMPTY);
    let nameless = nameless.filter_map(|object| Some((object.image?, object.address)));
    let mut addresses: Vec<_> = futexes.map(|wait| (wait.image, wait.object)).chain(nameless).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

struct Classifier<'a> {
    sources: &'a Sources<'a>,
    patterns: FastMap<StackId, Option<Recognised>>,
}

impl Classifier<'_> {
    fn target(&mut self, number: u32, wait: &Wait) -> Target {
        if let Some(told) = wait.told {
            return Target { identity: Identity::Told(told), address: 0, certain: true };
        }
        match wait.sleep {
            Sleep::Stopped => Target::named(ObjectType::Signal, "Stopped by a signal or a debugger"),
            Sleep::Device => self.device(wait),
            Sleep::Uninterruptible => self.uninterruptible(wait),
            Sleep::Interruptible => self.interruptible(number, wait),
        }
    }

    fn interruptible(&mut self, number: u32, wait: &Wait) -> Target {
        if wait.kind() == CallKind::Futex && wait.object != 0 {
            return self.futex(number, wait);
        }
        if let Some(target) = self.by_call(wait) {
            return target;
        }
        self.described(wait)
            .or_else(|| self.in_kernel(wait))
            .unwrap_or_else(|| Target::named(ObjectType::Unknown, Syscall::name_of(wait.syscall)))
    }

    /// What the system call alone tells.
    fn by_call(&self, wait: &Wait) -> Option<Target> {
        let at_site = |kind, what: &str| Some(Target::named(kind, format!("{what} in {}", self.sources.site(wait))));
        match wait.kind() {
            CallKind::Sleep => at_site(ObjectType::Sleep, "Sleep"),
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

    fn uninterruptible(&mut self, wait: &Wait) -> Target {
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
            return Target::named(ObjectType::PageFault, "Page fault");
        }
        let functions = self.sources.code.kernel(self.stack(wait));
        let place = kernel::place(functions).map_or_else(|| Syscall::name_of(wait.syscall), str::to_owned);
        Target::named(ObjectType::KernelLock, format!("Kernel lock in {place}"))
    }

    fn in_kernel(&self, wait: &Wait) -> Option<Target> {
        let functions: Vec<&str> = self.sources.code.kernel(self.stack(wait)).collect();
        Some(match kernel::explain(functions.into_iter())? {
            KernelWait::PageFault => Target::named(ObjectType::PageFault, "Page fault"),
            KernelWait::BlockIo => self.device(wait),
            KernelWait::Lock(function) => Target::named(ObjectType::KernelLock, format!("Kernel lock in {function}")),
            KernelWait::Child => self.children(wait),
        })
    }

    /// A wait for a device: for the file's pages where the call names a file.
    fn device(&self, wait: &Wait) -> Target {
        let fault = wait.syscall < 0 || {
            let mut functions = self.sources.code.kernel(self.stack(wait));
            functions.any(|function| function.contains("page_fault") || function == "handle_mm_fault")
        };
        if fault {
            return Target::named(ObjectType::PageFault, "Page fault");
        }
        let file = self.sources.meta.object(wait.object, u64::MAX).filter(|record| record.kind == object_kind::FILE);
        match file {
            Some(_) if wait.kind() != CallKind::Futex => Target::described(wait.object, ObjectType::BlockIo),
            _ => Target::named(ObjectType::BlockIo, "Block I/O"),
        }
    }

    fn described(&self, wait: &Wait) -> Option<Target> {
        let known = wait.kind() != CallKind::Futex && wait.object != 0;
        let described = known.then(|| names::describe(self.sources.meta, wait.object, u64::MAX)).flatten()?;
        let set = self.sources.meta.object(wait.object, u64::MAX).is_some_and(|o| o.kind == object_kind::POLL_SET);
        if set && !described.anonymous {
            // The set of one call is made anew each time, and its members come and go.
            return Some(Target::named(described.kind, described.name));
        }
        Some(Target::described(wait.object, described.kind))
    }

    fn child(&self, wait: &Wait) -> Target {
        match wait.hint {
            Hint::Process(process) => {
                let name = self.sources.lives.process_name(process);
                Target::named(ObjectType::ChildProcess, format!("Child process {name}"))
            }
            _ => self.children(wait),
        }
    }

    fn children(&self, wait: &Wait) -> Target {
        let image = self.sources.lives.images.get(wait.image as usize);
        let name = image.map_or("?", |image| self.sources.lives.process_name(image.process));
        Target::named(ObjectType::ChildProcess, format!("Child processes of {name}"))
    }

    fn futex(&mut self, number: u32, wait: &Wait) -> Target {
        let command = wait.operation & FUTEX_COMMANDS;
        let stack = self.stack(wait);
        let code = self.sources.code;
        let pattern = *self.patterns.entry(stack).or_insert_with(|| recognise(code.callers(stack)));
        let (kind, refine) = match (command, pattern) {
            (FUTEX_LOCK_PI | FUTEX_LOCK_PI2, _) => (ObjectType::Mutex, Refine::Same),
            (FUTEX_WAIT_REQUEUE_PI, _) => (ObjectType::ConditionVariable, Refine::Same),
            (_, Some(pattern)) => (pattern.kind, pattern.refine),
            (_, None) => (self.guess(wait), Refine::Same),
        };
        let inherits_priority = matches!(command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI);
        let certain = inherits_priority || pattern.is_some_and(|pattern| pattern.kind != ObjectType::Futex);
        if let (ObjectType::ThreadJoin, Hint::Thread(thread)) = (kind, wait.hint) {
            return Target { identity: Identity::Thread(thread), address: wait.object, certain: true };
        }
        match (kind, refine) {
            (ObjectType::ThreadJoin, Refine::Place) => {
                return Target { identity: Identity::Ender(number), address: wait.object, certain: true };
            }
            (_, Refine::Place) => {
                return Target::named(kind, format!("{} in {}", kind.title(), self.sources.site(wait)));
            }
            _ => {}
        }
        let shared = wait.operation & FUTEX_PRIVATE == 0;
        let image = if shared { Mappings::fork_root(self.sources.lives, wait.image) } else { wait.image };
        let symbol = self.sources.symbols.get(&(wait.image, wait.object));
        let gil = || symbol.is_some_and(|symbol| is_gil(&symbol.name, code.callers(stack)));
        if wait.hint == Hint::Gil || kind == ObjectType::Gil || gil() {
            return Target { identity: Identity::Gil(image), address: wait.object, certain: true };
        }
        let mut base = refine.base(wait.object);
        if let Some(symbol) = symbol {
            base = base.max(wait.object.saturating_sub(symbol.offset));
        }
        Target { identity: Identity::Memory(image, base, kind), address: wait.object, certain }
    }

    /// The type of a futex whose C library has no names: by the operations and values that glibc uses. A condition
    /// variable or a read/write lock would show the exported function that it waits in.
    fn guess(&self, wait: &Wait) -> ObjectType {
        if let Hint::Thread(_) = wait.hint {
            return ObjectType::ThreadJoin;
        }
        let mut callers = self.sources.code.callers(self.stack(wait)).peekable();
        let unknown = callers.peek().is_none_or(|caller| caller.is_nameless_libc());
        // The program's own frame has to follow, or the walk ended inside the library.
        let outside = callers.find(|caller| !caller.is_nameless_libc());
        let nameless = unknown && outside.is_some_and(|caller| !caller.is_runtime());
        let private = wait.operation & FUTEX_PRIVATE != 0;
        match (wait.operation & FUTEX_COMMANDS, wait.hint) {
            (FUTEX_WAIT, Hint::Value(LOCKED_WITH_WAITERS)) if unknown && private => ObjectType::Mutex,
            (FUTEX_WAIT_BITSET, Hint::Value(0)) if nameless && private => ObjectType::Semaphore,
            _ => ObjectType::Futex,
        }
    }

    fn stack(&self, wait: &Wait) -> StackId {
        self.sources.stack(wait)
    }
}

struct Namer<'a> {
    sources: &'a Sources<'a>,
    /// The function that each thread runs that another one waited for.
    joined: FastMap<ThreadId, &'a str>,
    objects: Objects,
    numbers: HashMap<Identity, ObjectId>,
    /// How many objects have each name; names by symbol are told apart within a process only.
    taken: HashMap<(ProcessId, String), u32>,
    /// The objects that stand for all of a process with their class and name.
    alike: HashMap<(ProcessId, String, String), ObjectId>,
}

impl Namer<'_> {
    fn object(&mut self, target: &Target, wait: &Wait, time_ns: u64) -> ObjectId {
        if let Some(&object) = self.numbers.get(&target.identity) {
            return object;
        }
        let first_stack = self.sources.stack(wait);
        let row = match &target.identity {
            Identity::Memory(image, base, kind) => {
                let (name, process) = self.memory(target, (*image, *base, *kind), wait.image, first_stack);
                let scope = if name.1 { process } else { ProcessId::NONE };
                let row = self.row(*kind, name.0, scope, first_stack);
                ObjectRow { process, address: *base, ..row }
            }
            Identity::Described(key, kind) => self.described(*key, *kind, time_ns, first_stack),
            Identity::Gil(image) => {
                let process = self.process(*image);
                let row = self.row(ObjectType::Gil, ObjectType::Gil.title().into(), process, first_stack);
                ObjectRow { process, address: target.address, ..row }
            }
            Identity::Thread(thread) => {
                let name = self.thread_name(*thread);
                self.row(ObjectType::ThreadJoin, name, ProcessId::NONE, first_stack)
            }
            // Each has become a thread or a name: find_enders.
            Identity::Ender(_) => self.row(ObjectType::ThreadJoin, String::new(), ProcessId::NONE, first_stack),
            Identity::Named(kind, name) => self.row(*kind, name.clone(), ProcessId::NONE, first_stack),
            Identity::Told(id) => return self.told(*id, first_stack),
        };
        let object = ObjectId::new(self.objects.push(row));
        self.numbers.insert(target.identity.clone(), object);
        object
    }

    /// The object that a program told of and waited for, `NONE` when it never did.
    fn told_object(&mut self, id: SyncId) -> ObjectId {
        if let Some(&object) = self.numbers.get(&Identity::Told(id)) {
            return object;
        }
        if self.sources.told.get(id.0 as usize).is_none_or(|object| object.image.is_none()) {
            return ObjectId::NONE;
        }
        self.told(id, StackId::NONE)
    }

    /// Called by the program's own name; else that of the data symbol there; else its type and where it was first waited for.
    /// OpenMP's barriers move about in memory, and those of one place are one; so are the nameless of unknown places.
    fn told(&mut self, id: SyncId, first_stack: StackId) -> ObjectId {
        let Some(object) = self.sources.told.get(id.0 as usize) else { return ObjectId::NONE };
        let image = object.image.unwrap_or(ImageId::MAX);
        let process = self.process(image);
        let class = self.sources.texts.show(object.class, "type");
        let title = if class.is_empty() { object.kind.title() } else { &class };
        let given = self.sources.texts.show(object.name, "object");
        let place = openmp_place(&given);
        let (name, alike) = match (place, self.sources.symbols.get(&(image, object.address))) {
            (Some(place), _) if !place.is_empty() => (place, true),
            (None, _) if !given.is_empty() => (given, false),
            (_, Some(symbol)) => (symbol_name(symbol, object.address, object.address), false),
            _ if first_stack == StackId::NONE => (title.to_owned(), true),
            _ => (self.hashed(title, object.kind, first_stack), object.kind == ObjectType::OpenMpBarrier),
        };
        let same = (process, class.clone(), name.clone());
        let known = self.alike.get(&same).filter(|_| alike).copied();
        let number = known.unwrap_or_else(|| {
            let row = self.row(object.kind, name, process, first_stack);
            ObjectId::new(self.objects.push(ObjectRow { detail: class, process, address: object.address, ..row }))
        });
        if alike {
            self.alike.insert(same, number);
        }
        self.numbers.insert(Identity::Told(id), number);
        number
    }

    fn row(&mut self, kind: ObjectType, name: String, scope: ProcessId, first_stack: StackId) -> ObjectRow {
        let name = self.distinct(scope, name);
        ObjectRow { kind: kind.code(), name, detail: String::new(), process: ProcessId::NONE, address: 0, first_stack }
    }

    /// The name, with a number from the second object of that name on.
    fn distinct(&mut self, scope: ProcessId, name: String) -> String {
        let count = self.taken.entry((scope, name.clone())).or_insert(0);
        *count += 1;
        if *count == 1 { name } else { format!("{name} #{count}") }
    }

    /// The name of an object in memory, whether a symbol gave it, and the process.
    fn memory(
        &self,
        target: &Target,
        object: (ImageId, u64, ObjectType),
        waiting: ImageId,
        first_stack: StackId,
    ) -> ((String, bool), ProcessId) {
        let (image, base, kind) = object;
        let process = self.process(image);
        let name = match self.sources.symbols.get(&(waiting, target.address)) {
            Some(symbol) => (symbol_name(symbol, target.address, base), true),
            None => (self.hashed(kind.title(), kind, first_stack), false),
        };
        (name, process)
    }

    fn process(&self, image: ImageId) -> ProcessId {
        self.sources.lives.images.get(image as usize).map_or(ProcessId::NONE, |image| image.process)
    }

    fn hashed(&self, title: &str, kind: ObjectType, stack: StackId) -> String {
        format!("{title} 0x{:08x}", self.sources.code.hash(kind.id(), stack))
    }

    fn described(&mut self, key: u64, kind: ObjectType, time_ns: u64, first_stack: StackId) -> ObjectRow {
        let found = names::describe(self.sources.meta, key, time_ns);
        let nothing = Described { kind, name: kind.title().into(), detail: String::new(), anonymous: true };
        let described = found.unwrap_or(nothing);
        let name = if described.anonymous { self.hashed(&described.name, kind, first_stack) } else { described.name };
        ObjectRow { detail: described.detail, ..self.row(kind, name, ProcessId::NONE, first_stack) }
    }

    fn thread_name(&self, thread: ThreadId) -> String {
        let name = self.sources.lives.life(thread).map_or("", |life| life.name.as_str());
        let function = self.joined.get(&thread);
        function.map_or_else(|| format!("Thread {name}"), |function| format!("Thread {name} ({function})"))
    }
}

/// OpenMP's runtime calls an object after where it is in the source, `;file;function;line;column;;`, in programs of compilers
/// that tell it; of others by nothing but the word unknown, which makes an empty place. Other names are none.
fn openmp_place(name: &str) -> Option<String> {
    let mut parts = name.strip_prefix(';').filter(|rest| rest.ends_with(";;"))?.split(';');
    match (parts.next()?, parts.next()?, parts.next()?) {
        ("unknown", "unknown", _) => Some(String::new()),
        (file, function, line) => {
            let file = file.rsplit('/').next().unwrap_or(file);
            Some(format!("{function} ({file}:{line})"))
        }
    }
}

/// `queue_lock`, or `Pool::mtx + 0x18` for a part of a larger object.
fn symbol_name(symbol: &DataSymbol, address: u64, base: u64) -> String {
    let start = address.saturating_sub(symbol.offset);
    match base.saturating_sub(start) {
        0 => symbol.name.clone(),
        inside => format!("{} + {inside:#x}", symbol.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openmp_names_are_places() {
        assert_eq!(openmp_place(";/src/grid.c;sweep;41;9;;").as_deref(), Some("sweep (grid.c:41)"));
        assert_eq!(openmp_place(";unknown;unknown;0;0;;").as_deref(), Some(""));
        assert_eq!((openmp_place("queue;lock"), openmp_place(";odd")), (None, None));
    }
}
