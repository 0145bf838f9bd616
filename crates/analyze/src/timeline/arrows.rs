//! Who woke whom in a part of the time, as arrows between bands.

use dwell_query::Analysis;
use dwell_view::answer;

answer! {
    /// One wake-up.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Arrow {
        /// Row of the thread that woke.
        pub waker: u32,
        /// Row of the thread that was woken.
        pub woken: u32,
        /// When.
        pub time_ns: u64,
        /// When the woken thread ran.
        pub run_ns: u64,
        /// Name of what it had waited on; empty for unknown.
        pub object: String,
    }
}

answer! {
    /// The wake-ups of a part of the time.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Arrows {
        /// How many there are; counted on evenly spread intervals, and scaled, where there are too many to look at.
        pub total: u64,
        /// The first ones, evenly spread over the time where there are more than the limit; in order of time.
        pub arrows: Vec<Arrow>,
    }
}

/// Intervals looked at, at most.
const LOOKED_AT: usize = 1 << 20;

/// Wake-ups by threads of the program in `from .. to` that end or begin at one of `threads`, or at any when that is
/// empty; at most `limit` of them.
pub fn arrows(analysis: &Analysis, (from, to): (u64, u64), threads: &[u32], limit: usize) -> Arrows {
    let off_cpu = &analysis.events().off_cpu;
    let ranges: Vec<_> = (0..analysis.trace.threads.tid.len())
        .map(|thread| {
            let begun = off_cpu.begun(thread, from, to);
            // The row before may be woken inside the range.
            (thread, begun.start.saturating_sub(1).max(off_cpu.of(thread).start)..begun.end)
        })
        .collect();
    let rows: usize = ranges.iter().map(|(_, rows)| rows.len()).sum();
    let step = rows.div_ceil(LOOKED_AT).max(1);
    let mut found: Vec<(u64, usize, u32)> = Vec::new();
    for (thread, rows) in ranges {
        for row in rows.step_by(step) {
            let woken = off_cpu.woken_ns(row);
            let key = analysis.events().off_cpu_key(row);
            let waker = key.waker().raw();
            let wanted = || threads.is_empty() || threads.contains(&waker) || threads.contains(&(thread as u32));
            if woken >= from && woken < to && key.waker().is_some() && waker != thread as u32 && wanted() {
                found.push((woken, row, thread as u32));
            }
        }
    }
    found.sort_unstable();
    let spread = found.len().div_ceil(limit.max(1)).max(1);
    let arrows = found.iter().step_by(spread).map(|(time_ns, row, woken)| {
        let key = analysis.events().off_cpu_key(*row);
        let object = key.object().get().and_then(|row| analysis.trace.objects.name.get(row));
        Arrow {
            waker: key.waker().raw(),
            woken: *woken,
            time_ns: *time_ns,
            run_ns: off_cpu.end_ns(*row),
            object: object.cloned().unwrap_or_default(),
        }
    });
    Arrows { total: (found.len() * step) as u64, arrows: arrows.collect() }
}
