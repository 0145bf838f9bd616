//! The row of each object: its name, its detail, its process.

use std::collections::HashMap;

use dwell_model::{ObjectId, ObjectType, ProcessId, StackId, ThreadId};
use dwell_store::tables::{ObjectRow, Objects};

use super::identity::{ObjectIdentity, ObjectTarget};
use super::names::{self, Described};
use super::sources::ObjectSources;
use crate::code::function::DataSymbol;
use crate::hash::FastMap;
use crate::replay::numbers::SyncNumber;
use crate::replay::threads::ImageId;
use crate::replay::waits::WaitKey;

/// Names objects, and numbers those of one name.
pub struct ObjectNamer<'a> {
    sources: &'a ObjectSources<'a>,
    /// The function that each thread runs that another one waited for.
    joined: FastMap<ThreadId, &'a str>,
    /// The table so far.
    pub objects: Objects,
    numbers: HashMap<ObjectIdentity, ObjectId>,
    /// How many objects have each name; names by symbol are told apart within a process only.
    taken: HashMap<(ProcessId, String), u32>,
    /// The objects that stand for all of a process with their class and name.
    alike: HashMap<(ProcessId, String, String), ObjectId>,
}

impl<'a> ObjectNamer<'a> {
    /// `joined` is the function that each thread runs whose end others waited for.
    pub fn new(sources: &'a ObjectSources<'a>, joined: FastMap<ThreadId, &'a str>) -> Self {
        let (objects, numbers) = (Objects::default(), HashMap::new());
        Self { sources, joined, objects, numbers, taken: HashMap::new(), alike: HashMap::new() }
    }

    /// The object of a wait whose first one was at `time_ns`.
    pub fn object(&mut self, target: &ObjectTarget, wait: &WaitKey, time_ns: u64) -> ObjectId {
        if let Some(&object) = self.numbers.get(&target.identity) {
            return object;
        }
        let first_stack = self.sources.stack(wait);
        let row = match &target.identity {
            ObjectIdentity::Memory(image, base, kind) => {
                let (name, process) = self.memory(target, (*image, *base, *kind), wait.image, first_stack);
                let scope = if name.1 { process } else { ProcessId::NONE };
                let created_stack = self.sources.created(wait.image, *base, time_ns);
                let row = self.row(*kind, name.0, scope, first_stack);
                ObjectRow { process, address: *base, created_stack, ..row }
            }
            ObjectIdentity::Described(key, kind) => self.described(*key, *kind, time_ns, first_stack),
            ObjectIdentity::Gil(image) => {
                let process = self.process(*image);
                let row = self.row(ObjectType::Gil, ObjectType::Gil.title().into(), process, first_stack);
                ObjectRow { process, address: target.address, ..row }
            }
            ObjectIdentity::Thread(thread) => {
                let name = self.thread_name(*thread);
                self.row(ObjectType::ThreadJoin, name, ProcessId::NONE, first_stack)
            }
            // Each has become a thread or a name: find_enders.
            ObjectIdentity::Ender(_) => self.row(ObjectType::ThreadJoin, String::new(), ProcessId::NONE, first_stack),
            ObjectIdentity::Named(kind, name) => self.row(*kind, name.clone(), ProcessId::NONE, first_stack),
            ObjectIdentity::Announced(id) => return self.announced_row(*id, first_stack),
        };
        let object = ObjectId::new(self.objects.push(row));
        self.numbers.insert(target.identity.clone(), object);
        object
    }

    /// The object that a program told of and waited for, `NONE` when it never did.
    pub fn announced_object(&mut self, id: SyncNumber) -> ObjectId {
        if let Some(&object) = self.numbers.get(&ObjectIdentity::Announced(id)) {
            return object;
        }
        if self.sources.announced_object(id).is_none_or(|object| object.image.is_none()) {
            return ObjectId::NONE;
        }
        self.announced_row(id, StackId::NONE)
    }

    /// The object's name is the program's own; else the data symbol's; else its type and where a thread first waited for it.
    /// OpenMP's barriers move about in memory: those of one place are one object. So are nameless objects of unknown places.
    fn announced_row(&mut self, id: SyncNumber, first_stack: StackId) -> ObjectId {
        let Some(object) = self.sources.announced_object(id) else { return ObjectId::NONE };
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
        self.numbers.insert(ObjectIdentity::Announced(id), number);
        number
    }

    fn row(&mut self, kind: ObjectType, name: String, scope: ProcessId, first_stack: StackId) -> ObjectRow {
        let name = self.distinct(scope, name);
        let (detail, process, created_stack) = (String::new(), ProcessId::NONE, StackId::NONE);
        ObjectRow { kind: kind.code(), name, detail, process, address: 0, first_stack, created_stack }
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
        target: &ObjectTarget,
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
        self.sources.thread_table.images.get(image as usize).map_or(ProcessId::NONE, |image| image.process)
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
        let name = self.sources.thread_table.life(thread).map_or("", |life| life.name.as_str());
        let function = self.joined.get(&thread);
        function.map_or_else(|| format!("Thread {name}"), |function| format!("Thread {name} ({function})"))
    }
}

/// The place in OpenMP's name of an object, `;file;function;line;column;;`. The place is empty where the compiler did not tell
/// it, so that the name has `unknown` in it; `None` for other names.
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
