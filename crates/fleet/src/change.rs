//! Where a course of numbers changed most, and whether that is more than they vary anyway.

/// Rows on each side of a step that are looked at.
const MOST_ROWS: usize = 12;
/// Fewer rows on a side say nothing.
const LEAST_ROWS: usize = 3;

/// A step in a course of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// The first row after it.
    pub at: usize,
    /// Mean of the rows before.
    pub before: f64,
    /// Mean of the rows from it on.
    pub after: f64,
}

impl LevelChange {
    /// The rows of a course of such a length that its means are of.
    pub fn rows(&self, length: usize) -> std::ops::Range<usize> {
        self.at.saturating_sub(MOST_ROWS)..length.min(self.at + MOST_ROWS)
    }
}

/// The step at which the course changed most: where the means of up to 12 rows before and of up to 12 rows from there on differ most, with
/// at least 3 on each side. `None` unless the difference is more than three times what any of these rows is off its mean.
pub fn largest_change(course: &[f64]) -> Option<LevelChange> {
    let last = (course.len() + 1).saturating_sub(LEAST_ROWS);
    let changes = (LEAST_ROWS..last).map(|at| {
        let (before, after) = sides(course, at);
        LevelChange { at, before: mean(before), after: mean(after) }
    });
    let size = |change: &LevelChange| (change.after - change.before).abs();
    let largest = changes.max_by(|a, b| size(a).total_cmp(&size(b)))?;
    let (before, after) = sides(course, largest.at);
    let spread = farthest(before, largest.before).max(farthest(after, largest.after));
    (size(&largest) > 3.0 * spread).then_some(largest)
}

fn sides(course: &[f64], at: usize) -> (&[f64], &[f64]) {
    (&course[at.saturating_sub(MOST_ROWS)..at], &course[at..course.len().min(at + MOST_ROWS)])
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn farthest(numbers: &[f64], mean: f64) -> f64 {
    numbers.iter().map(|number| (number - mean).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_where_it_is() {
        let course: Vec<f64> = (0..40).map(|at| if at < 17 { 1.0 } else { 3.0 } + f64::from(at % 3) * 0.1).collect();
        let change = largest_change(&course).unwrap();
        assert_eq!(change.at, 17);
        assert!((change.before - 1.1).abs() < 0.02 && (change.after - 3.1).abs() < 0.02, "{change:?}");
    }

    #[test]
    fn noise_a_slope_and_a_peak_are_no_steps() {
        let noise: Vec<f64> = (0..200_u64).map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64).collect();
        let slope: Vec<f64> = (0..40).map(f64::from).collect();
        let mut peak = vec![1.0; 40];
        peak[20] = 9.0;
        for course in [&noise[..], &slope, &peak, &[1.0; 9], &[1.0, 1.0, 5.0, 5.0], &[]] {
            assert_eq!(largest_change(course), None, "{course:?}");
        }
    }
}
