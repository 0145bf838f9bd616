//! The file that `dwell agent --config` reads: TOML, its keys called as the options are, and rules for services.
//!
//! Takes the text; gives what it says, or all its mistakes, each with the line. It looks at no process and no store.

use std::fmt::Display;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use dwell_fleet::check_service_name;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::rules::{ProcessTrait, ServiceRule, ServiceRules};
use crate::args::{cpu_percent, mebibytes, nearest_word, positive_seconds, window};
use crate::error::{Hinted, Result, quoted};

/// A file with more is no configuration.
const MOST_BYTES: u64 = 1 << 20;
/// Rules that are asked of each process.
const MOST_RULES: usize = 1_000;
/// Mistakes that are told of one file.
const MOST_MISTAKES: usize = 50;

/// Keys of the file.
const KEYS: [&str; 9] =
    ["store", "buffer", "buffer-mib", "row", "duration", "host", "window", "cpu-percent", "service"];
/// Keys of a rule.
const RULE_KEYS: [&str; 3] = ["match", "name", "version-env"];

/// What a configuration says; what it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentConfiguration {
    /// As `--store`.
    pub store: Option<PathBuf>,
    /// As `--buffer`.
    pub buffer: Option<PathBuf>,
    /// As `--buffer-mib`.
    pub buffer_mib: Option<u64>,
    /// As `--row`, ns.
    pub row_ns: Option<u64>,
    /// As `--duration`, ns.
    pub duration_ns: Option<u64>,
    /// As `--host`.
    pub host: Option<String>,
    /// As `--window`, ns.
    pub window_ns: Option<u64>,
    /// As `--cpu-percent`.
    pub cpu_percent: Option<f64>,
    /// Its `[[service]]` tables, in their order.
    pub rules: ServiceRules,
}

impl AgentConfiguration {
    /// Reads the file at this path; fails with all its mistakes.
    pub fn read(path: &Path) -> Result<Self> {
        let text = text_of(path).map_err(|why| {
            let message = format!("the configuration {} cannot be read: {why}", path.display());
            Hinted::new(message).hint("--config names a file of TOML; docs/fleet.md has an example")
        })?;
        Self::parse(&text).map_err(|mistakes| {
            let count = match mistakes.len() {
                1 => "a mistake".into(),
                count => format!("{count} mistakes"),
            };
            let mut lines: Vec<String> = mistakes.iter().take(MOST_MISTAKES).cloned().collect();
            if let Some(more) = mistakes.len().checked_sub(MOST_MISTAKES).filter(|more| *more > 0) {
                lines.push(format!("and {more} more"));
            }
            Hinted::new(format!("the configuration {} has {count}", path.display()))
                .details(lines.join("\n"))
                .hint(format!("change the file, then: dwell agent --check --config {}", quoted(path)))
        })
    }

    /// What a text says, or its mistakes, by line.
    fn parse(text: &str) -> std::result::Result<Self, Vec<String>> {
        let line_ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
        let mut mistakes = Mistakes { line_ends, found: Vec::new() };
        let (file, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            mistakes.add(error.span().unwrap_or_default(), error.message().replace('\n', ", "));
        }
        let configuration = mistakes.configuration(file.get_ref());
        let mut found = mistakes.found;
        found.sort();
        found.dedup();
        match found.is_empty() {
            true => Ok(configuration),
            false => Err(found.into_iter().map(|(line, what)| format!("line {line}: {what}")).collect()),
        }
    }
}

fn text_of(path: &Path) -> std::result::Result<String, String> {
    let mut bytes = Vec::new();
    let file = dwell_files::open_regular(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it has more than 1 MiB".into());
    }
    String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".into())
}

/// Collects what is wrong while it reads.
struct Mistakes {
    /// Where each line ends, in bytes.
    line_ends: Vec<usize>,
    /// Lines, and what is wrong there.
    found: Vec<(usize, String)>,
}

impl Mistakes {
    fn line_of(&self, at: usize) -> usize {
        1 + self.line_ends.partition_point(|end| *end < at)
    }

    fn add(&mut self, place: Range<usize>, what: impl Display) {
        let line = self.line_of(place.start);
        self.found.push((line, what.to_string()));
    }

    fn configuration(&mut self, file: &DeTable<'_>) -> AgentConfiguration {
        self.check_keys(file, &KEYS, "");
        let row_ns = self.parsed(file, "row", "5m", positive_seconds);
        let duration_ns = self.parsed(file, "duration", "5m", positive_seconds);
        let store = self.text(file, "store", "/var/lib/dwell/fleet").map(|(text, _)| PathBuf::from(text));
        let buffer = self.text(file, "buffer", "/var/lib/dwell/buffer").map(|(text, _)| PathBuf::from(text));
        let buffer_mib = self.number(file, "buffer-mib", "64", mebibytes);
        let host = self.text(file, "host", "web-1").map(|(text, _)| text);
        let window_ns = self.parsed(file, "window", "1s", window);
        let cpu_percent = self.number(file, "cpu-percent", "1.0", cpu_percent);
        let rules = self.rules(file);
        AgentConfiguration { store, buffer, buffer_mib, row_ns, duration_ns, host, window_ns, cpu_percent, rules }
    }

    /// Tells each key that there is not, and the nearest one that there is.
    fn check_keys(&mut self, table: &DeTable<'_>, known: &[&str], of: &str) {
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let what = match nearest_word(name, known.iter().copied()) {
                Some(nearest) => format!("there is no key `{name}`{of}; `{nearest}` is the nearest"),
                None => format!("there is no key `{name}`{of}; there are {}", known.join(", ")),
            };
            self.add(key.span(), what);
        }
    }

    /// The text that a key has, which is not empty, and its place.
    fn text(&mut self, table: &DeTable<'_>, key: &str, example: &str) -> Option<(String, Range<usize>)> {
        let value = table.get(key)?;
        let what = match value.get_ref() {
            DeValue::String(text) if !text.is_empty() => return Some((text.clone().into_owned(), value.span())),
            DeValue::String(_) => format!("`{key}` is empty; an example is {key} = \"{example}\""),
            other => format!("`{key}` has to be a text, and is {}: {key} = \"{example}\"", with_article(other)),
        };
        self.add(value.span(), what);
        None
    }

    /// The text that a key has, as the option of its name takes it.
    fn parsed(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        example: &str,
        parse: impl Fn(&str) -> std::result::Result<u64, String>,
    ) -> Option<u64> {
        let (text, place) = self.text(table, key, example)?;
        parse(&text).map_err(|why| self.add(place, format!("{key} = \"{text}\": {why}"))).ok()
    }

    /// The number that a key has.
    fn number<T>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        example: &str,
        parse: impl Fn(&str) -> std::result::Result<T, String>,
    ) -> Option<T> {
        let value = table.get(key)?;
        let text = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            other => {
                self.add(
                    value.span(),
                    format!("`{key}` has to be a number, and is {}: {key} = {example}", with_article(other)),
                );
                return None;
            }
        };
        parse(&text).map_err(|why| self.add(value.span(), format!("{key} = {text}: {why}"))).ok()
    }

    fn rules(&mut self, file: &DeTable<'_>) -> ServiceRules {
        let Some(value) = file.get("service") else { return ServiceRules::default() };
        let DeValue::Array(tables) = value.get_ref() else {
            self.add(value.span(), "`service` is a list: each rule begins with [[service]]");
            return ServiceRules::default();
        };
        if tables.len() > MOST_RULES {
            self.add(value.span(), format!("there are {} rules, and {MOST_RULES} may be", tables.len()));
        }
        ServiceRules(tables.iter().take(MOST_RULES).filter_map(|table| self.rule(table)).collect())
    }

    fn rule(&mut self, rule: &Spanned<DeValue<'_>>) -> Option<ServiceRule> {
        let line = self.line_of(rule.span().start);
        let DeValue::Table(table) = rule.get_ref() else {
            self.add(rule.span(), "a rule is a table that begins with [[service]]");
            return None;
        };
        self.check_keys(table, &RULE_KEYS, " in a rule");
        if !table.contains_key("match") {
            self.add(rule.span(), "the rule has no `match`, such as match = { unit = \"shop-*.service\" }");
        }
        if !table.contains_key("name") && !table.contains_key("version-env") {
            self.add(rule.span(), "the rule has no `name`, such as name = \"shop\", and no `version-env`");
        }
        let name = self.text(table, "name", "checkout");
        if let Some((name, place)) = &name
            && let Err(why) = check_service_name(name)
        {
            self.add(place.clone(), format!("name = \"{name}\": {why}"));
        }
        let version_variable = self.text(table, "version-env", "APP_VERSION");
        if let Some((name, place)) = &version_variable
            && name.contains('=')
        {
            self.add(place.clone(), format!("version-env = \"{name}\": is the name of a variable, without `=`"));
        }
        let text = |found: Option<(String, Range<usize>)>| found.map(|(text, _)| text);
        let conditions = self.conditions(table.get("match")?);
        Some(ServiceRule { conditions, name: text(name), version_variable: text(version_variable), line })
    }

    fn conditions(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(ProcessTrait, String)> {
        let DeValue::Table(table) = value.get_ref() else {
            let what = format!("`match` has to be a table, and is {}", with_article(value.get_ref()));
            self.add(value.span(), format!("{what}: match = {{ unit = \"shop-*.service\" }}"));
            return Vec::new();
        };
        let names = ProcessTrait::ALL.map(|(name, _)| name);
        self.check_keys(table, &names, " in `match`");
        if table.is_empty() {
            self.add(value.span(), format!("`match` is empty; it needs one of {}", names.join(", ")));
        }
        let mut conditions = Vec::new();
        for (key, of) in ProcessTrait::ALL {
            let example = if of == ProcessTrait::Environment { "APP=checkout*" } else { "checkout*" };
            let Some((pattern, place)) = self.text(table, key, example) else { continue };
            let is_variable = pattern.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('*'));
            if of == ProcessTrait::Environment && !is_variable {
                self.add(place, format!("env = \"{pattern}\": has to be NAME=PATTERN, such as APP=checkout*"));
            }
            conditions.push((of, pattern));
        }
        conditions
    }
}

/// `a number`.
fn with_article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_the_options_say() {
        let text = "store = 's3://fleet/eu'\nbuffer = '/srv/b'\nbuffer-mib = 8\nrow = '30s'\nhost = 'web-1'\nwindow = '500ms'\ncpu-percent = 2\n\n[[service]]\n\
                    match = { unit = 'shop-*.service', env = 'STAGE=prod' }\nname = 'shop'\nversion-env = 'V'\n";
        let read = AgentConfiguration::parse(text).unwrap();
        let conditions = vec![
            (ProcessTrait::Unit, "shop-*.service".to_owned()),
            (ProcessTrait::Environment, "STAGE=prod".to_owned()),
        ];
        let expected = AgentConfiguration {
            store: Some("s3://fleet/eu".into()),
            buffer: Some("/srv/b".into()),
            buffer_mib: Some(8),
            row_ns: Some(30_000_000_000),
            duration_ns: None,
            host: Some("web-1".into()),
            window_ns: Some(500_000_000),
            cpu_percent: Some(2.0),
            rules: ServiceRules(vec![ServiceRule {
                conditions,
                name: Some("shop".into()),
                version_variable: Some("V".into()),
                line: 9,
            }]),
        };
        assert_eq!(read, expected);
        assert_eq!(AgentConfiguration::parse("").unwrap(), AgentConfiguration::default());
    }

    #[test]
    fn all_mistakes_are_told_with_their_lines() {
        let text = "rwo = '5m'\nrow = '5 parsecs'\nhost = 7\nstore = ''\ncolour = 'red'\n[[service]]\n\
                    match = { units = 'x', env = 'APP' }\nname = 'a/b'\n[[service]]\nnmae = 'x'\n";
        let of_windows = AgentConfiguration::parse("window = '5m'\ncpu-percent = 0\nbuffer-mib = 1.5\n").unwrap_err();
        let wanted = [
            "line 1: window = \"5m\": must be from 10ms to 60s, or 0",
            "line 2: cpu-percent = 0: must be from 0.01 to 100",
            "line 3: buffer-mib = 1.5: invalid digit found in string",
        ];
        assert_eq!(of_windows, wanted);
        let mistakes = AgentConfiguration::parse(text).unwrap_err();
        let wanted = [
            "line 1: there is no key `rwo`; `row` is the nearest",
            "line 2: row = \"5 parsecs\": `5 parsecs` is no duration such as 1.5s, 200ms or 100us",
            "line 3: `host` has to be a text, and is a number: host = \"web-1\"",
            "line 4: `store` is empty; an example is store = \"/var/lib/dwell/fleet\"",
            "line 5: there is no key `colour`; there are store, buffer, buffer-mib, row, duration, host, window, cpu-percent, service",
            "line 7: env = \"APP\": has to be NAME=PATTERN, such as APP=checkout*",
            "line 7: there is no key `units` in `match`; `unit` is the nearest",
            "line 8: name = \"a/b\": it may have letters, digits, `.`, `_`, `@` and `-`",
            "line 9: the rule has no `match`, such as match = { unit = \"shop-*.service\" }",
            "line 9: the rule has no `name`, such as name = \"shop\", and no `version-env`",
            "line 10: there is no key `nmae` in a rule; `name` is the nearest",
        ];
        assert_eq!(mistakes, wanted);
    }

    #[test]
    fn any_damage_is_told_within_the_file() {
        let example = include_str!("../../../../packaging/agent/agent.toml");
        let uncommented = example.replace("\n# ", "\n");
        for text in [example, &uncommented] {
            for cut in (0..text.len()).filter(|cut| text.is_char_boundary(*cut)) {
                let (begin, end) = text.split_at(cut);
                for damaged in [begin.to_owned(), format!("{begin}={end}"), format!("{begin}\"\n[{end}")] {
                    let lines = damaged.lines().count() + 1;
                    for mistake in AgentConfiguration::parse(&damaged).err().into_iter().flatten() {
                        let line = mistake.strip_prefix("line ").and_then(|rest| rest.split_once(": ")?.0.parse().ok());
                        assert!(line.is_some_and(|line: usize| (1..=lines).contains(&line)), "{mistake}");
                    }
                }
            }
        }
    }

    #[test]
    fn damage_is_told_by_line_and_what_is_behind_it_is_read() {
        let mistakes = AgentConfiguration::parse("row = \nhost = 'x'\nrwo = 'x'\n").unwrap_err();
        assert!(mistakes.len() >= 2 && mistakes[0].starts_with("line 1: "), "{mistakes:?}");
        assert!(mistakes.iter().any(|mistake| mistake.starts_with("line 3: ")), "{mistakes:?}");
        for text in ["service = 7", "[service]\nname = 'x'", "service = [7]", "[[service]]\nmatch = 7\nname = 'x'"] {
            assert!(AgentConfiguration::parse(text).is_err(), "{text}");
        }
    }
}
