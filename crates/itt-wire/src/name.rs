//! What a program names and loads, pauses included: longer records than events, of no thread's ring.
//!
//! A record begins with 24 bytes: kind (8 bits), 24 bits reserved, length of the record in bytes (32 bits); ticks; thread
//! (32 bits), id (32 bits). Then come numbers of 8 bytes, then texts, each behind its length in 4 bytes, and zeros up to a
//! multiple of 8.

use crate::layout::word_at;

/// Longest record.
pub const RECORD_BYTES: usize = 32 << 10;
/// Most bytes of one text; what is longer is cut by whoever writes it.
pub const TEXT_BYTES: usize = 4096;
/// Most lines in a [`Name::MethodLines`]; longer tables take several.
pub const LINES: usize = 2048;
/// Most bytes in a [`Name::ObjectBytes`]; longer objects take several.
pub const OBJECT_BYTES: usize = 30_000;

const HEADER_BYTES: usize = 24;

/// Code that a run-time compiler made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Method<'a> {
    /// The compiler's number for it.
    pub id: u32,
    /// Number of the method that it is inlined into at this address, 0 when it stands for itself.
    pub parent: u32,
    /// Where its code lies.
    pub address: u64,
    /// How long it is, in bytes.
    pub size: u64,
    /// Its name.
    pub name: &'a [u8],
    /// Its class, empty for none.
    pub class: &'a [u8],
    /// Its source file, empty for none.
    pub source: &'a [u8],
    /// The module that the compiler counts it to, empty for none.
    pub module: &'a [u8],
}

/// Rows of a line table: from `offset` of the method's code on, line `line` of its source.
#[derive(Clone, Copy, Debug)]
pub enum Lines<'a> {
    /// From a record.
    Read(&'a [u8]),
    /// From the program.
    Given(&'a [(u32, u32)]),
}

impl Lines<'_> {
    /// Offsets and lines, at most [`LINES`].
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        (0..LINES).map_while(|index| match self {
            Lines::Read(bytes) => word_at(bytes, index).map(|word| (word as u32, (word >> 32) as u32)),
            Lines::Given(lines) => lines.get(index).copied(),
        })
    }
}

impl PartialEq for Lines<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// What was named. Texts are the program's bytes, of any encoding.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of ITT")]
pub enum Name<'a> {
    /// The domain with this id, from 1 on.
    Domain {
        id: u16,
        text: &'a [u8],
    },
    /// The string with this id, from 1 on.
    String {
        id: u32,
        text: &'a [u8],
    },
    /// The counter with this id; `kind`: the type of its values, 1 u64, 2 s64, 3 u32, 4 s32, 5 u16, 6 s16, 7 float, 8 double.
    Counter {
        id: u32,
        kind: u32,
        domain: &'a [u8],
        name: &'a [u8],
    },
    /// The event with this id (`__itt_event_create`).
    Event {
        id: u32,
        text: &'a [u8],
    },
    /// From then on the object at `address` is another one than before. `attribute`: 1 barrier, 2 mutex.
    SyncCreate {
        address: u64,
        attribute: u32,
        class: &'a [u8],
        name: &'a [u8],
    },
    SyncRename {
        address: u64,
        name: &'a [u8],
    },
    SyncDestroy {
        address: u64,
    },
    /// The thread that wrote the record.
    ThreadName {
        text: &'a [u8],
    },
    /// The thread that wrote the record is not of interest.
    ThreadIgnore,
    ModuleLoad {
        start: u64,
        end: u64,
        path: &'a [u8],
    },
    ModuleUnload {
        start: u64,
    },
    /// An object file in memory or, without `bytes`, the one at the path `name`. Its sections and bytes follow under its id.
    Object {
        id: u32,
        module: u64,
        bytes: u64,
        name: &'a [u8],
    },
    /// `kind`: 1 bss, 2 data, 3 text.
    Section {
        object: u32,
        kind: u32,
        flags: u64,
        address: u64,
        size: u64,
        file_offset: u64,
        name: &'a [u8],
    },
    /// A piece of the object's file.
    ObjectBytes {
        object: u32,
        offset: u64,
        bytes: &'a [u8],
    },
    /// The object with this `module` is gone.
    ObjectUnload {
        module: u64,
    },
    Method(Method<'a>),
    /// Lines of the method `id` whose code begins at `address`.
    MethodLines {
        id: u32,
        address: u64,
        lines: Lines<'a>,
    },
    MethodUnload {
        id: u32,
    },
    /// The program paused the collection. `scope`: 0 none given, 1 host.
    Pause {
        scope: u32,
    },
    Resume {
        scope: u32,
    },
    /// The program wants no more collection.
    Detach,
    /// One more instrumented file of the process, and how many of its entry points were bound.
    Client {
        entries: u32,
        bound: u32,
        path: &'a [u8],
    },
}

mod kind {
    /// Nothing; room that was given up.
    pub const NOTHING: u8 = 0;
    pub const DOMAIN: u8 = 1;
    pub const STRING: u8 = 2;
    pub const COUNTER: u8 = 3;
    pub const EVENT: u8 = 4;
    pub const SYNC_CREATE: u8 = 5;
    pub const SYNC_RENAME: u8 = 6;
    pub const SYNC_DESTROY: u8 = 7;
    pub const THREAD_NAME: u8 = 8;
    pub const THREAD_IGNORE: u8 = 9;
    pub const MODULE_LOAD: u8 = 10;
    pub const MODULE_UNLOAD: u8 = 11;
    pub const OBJECT: u8 = 12;
    pub const SECTION: u8 = 13;
    pub const OBJECT_BYTES: u8 = 14;
    pub const OBJECT_UNLOAD: u8 = 15;
    pub const METHOD: u8 = 16;
    pub const METHOD_LINES: u8 = 17;
    pub const METHOD_UNLOAD: u8 = 18;
    pub const PAUSE: u8 = 19;
    pub const RESUME: u8 = 20;
    pub const DETACH: u8 = 21;
    pub const CLIENT: u8 = 22;
}

/// A name with when and by whom it was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Named<'a> {
    /// When, in the file's ticks.
    pub ticks: u64,
    /// The thread, as it sees itself.
    pub tid: u32,
    /// What.
    pub name: Name<'a>,
}

impl Named<'_> {
    /// Whether a forked child has it too: what was defined and loaded, but no thread and no pause.
    pub fn is_inherited(&self) -> bool {
        use Name::*;
        !matches!(self.name, ThreadName { .. } | ThreadIgnore | Pause { .. } | Resume { .. } | Detach)
    }

    fn first(&self) -> (u8, u32) {
        use Name::*;
        match self.name {
            Domain { id, .. } => (kind::DOMAIN, u32::from(id)),
            String { id, .. } => (kind::STRING, id),
            Counter { id, .. } => (kind::COUNTER, id),
            Event { id, .. } => (kind::EVENT, id),
            SyncCreate { attribute, .. } => (kind::SYNC_CREATE, attribute),
            SyncRename { .. } => (kind::SYNC_RENAME, 0),
            SyncDestroy { .. } => (kind::SYNC_DESTROY, 0),
            ThreadName { .. } => (kind::THREAD_NAME, 0),
            ThreadIgnore => (kind::THREAD_IGNORE, 0),
            ModuleLoad { .. } => (kind::MODULE_LOAD, 0),
            ModuleUnload { .. } => (kind::MODULE_UNLOAD, 0),
            Object { id, .. } => (kind::OBJECT, id),
            Section { object, .. } => (kind::SECTION, object),
            ObjectBytes { object, .. } => (kind::OBJECT_BYTES, object),
            ObjectUnload { .. } => (kind::OBJECT_UNLOAD, 0),
            Method(method) => (kind::METHOD, method.id),
            MethodLines { id, .. } => (kind::METHOD_LINES, id),
            MethodUnload { id } => (kind::METHOD_UNLOAD, id),
            Pause { scope } => (kind::PAUSE, scope),
            Resume { scope } => (kind::RESUME, scope),
            Detach => (kind::DETACH, 0),
            Client { entries, .. } => (kind::CLIENT, entries),
        }
    }

    /// Hands the bytes behind the header to `put`.
    fn rest(&self, put: &mut impl FnMut(&[u8])) {
        use Name::*;
        match self.name {
            Domain { text, .. } | String { text, .. } | Event { text, .. } | ThreadName { text } => put_text(text, put),
            Counter { kind, domain, name, .. } => put_all(&[u64::from(kind)], &[domain, name], put),
            SyncCreate { address, class, name, .. } => put_all(&[address], &[class, name], put),
            SyncRename { address, name } => put_all(&[address], &[name], put),
            SyncDestroy { address } => put_all(&[address], &[], put),
            ModuleLoad { start, end, path } => put_all(&[start, end], &[path], put),
            ModuleUnload { start } => put_all(&[start], &[], put),
            Object { module, bytes, name, .. } => put_all(&[module, bytes], &[name], put),
            Section { kind, flags, address, size, file_offset, name, .. } => {
                put_all(&[u64::from(kind), flags, address, size, file_offset], &[name], put);
            }
            ObjectBytes { offset, bytes, .. } => {
                let bytes = bytes.get(..OBJECT_BYTES).unwrap_or(bytes);
                put_all(&[offset, bytes.len() as u64], &[], put);
                put(bytes);
            }
            ObjectUnload { module } => put_all(&[module], &[], put),
            Method(it) => {
                let texts = [it.name, it.class, it.source, it.module];
                put_all(&[u64::from(it.parent), it.address, it.size], &texts, put);
            }
            MethodLines { address, ref lines, .. } => {
                put_all(&[address], &[], put);
                let words = lines.iter().map(|(offset, line)| u64::from(offset) | u64::from(line) << 32);
                words.for_each(|word| put(&word.to_le_bytes()));
            }
            Client { bound, path, .. } => put_all(&[u64::from(bound)], &[path], put),
            ThreadIgnore | MethodUnload { .. } | Pause { .. } | Resume { .. } | Detach => {}
        }
    }

    /// Length of its record in bytes, at most [`RECORD_BYTES`].
    pub fn bytes(&self) -> usize {
        let mut bytes = HEADER_BYTES;
        self.rest(&mut |piece| bytes = bytes.saturating_add(piece.len()));
        bytes.next_multiple_of(8)
    }

    /// Hands the pieces of its record to `put`, [`Named::bytes`] together.
    pub fn encode(&self, mut put: impl FnMut(&[u8])) {
        let (kind, id) = self.first();
        let bytes = self.bytes();
        put(&(u64::from(kind) | (bytes as u64) << 32).to_le_bytes());
        put(&self.ticks.to_le_bytes());
        put(&(u64::from(self.tid) | u64::from(id) << 32).to_le_bytes());
        let mut written = HEADER_BYTES;
        self.rest(&mut |piece| {
            written = written.saturating_add(piece.len());
            put(piece);
        });
        put([0; 8].get(..bytes.saturating_sub(written)).unwrap_or_default());
    }
}

fn put_all(numbers: &[u64], texts: &[&[u8]], put: &mut impl FnMut(&[u8])) {
    numbers.iter().for_each(|number| put(&number.to_le_bytes()));
    texts.iter().for_each(|text| put_text(text, put));
}

fn put_text(text: &[u8], put: &mut impl FnMut(&[u8])) {
    let text = text.get(..TEXT_BYTES).unwrap_or(text);
    put(&(text.len() as u32).to_le_bytes());
    put(text);
}

/// Records of names, one behind the other.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct NamesBuffer {
    /// The records so far.
    pub bytes: Vec<u8>,
}

#[cfg(feature = "std")]
impl NamesBuffer {
    /// Appends a record.
    pub fn push(&mut self, named: &Named<'_>) {
        named.encode(|piece| self.bytes.extend_from_slice(piece));
    }
}

/// The names in `bytes`.
pub fn names(bytes: &[u8]) -> Names<'_> {
    Names { bytes, unknown: 0 }
}

/// Iterates over names. A record whose length does not fit ends the iteration; [`Names::rest`] then says how many bytes
/// were not read.
#[derive(Clone, Debug)]
pub struct Names<'a> {
    bytes: &'a [u8],
    unknown: u64,
}

impl Names<'_> {
    /// Bytes that were not read because they are no records.
    pub fn rest(&self) -> usize {
        self.bytes.len()
    }

    /// Records that were passed over because they make no sense.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

/// Bytes of the record that `bytes` begin with; `None` when they begin with none.
pub(crate) fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let length = (word_at(bytes, 0)? >> 32) as usize;
    let fits = (HEADER_BYTES..=RECORD_BYTES).contains(&length) && length.is_multiple_of(8) && length <= bytes.len();
    fits.then_some(length)
}

impl<'a> Iterator for Names<'a> {
    type Item = Named<'a>;

    fn next(&mut self) -> Option<Named<'a>> {
        loop {
            let (record, rest) = self.bytes.split_at_checked(record_bytes(self.bytes)?)?;
            self.bytes = rest;
            match decode(record) {
                Some(named) => return Some(named),
                None if record.first() == Some(&kind::NOTHING) => {}
                None => self.unknown += 1,
            }
        }
    }
}

/// Takes numbers and texts from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        self.0 = rest;
        Some(text)
    }
}

fn decode(record: &[u8]) -> Option<Named<'_>> {
    let kind = *record.first()?;
    let (ticks, about) = (word_at(record, 1)?, word_at(record, 2)?);
    let (tid, id) = (about as u32, (about >> 32) as u32);
    let rest = record.get(HEADER_BYTES..)?;
    let name = decode_definition(kind, id, Fields(rest)).or_else(|| decode_code(kind, id, Fields(rest)))?;
    Some(Named { ticks, tid, name })
}

fn decode_definition(kind: u8, id: u32, mut rest: Fields<'_>) -> Option<Name<'_>> {
    Some(match kind {
        kind::DOMAIN => Name::Domain { id: u16::try_from(id).ok()?, text: rest.text()? },
        kind::STRING => Name::String { id, text: rest.text()? },
        kind::COUNTER => Name::Counter { id, kind: rest.number()? as u32, domain: rest.text()?, name: rest.text()? },
        kind::EVENT => Name::Event { id, text: rest.text()? },
        kind::SYNC_CREATE => {
            Name::SyncCreate { attribute: id, address: rest.number()?, class: rest.text()?, name: rest.text()? }
        }
        kind::SYNC_RENAME => Name::SyncRename { address: rest.number()?, name: rest.text()? },
        kind::SYNC_DESTROY => Name::SyncDestroy { address: rest.number()? },
        kind::THREAD_NAME => Name::ThreadName { text: rest.text()? },
        kind::THREAD_IGNORE => Name::ThreadIgnore,
        kind::PAUSE => Name::Pause { scope: id },
        kind::RESUME => Name::Resume { scope: id },
        kind::DETACH => Name::Detach,
        kind::CLIENT => Name::Client { entries: id, bound: rest.number()? as u32, path: rest.text()? },
        _ => return None,
    })
}

fn decode_code(kind: u8, id: u32, mut rest: Fields<'_>) -> Option<Name<'_>> {
    Some(match kind {
        kind::MODULE_LOAD => Name::ModuleLoad { start: rest.number()?, end: rest.number()?, path: rest.text()? },
        kind::MODULE_UNLOAD => Name::ModuleUnload { start: rest.number()? },
        kind::OBJECT => Name::Object { id, module: rest.number()?, bytes: rest.number()?, name: rest.text()? },
        kind::SECTION => Name::Section {
            object: id,
            kind: rest.number()? as u32,
            flags: rest.number()?,
            address: rest.number()?,
            size: rest.number()?,
            file_offset: rest.number()?,
            name: rest.text()?,
        },
        kind::OBJECT_BYTES => {
            let (offset, length) = (rest.number()?, rest.number()?);
            Name::ObjectBytes { object: id, offset, bytes: rest.0.get(..usize::try_from(length).ok()?)? }
        }
        kind::OBJECT_UNLOAD => Name::ObjectUnload { module: rest.number()? },
        kind::METHOD => Name::Method(Method {
            id,
            parent: rest.number()? as u32,
            address: rest.number()?,
            size: rest.number()?,
            name: rest.text()?,
            class: rest.text()?,
            source: rest.text()?,
            module: rest.text()?,
        }),
        kind::METHOD_LINES => Name::MethodLines { id, address: rest.number()?, lines: Lines::Read(rest.0) },
        kind::METHOD_UNLOAD => Name::MethodUnload { id },
        _ => return None,
    })
}
