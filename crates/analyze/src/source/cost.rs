//! Time at a place in the source.

/// Time at a line or an instruction, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// CPU time there.
    pub cpu_ns: u64,
    /// CPU time there and in what was called from there.
    pub cpu_total_ns: u64,
    /// Wait time of waits that the program made there.
    pub wait_ns: u64,
    /// Wait time of all waits below there.
    pub wait_total_ns: u64,
    /// Number of waits that the program made there.
    pub waits: u64,
}

impl Cost {
    /// Whether nothing happened there.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Adds another one's.
    pub fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.cpu_ns, other.cpu_ns),
            (&mut self.cpu_total_ns, other.cpu_total_ns),
            (&mut self.wait_ns, other.wait_ns),
            (&mut self.wait_total_ns, other.wait_total_ns),
            (&mut self.waits, other.waits),
        ];
        for (ours, theirs) in pairs {
            *ours = ours.saturating_add(theirs);
        }
    }
}
