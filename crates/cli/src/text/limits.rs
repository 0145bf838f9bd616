//! The limits of `--fail-if` in words.

use dwell_analyze::compare::Limit;

use super::units;

/// What a limit is made of beside itself: `, 12.0 ms + 20 %`, in the words of its amounts; empty where it is an amount.
pub fn limit_of(limit: Limit, first: f64, amount: impl Fn(f64) -> String) -> String {
    match limit {
        Limit::GrowthBy(part) => format!(", {} + {}", amount(first), units::percent(part)),
        Limit::MoreBy(more) => format!(", {} + {}", amount(first), amount(more)),
        Limit::Share(part) => format!(", {} of the total", units::percent(part)),
        Limit::Above(_) => String::new(),
    }
}
