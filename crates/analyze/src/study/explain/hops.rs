//! How one tells that threads wait for one another in a circle.

/// How many threads in a row wait at one instant, each because of the next, and one of them: who meets that one again is in a
/// circle (R. P. Brent, 1980).
#[derive(Clone, Copy)]
pub struct Hops {
    count: u32,
    seen: usize,
}

impl Hops {
    /// No thread yet.
    pub const NONE: Self = Self { count: 0, seen: usize::MAX };

    /// With another thread.
    pub fn and(self, thread: usize) -> Self {
        let count = self.count + 1;
        Self { count, seen: if count.is_power_of_two() { thread } else { self.seen } }
    }

    /// Whether this thread was met before.
    pub fn is_circle(self, thread: usize) -> bool {
        self.seen == thread
    }
}
