//! What is wrong with the description of a machine: one sentence, and what to do about it.

use crate::description::{CacheLevel, Inclusion, Machine, Prefetcher, Replacement, Reserved, Tlb, WritePolicy};
use crate::error::MachineError;
use crate::ranges;

type Checked = Result<(), MachineError>;

/// More bytes of cache than any machine has: a wrong unit.
const MAX_CACHE_KIB: u64 = 4 << 20;
const MAX_CYCLES: u64 = 1_000_000;
/// The ring of retirements.
pub(crate) const MAX_WINDOW: usize = 1000;
pub(crate) const MAX_STORE_BUFFER: usize = 250;

/// Everything in a description, or the first thing that is wrong.
pub(crate) fn check(machine: &Machine) -> Checked {
    if !(machine.clock_ghz > 0.0 && machine.clock_ghz < 100.0) {
        return wrong("clock-ghz", machine.clock_ghz, "give the core's clock in GHz, such as clock-ghz = 3.0");
    }
    for (name, level) in levels(machine) {
        cache(name, level)?;
        reservations(name, level)?;
    }
    relations(machine)?;
    if !(machine.memory.bytes_per_cycle >= 0.01 && machine.memory.bytes_per_cycle <= 10_000.0) {
        let value = machine.memory.bytes_per_cycle;
        return wrong("memory.bytes-per-cycle", value, "give what one core reads per cycle, such as 4.0");
    }
    translation(machine)?;
    branch(machine)?;
    frontend(machine)?;
    core(machine)
}

/// The levels that a machine has, with their names in the file.
pub(crate) fn levels(machine: &Machine) -> impl Iterator<Item = (&'static str, &CacheLevel)> {
    let levels = [
        ("l1i", machine.l1i.as_ref()),
        ("l1d", Some(&machine.l1d)),
        ("l2", machine.l2.as_ref()),
        ("llc", machine.llc.as_ref()),
    ];
    levels.into_iter().filter_map(|(name, level)| level.map(|level| (name, level)))
}

fn wrong(name: &str, value: impl std::fmt::Display, hint: impl Into<String>) -> Checked {
    Err(MachineError::new(format!("{name} cannot be {value}"), hint))
}

fn within(name: &str, value: u64, from: u64, to: u64) -> Checked {
    if (from..=to).contains(&value) { Ok(()) } else { wrong(name, value, format!("give a number from {from} to {to}")) }
}

fn cache(name: &str, level: &CacheLevel) -> Checked {
    within(&format!("{name}.ways"), level.ways as u64, 1, 64)?;
    within(&format!("{name}.size-kib"), level.size_kib, 1, MAX_CACHE_KIB)?;
    within(&format!("{name}.slices"), level.slices, 1, 1024)?;
    within(&format!("{name}.latency"), level.latency, 0, MAX_CYCLES)?;
    within(&format!("{name}.misses-in-flight"), level.misses_in_flight as u64, 0, 1024)?;
    if !level.line.is_power_of_two() || !(16..=4096).contains(&level.line) {
        return wrong(
            &format!("{name}.line"),
            level.line,
            "lines are a power of two of bytes, 16 to 4096; most have 64",
        );
    }
    let set = level.line * level.ways as u64 * level.slices;
    let bytes = level.size_kib * 1024;
    if !bytes.is_multiple_of(set) || !(bytes / set).is_power_of_two() {
        return Err(MachineError::new(
            format!(
                "{name}: {} KiB in {} slice(s) of {} ways and lines of {} bytes make {:.2} sets, which is no power of two",
                level.size_kib,
                level.slices,
                level.ways,
                level.line,
                bytes as f64 / set as f64
            ),
            format!(
                "change {name}.ways, {name}.slices or {name}.size-kib so that the sets of a slice are a power of two"
            ),
        ));
    }
    Ok(())
}

fn reservations(name: &str, level: &CacheLevel) -> Checked {
    if level.reserve.is_empty() {
        return Ok(());
    }
    if name != "llc" {
        return Err(MachineError::new(format!("{name} cannot reserve ways"), "reserve ways of the llc"));
    }
    if level.replacement == Replacement::Plru {
        return Err(MachineError::new(
            "llc: ways cannot be reserved under plru",
            "set replacement = \"lru\" or \"random\"",
        ));
    }
    if level.reserve.len() >= crate::cache::MAX_CLASSES {
        return wrong("the number of llc.reserve", level.reserve.len(), "at most 3 reservations are possible");
    }
    let taken: usize = level.reserve.iter().map(|reservation| reservation.ways.min(64)).sum();
    if level.reserve.iter().any(|reservation| reservation.ways == 0) || taken >= level.ways {
        return Err(MachineError::new(
            format!("llc: reservations of {taken} of {} ways", level.ways),
            "each reservation needs at least one way, and one way must be left for the others",
        ));
    }
    for reservation in &level.reserve {
        if let Reserved::Addresses(range) | Reserved::Code(range) = &reservation.of {
            ranges::parse(range)?;
        }
    }
    Ok(())
}

fn relations(machine: &Machine) -> Checked {
    let line = machine.l1d.line;
    if let Some((name, level)) = levels(machine).find(|(_, level)| level.line < line) {
        return wrong(
            &format!("{name}.line"),
            level.line,
            format!("l1d has {line}; no other level's lines can be shorter"),
        );
    }
    if let Some(reserve) = machine.l1i.as_ref().filter(|level| level.line != line) {
        return wrong("l1i.line", reserve.line, format!("make it {line}, as in l1d"));
    }
    if machine.l1d.inclusion != Inclusion::NonInclusive {
        return Err(MachineError::new("l1d has no level before it", "take l1d.inclusion out"));
    }
    if let Some(llc) = machine.llc.as_ref().filter(|level| level.inclusion == Inclusion::Victim) {
        let Some(l2) = &machine.l2 else {
            return Err(MachineError::new("llc: a victim cache needs an l2", "describe [l2], or set llc.inclusion"));
        };
        if l2.line != llc.line {
            return wrong("llc.line", llc.line, format!("a victim cache has the lines of l2: {}", l2.line));
        }
    }
    if machine.l2.as_ref().is_some_and(|level| level.inclusion == Inclusion::Victim) {
        return Err(MachineError::new(
            "l2 cannot be a victim cache here",
            "set l2.inclusion to inclusive or non-inclusive",
        ));
    }
    if levels(machine).any(|(name, level)| name != "l1d" && level.write == WritePolicy::Through) {
        return Err(MachineError::new(
            "only l1d can write through",
            "take write = \"through\" out of the other levels",
        ));
    }
    let known: &[(&str, &[Prefetcher])] = &[
        ("l1i", &[Prefetcher::NextLine]),
        ("l1d", &[Prefetcher::NextLine, Prefetcher::Stride]),
        ("l2", &[Prefetcher::NextLine, Prefetcher::Adjacent, Prefetcher::Stream]),
        ("llc", &[]),
    ];
    for (name, level) in levels(machine) {
        let allowed = known.iter().find(|(known, _)| *known == name).map_or(&[][..], |(_, allowed)| allowed);
        if let Some(other) = level.prefetch.iter().find(|prefetcher| !allowed.contains(prefetcher)) {
            return wrong(&format!("{name}.prefetch"), format!("{other:?}"), format!("{name} can have {allowed:?}"));
        }
    }
    within("memory.latency", machine.memory.latency, 1, MAX_CYCLES)
}

fn tlb(name: &str, tlb: &Tlb) -> Checked {
    let ways = tlb.ways as u64;
    within(&format!("{name}.ways"), ways, 1, 4096)?;
    within(&format!("{name}.entries"), tlb.entries, 1, 1 << 20)?;
    if !tlb.entries.is_multiple_of(ways) || !(tlb.entries / ways).is_power_of_two() {
        let (entries, hint) =
            (tlb.entries, "the entries are the ways times a power of two; a fully associative one has ways = entries");
        return wrong(&format!("{name}.entries"), format!("{entries} with {ways} ways"), hint);
    }
    Ok(())
}

fn translation(machine: &Machine) -> Checked {
    let translation = &machine.tlb;
    tlb("tlb.code", &translation.code)?;
    tlb("tlb.data", &translation.data)?;
    tlb("tlb.data-large", &translation.data_large)?;
    if let Some(second) = &translation.second {
        tlb("tlb.second", second)?;
    }
    within("tlb.second-latency", translation.second_latency, 0, MAX_CYCLES)?;
    within("tlb.walkers", translation.walkers as u64, 1, 64)?;
    within("tlb.directory-entries", translation.directory_entries, 1, 4096)
}

fn branch(machine: &Machine) -> Checked {
    let branch = &machine.branch;
    within("branch.table-bits", branch.table_bits.into(), 4, 24)?;
    within("branch.history", branch.history.into(), 1, 128)?;
    tlb("branch.btb", &Tlb { entries: branch.btb_entries, ways: branch.btb_ways })?;
    within("branch.return-stack", branch.return_stack as u64, 1, 1024)?;
    within("branch.mispredict-penalty", branch.mispredict_penalty, 0, 10_000)?;
    within("branch.resteer-penalty", branch.resteer_penalty, 0, 10_000)
}

fn frontend(machine: &Machine) -> Checked {
    let frontend = &machine.frontend;
    within("frontend.decode-width", frontend.decode_width, 1, 16)?;
    within("frontend.fetch-bytes", frontend.fetch_bytes, 1, 256)?;
    within("frontend.queue", frontend.queue, 1, 4096)?;
    within("frontend.fetch-ahead", frontend.fetch_ahead, 0, 10_000)?;
    let Some(cache) = &frontend.uop_cache else {
        return if machine.l1i.is_some() {
            Ok(())
        } else {
            Err(MachineError::new("there is neither l1i nor frontend.uop-cache", "describe one of them"))
        };
    };
    tlb("frontend.uop-cache", &Tlb { entries: cache.entries, ways: cache.ways })?;
    within("frontend.uop-cache.uops", cache.uops, 1, 64)?;
    within("frontend.uop-cache.width", cache.width, 1, 32)?;
    within("frontend.uop-cache.switch-penalty", cache.switch_penalty, 0, 1000)?;
    if !cache.window.is_power_of_two() || !(8..=256).contains(&cache.window) {
        return wrong("frontend.uop-cache.window", cache.window, "give a power of two of bytes, 8 to 256");
    }
    Ok(())
}

fn core(machine: &Machine) -> Checked {
    let core = &machine.core;
    within("core.width", core.width, 1, 12)?;
    if !crate::TICKS_PER_CYCLE.is_multiple_of(core.width) {
        return wrong("core.width", core.width, "widths are 1 to 10, or 12");
    }
    within("core.retire-width", core.retire_width, 1, 32)?;
    within("core.window", core.window as u64, 1, MAX_WINDOW as u64)?;
    within("core.scheduler", core.scheduler, 1, 1000)?;
    within("core.store-buffer", core.store_buffer as u64, 1, MAX_STORE_BUFFER as u64)?;
    within("core.forward-latency", core.forward_latency, 0, 1000)?;
    within("core.string-bytes", core.string_bytes, 1, 1024)?;
    for (name, ports) in core.ports.named() {
        within(&format!("core.ports.{name}"), ports, 1, 16)?;
    }
    for (name, cost) in core.classes.named() {
        let name = name.replace('_', "-");
        within(&format!("core.classes.{name}.latency"), cost.latency, 0, 10_000)?;
        within(&format!("core.classes.{name}.uops"), cost.uops, 0, 250)?;
        within(&format!("core.classes.{name}.busy"), cost.busy, 0, 10_000)?;
    }
    Ok(())
}
