//! `--start-at`: when recording begins.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::parse;

const SECOND_NS: u64 = 1_000_000_000;

/// An instant that recording is to begin at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAt {
    /// So long from now, ns.
    After(u64),
    /// At the next multiple of this of the time since 1970, ns.
    Multiple(u64),
    /// At this time of the day, local time, ns since midnight; tomorrow, if it is over for today.
    TimeOfDay(u64),
}

/// `14:30:00`, `14:30`, `+30s`, `/10s`.
pub fn start_at(text: &str) -> Result<StartAt, String> {
    if let Some(rest) = text.strip_prefix('+') {
        return parse::seconds(rest).map(StartAt::After);
    }
    if let Some(rest) = text.strip_prefix('/') {
        return parse::positive_seconds(rest).map(StartAt::Multiple);
    }
    let form = || format!("`{text}` is no instant such as 14:30:00, +30s or /10s");
    let parts: Vec<u64> = text.split(':').map(|part| part.parse().map_err(|_| form())).collect::<Result<_, _>>()?;
    match parts[..] {
        [hours @ 0..24, minutes @ 0..60] => Ok(StartAt::TimeOfDay((hours * 3600 + minutes * 60) * SECOND_NS)),
        [hours @ 0..24, minutes @ 0..60, seconds @ 0..60] => {
            Ok(StartAt::TimeOfDay((hours * 3600 + minutes * 60 + seconds) * SECOND_NS))
        }
        _ => Err(form()),
    }
}

impl StartAt {
    /// The instant on CLOCK_MONOTONIC, ns.
    pub fn monotonic_ns(self) -> u64 {
        let now = clock_gettime(ClockId::Monotonic);
        let now_ns = now.tv_sec as u64 * SECOND_NS + now.tv_nsec as u64;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        now_ns + self.delay_ns(since_1970, seconds_east())
    }

    /// From `since_1970`, ns, until it, where local time is so many seconds ahead of UTC.
    fn delay_ns(self, since_1970: u64, seconds_east: i64) -> u64 {
        const DAY_NS: u64 = 86_400 * SECOND_NS;
        match self {
            Self::After(ns) => ns,
            Self::Multiple(ns) => (ns - since_1970 % ns) % ns,
            Self::TimeOfDay(ns) => {
                let local = since_1970.saturating_add_signed(seconds_east * SECOND_NS as i64);
                (ns + DAY_NS - local % DAY_NS) % DAY_NS
            }
        }
    }
}

/// How far local time is ahead of UTC, s: `date` knows the time zones.
fn seconds_east() -> i64 {
    let output = std::process::Command::new("date").arg("+%z").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let number: i64 = text.parse().unwrap_or(0); // +0530
    (number / 100) * 3600 + (number % 100) * 60
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_times_of_day_delays_and_multiples() {
        assert_eq!(start_at("+30s"), Ok(StartAt::After(30 * SECOND_NS)));
        assert_eq!(start_at("/10s"), Ok(StartAt::Multiple(10 * SECOND_NS)));
        assert_eq!(start_at("01:02:03"), Ok(StartAt::TimeOfDay(3723 * SECOND_NS)));
        assert_eq!(start_at("14:30"), Ok(StartAt::TimeOfDay(52_200 * SECOND_NS)));
        for bad in ["14", "24:00", "1:60", "1:2:3:4", "soon", "/0s", "+", "-1:00"] {
            assert!(start_at(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_next_such_instant_is_meant() {
        let noon = (20_000 * 86_400 + 43_200) * SECOND_NS;
        assert_eq!(StartAt::TimeOfDay(43_201 * SECOND_NS).delay_ns(noon, 0), SECOND_NS);
        assert_eq!(StartAt::TimeOfDay(43_199 * SECOND_NS).delay_ns(noon, 0), 86_399 * SECOND_NS, "tomorrow");
        assert_eq!(StartAt::TimeOfDay(43_200 * SECOND_NS).delay_ns(noon - 3600 * SECOND_NS, 3600), 0, "local time");
        assert_eq!(StartAt::Multiple(10 * SECOND_NS).delay_ns(noon + 1, 0), 10 * SECOND_NS - 1);
        assert_eq!(StartAt::Multiple(10 * SECOND_NS).delay_ns(noon, 0), 0);
    }
}
