//! Time in programs' files for ITT.

use dwell_store::raw::wire::IttHeader;

/// The time of `ticks`, CLOCK_MONOTONIC ns; not later than they were drained.
pub fn time_ns(header: &IttHeader, ticks: u64) -> u64 {
    let ahead = i128::from(ticks.wrapping_sub(header.base_ticks) as i64) * i128::from(header.ns_per_tick);
    let ns = i128::from(header.base_ns) + (ahead >> 32);
    ns.clamp(0, i128::from(header.h.time_ns)) as u64
}
