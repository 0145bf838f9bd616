//! Splits times in proportion to weights.

use dwell_view::ByClass;

/// Splits each class's time in proportion to the weights. The ends of the parts are rounded, not the parts: they add
/// up to the whole exactly.
pub fn shares(whole: &ByClass, weights: &[u64]) -> Vec<ByClass> {
    let sum: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    // Without weights, the last one has it all.
    let part = |ns: u64, weight: u128, last: bool| {
        if last || sum == 0 { u128::from(ns) * u128::from(last) } else { mul_div(ns, weight, sum) }
    };
    let mut before = 0u128;
    let mut begun: [u128; 5] = [0; 5];
    let split = |(index, weight): (usize, &u64)| {
        before += u128::from(*weight);
        std::array::from_fn(|class| {
            let end = part(whole[class], before, index + 1 == weights.len());
            let share = end - begun[class];
            begun[class] = end;
            u64::try_from(share).unwrap_or(u64::MAX)
        })
    };
    weights.iter().enumerate().map(split).collect()
}

/// `ns * part / whole` for a part of the whole.
fn mul_div(ns: u64, part: u128, whole: u128) -> u128 {
    // Weights that overflow, in a damaged trace, lose their low digits.
    let shift = (128 - whole.leading_zeros()).saturating_sub(64);
    u128::from(ns) * (part >> shift) / (whole >> shift).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        let parts = shares(&[10, 0, 7, 1, u64::MAX], &[1, 1, 1]);
        let sum = |class: usize| parts.iter().map(|part| part[class]).sum::<u64>();
        assert_eq!([sum(0), sum(1), sum(2), sum(3), sum(4)], [10, 0, 7, 1, u64::MAX]);
        assert_eq!(parts[0][0], 3);
        assert_eq!(shares(&[5; 5], &[0, 0]), [[0; 5], [5; 5]]);
        assert_eq!(shares(&[5; 5], &[u64::MAX, u64::MAX, 1]).len(), 3);
    }
}
