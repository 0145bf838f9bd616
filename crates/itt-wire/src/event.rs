//! What a thread announces: records of 16 bytes for the common ones.
//!
//! First word: kind (8 bits), length of the record in words (8), domain (16), name (32). Second word: ticks. The further
//! words are the kind's own; ids that are null are left away at the end, and the length tells.

use crate::layout::word_at;

/// Most bytes of text in an event; what is longer is cut by whoever writes it.
pub const EVENT_TEXT_BYTES: usize = 1984;
/// Most numbers in an event.
pub const EVENT_NUMBERS: usize = 200;

/// A program's own number of a task, region, frame or marker (`__itt_id` without its reserved third word).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the program's words")]
pub struct Id {
    pub d1: u64,
    pub d2: u64,
}

impl Id {
    /// No id.
    pub const NONE: Id = Id { d1: 0, d2: 0 };

    /// Whether it is none.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }
}

/// A number as the program gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the types of C")]
pub enum Value {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

impl Value {
    /// The nearest floating point number.
    pub fn as_f64(self) -> f64 {
        match self {
            Value::Unsigned(value) => value as f64,
            Value::Signed(value) => value as f64,
            Value::Float(value) => value,
        }
    }

    #[inline]
    fn tag(self) -> u16 {
        match self {
            Value::Unsigned(_) => 0,
            Value::Signed(_) => 1,
            Value::Float(_) => 2,
        }
    }

    #[inline]
    fn bits(self) -> u64 {
        match self {
            Value::Unsigned(value) => value,
            Value::Signed(value) => value as u64,
            Value::Float(value) => value.to_bits(),
        }
    }

    pub(crate) fn of(tag: u16, bits: u64) -> Option<Self> {
        match tag {
            0 => Some(Value::Unsigned(bits)),
            1 => Some(Value::Signed(bits as i64)),
            2 => Some(Value::Float(f64::from_bits(bits))),
            _ => None,
        }
    }
}

/// The numbers of one datum, all of one type.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// From a record.
    Read(u16, &'a [u8]),
    /// From the program.
    Given(&'a [Value]),
}

impl Numbers<'_> {
    /// The numbers in their order, at most [`EVENT_NUMBERS`].
    pub fn iter(&self) -> impl Iterator<Item = Value> + '_ {
        (0..EVENT_NUMBERS).map_while(|index| match self {
            Numbers::Read(tag, bytes) => Value::of(*tag, word_at(bytes, index)?),
            Numbers::Given(values) => values.get(index).copied(),
        })
    }
}

impl PartialEq for Numbers<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// What was announced. `domain` and `name` are ids of [`crate::Name::Domain`] and [`crate::Name::String`], 0 for none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are those of ITT")]
pub enum Event<'a> {
    /// A task of this thread; it ends with the next [`Event::TaskEnd`] of this thread **and** domain.
    TaskBegin {
        domain: u16,
        name: u32,
        id: Id,
        parent: Id,
    },
    /// The same, named by the function at an address.
    TaskBeginFn {
        domain: u16,
        function: u64,
        id: Id,
        parent: Id,
    },
    TaskEnd {
        domain: u16,
    },
    /// A task that any thread can end, by its id.
    OverlappedBegin {
        domain: u16,
        name: u32,
        id: Id,
        parent: Id,
    },
    OverlappedEnd {
        domain: u16,
        id: Id,
    },
    RegionBegin {
        domain: u16,
        name: u32,
        id: Id,
        parent: Id,
    },
    RegionEnd {
        domain: u16,
        id: Id,
    },
    FrameBegin {
        domain: u16,
        id: Id,
    },
    FrameEnd {
        domain: u16,
        id: Id,
    },
    /// A frame that is over; begin and end in ticks.
    FrameSubmit {
        domain: u16,
        id: Id,
        begin: u64,
        end: u64,
    },
    /// `scope`: 0 unknown, 1 global, 2 process, 3 thread, 4 task.
    Marker {
        domain: u16,
        name: u32,
        id: Id,
        scope: u32,
    },
    /// `event` is the id of a [`crate::Name::Event`].
    EventStart {
        event: u32,
    },
    EventEnd {
        event: u32,
    },
    /// `counter` is the id of a [`crate::Name::Counter`].
    CounterSet {
        counter: u32,
        value: Value,
    },
    CounterAdd {
        counter: u32,
        delta: i64,
    },
    /// A counter that was never created, known by its domain and name alone.
    NamedCounterAdd {
        domain: u16,
        name: u32,
        delta: i64,
    },
    /// Data of the task `id`; without an id, of what `scope` says (5: marker), and with neither, of this thread's innermost
    /// task of the domain.
    Numbers {
        domain: u16,
        key: u32,
        id: Id,
        scope: u32,
        values: Numbers<'a>,
    },
    Text {
        domain: u16,
        key: u32,
        id: Id,
        scope: u32,
        text: &'a [u8],
    },
    /// Text made by a format, which is the key.
    Formatted {
        domain: u16,
        format: u32,
        id: Id,
        text: &'a [u8],
    },
    SyncPrepare {
        address: u64,
    },
    /// Without a prepare of this thread and address before, this is not the end of a wait.
    SyncAcquired {
        address: u64,
    },
    SyncReleasing {
        address: u64,
    },
    SyncCancel {
        address: u64,
    },
    /// Until [`Event::StackLeave`], this thread does work that was asked for where `id` was created.
    StackEnter {
        id: u64,
    },
    StackLeave {
        id: u64,
    },
}

pub(crate) mod kind {
    pub const TASK_BEGIN: u8 = 1;
    pub const TASK_BEGIN_FN: u8 = 2;
    pub const TASK_END: u8 = 3;
    pub const OVERLAPPED_BEGIN: u8 = 4;
    pub const OVERLAPPED_END: u8 = 5;
    pub const REGION_BEGIN: u8 = 6;
    pub const REGION_END: u8 = 7;
    pub const FRAME_BEGIN: u8 = 8;
    pub const FRAME_END: u8 = 9;
    pub const FRAME_SUBMIT: u8 = 10;
    pub const MARKER: u8 = 11;
    pub const EVENT_START: u8 = 12;
    pub const EVENT_END: u8 = 13;
    pub const COUNTER_SET: u8 = 14;
    pub const COUNTER_ADD: u8 = 15;
    pub const NAMED_COUNTER_ADD: u8 = 16;
    pub const NUMBERS: u8 = 17;
    pub const TEXT: u8 = 18;
    pub const FORMATTED: u8 = 19;
    pub const SYNC_PREPARE: u8 = 20;
    pub const SYNC_ACQUIRED: u8 = 21;
    pub const SYNC_RELEASING: u8 = 22;
    pub const SYNC_CANCEL: u8 = 23;
    pub const STACK_ENTER: u8 = 24;
    pub const STACK_LEAVE: u8 = 25;
}

impl Event<'_> {
    /// The kind, domain and name of the first word.
    #[inline(always)]
    fn first(&self) -> (u8, u16, u32) {
        use Event::*;
        match *self {
            TaskBegin { domain, name, .. } => (kind::TASK_BEGIN, domain, name),
            TaskBeginFn { domain, .. } => (kind::TASK_BEGIN_FN, domain, 0),
            TaskEnd { domain } => (kind::TASK_END, domain, 0),
            OverlappedBegin { domain, name, .. } => (kind::OVERLAPPED_BEGIN, domain, name),
            OverlappedEnd { domain, .. } => (kind::OVERLAPPED_END, domain, 0),
            RegionBegin { domain, name, .. } => (kind::REGION_BEGIN, domain, name),
            RegionEnd { domain, .. } => (kind::REGION_END, domain, 0),
            FrameBegin { domain, .. } => (kind::FRAME_BEGIN, domain, 0),
            FrameEnd { domain, .. } => (kind::FRAME_END, domain, 0),
            FrameSubmit { domain, .. } => (kind::FRAME_SUBMIT, domain, 0),
            Marker { domain, name, .. } => (kind::MARKER, domain, name),
            EventStart { event } => (kind::EVENT_START, 0, event),
            EventEnd { event } => (kind::EVENT_END, 0, event),
            CounterSet { counter, value } => (kind::COUNTER_SET, value.tag(), counter),
            CounterAdd { counter, .. } => (kind::COUNTER_ADD, 0, counter),
            NamedCounterAdd { domain, name, .. } => (kind::NAMED_COUNTER_ADD, domain, name),
            Numbers { domain, key, .. } => (kind::NUMBERS, domain, key),
            Text { domain, key, .. } => (kind::TEXT, domain, key),
            Formatted { domain, format, .. } => (kind::FORMATTED, domain, format),
            SyncPrepare { .. } => (kind::SYNC_PREPARE, 0, 0),
            SyncAcquired { .. } => (kind::SYNC_ACQUIRED, 0, 0),
            SyncReleasing { .. } => (kind::SYNC_RELEASING, 0, 0),
            SyncCancel { .. } => (kind::SYNC_CANCEL, 0, 0),
            StackEnter { .. } => (kind::STACK_ENTER, 0, 0),
            StackLeave { .. } => (kind::STACK_LEAVE, 0, 0),
        }
    }

    /// Hands the words behind the ticks to `put`.
    #[inline(always)]
    fn rest(&self, put: &mut impl FnMut(u64)) {
        use Event::*;
        match *self {
            TaskBegin { id, parent, .. } | OverlappedBegin { id, parent, .. } | RegionBegin { id, parent, .. } => {
                put_ids(id, parent, put);
            }
            TaskBeginFn { function, id, parent, .. } => {
                put(function);
                put_ids(id, parent, put);
            }
            OverlappedEnd { id, .. } | RegionEnd { id, .. } | FrameBegin { id, .. } | FrameEnd { id, .. } => {
                put_ids(id, Id::NONE, put);
            }
            FrameSubmit { id, begin, end, .. } => {
                put(begin);
                put(end);
                put_ids(id, Id::NONE, put);
            }
            Marker { id, scope, .. } => {
                put(u64::from(scope));
                put_ids(id, Id::NONE, put);
            }
            CounterSet { value, .. } => put(value.bits()),
            CounterAdd { delta, .. } | NamedCounterAdd { delta, .. } => put(delta as u64),
            Numbers { id, scope, values, .. } => {
                put(id.d1);
                put(id.d2);
                put(u64::from(scope) | u64::from(values.iter().next().map_or(0, Value::tag)) << 32);
                values.iter().for_each(|value| put(value.bits()));
            }
            Text { id, scope, text, .. } => put_text(id, scope, text, put),
            Formatted { id, text, .. } => put_text(id, 0, text, put),
            SyncPrepare { address } | SyncAcquired { address } | SyncReleasing { address } | SyncCancel { address } => {
                put(address);
            }
            StackEnter { id } | StackLeave { id } => put(id),
            TaskEnd { .. } | EventStart { .. } | EventEnd { .. } => {}
        }
    }

    /// Length of its record in words of 8 bytes.
    #[inline(always)]
    pub fn words(&self) -> usize {
        let mut words = 2usize;
        self.rest(&mut |_| words = words.saturating_add(1));
        words
    }

    /// Hands the words of its record to `put`, [`Event::words`] of them.
    #[inline(always)]
    pub fn encode(&self, ticks: u64, mut put: impl FnMut(u64)) {
        let (kind, domain, name) = self.first();
        put(u64::from(kind) | (self.words() as u64 & 0xff) << 8 | u64::from(domain) << 16 | u64::from(name) << 32);
        put(ticks);
        self.rest(&mut put);
    }
}

#[inline(always)]
fn put_ids(id: Id, parent: Id, put: &mut impl FnMut(u64)) {
    if id.is_none() && parent.is_none() {
        return;
    }
    put(id.d1);
    put(id.d2);
    if !parent.is_none() {
        put(parent.d1);
        put(parent.d2);
    }
}

fn put_text(id: Id, scope: u32, text: &[u8], put: &mut impl FnMut(u64)) {
    let text = text.get(..EVENT_TEXT_BYTES).unwrap_or(text);
    put(id.d1);
    put(id.d2);
    put(u64::from(scope) | (text.len() as u64) << 32);
    for piece in text.chunks(8) {
        let mut word = [0; 8];
        word.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
        put(u64::from_le_bytes(word));
    }
}

/// Records of events, one behind the other.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct EventsBuffer {
    /// The records so far.
    pub bytes: Vec<u8>,
}

#[cfg(feature = "std")]
impl EventsBuffer {
    /// Appends a record.
    pub fn push(&mut self, ticks: u64, event: &Event<'_>) {
        event.encode(ticks, |word| self.bytes.extend_from_slice(&word.to_le_bytes()));
    }
}
