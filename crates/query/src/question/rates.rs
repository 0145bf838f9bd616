//! Which frames are slow, and which are fast.

use crate::question::error::QueryError;

/// Limits of slow and fast frames, frames a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRates {
    /// Slower frames are slow.
    pub slow: f64,
    /// Faster frames are fast.
    pub fast: f64,
}

impl FrameRates {
    /// 0 for slow, 1 for good, 2 for fast.
    pub fn class(self, rate: f64) -> usize {
        usize::from(rate >= self.slow) + usize::from(rate >= self.slow && rate > self.fast)
    }

    /// The limits `SLOW,FAST`. Fails when they are not two numbers in order.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let form = || QueryError::FrameRates { text: text.to_owned() };
        let (slow, fast) = text.split_once(',').ok_or_else(form)?;
        let rates = (slow.trim().parse::<f64>(), fast.trim().parse::<f64>());
        let (Ok(slow), Ok(fast)) = rates else { return Err(form()) };
        (slow.is_finite() && fast.is_finite() && 0.0 <= slow && slow <= fast)
            .then_some(Self { slow, fast })
            .ok_or_else(form)
    }
}

impl Default for FrameRates {
    fn default() -> Self {
        Self { slow: 40.0, fast: 100.0 }
    }
}
