//! Names of the events that `--events` counts, as perf(1) has them: what perf_event_open(2) is told of each.
//!
//! Knows the kernel's own events, tracepoints (`syscalls:sys_enter_write`), raw numbers of the CPU (`r1a8`), and what a device of
//! sysfs describes (`cpu/event=0x3c,umask=0/`). With `:u` behind it an event is counted in user code only, with `:k` in the kernel only.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::kernel::perf::{Attributes, FLAG_EXCLUDE_KERNEL, FLAG_EXCLUDE_USER};

const TYPE_HARDWARE: u32 = 0;
const TYPE_SOFTWARE: u32 = 1;
const TYPE_TRACEPOINT: u32 = 2;
const TYPE_RAW: u32 = 4;

/// Name, another name, type and number of what each kernel knows (enum perf_hw_id, enum perf_sw_ids).
const KNOWN: &[(&str, &str, u32, u64)] = &[
    ("cycles", "cpu-cycles", TYPE_HARDWARE, 0),
    ("instructions", "", TYPE_HARDWARE, 1),
    ("cache-references", "", TYPE_HARDWARE, 2),
    ("cache-misses", "", TYPE_HARDWARE, 3),
    ("branches", "branch-instructions", TYPE_HARDWARE, 4),
    ("branch-misses", "", TYPE_HARDWARE, 5),
    ("bus-cycles", "", TYPE_HARDWARE, 6),
    ("stalled-cycles-frontend", "idle-cycles-frontend", TYPE_HARDWARE, 7),
    ("stalled-cycles-backend", "idle-cycles-backend", TYPE_HARDWARE, 8),
    ("ref-cycles", "", TYPE_HARDWARE, 9),
    ("cpu-clock", "", TYPE_SOFTWARE, 0),
    ("task-clock", "", TYPE_SOFTWARE, 1),
    ("page-faults", "faults", TYPE_SOFTWARE, 2),
    ("context-switches", "cs", TYPE_SOFTWARE, 3),
    ("cpu-migrations", "migrations", TYPE_SOFTWARE, 4),
    ("minor-faults", "", TYPE_SOFTWARE, 5),
    ("major-faults", "", TYPE_SOFTWARE, 6),
    ("alignment-faults", "", TYPE_SOFTWARE, 7),
    ("emulation-faults", "", TYPE_SOFTWARE, 8),
];

const DEVICES: &str = "/sys/bus/event_source/devices";
const TRACEPOINTS: [&str; 2] = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"];
/// A name that is less alike is no suggestion.
const ALIKE: f64 = 0.6;

/// An event that is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedEvent {
    /// As it was asked for.
    pub name: String,
    selector: Selector,
    /// Of `struct perf_event_attr`: where it is not counted.
    flags: u64,
}

/// Which event it is, for perf_event_open(2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Selector {
    ty: u32,
    config: [u64; 3],
}

impl CountedEvent {
    /// Understands a name. Err: what is wrong with it, one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (event, flags) = without_modifier(text);
        let known = |(name, other, ty, config): &(&str, &str, u32, u64)| {
            (*name == event || (!other.is_empty() && *other == event))
                .then_some(Selector { ty: *ty, config: [*config, 0, 0] })
        };
        let selector = match KNOWN.iter().find_map(known) {
            Some(selector) => selector,
            None => of_machine(event)?,
        };
        Ok(Self { name: text.to_owned(), selector, flags })
    }

    /// What perf_event_open(2) is told.
    pub(crate) fn attributes(&self) -> Attributes {
        const ENABLED_AND_RUNNING: u64 = 1 | 2; // PERF_FORMAT_TOTAL_TIME_ENABLED, _RUNNING
        let [config, config1, config2] = self.selector.config;
        Attributes {
            ty: self.selector.ty,
            size: size_of::<Attributes>() as u32,
            config,
            config1,
            config2,
            read_format: ENABLED_AND_RUNNING,
            flags: self.flags,
            ..Attributes::default()
        }
    }

    /// Whether the CPU counts it, not the kernel.
    pub(crate) fn is_of_hardware(&self) -> bool {
        !matches!(self.selector.ty, TYPE_SOFTWARE | TYPE_TRACEPOINT)
    }
}

/// What `:u` and `:k` leave out.
fn without_modifier(text: &str) -> (&str, u64) {
    match text.rsplit_once(':') {
        Some((event, "u")) => (event, FLAG_EXCLUDE_KERNEL),
        Some((event, "k")) => (event, FLAG_EXCLUDE_USER),
        _ => (text, 0),
    }
}

/// What is known by this machine only, or by its number.
fn of_machine(event: &str) -> Result<Selector, String> {
    if let Some((device, terms)) = event.strip_suffix('/').and_then(|event| event.split_once('/')) {
        return of_device(device, terms);
    }
    if let Some((group, name)) = event.split_once(':') {
        return tracepoint(group, name);
    }
    let raw = event.strip_prefix('r').and_then(|digits| u64::from_str_radix(digits, 16).ok());
    raw.map(|config| Selector { ty: TYPE_RAW, config: [config, 0, 0] }).ok_or_else(|| unknown(event))
}

fn unknown(event: &str) -> String {
    let likeness = |name: &str| strsim::jaro_winkler(event, name);
    let nearest = KNOWN.iter().map(|known| known.0).max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|name| likeness(name) >= ALIKE) {
        Some(name) => format!("there is no event `{event}`; did you mean `{name}`?"),
        None => format!("there is no event `{event}`; `perf list` lists them"),
    }
}

/// Most bytes of the file that describes a tracepoint.
const MOST_FORMAT_BYTES: u64 = 64 << 10;

/// What there is instead of a tracepoint.
pub(crate) struct NoTracepoint {
    /// Whether its group is there.
    pub in_group: bool,
    /// The names in the group, else all groups; none where these cannot be read.
    pub names: Vec<String>,
}

/// What this kernel says of the fields of a tracepoint.
pub(crate) fn tracepoint_format(group: &str, name: &str) -> Result<String, NoTracepoint> {
    let none = || NoTracepoint { in_group: false, names: Vec::new() };
    let folder = TRACEPOINTS.iter().map(Path::new).find(|folder| folder.join("sched").is_dir()).ok_or_else(none)?;
    let file = fs::File::open(folder.join(group).join(name).join("format"));
    let mut text = String::new();
    if file.and_then(|file| file.take(MOST_FORMAT_BYTES).read_to_string(&mut text)).is_ok() {
        return Ok(text);
    }
    let in_group = folder.join(group).is_dir();
    let listed = if in_group { fs::read_dir(folder.join(group)) } else { fs::read_dir(folder) };
    let folders = listed.into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    Err(NoTracepoint { in_group, names })
}

fn tracepoint(group: &str, name: &str) -> Result<Selector, String> {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_word(group) || !is_word(name) {
        return Err(format!("`{group}:{name}` is no tracepoint: one is GROUP:NAME, such as syscalls:sys_enter_write"));
    }
    let Some(folder) = TRACEPOINTS.iter().map(Path::new).find(|folder| folder.join("sched").is_dir()) else {
        return Err(format!(
            "the tracepoint `{group}:{name}` cannot be looked up: tracefs is not mounted, or you may not read it"
        ));
    };
    let id = fs::read_to_string(folder.join(group).join(name).join("id")).ok().and_then(|id| id.trim().parse().ok());
    let id =
        id.ok_or_else(|| format!("this kernel has no tracepoint `{group}:{name}`; `perf list tracepoint` lists them"))?;
    Ok(Selector { ty: TYPE_TRACEPOINT, config: [id, 0, 0] })
}

/// `cpu/event=0x3c,umask=0/`: where each term lies is in the device's folder `format`.
fn of_device(device: &str, terms: &str) -> Result<Selector, String> {
    let is_plain = !device.is_empty() && !device.contains('/') && !device.starts_with('.');
    let folder = Path::new(DEVICES).join(device);
    let ty = is_plain.then(|| fs::read_to_string(folder.join("type")).ok()?.trim().parse().ok()).flatten();
    let ty = ty.ok_or_else(|| {
        format!("this machine has no device `{device}` that counts events; {DEVICES} has those that it has")
    })?;
    let format = |term: &str| {
        let is_word = term.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_word.then(|| fs::read_to_string(folder.join("format").join(term)).ok()).flatten()
    };
    Ok(Selector { ty, config: config_of(device, terms, &format)? })
}

/// The words `config`, `config1` and `config2` of an event's terms, each of which `format` tells the place of.
fn config_of(device: &str, terms: &str, format: &dyn Fn(&str) -> Option<String>) -> Result<[u64; 3], String> {
    let mut config = [0; 3];
    for term in terms.split(',').filter(|term| !term.is_empty()) {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let value = number(value).ok_or_else(|| format!("`{value}` of `{term}` is no number"))?;
        match name {
            "config" => config[0] |= value,
            "config1" => config[1] |= value,
            "config2" => config[2] |= value,
            _ => {
                let place = format(name).ok_or_else(|| format!("the device `{device}` knows no term `{name}`"))?;
                place_bits(&mut config, place.trim(), value)
                    .ok_or_else(|| format!("`{value}` does not fit into the term `{name}` of the device `{device}`"))?;
            }
        }
    }
    Ok(config)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Puts a value where `place` says: `config:0-7,32-35`, its low bits first. `None` when it has more bits, or there is no such place.
fn place_bits(config: &mut [u64; 3], place: &str, mut value: u64) -> Option<()> {
    let (word, ranges) = place.split_once(':')?;
    let word = config.get_mut(["config", "config1", "config2"].iter().position(|name| *name == word)?)?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        for bit in first..=last.min(63) {
            *word |= (value & 1) << bit;
            value >>= 1;
        }
    }
    (value == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> Selector {
        CountedEvent::parse(text).expect("an event").selector
    }

    #[test]
    fn names_are_those_of_the_kernel_with_their_other_names() {
        assert_eq!(selector("page-faults"), Selector { ty: TYPE_SOFTWARE, config: [2, 0, 0] });
        assert_eq!(selector("faults"), selector("page-faults"));
        assert_eq!(selector("cycles"), selector("cpu-cycles"));
        assert_eq!(selector("r1a8"), Selector { ty: TYPE_RAW, config: [0x1a8, 0, 0] });
        assert!(CountedEvent::parse("cycles").is_ok_and(|event| event.is_of_hardware()));
    }

    #[test]
    fn a_modifier_leaves_out_where_it_is_not_counted() {
        let user = CountedEvent::parse("instructions:u").expect("an event");
        assert_eq!((user.name.as_str(), user.attributes().flags), ("instructions:u", FLAG_EXCLUDE_KERNEL));
        assert_eq!(CountedEvent::parse("faults:k").expect("an event").attributes().flags, FLAG_EXCLUDE_USER);
    }

    #[test]
    fn an_unknown_event_is_told_with_the_nearest_one() {
        let error = CountedEvent::parse("page-fault").expect_err("no event");
        assert!(error.contains("did you mean `page-faults`"), "{error}");
        let error = CountedEvent::parse("zzz").expect_err("no event");
        assert!(error.contains("perf list"), "{error}");
        assert!(CountedEvent::parse("nowhere/event=1/").expect_err("no device").contains("no device `nowhere`"));
        assert!(CountedEvent::parse("../x:y").is_err());
    }

    #[test]
    fn terms_lie_where_the_device_says() {
        let format = |term: &str| match term {
            "event" => Some("config:0-7,32-35\n".to_owned()),
            "umask" => Some("config:8-15\n".to_owned()),
            "offcore_rsp" => Some("config1:0-63".to_owned()),
            _ => None,
        };
        let of = |terms: &str| config_of("cpu", terms, &format);
        assert_eq!(of("event=0x13c,umask=0x2"), Ok([0x1_0000_023c, 0, 0]));
        assert_eq!(of("event=0x3c,umask=0,offcore_rsp=0x10"), Ok([0x3c, 0x10, 0]));
        assert_eq!(of("config=5,config2=7"), Ok([5, 0, 7]));
        assert!(of("umask=0x100").is_err_and(|error| error.contains("does not fit")));
        assert!(of("depth=1").is_err_and(|error| error.contains("no term `depth`")));
        assert!(of("event=many").is_err_and(|error| error.contains("no number")));
    }
}
