//! What the environment says of debuginfod servers: the variables of elfutils' client, debuginfod-find(1).
//!
//! Nobody is asked for debug files unless `DEBUGINFOD_URLS` names servers.

use std::path::PathBuf;

use dwell_resolve::DebuginfodSettings;

/// A server that sends nothing for so long hangs; elfutils waits for 90 s, which nobody would wait for a report.
const STALL_SECONDS: u64 = 10;
const MOST_SECONDS: u64 = 300;
const MOST_BYTES: u64 = 2 << 30;

/// The servers to ask; `None` when none are named.
pub fn settings(variable: impl Fn(&str) -> Option<String>) -> Option<DebuginfodSettings> {
    let urls = variable("DEBUGINFOD_URLS").unwrap_or_default();
    let urls = urls.split_whitespace().filter(|url| url.starts_with("http://") || url.starts_with("https://"));
    let urls: Vec<String> = urls.map(str::to_owned).collect();
    let number = |name: &str, usual: u64| {
        let given = variable(name).and_then(|text| text.trim().parse().ok());
        given.filter(|&number| number > 0).unwrap_or(usual)
    };
    let folder = |name: &str| variable(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = folder("DEBUGINFOD_CACHE_PATH")
        .or_else(|| folder("XDG_CACHE_HOME").map(|folder| folder.join("debuginfod_client")))
        .or_else(|| folder("HOME").map(|folder| folder.join(".cache/debuginfod_client")))?;
    (!urls.is_empty()).then_some(DebuginfodSettings {
        urls,
        cache,
        stall_seconds: number("DEBUGINFOD_TIMEOUT", STALL_SECONDS),
        most_seconds: number("DEBUGINFOD_MAXTIME", MOST_SECONDS),
        most_bytes: number("DEBUGINFOD_MAXSIZE", MOST_BYTES),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Option<DebuginfodSettings> {
        settings(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn nobody_is_asked_without_being_named() {
        assert_eq!(of(&[("HOME", "/h")]), None);
        assert_eq!(of(&[("HOME", "/h"), ("DEBUGINFOD_URLS", " ima:enforcing file:///x ")]), None);
    }

    #[test]
    fn variables_are_those_of_elfutils() {
        let urls = ("DEBUGINFOD_URLS", "https://a http://b");
        let found = of(&[urls, ("HOME", "/h"), ("DEBUGINFOD_TIMEOUT", "3"), ("DEBUGINFOD_MAXTIME", "0")]).expect("set");
        assert_eq!(found.urls, ["https://a", "http://b"]);
        assert_eq!(found.cache, PathBuf::from("/h/.cache/debuginfod_client"));
        assert_eq!((found.stall_seconds, found.most_seconds), (3, MOST_SECONDS));
        let cached = of(&[urls, ("HOME", "/h"), ("DEBUGINFOD_CACHE_PATH", "/c")]).expect("set");
        assert_eq!(cached.cache, PathBuf::from("/c"));
    }
}
