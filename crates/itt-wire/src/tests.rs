//! Round trips, hostile bytes, and a file as the library writes it, drained by the reader.

use std::fs::File;
use std::os::unix::fs::FileExt;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::layout::{self, header, slot};
use crate::{
    CHUNK_BYTES, Clock, Event, EventsBuffer, Header, Id, Lines, Method, Name, Named, NamesBuffer, Numbers, Reader,
    Sink, State, Value, events, names,
};

const SAMPLES: [Event<'static>; 27] = {
    let (id, parent) = (Id { d1: 7, d2: 8 }, Id { d1: 9, d2: 0 });
    [
        Event::TaskBegin { domain: 3, name: 4, id: Id::NONE, parent: Id::NONE },
        Event::TaskBegin { domain: 3, name: 4, id, parent: Id::NONE },
        Event::TaskBegin { domain: 3, name: 4, id: Id::NONE, parent },
        Event::TaskBeginFn { domain: u16::MAX, function: 0x1000, id, parent },
        Event::TaskEnd { domain: 3 },
        Event::OverlappedBegin { domain: 3, name: u32::MAX, id, parent },
        Event::OverlappedEnd { domain: 3, id },
        Event::RegionBegin { domain: 3, name: 4, id, parent: Id::NONE },
        Event::RegionEnd { domain: 3, id },
        Event::FrameBegin { domain: 3, id },
        Event::FrameEnd { domain: 3, id: Id::NONE },
        Event::FrameSubmit { domain: 3, id, begin: 5, end: u64::MAX },
        Event::Marker { domain: 3, name: 4, id, scope: 2 },
        Event::EventStart { event: 1 },
        Event::EventEnd { event: 1 },
        Event::CounterSet { counter: 6, value: Value::Unsigned(u64::MAX) },
        Event::CounterSet { counter: 6, value: Value::Signed(-5) },
        Event::CounterSet { counter: 6, value: Value::Float(0.5) },
        Event::CounterAdd { counter: 6, delta: -1 },
        Event::NamedCounterAdd { domain: 3, name: 4, delta: i64::MIN },
        Event::Numbers {
            domain: 3,
            key: 4,
            id,
            scope: 1,
            values: Numbers::Given(&[Value::Float(1.5), Value::Float(-2.0)]),
        },
        Event::Text { domain: 3, key: 4, id, scope: 0, text: b"nine byte" },
        Event::Formatted { domain: 3, format: 4, id: Id::NONE, text: b"" },
        Event::SyncPrepare { address: 1 },
        Event::SyncCancel { address: 2 },
        Event::StackEnter { id: 3 },
        Event::StackLeave { id: 3 },
    ]
};

const NAMES: [Name<'static>; 22] = [
    Name::Domain { id: 3, text: b"com.example" },
    Name::String { id: u32::MAX, text: b"" },
    Name::Counter { id: 1, kind: 4, domain: b"net", name: b"send_header" },
    Name::Event { id: 2, text: b"start" },
    Name::SyncCreate { address: 0x7fff, attribute: 2, class: b"Mutex", name: b"queue_lock" },
    Name::SyncRename { address: 0x7fff, name: b"other" },
    Name::SyncDestroy { address: 0x7fff },
    Name::ThreadName { text: b"worker" },
    Name::ThreadIgnore,
    Name::ModuleLoad { start: 1, end: 2, path: b"/lib/x.so" },
    Name::ModuleUnload { start: 1 },
    Name::Object { id: 5, module: 77, bytes: 3, name: b"jit" },
    Name::Section { object: 5, kind: 3, flags: 1, address: 2, size: 3, file_offset: 4, name: b".text" },
    Name::ObjectBytes { object: 5, offset: 0, bytes: b"ELF" },
    Name::ObjectUnload { module: 77 },
    Name::Method(Method {
        id: 9,
        parent: 1,
        address: 2,
        size: 3,
        name: b"f",
        class: b"C",
        source: b"f.js",
        module: b"",
    }),
    Name::MethodLines { id: 9, address: 2, lines: Lines::Given(&[(0, 10), (4, u32::MAX)]) },
    Name::MethodUnload { id: 9 },
    Name::Pause { scope: 0 },
    Name::Resume { scope: 1 },
    Name::Detach,
    Name::Client { entries: 156, bound: 70, path: b"/usr/bin/x" },
];

fn sample_events() -> Vec<u8> {
    let mut buffer = EventsBuffer::default();
    SAMPLES.iter().enumerate().for_each(|(ticks, event)| buffer.push(ticks as u64, event));
    buffer.bytes
}

fn sample_names() -> Vec<u8> {
    let mut buffer = NamesBuffer::default();
    NAMES.iter().for_each(|name| buffer.push(&Named { ticks: 1, tid: 2, name: *name }));
    buffer.bytes
}

#[test]
fn every_event_comes_back() {
    let bytes = sample_events();
    let mut read = events(&bytes);
    for (ticks, event) in SAMPLES.iter().enumerate() {
        let stamped = read.next().unwrap();
        assert_eq!((stamped.ticks, stamped.event), (ticks as u64, *event));
    }
    assert_eq!((read.next(), read.rest(), read.unknown()), (None, 0, 0));
    assert_eq!(SAMPLES.iter().map(Event::words).sum::<usize>() * 8, bytes.len());
}

#[test]
fn common_events_are_short() {
    assert_eq!([0, 4, 15, 18].map(|index| SAMPLES[index].words() * 8), [16, 16, 24, 24]);
}

#[test]
fn every_name_comes_back() {
    let bytes = sample_names();
    let mut read = names(&bytes);
    for name in NAMES {
        assert_eq!(read.next(), Some(Named { ticks: 1, tid: 2, name }));
    }
    assert_eq!((read.next(), read.rest(), read.unknown()), (None, 0, 0));
}

#[test]
fn the_longest_records_fit() {
    let text = vec![b'x'; 100_000];
    let event = Event::Text { domain: 1, key: 2, id: Id::NONE, scope: 0, text: &text };
    let values = vec![Value::Signed(-1); 1000];
    let numbers = Event::Numbers { domain: 1, key: 2, id: Id::NONE, scope: 0, values: Numbers::Given(&values) };
    assert!(event.words() <= 255 && numbers.words() <= 255);
    let lines = vec![(1, 2); 100_000];
    let long = Method { name: &text, class: &text, source: &text, module: &text, ..Method::default() };
    let longest = [
        Name::Method(long),
        Name::MethodLines { id: 1, address: 1, lines: Lines::Given(&lines) },
        Name::ObjectBytes { object: 1, offset: 0, bytes: &text },
    ];
    for name in longest {
        let mut buffer = NamesBuffer::default();
        buffer.push(&Named { ticks: 1, tid: 2, name });
        assert!(buffer.bytes.len() <= crate::name::RECORD_BYTES);
        assert_eq!(names(&buffer.bytes).count(), 1);
    }
}

#[test]
fn an_unknown_kind_is_passed_over_and_counted() {
    let mut bytes = sample_events();
    bytes[0] = 200;
    let mut read = events(&bytes);
    assert_eq!(read.by_ref().count(), SAMPLES.len() - 1);
    assert_eq!((read.rest(), read.unknown()), (0, 1));
}

#[test]
fn the_variable_says_state_and_folder() {
    let value = State::Recording.variable("/dev/shm/x:y");
    assert_eq!(State::parse_variable(value.as_bytes()), Some((State::Recording, b"/dev/shm/x:y".as_slice())));
    let off = State::Off.variable("/tmp");
    assert_eq!(State::parse_variable(off.as_bytes()), Some((State::Off, b"/tmp".as_slice())));
    for bad in ["", "recording", "recording:", "other:/tmp", "/tmp"] {
        assert_eq!(State::parse_variable(bad.as_bytes()), None, "{bad}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_events(bytes in vec(any::<u8>(), 0..4000)) {
        let mut read = events(&bytes);
        let found = read.by_ref().count();
        prop_assert!(found * 16 + read.rest() <= bytes.len());
    }

    #[test]
    fn mutated_records_never_panic(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut in any::<prop::sample::Index>()) {
        for good in [sample_events(), sample_names()] {
            let mut bytes = good;
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            bytes.truncate(cut.index(bytes.len()));
            let texts: usize = events(&bytes).map(|it| format!("{it:?}").len()).sum();
            let more: usize = names(&bytes).map(|it| format!("{it:?}").len()).sum();
            prop_assert!(texts < usize::MAX - more);
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_file_is_drained_within_bounds(
        words in vec(any::<u64>(), header::WORDS),
        slots in vec(any::<u64>(), slot::WORDS * 3),
        damage in vec((0..slot::WORDS * 3, any::<u64>()), 0..4),
        ring in vec(any::<u8>(), 0..5000),
    ) {
        let file = SharedFile::new();
        for (index, word) in words.iter().enumerate().skip(3) {
            file.put(index as u64 * 8, *word);
        }
        let good = [2, 1 << 20, 0, 0, 5, layout::RINGS_AT, layout::SMALLEST_RING, 0];
        for (index, word) in slots.iter().enumerate() {
            let word = good.get(index % slot::WORDS).unwrap_or(word);
            file.put(layout::SLOTS_AT + index as u64 * 8, *word);
        }
        for (index, word) in damage {
            file.put(layout::SLOTS_AT + index as u64 * 8, word);
        }
        file.file.write_all_at(&ring, layout::NAMES_AT).unwrap();
        file.file.write_all_at(&ring, layout::RINGS_AT).unwrap();
        let mut reader = Reader::open(file.file.try_clone().unwrap()).unwrap();
        for _ in 0..3 {
            let mut drained = Drained::default();
            let round = reader.drain(&mut drained).unwrap();
            let handed = drained.names.len() + drained.events.iter().map(|it| it.2.len()).sum::<usize>();
            prop_assert_eq!(handed as u64, round.bytes);
            prop_assert!(round.bytes <= 100 << 20);
        }
    }
}

/// What a drain handed over.
#[derive(Default)]
struct Drained {
    names: Vec<u8>,
    events: Vec<(u32, u32, Vec<u8>)>,
}

impl Sink for Drained {
    fn names(&mut self, bytes: &[u8]) {
        assert!(bytes.len() <= CHUNK_BYTES);
        self.names.extend_from_slice(bytes);
    }

    fn events(&mut self, tid: u32, lost: u32, bytes: &[u8]) {
        assert!(bytes.len() <= CHUNK_BYTES);
        self.events.push((tid, lost, bytes.to_vec()));
    }
}

/// A file as a program makes it.
struct SharedFile {
    file: File,
}

impl SharedFile {
    fn new() -> Self {
        let file = Self { file: tempfile::tempfile().unwrap() };
        file.file.set_len(layout::SLOTS_AT).unwrap();
        file.header(header::VERSION, u64::from(layout::VERSION) | (Clock::Tsc as u64) << 32);
        file.header(header::PROCESS, 42 | 41 << 32);
        file.header(header::MAGIC, layout::MAGIC);
        file
    }

    fn put(&self, at: u64, word: u64) {
        self.file.write_all_at(&word.to_le_bytes(), at).unwrap();
    }

    fn get(&self, at: u64) -> u64 {
        let mut word = [0; 8];
        self.file.read_exact_at(&mut word, at).unwrap();
        u64::from_le_bytes(word)
    }

    fn header(&self, index: usize, word: u64) {
        self.put(index as u64 * 8, word);
    }

    fn slot(&self, slot: u64, index: usize, word: u64) {
        self.put(layout::SLOTS_AT + slot * layout::SLOT_BYTES + index as u64 * 8, word);
    }

    /// Slot `slot` with the smallest ring, in which `bytes` begin at `tail`.
    fn ring(&self, slot: u64, tid: u64, tail: u64, bytes: &[u8]) {
        let offset = layout::RINGS_AT + slot * layout::SMALLEST_RING;
        self.header(header::SLOTS, slot + 1);
        self.slot(slot, slot::OFFSET, offset);
        self.slot(slot, slot::CAPACITY, layout::SMALLEST_RING);
        self.slot(slot, slot::THREAD, tid);
        for (index, byte) in bytes.iter().enumerate() {
            let at = (tail + index as u64) % layout::SMALLEST_RING;
            self.file.write_all_at(&[*byte], offset + at).unwrap();
        }
        self.slot(slot, slot::HEAD, tail + bytes.len() as u64);
        self.slot(slot, slot::SEQUENCE, 2);
    }

    fn reader(&self) -> Reader {
        Reader::open(self.file.try_clone().unwrap()).unwrap()
    }
}

#[test]
fn what_is_no_shared_file_is_refused() {
    assert_eq!(Reader::open(tempfile::tempfile().unwrap()).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    let other = SharedFile::new();
    other.header(header::VERSION, 99 | (Clock::Tsc as u64) << 32);
    assert!(Reader::open(other.file).is_err());
}

#[test]
fn names_and_events_are_drained_once() {
    let shared = SharedFile::new();
    let names = sample_names();
    shared.file.write_all_at(&names, layout::NAMES_AT).unwrap();
    shared.header(header::NAMES_HEAD, names.len() as u64);
    shared.ring(0, 100, 0, &sample_events());
    shared.ring(1, 101, 0, &sample_events());
    let mut reader = shared.reader();
    assert_eq!((reader.header().pid, reader.header().parent, reader.header().clock), (42, 41, Clock::Tsc));
    let mut drained = Drained::default();
    reader.drain(&mut drained).unwrap();
    assert_eq!(drained.names, names);
    assert_eq!(drained.events, [(100, 0, sample_events()), (101, 0, sample_events())]);
    let tail = |index| shared.get(layout::SLOTS_AT + layout::SLOT_BYTES + 8 * index as u64);
    assert_eq!(
        (tail(slot::TAIL), tail(slot::TAIL_CHECK)),
        (sample_events().len() as u64, !(sample_events().len() as u64))
    );
    let mut again = Drained::default();
    assert_eq!(reader.drain(&mut again).unwrap().bytes, 0);
    assert!(again.names.is_empty() && again.events.is_empty());
}

#[test]
fn a_ring_is_read_around_its_end() {
    let shared = SharedFile::new();
    shared.ring(0, 100, 0, &[]);
    let mut reader = shared.reader();
    let near = layout::SMALLEST_RING - 40;
    let filler = Event::TaskEnd { domain: 1 };
    let mut first = EventsBuffer::default();
    (0..near / 16).for_each(|ticks| first.push(ticks, &filler));
    shared.ring(0, 100, 0, &first.bytes);
    reader.drain(&mut Drained::default()).unwrap();
    shared.ring(0, 100, first.bytes.len() as u64, &sample_events());
    let mut drained = Drained::default();
    reader.drain(&mut drained).unwrap();
    assert_eq!(drained.events, [(100, 0, sample_events())]);
}

#[test]
fn losses_are_told_once_and_damage_is_counted() {
    let shared = SharedFile::new();
    shared.ring(0, 100, 0, &[0; 64]);
    shared.slot(0, slot::LOST, 5);
    shared.slot(0, slot::NESTED, 2);
    let mut reader = shared.reader();
    let mut drained = Drained::default();
    let round = reader.drain(&mut drained).unwrap();
    assert_eq!(drained.events, [(100, 7, vec![])]);
    assert_eq!(round.damaged_bytes, 64);
    shared.ring(0, 100, 64, &sample_events());
    let mut again = Drained::default();
    assert_eq!(reader.drain(&mut again).unwrap().damaged_bytes, 64);
    assert_eq!(again.events, [(100, 0, sample_events())]);
}

#[test]
fn the_next_reader_goes_on_where_the_first_one_ended() {
    let shared = SharedFile::new();
    let length = sample_events().len() as u64;
    shared.ring(0, 100, 0, &sample_events());
    shared.slot(0, slot::LOST, 5);
    shared.reader().drain(&mut Drained::default()).unwrap();
    shared.ring(0, 100, length, &sample_events());
    let mut second = shared.reader();
    let mut drained = Drained::default();
    assert_eq!(second.drain(&mut drained).unwrap().damaged_bytes, 0);
    assert_eq!(drained.events, [(100, 0, sample_events())]);
    // A tail that the program made up is not believed.
    shared.slot(0, slot::TAIL, u64::MAX);
    shared.reader().drain(&mut Drained::default()).unwrap();
}

#[test]
fn a_slot_that_changes_hands_waits_for_the_next_round() {
    let shared = SharedFile::new();
    shared.ring(0, 100, 0, &sample_events());
    shared.slot(0, slot::SEQUENCE, 3);
    let mut reader = shared.reader();
    let mut drained = Drained::default();
    reader.drain(&mut drained).unwrap();
    assert!(drained.events.is_empty());
    shared.slot(0, slot::SEQUENCE, 4);
    reader.drain(&mut drained).unwrap();
    assert_eq!(drained.events.len(), 1);
}

#[test]
fn a_file_cut_under_the_reader_is_no_harm() {
    let shared = SharedFile::new();
    shared.ring(0, 100, 0, &sample_events());
    let mut reader = shared.reader();
    shared.file.set_len(4096).unwrap();
    assert_eq!(reader.drain(&mut Drained::default()).unwrap().bytes, 0);
    shared.file.set_len(0).unwrap();
    assert!(reader.drain(&mut Drained::default()).is_err());
}

#[test]
fn the_collector_sets_the_state() {
    let shared = SharedFile::new();
    shared.header(header::SWITCH, 1 << 32);
    let mut reader = shared.reader();
    reader.set_state(State::Paused).unwrap();
    assert_eq!(shared.get(8 * header::SWITCH as u64), State::Paused as u64 | 1 << 32);
    assert!(reader.drain(&mut Drained::default()).unwrap().program_paused);
    let mut bytes = [0; header::WORDS * 8];
    shared.file.read_exact_at(&mut bytes, 0).unwrap();
    assert_eq!(Header::parse(&bytes), Some(reader.header()));
}
