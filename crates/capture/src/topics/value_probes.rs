//! `--probe`: sets uprobes with values, and tells the hook what to read at each of their places.

use std::path::PathBuf;

use dwell_probes::{
    ArgumentPlace, Comparison, FilterTerm, MOST_STEPS, MOST_TERM_TEXTS, MOST_TERMS, MOST_TEXTS, MOST_VALUES, Operand,
    Site, ValuePlace, ValueProbe, ValueProbeError, ValueRead, ValueType, event_values, value_sites,
};
use dwell_wire::{
    MOST_PROBE_SITES, MOST_PROBE_STEPS, MOST_PROBE_TERM_TEXTS, MOST_PROBE_TERMS, MOST_PROBE_TEXTS, MOST_PROBE_VALUES,
    PROBE_TEXT_BYTES, ProbeSite, probe_order, probe_source, probe_type,
};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, TracepointCategory, TracepointOpts};

use crate::error::{Error, Result};
use crate::event_name::{self, NoTracepoint};
use crate::topics::task_probes::{PlacedProbe, Program, set_placed};

const _: () = assert!(MOST_VALUES == MOST_PROBE_VALUES && MOST_TEXTS == MOST_PROBE_TEXTS);
const _: () = assert!(MOST_STEPS == MOST_PROBE_STEPS);
const _: () = assert!(MOST_TERMS == MOST_PROBE_TERMS && MOST_TERM_TEXTS == MOST_PROBE_TERM_TEXTS);

/// A probe with values, and its places.
pub struct FoundValueProbe {
    name: String,
    /// Of each value, the names of its numbers.
    pub names: Vec<Vec<(u64, String)>>,
    place: Place,
    /// What the hook reads at each place.
    reads: Vec<ProbeSite>,
}

/// Where a probe is.
enum Place {
    /// In a file.
    File(PathBuf, Vec<Site>),
    /// A tracepoint of this group and this name.
    Tracepoint(String, String),
}

/// Finds the places of all probes.
pub fn find(probes: &[ValueProbe], program: &Program<'_>) -> Result<Vec<FoundValueProbe>> {
    let found: Vec<FoundValueProbe> =
        (0..).zip(probes).map(|(number, probe)| find_one(number, probe, program)).collect::<Result<_>>()?;
    let places = found.iter().map(|found| found.reads.len()).sum::<usize>();
    if places > MOST_PROBE_SITES { Err(Error::TooManyProbeSites { places }) } else { Ok(found) }
}

fn find_one(number: u32, probe: &ValueProbe, program: &Program<'_>) -> Result<FoundValueProbe> {
    let name = probe.name.clone();
    if let ValuePlace::Tracepoint { group, name: event } = &probe.place {
        let format =
            event_name::tracepoint_format(group, event).map_err(|none| no_tracepoint(probe, (group, event), &none))?;
        let (values, filter) = event_values(probe, &format)?;
        let reads = vec![what_to_read(number, &values, &filter)];
        let place = Place::Tracepoint(group.clone(), event.clone());
        return Ok(FoundValueProbe { name, names: Vec::new(), place, reads });
    }
    let file = match &probe.file {
        Some(name) => {
            let missing = || Error::NoSuchProbeFile { probe: probe.name.clone(), file: name.clone() };
            program.file(name).ok_or_else(missing)?
        }
        None => program.own_file(),
    };
    let found = value_sites(&file, probe)?;
    let reads = found.sites.iter().map(|(_, reads)| what_to_read(number, reads, &found.filter)).collect();
    let names = found.sites.first().map(|(_, reads)| reads.iter().map(names_of).collect()).unwrap_or_default();
    let sites = found.sites.into_iter().map(|(site, _)| site).collect();
    Ok(FoundValueProbe { name, names, place: Place::File(file, sites), reads })
}

fn no_tracepoint(probe: &ValueProbe, (group, event): (&str, &str), none: &NoTracepoint) -> ValueProbeError {
    let names: Vec<&str> = none.names.iter().map(String::as_str).collect();
    let (wanted, from) = if none.in_group { (event, group.len() + 1) } else { (group, 0) };
    let sentence = format!("this kernel has no tracepoint {group}:{event}, or you may not read it");
    probe.no_such_place(&sentence, (wanted, from), &names)
}

/// The names of a value's numbers, by the bits that a record has of each.
fn names_of(read: &ValueRead) -> Vec<(u64, String)> {
    read.enumerators.iter().map(|(name, number)| (*number as u64, name.clone())).collect()
}

/// The values of one place, and what must hold of them.
fn what_to_read(number: u32, reads: &[ValueRead], filter: &[FilterTerm]) -> ProbeSite {
    let mut site: ProbeSite = bytemuck::Zeroable::zeroed();
    site.probe = number;
    set_terms(&mut site, reads, filter);
    for (at, read) in reads.iter().enumerate() {
        site.types[at] = match read.ty {
            ValueType::Unsigned { .. } => probe_type::UNSIGNED,
            ValueType::Signed { .. } => probe_type::SIGNED,
            ValueType::Hex { .. } => probe_type::HEX,
            ValueType::Text => probe_type::TEXT,
        };
        match read.place {
            ArgumentPlace::Register { register, .. } => {
                (site.source[at], site.base[at]) = (probe_source::REGISTER, register);
            }
            ArgumentPlace::Memory { base, index, scale, displacement, .. } => {
                (site.source[at], site.base[at]) = (probe_source::MEMORY, base);
                (site.index[at], site.scale[at], site.displacement[at]) = (index, scale, displacement as u64);
            }
            ArgumentPlace::Event { offset, .. } => {
                (site.source[at], site.displacement[at]) = (probe_source::EVENT, offset);
            }
            ArgumentPlace::EventAddress { offset } => {
                (site.source[at], site.displacement[at]) = (probe_source::EVENT_ADDRESS, offset);
            }
            ArgumentPlace::EventOffset { offset } => {
                (site.source[at], site.displacement[at]) = (probe_source::EVENT_OFFSET, offset);
            }
            ArgumentPlace::Constant(value) => {
                (site.source[at], site.displacement[at]) = (probe_source::CONSTANT, value as u64);
            }
        }
        (site.size[at], site.left[at], site.right[at]) = (read.bytes, read.left, read.right);
        (site.is_signed[at], site.text_bytes[at]) = (u8::from(read.is_signed), read.text_bytes);
        (site.steps[at], site.ends[at]) = (read.steps.len() as u8, read.end as u64);
        for (to, step) in site.step_offsets[at * MOST_PROBE_STEPS..].iter_mut().zip(&read.steps) {
            *to = *step as u64;
        }
    }
    site
}

/// The probe's condition.
fn set_terms(site: &mut ProbeSite, reads: &[ValueRead], filter: &[FilterTerm]) {
    let mut texts = 0;
    for (at, FilterTerm { value, comparison, operand, .. }) in filter.iter().enumerate() {
        site.term_values[at] = *value as u8;
        site.term_orders[at] = order_of(*comparison);
        match operand {
            Operand::Name(_) => {} // each became a number
            Operand::Number(number) => site.term_operands[at] = *number as u64,
            Operand::Text(text) => {
                let before = reads.iter().take(*value).filter(|read| read.ty == ValueType::Text);
                (site.term_slots[at], site.term_texts[at]) = (before.count() as u8, texts as u8);
                site.term_operands[at] = text.len() as u64;
                let words: &mut [u8] = bytemuck::cast_slice_mut(&mut site.term_words);
                let place = words.chunks_exact_mut(PROBE_TEXT_BYTES).nth(texts);
                for (to, from) in place.into_iter().flatten().zip(text.bytes()) {
                    *to = from;
                }
                texts += 1;
            }
        }
    }
    site.terms = filter.len() as u32;
}

/// How a value that meets the comparison may lie to the constant.
fn order_of(comparison: Comparison) -> u8 {
    use probe_order::{EQUAL, GREATER, LESS};
    match comparison {
        Comparison::Equal => EQUAL,
        Comparison::Unequal => LESS | GREATER,
        Comparison::Less => LESS,
        Comparison::AtMost => LESS | EQUAL,
        Comparison::Greater => GREATER,
        Comparison::AtLeast => GREATER | EQUAL,
    }
}

/// Hits of each of the first `count` probes that did not meet its condition.
pub fn rejections(map: &MapHandle, count: usize) -> Vec<u64> {
    let of = |probe: u32| map.lookup(&probe.to_ne_bytes(), MapFlags::ANY).ok().flatten();
    let number = |bytes: Vec<u8>| bytes.try_into().ok().map(u64::from_ne_bytes);
    (0..count as u32).map(|probe| of(probe).and_then(number).unwrap_or(0)).collect()
}

/// Whether some of the probes are in files, and whether some are tracepoints.
pub fn kinds(found: &[FoundValueProbe]) -> (bool, bool) {
    let is_event = |found: &FoundValueProbe| matches!(found.place, Place::Tracepoint(..));
    (!found.iter().all(is_event), found.iter().any(is_event))
}

/// Tells the hook what to read at each place of these probes; a place's number is its cookie.
fn write_sites<'f>(found: impl Iterator<Item = &'f FoundValueProbe>, object: &Object) -> Result<()> {
    let failed = |source| Error::Bpf { what: "telling the hook of probes what to read".into(), source };
    let map = object.maps().find(|map| map.name() == "probe_sites");
    for (key, read) in (0u32..).zip(found.flat_map(|found| &found.reads)) {
        if let Some(map) = &map {
            map.update(&key.to_ne_bytes(), bytemuck::bytes_of(read), MapFlags::ANY).map_err(failed)?;
        }
    }
    Ok(())
}

/// Sets the probes in files; `pids` = in these processes only. They are there until the links are dropped.
pub fn set(found: &[FoundValueProbe], object: &Object, pids: Option<&[u32]>) -> Result<Vec<Link>> {
    let in_files = || found.iter().filter(|found| matches!(found.place, Place::File(..)));
    write_sites(in_files(), object)?;
    let mut next = 0u64;
    let placed = in_files().filter_map(|found| {
        let Place::File(file, sites) = &found.place else { return None };
        let first = next;
        next += sites.len() as u64;
        Some(PlacedProbe { name: &found.name, file, sites, cookies: (first..next).collect() })
    });
    set_placed(placed, object, pids)
}

/// Sets the probes at tracepoints.
pub fn set_tracepoints(found: &[FoundValueProbe], object: &Object) -> Result<Vec<Link>> {
    let tracepoints = || found.iter().filter(|found| matches!(found.place, Place::Tracepoint(..)));
    write_sites(tracepoints(), object)?;
    let Some(program) = object.progs_mut().next() else { return Ok(Vec::new()) };
    let set = |(cookie, found): (u64, &FoundValueProbe)| {
        let Place::Tracepoint(group, name) = &found.place else { return None };
        let options = TracepointOpts { cookie, ..TracepointOpts::default() };
        let link = program.attach_tracepoint_with_opts(TracepointCategory::Custom(group.clone()), name, options);
        Some(link.map_err(|source| Error::TracepointRefused { probe: found.name.clone(), source }))
    };
    (0..).zip(tracepoints()).filter_map(set).collect()
}
