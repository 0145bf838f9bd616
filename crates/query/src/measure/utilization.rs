//! CPU utilization in classes: idle, poor, ok, ideal, over, by how many threads ran at once.

/// Limits of the utilization classes as fractions of the target concurrency T: idle is no running thread; up to `poor`
/// of T is poor, and so on; above `ideal` is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thresholds {
    /// Upper limit of Poor.
    pub poor: f64,
    /// Upper limit of Ok.
    pub ok: f64,
    /// Upper limit of Ideal.
    pub ideal: f64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self { poor: 0.5, ok: 0.85, ideal: 1.15 }
    }
}

/// The class of `running` threads at target concurrency `target`.
pub fn class_of(running: usize, target: u32, limits: &Thresholds) -> usize {
    let share = running as f64 / f64::from(target);
    match running {
        0 => 0,
        _ if share <= limits.poor => 1,
        _ if share <= limits.ok => 2,
        _ if share <= limits.ideal => 3,
        _ => 4,
    }
}

/// The sum over the classes.
pub fn total(classes: &[u64; 5]) -> u64 {
    classes.iter().fold(0, |sum, ns| sum.saturating_add(*ns))
}

/// Adds `b` to `a`.
pub fn add<const N: usize>(a: &mut [u64; N], b: &[u64; N]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = a.saturating_add(*b);
    }
}

/// `a - b`, class by class.
pub fn minus<const N: usize>(a: &[u64; N], b: &[u64; N]) -> [u64; N] {
    std::array::from_fn(|class| a[class] - b[class])
}
