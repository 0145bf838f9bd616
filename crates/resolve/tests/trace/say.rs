//! What a program says of itself through ITT, as text: `TIME say tid=10 tgid=10 begin=parse domain=app`.

use dwell_itt_wire::{Event, Id, Name, Named, NamesBuffer, Numbers, Value};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::{IttHeader, RecordHeader, kind};

use super::{Line, MS, START_NS};

/// A number for a text: the same everywhere.
fn number(text: &str) -> u32 {
    text.bytes().fold(1, |sum, byte| (sum * 31 + u32::from(byte)) % 60_000 + 1)
}

fn header(line: &Line<'_>, kind: u16, tid: u32) -> IttHeader {
    IttHeader {
        h: RecordHeader { kind, size: 0, tid, time_ns: line.time_ns },
        tgid: line.number("tgid").max(10) as u32,
        source: line.number("source").max(1) as u32,
        // Ticks are nanoseconds.
        base_ticks: START_NS,
        base_ns: START_NS,
        ns_per_tick: 1 << 32,
        lost: line.number("lost") as u32,
        bytes: 0,
    }
}

fn ticks(line: &Line<'_>, key: &str) -> u64 {
    line.fields.get(key).map_or(line.time_ns, |text| START_NS + (text.parse::<f64>().expect("time") * MS as f64) as u64)
}

/// Appends the records of a `say` line.
pub fn say(line: &Line<'_>, meta: &mut RecordBuffer, events: &mut RecordBuffer) {
    let tid = line.number("tid") as u32;
    let text = |key: &str| line.fields.get(key).copied().unwrap_or_default();
    let mut names = NamesBuffer::default();
    let mut name = |name: Name<'_>| names.push(&Named { ticks: ticks(line, "at"), tid, name });
    if line.has("domain") {
        name(Name::Domain { id: number(text("domain")) as u16, text: text("domain").as_bytes() });
    }
    for key in ["begin", "overlapped", "region", "marker", "key", "counted"] {
        if line.has(key) {
            name(Name::String { id: number(text(key)), text: text(key).as_bytes() });
        }
    }
    for key in ["event", "event_end"] {
        if line.has(key) {
            name(Name::Event { id: number(text(key)), text: text(key).as_bytes() });
        }
    }
    if line.has("counter") {
        let (id, domain, of) = (number(text("counter")), text("domain").as_bytes(), text("counter").as_bytes());
        name(Name::Counter { id, kind: 8, domain, name: of });
    }
    let class = text("class").replace('~', " ");
    let (address, named) = (line.number("address"), text("name").as_bytes());
    if line.has("create") {
        name(Name::SyncCreate { address, attribute: 0, class: class.as_bytes(), name: named });
    }
    if line.has("rename") {
        name(Name::SyncRename { address, name: named });
    }
    if line.has("destroy") {
        name(Name::SyncDestroy { address });
    }
    if line.has("thread_name") {
        name(Name::ThreadName { text: text("thread_name").as_bytes() });
    }
    if line.has("ignore") {
        name(Name::ThreadIgnore);
    }
    if line.has("resumed") {
        name(Name::Resume { scope: 0 });
    }
    if !names.bytes.is_empty() {
        meta.itt(header(line, kind::ITT_NAMES, 0), &names.bytes);
    }
    let mut bytes = Vec::new();
    if let Some(event) = event(line) {
        event.encode(ticks(line, "at"), |word| bytes.extend_from_slice(&word.to_le_bytes()));
    }
    if !bytes.is_empty() || line.has("lost") {
        events.itt(header(line, kind::ITT_EVENTS, tid), &bytes);
    }
}

fn event<'a>(line: &Line<'a>) -> Option<Event<'a>> {
    let text = |key: &str| line.fields.get(key).copied().unwrap_or_default();
    let has = |key: &str| line.has(key);
    let domain = if has("domain") { number(text("domain")) as u16 } else { 0 };
    let an_id = |key: &str| Id { d1: line.number(key), d2: 0 };
    let (id, parent) = (an_id("id"), an_id("parent"));
    let (scope, address) = (line.number("scope") as u32, line.number("address"));
    let name = |key: &str| number(text(key));
    Some(match () {
        () if has("begin") => Event::TaskBegin { domain, name: name("begin"), id, parent },
        () if has("fn") => Event::TaskBeginFn { domain, function: line.number("fn"), id, parent },
        () if has("end") => Event::TaskEnd { domain },
        () if has("overlapped") => Event::OverlappedBegin { domain, name: name("overlapped"), id, parent },
        () if has("overlapped_end") => Event::OverlappedEnd { domain, id },
        () if has("region") => Event::RegionBegin { domain, name: name("region"), id, parent },
        () if has("region_end") => Event::RegionEnd { domain, id },
        () if has("frame") => Event::FrameBegin { domain, id },
        () if has("frame_end") => Event::FrameEnd { domain, id },
        () if has("submit") => Event::FrameSubmit { domain, id, begin: ticks(line, "from"), end: ticks(line, "to") },
        () if has("event") => Event::EventStart { event: name("event") },
        () if has("event_end") => Event::EventEnd { event: name("event_end") },
        () if has("marker") => Event::Marker { domain, name: name("marker"), id, scope },
        () if has("counter") && has("add") => {
            Event::CounterAdd { counter: name("counter"), delta: text("add").parse().expect("a number") }
        }
        () if has("counter") => {
            let value = Value::Float(text("set").parse().expect("a number"));
            Event::CounterSet { counter: name("counter"), value }
        }
        () if has("counted") => Event::NamedCounterAdd { domain, name: name("counted"), delta: 1 },
        () if has("text") => Event::Text { domain, key: name("key"), id, scope, text: text("text").as_bytes() },
        () if has("key") => {
            let values = Numbers::Given(&[Value::Signed(1), Value::Signed(-2)]);
            Event::Numbers { domain, key: name("key"), id, scope, values }
        }
        () if has("prepare") => Event::SyncPrepare { address },
        () if has("acquired") => Event::SyncAcquired { address },
        () if has("cancel") => Event::SyncCancel { address },
        () if has("releasing") => Event::SyncReleasing { address },
        () if has("enter") => Event::StackEnter { id: line.number("enter") },
        () if has("leave") => Event::StackLeave { id: line.number("leave") },
        () => return None,
    })
}
