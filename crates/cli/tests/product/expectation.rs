//! What a truth file may say of a number: a constant, a value that the sample measured itself, or bounds.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::recording::Output;

/// Tolerance of a duration unless the file gives another; counts are exact.
const TOLERANCE: f64 = 0.05;
const FLOOR_NS: f64 = 500_000.0;

/// A constant, or `"stdout:KEY"`: the sample's line `truth KEY VALUE`.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Source {
    Number(f64),
    Measured(String),
}

impl Source {
    fn value(&self, output: &Output) -> Result<f64> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Measured(name) => {
                let key = name.strip_prefix("stdout:").with_context(|| format!("{name:?} is not \"stdout:KEY\""))?;
                output.truth(key).with_context(|| format!("the sample printed no `truth {key}`"))
            }
        }
    }
}

impl Source {
    /// What the sample measured of its run-queue delay in these waits; nobody measured it of constants.
    fn delay(&self, output: &Output) -> f64 {
        let Self::Measured(name) = self else { return f64::INFINITY };
        let key = name.trim_start_matches("stdout:").replace("_wait_ns", "_delay_ns");
        output.truth(&key).unwrap_or(f64::INFINITY)
    }
}

/// What a number has to be.
#[derive(Deserialize)]
#[serde(untagged)]
pub enum Expected {
    Value(Source),
    Bounds(Bounds),
}

/// A value with its own tolerance, or limits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    value: Option<Source>,
    /// Allowed share of the value.
    tolerance: Option<f64>,
    /// Allowed absolute difference, added to the share.
    floor: Option<f64>,
    min: Option<Source>,
    max: Option<Source>,
}

impl Expected {
    /// What is wrong with `actual` in field `field`, if anything.
    pub fn mismatch(&self, field: &str, actual: f64, output: &Output) -> Result<Option<String>> {
        let (low, high) = self.limits(field.ends_with("_ns"), output)?;
        let bounds = if low == high { format!("{low}") } else { format!("{low:.0} to {high:.0}") };
        Ok((actual < low || actual > high).then(|| format!("{field} is {actual}, expected {bounds}")))
    }

    fn limits(&self, duration: bool, output: &Output) -> Result<(f64, f64)> {
        let (share, floor) = if duration { (TOLERANCE, FLOOR_NS) } else { (0.0, 0.0) };
        // What the hypervisor took in a wait of the program's is in the program's own measure, and not in Dwell's, or the other way round.
        let stolen = if duration { output.stolen_ns } else { 0.0 };
        let around = |value: f64, share: f64, floor: f64| {
            (value * (1.0 - share) - floor - stolen, value * (1.0 + share) + floor + stolen)
        };
        let delayed = |(low, high): (f64, f64), source: &Source| {
            (low, if duration && output.waits_have_delays { high + source.delay(output) } else { high })
        };
        let bounds = match self {
            Self::Value(source) => return Ok(delayed(around(source.value(output)?, share, floor), source)),
            Self::Bounds(bounds) => bounds,
        };
        if let Some(source) = &bounds.value {
            let around =
                around(source.value(output)?, bounds.tolerance.unwrap_or(share), bounds.floor.unwrap_or(floor));
            return Ok(delayed(around, source));
        }
        let limit = |source: &Option<Source>, none: f64| source.as_ref().map_or(Ok(none), |it| it.value(output));
        Ok((limit(&bounds.min, f64::NEG_INFINITY)?, limit(&bounds.max, f64::INFINITY)?))
    }
}
