//! Log-linear bins of durations: 64 steps per power of two, so that a bin's middle is right to less than 1 %.

/// log2 of the steps per power of two.
const STEP_BITS: u32 = 6;
/// Steps per power of two.
pub const STEPS: usize = 1 << STEP_BITS;
/// One for the durations below the first power of two that is divided, and one for each power from that on.
pub const PAGES: usize = 64 - STEP_BITS as usize + 1;

/// Number of the bin that a duration is in.
pub fn bin_of(ns: u64) -> u16 {
    let (page, step) = place(ns);
    (page * STEPS + step) as u16
}

/// The middle of the durations of a bin.
pub fn middle_of(bin: u16) -> u64 {
    middle((usize::from(bin) / STEPS).min(PAGES - 1), usize::from(bin) % STEPS)
}

/// Page and step of a duration: those below 64 ns are exact.
fn place(ns: u64) -> (usize, usize) {
    let power = (63 - (ns | 1).leading_zeros()).max(STEP_BITS);
    let shift = power - STEP_BITS;
    let page = if ns < STEPS as u64 { 0 } else { shift as usize + 1 };
    (page, (ns >> shift) as usize & (STEPS - 1))
}

/// The middle of the durations of a step.
pub fn middle(page: usize, step: usize) -> u64 {
    match page {
        0 => step as u64,
        page => {
            let shift = page - 1;
            let low = ((STEPS + step) as u64) << shift;
            low + ((1u64 << shift) - 1) / 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_within_one_percent_of_its_steps_middle() {
        for ns in (0..5000).chain([1 << 20, (1 << 20) - 1, 123_456_789, u64::MAX / 3, u64::MAX]) {
            let (page, step) = place(ns);
            let error = middle(page, step).abs_diff(ns);
            assert!(error as f64 <= ns as f64 * 0.01, "{ns}");
        }
    }
}
