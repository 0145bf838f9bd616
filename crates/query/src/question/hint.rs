//! What to ask instead of a question that cannot be answered.

use crate::measure::metrics::METRICS;
use crate::question::error::QueryError;
use crate::question::filter::FilterKey;
use crate::question::level::Level;

impl QueryError {
    /// What to do about it, one sentence; `None` when the error says it all.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => Some(format!("did you mean `{nearest}`?")),
            Self::Unknown { what: "grouping level", .. } => {
                Some(format!("levels: {}", Level::ALL.iter().map(|level| level.id()).collect::<Vec<_>>().join(", ")))
            }
            Self::Unknown { what: "filter key", .. } | Self::FilterForm { .. } => {
                Some(format!("keys: {}", FilterKey::ALL.iter().map(|key| key.id()).collect::<Vec<_>>().join(", ")))
            }
            Self::UnknownHandle { what, .. } => Some(match *what {
                "object" => "dwell report waits lists the objects with their handles".into(),
                "thread" => "dwell report threads lists the threads with their handles".into(),
                _ => format!("dwell report {what}s lists the {what}s with their handles"),
            }),
            Self::ThreadOfFibers { .. } => {
                Some("--threads tells of threads; dwell report threads lists them with their handles".into())
            }
            Self::HandleOfOne { .. } => Some("filter by the name, which both results have".into()),
            Self::Ambiguous { choices, by_module, .. } => {
                let first = choices.first().map_or("", String::as_str);
                Some(if *by_module {
                    format!("--module {first}")
                } else {
                    format!("name one of them, such as `{first}`")
                })
            }
            // What else such a filter takes.
            Self::Unknown { what, .. } if FilterKey::parse(what).is_ok_and(|key| !key.words().is_empty()) => {
                FilterKey::parse(what).ok().map(|key| format!("{what} is one of: {}", key.words().join(", ")))
            }
            Self::Unknown { what: "metric", .. } => {
                Some(format!("metrics: {}", METRICS.iter().map(|metric| metric.id).collect::<Vec<_>>().join(", ")))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::level::parse_levels;
    use crate::question::metric::parse_metric;

    #[test]
    fn an_unknown_word_carries_the_nearest_one() {
        let error = Level::parse("functoin").unwrap_err();
        assert_eq!(error.to_string(), "there is no grouping level `functoin`");
        assert_eq!(error.hint().unwrap(), "did you mean `function`?");
        assert!(Level::parse("zzz").unwrap_err().hint().unwrap().starts_with("levels: function"));
        assert!(parse_metric("wait_n").unwrap_err().hint().unwrap().contains("wait_ns"));
        assert_eq!(parse_levels("object, thread"), Ok(vec![Level::Object, Level::Thread]));
    }
}
