//! Quantiles of values in order: the least of them that so many do not exceed.

/// The value that `per_ten_thousand` of 10,000 of `sorted` do not exceed; `None` without any.
pub fn quantile<T: Copy>(sorted: &[T], per_ten_thousand: usize) -> Option<T> {
    let rank = (sorted.len() as u128 * per_ten_thousand as u128).div_ceil(10_000) as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// The value that half of `sorted` do not exceed; `None` without any.
pub fn median<T: Copy>(sorted: &[T]) -> Option<T> {
    quantile(sorted, 5_000)
}

/// The same of values in any order; 0 without any.
pub fn median_of(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    median(&values).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values = [1, 2, 3, 4];
        assert_eq!(
            [0, 2_500, 2_501, 5_000, 9_999, 10_000].map(|part| quantile(&values, part)),
            [1, 1, 2, 2, 4, 4].map(Some)
        );
        assert_eq!(median_of(vec![9, 1, 5, 7]), 5);
        assert_eq!((median(&values[..3]), median(&values[..1]), median::<u64>(&[])), (Some(2), Some(1), None));
    }
}
