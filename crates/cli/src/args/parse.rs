//! What the command line's values mean: durations, time ranges, tracing strategies.

use std::num::ParseIntError;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dwell_analyze::CallStackMode;
use dwell_capture::{Rule, Subject, Trigger};

/// Nanoseconds of `1.5s`, `100us`, `2m` or a bare number of `unit`s; no sign, not infinite.
fn duration(text: &str, unit: f64) -> Result<u64, String> {
    const SUFFIXES: [(&str, f64); 7] =
        [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("min", 60e9), ("s", 1e9), ("m", 60e9)];
    let found = SUFFIXES.iter().find_map(|(suffix, scale)| Some((text.strip_suffix(suffix)?, *scale)));
    let (number, scale) = found.unwrap_or((text, unit));
    let value: f64 =
        number.trim().parse().map_err(|_| format!("`{text}` is no duration such as 1.5s, 200ms or 100us"))?;
    let ns = value * scale;
    if (0.0..1e18).contains(&ns) { Ok(ns.round() as u64) } else { Err(format!("`{text}` is out of range")) }
}

/// Nanoseconds; a bare number is seconds.
pub fn seconds(text: &str) -> Result<u64, String> {
    duration(text, 1e9)
}

/// Nanoseconds of how long ago something was: as [`seconds`], and `7d`, `12h`.
pub fn ago(text: &str) -> Result<u64, String> {
    const HOUR: f64 = 3_600e9;
    match (text.strip_suffix('d'), text.strip_suffix('h')) {
        (Some(days), _) => duration(days, 24.0 * HOUR),
        (_, Some(hours)) => duration(hours, HOUR),
        _ => seconds(text),
    }
}

/// The Unix time in ns that was so many ns ago.
pub fn time_before(ns: u64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// Nanoseconds of a duration that is not zero; a bare number is seconds.
pub fn positive_seconds(text: &str) -> Result<u64, String> {
    seconds(text).and_then(|ns| if ns == 0 { Err("must be more than 0".into()) } else { Ok(ns) })
}

/// Length of a window of exact recording, 10 ms to 60 s; 0 for none.
pub fn window(text: &str) -> Result<u64, String> {
    let ns = seconds(text)?;
    if ns == 0 || (10_000_000..=60_000_000_000).contains(&ns) {
        Ok(ns)
    } else {
        Err("must be from 10ms to 60s, or 0".into())
    }
}

/// Percent of one CPU, 0.01 to 100.
pub fn cpu_percent(text: &str) -> Result<f64, String> {
    let percent: f64 = text.parse().map_err(|_| format!("`{text}` is no number such as 1.0"))?;
    if (0.01..=100.0).contains(&percent) { Ok(percent) } else { Err("must be from 0.01 to 100".into()) }
}

/// Nanoseconds between samples, 100 µs to 1 s; a bare number is milliseconds, as VTune's.
pub fn sampling_interval(text: &str) -> Result<u64, String> {
    let ns = duration(text, 1e6)?;
    if (100_000..=1_000_000_000).contains(&ns) { Ok(ns) } else { Err("must be from 100us to 1s".into()) }
}

/// Nanoseconds between readings of the machine's counters, 10 ms to 1 s; a bare number is milliseconds.
pub fn system_interval(text: &str) -> Result<u64, String> {
    let ns = duration(text, 1e6)?;
    if (10_000_000..=1_000_000_000).contains(&ns) { Ok(ns) } else { Err("must be from 10ms to 1s".into()) }
}

/// `FROM-TO` in ns since the start of the collection; a missing end is the collection's.
pub fn range(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once('-').ok_or_else(|| format!("`{text}` is no range such as 1.5s-3s"))?;
    let end = |text: &str, missing| if text.trim().is_empty() { Ok(missing) } else { seconds(text.trim()) };
    let (from, to) = (end(from, 0)?, end(to, u64::MAX)?);
    if from < to { Ok((from, to)) } else { Err(format!("`{text}` ends before it begins")) }
}

/// A whole number from `least` to `most`.
pub fn number(text: &str, least: u64, most: u64) -> Result<u64, String> {
    let number = text.parse().map_err(|error: ParseIntError| error.to_string())?;
    if (least..=most).contains(&number) { Ok(number) } else { Err(format!("must be from {least} to {most}")) }
}

/// MiB of a buffer: 1 MiB to 1 TiB.
pub fn mebibytes(text: &str) -> Result<u64, String> {
    number(text, 1, 1 << 20)
}

/// The call-stack modes, with their help.
pub fn call_stack_modes() -> impl TypedValueParser<Value = CallStackMode> {
    let value = |mode: &CallStackMode| PossibleValue::new(mode.id()).help(mode.help());
    let parser = PossibleValuesParser::new(CallStackMode::ALL.iter().map(value));
    parser.try_map(|id| CallStackMode::parse(&id))
}

/// `WHAT>TIME`: `interval`, `wake-up`, `wait`, or the name of an ITT task; a time has its unit.
pub fn trigger(text: &str) -> Result<Trigger, String> {
    let wrong = || format!("`{text}` is no trigger such as interval>50us, wake-up>5ms or TASK>1ms");
    let (what, time) = text.rsplit_once('>').ok_or_else(wrong)?;
    let (what, time) = (what.trim(), time.trim());
    if what.is_empty() || !time.ends_with('s') {
        return Err(wrong());
    }
    let subject = match what {
        "interval" => Subject::Intervals,
        "wake-up" => Subject::WakeUps,
        "wait" => Subject::Waits,
        name => Subject::Named(name.to_owned()),
    };
    Ok(Trigger { subject, longer_than_ns: seconds(time)? })
}

/// A data limit in MB as bytes.
pub fn megabytes(text: &str) -> Result<u64, String> {
    let megabytes: u64 = text.parse().map_err(|_| format!("`{text}` is no number of megabytes"))?;
    megabytes.checked_mul(1_000_000).ok_or_else(|| format!("`{text}` is out of range"))
}

/// One rule of `--strategy`: `NAME:trace|notrace:trace|notrace`.
pub fn rule(text: &str) -> Result<Rule, String> {
    let form = || format!("`{text}` is no rule such as make:notrace:trace");
    let flag = |word: &str| match word {
        "trace" => Ok(true),
        "notrace" => Ok(false),
        _ => Err(form()),
    };
    // From the right: a program's name may have colons.
    let mut parts = text.rsplitn(3, ':');
    let (Some(children), Some(process), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(form());
    };
    if name.is_empty() {
        return Err(format!("{} (the rule needs a program's name; --no-follow-child is for all children)", form()));
    }
    Ok(Rule { name: name.into(), process: flag(process)?, children: flag(children)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_name_intervals_and_a_time() {
        let parsed = |text: &str| trigger(text).map(|it| (it.subject, it.longer_than_ns)).ok();
        assert_eq!(parsed("interval>50us"), Some((Subject::Intervals, 50_000)));
        assert_eq!(parsed("wake-up > 1.5ms"), Some((Subject::WakeUps, 1_500_000)));
        assert_eq!(parsed("a->b>1s"), Some((Subject::Named("a->b".into()), 1_000_000_000)));
        for wrong in ["interval", ">5us", "interval>5", "interval>fastus", "interval>-1us"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(seconds("1.5s"), Ok(1_500_000_000));
        assert_eq!(seconds("2"), Ok(2_000_000_000));
        assert_eq!(seconds("200ms"), Ok(200_000_000));
        assert_eq!(seconds("2m"), Ok(120_000_000_000));
        assert_eq!(seconds("2min"), Ok(120_000_000_000));
        for bad in ["", "s", "-1s", "inf", "NaN", "1e30s", "1 hour"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        assert!(positive_seconds("0").is_err());
    }

    #[test]
    fn days_and_hours_are_long_ago() {
        assert_eq!((ago("7d"), ago("1.5h")), (Ok(604_800_000_000_000), Ok(5_400_000_000_000)));
        assert_eq!((ago("30m"), ago("90")), (Ok(1_800_000_000_000), Ok(90_000_000_000)));
        assert!(ago("d").is_err() && ago("-1d").is_err() && ago("1w").is_err());
    }

    #[test]
    fn sampling_intervals_have_bounds() {
        assert_eq!(sampling_interval("100us"), Ok(100_000));
        assert_eq!(sampling_interval("1"), Ok(1_000_000));
        assert_eq!(sampling_interval("1s"), Ok(1_000_000_000));
        assert!(sampling_interval("99us").is_err() && sampling_interval("1.1s").is_err());
    }

    #[test]
    fn ranges_may_be_open() {
        assert_eq!(range("1.5s-3s"), Ok((1_500_000_000, 3_000_000_000)));
        assert_eq!(range("200ms-"), Ok((200_000_000, u64::MAX)));
        assert_eq!(range("-3"), Ok((0, 3_000_000_000)));
        for bad in ["3", "3-1", "1-1", "a-b", ""] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn strategies_are_vtunes() {
        let expected = Rule { name: "make".into(), process: false, children: true };
        assert_eq!(rule("make:notrace:trace"), Ok(expected));
        assert_eq!(rule("a:b:trace:trace").map(|rule| rule.name), Ok("a:b".into()));
        for bad in ["make", "make:trace", ":trace:trace", "make:yes:no"] {
            assert!(rule(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn limits_are_in_megabytes() {
        assert_eq!(megabytes("500"), Ok(500_000_000));
        assert!(megabytes("18446744073709551615").is_err());
    }
}
