//! Reads back what a thread announced: the events in bytes that anyone may have written.

use crate::event::{Event, Id, Numbers, Value, kind};
use crate::layout::word_at;

/// An event with its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stamped<'a> {
    /// When, in the file's ticks.
    pub ticks: u64,
    /// What.
    pub event: Event<'a>,
}

/// The events in `bytes`.
pub fn events(bytes: &[u8]) -> Events<'_> {
    Events { bytes, unknown: 0 }
}

/// Iterates over events. A record whose length does not fit ends the iteration; [`Events::rest`] then says how many bytes
/// were not read.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    unknown: u64,
}

impl Events<'_> {
    /// Bytes that were not read because they are no records.
    pub fn rest(&self) -> usize {
        self.bytes.len()
    }

    /// Records that were passed over because they make no sense.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }
}

/// Bytes of the event's record that `bytes` begin with; `None` when they begin with none.
pub(crate) fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let length = usize::from(*bytes.get(1)?) * 8;
    (length >= 16 && length <= bytes.len()).then_some(length)
}

impl<'a> Iterator for Events<'a> {
    type Item = Stamped<'a>;

    fn next(&mut self) -> Option<Stamped<'a>> {
        loop {
            let (record, rest) = self.bytes.split_at_checked(record_bytes(self.bytes)?)?;
            self.bytes = rest;
            match decode(record) {
                Some(event) => return Some(event),
                None => self.unknown += 1,
            }
        }
    }
}

/// The words behind the ticks.
#[derive(Clone, Copy)]
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn word(self, index: usize) -> Option<u64> {
        word_at(self.0, index)
    }

    /// The id at word `index`, none when the record ends before it.
    fn id(self, index: usize) -> Id {
        match (self.word(index), self.word(index + 1)) {
            (Some(d1), Some(d2)) => Id { d1, d2 },
            _ => Id::NONE,
        }
    }

    /// The scope, and the text, of a record with text.
    fn text(self) -> Option<(u32, &'a [u8])> {
        let word = self.word(2)?;
        Some((word as u32, self.0.get(24..)?.get(..(word >> 32) as usize)?))
    }
}

fn decode(record: &[u8]) -> Option<Stamped<'_>> {
    let (first, ticks) = (word_at(record, 0)?, word_at(record, 1)?);
    let (domain, name) = ((first >> 16) as u16, (first >> 32) as u32);
    let rest = Rest(record.get(16..)?);
    let event =
        decode_task(first as u8, domain, name, rest).or_else(|| decode_other(first as u8, domain, name, rest))?;
    Some(Stamped { ticks, event })
}

fn decode_task(kind: u8, domain: u16, name: u32, rest: Rest<'_>) -> Option<Event<'_>> {
    let (id, parent) = (rest.id(0), rest.id(2));
    Some(match kind {
        kind::TASK_BEGIN => Event::TaskBegin { domain, name, id, parent },
        kind::TASK_BEGIN_FN => {
            Event::TaskBeginFn { domain, function: rest.word(0)?, id: rest.id(1), parent: rest.id(3) }
        }
        kind::TASK_END => Event::TaskEnd { domain },
        kind::OVERLAPPED_BEGIN => Event::OverlappedBegin { domain, name, id, parent },
        kind::OVERLAPPED_END => Event::OverlappedEnd { domain, id },
        kind::REGION_BEGIN => Event::RegionBegin { domain, name, id, parent },
        kind::REGION_END => Event::RegionEnd { domain, id },
        kind::FRAME_BEGIN => Event::FrameBegin { domain, id },
        kind::FRAME_END => Event::FrameEnd { domain, id },
        kind::FRAME_SUBMIT => Event::FrameSubmit { domain, id: rest.id(2), begin: rest.word(0)?, end: rest.word(1)? },
        kind::MARKER => Event::Marker { domain, name, id: rest.id(1), scope: rest.word(0)? as u32 },
        kind::EVENT_START => Event::EventStart { event: name },
        kind::EVENT_END => Event::EventEnd { event: name },
        _ => return None,
    })
}

fn decode_other(kind: u8, domain: u16, name: u32, rest: Rest<'_>) -> Option<Event<'_>> {
    Some(match kind {
        kind::COUNTER_SET => Event::CounterSet { counter: name, value: Value::of(domain, rest.word(0)?)? },
        kind::COUNTER_ADD => Event::CounterAdd { counter: name, delta: rest.word(0)? as i64 },
        kind::NAMED_COUNTER_ADD => Event::NamedCounterAdd { domain, name, delta: rest.word(0)? as i64 },
        kind::NUMBERS => {
            let about = rest.word(2)?;
            let values = Numbers::Read((about >> 32) as u16, rest.0.get(24..)?);
            Event::Numbers { domain, key: name, id: rest.id(0), scope: about as u32, values }
        }
        kind::TEXT => {
            let (scope, text) = rest.text()?;
            Event::Text { domain, key: name, id: rest.id(0), scope, text }
        }
        kind::FORMATTED => Event::Formatted { domain, format: name, id: rest.id(0), text: rest.text()?.1 },
        kind::SYNC_PREPARE => Event::SyncPrepare { address: rest.word(0)? },
        kind::SYNC_ACQUIRED => Event::SyncAcquired { address: rest.word(0)? },
        kind::SYNC_RELEASING => Event::SyncReleasing { address: rest.word(0)? },
        kind::SYNC_CANCEL => Event::SyncCancel { address: rest.word(0)? },
        kind::STACK_ENTER => Event::StackEnter { id: rest.word(0)? },
        kind::STACK_LEAVE => Event::StackLeave { id: rest.word(0)? },
        _ => return None,
    })
}
