//! Sites of the sums: each gets its key's parts, and what its time was for.

use dwell_model::{StackId, ThreadId};
use dwell_store::{EventKey, Trace};
use dwell_view::ByClass;

use crate::engine::shares::shares;
use crate::engine::sums::{Detail, DetailKeys, KeySums, NumberSums, Numbering, Places};
use crate::measure::cpu_kind::{CpuKind, SpinKind};
use crate::measure::site::{Site, SiteKey};
use crate::stacks::call_stacks::CallStacks;
use crate::stacks::idle::IdleWaits;
use crate::stacks::object::object_type;
use crate::stacks::spin::CpuKinds;

/// The target of sites whose wait lengths are unused.
pub const NOWHERE: u32 = u32::MAX;

/// The sites of the sums, and which one each number is.
pub fn sites_of(
    trace: &Trace,
    sums: &KeySums,
    details: Option<&DetailKeys>,
    class_mask: [bool; 5],
) -> (Vec<Site>, Places) {
    let (events, nesting) = (trace.events(), trace.nesting());
    let (keys, threads) = (Numbering::of_keys(trace), Numbering::of_threads(trace));
    let mut site_of = Places::new(details.map_or(keys.outside(), |details| details.pairs.len()));
    let mut sites = Vec::new();
    let mut in_order: Vec<(u64, &NumberSums)> = sums.in_order().collect();
    if let Some(details) = details {
        // Their numbers depend on which worker met them first.
        in_order.sort_by_key(|(number, _)| details.pairs.get(*number as usize));
    }
    for (number, sums) in in_order {
        let pair = details.and_then(|details| details.pairs.get(number as usize));
        let (of_key, detail) = pair.copied().unwrap_or((number, Detail::NONE));
        let (key, context) = keys.parts(of_key);
        site_of.get_or_set(number, sites.len() as u32);
        sites.push(Site {
            key: SiteKey::new(nesting, &events.key(key), context, detail.cpu),
            time: sums.time(),
            runnable: sums.runnable(),
            began: sums.began(),
            under_way: [0; 5],
            longest_ns: longest_of(sums, class_mask),
            cpu_kind: CpuKind::Effective,
            idle: false,
            selected: true,
        });
    }
    for (number, running) in &sums.unsampled {
        estimated_sites(trace, threads.parts(*number), running, details, &mut sites);
    }
    (sites, site_of)
}

/// The longest wait of those begun in these classes.
pub fn longest_of(sums: &NumberSums, class_mask: [bool; 5]) -> u64 {
    let longest = (0..5).filter(|class| class_mask[*class]).map(|class| sums.classes[class].longest);
    longest.max().unwrap_or(0)
}

/// Running time of a thread without samples is split by its estimates: what it ran at each place, all its life.
fn estimated_sites(
    trace: &Trace,
    (thread, context): (u32, u32),
    running: &ByClass,
    details: Option<&DetailKeys>,
    sites: &mut Vec<Site>,
) {
    let (events, nesting) = (trace.events(), trace.nesting());
    let site = |key: EventKey, cpu: u16, time: ByClass| Site {
        key: SiteKey::new(nesting, &key, context, details.map_or(Detail::NONE, |details| details.on_cpu(cpu)).cpu),
        time,
        runnable: [0; 5],
        began: [0; 5],
        under_way: [0; 5],
        longest_ns: 0,
        cpu_kind: CpuKind::Effective,
        idle: false,
        selected: true,
    };
    let estimates = events.estimates_of(thread as usize);
    if estimates.is_empty() {
        sites.push(site(EventKey::running(ThreadId::from_raw(thread), StackId::NONE), u16::MAX, *running));
        return;
    }
    let weights: Vec<u64> = estimates.iter().map(|estimate| estimate.weight_ns).collect();
    let parts = estimates.iter().zip(shares(running, &weights)).filter(|(_, part)| *part != [0; 5]);
    sites.extend(
        parts.map(|(estimate, part)| {
            site(events.key(estimate.key), u16::try_from(estimate.cpu).unwrap_or(u16::MAX), part)
        }),
    );
}

/// Says of each site what its time was for.
pub fn classify(trace: &Trace, stacks: &CallStacks<'_>, sites: &mut [Site]) {
    let mut cpu_kinds = CpuKinds::default();
    let mut idle_waits = IdleWaits::default();
    for site in sites {
        if site.key.reason.is_none() {
            site.cpu_kind = match site.key.object.is_some() {
                true => CpuKind::Spin(SpinKind::on(object_type(trace, site.key.object))),
                false => cpu_kinds.of(stacks, site.key.stack),
            };
        } else if site.is_wait() {
            site.idle = idle_waits.is_idle(stacks, site.key.stack, object_type(trace, site.key.object));
        }
    }
}
