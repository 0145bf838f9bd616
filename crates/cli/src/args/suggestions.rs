//! What the command line's parser refuses, in the form of every other error: one sentence, and what to type instead.

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{Cli, habits};
use crate::error::{Hinted, shell_word};

/// What a command line turns out to be that asks for no work.
pub enum Refused {
    /// Help or version was asked for, or is shown for want of arguments.
    Shown(clap::Error),
    /// It makes no sense.
    Wrong(Hinted),
}

/// Understands a parser's error about `words`, the program's own name first.
pub fn explain(error: clap::Error, words: &[String]) -> Refused {
    match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
        | ErrorKind::DisplayVersion
        | ErrorKind::Io
        | ErrorKind::Format => Refused::Shown(error),
        _ => Refused::Wrong(mistake(&error, words)),
    }
}

fn mistake(error: &clap::Error, words: &[String]) -> Hinted {
    let unknown = error.get(ContextKind::InvalidSubcommand).and_then(first_text);
    match unknown.filter(|word| command_of(words) == "dwell collect" && !habits::is_program(word.as_ref())) {
        Some(word) => habits::no_analysis_error(&word).into(),
        None => Hinted::usage(sentence(error)).hint(hint(error, words)),
    }
}

/// The parser's first paragraph, in one line: what follows are its tips and the usage.
fn sentence(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn hint(error: &clap::Error, words: &[String]) -> String {
    let context = |kind| error.get(kind).and_then(first_text);
    let suggestions = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    let wrong = context(ContextKind::InvalidArg).or_else(|| context(ContextKind::InvalidSubcommand));
    // What the word means in another tool comes before how it is spelt.
    if let Some(meaning) = wrong.as_deref().and_then(habits::meaning_of) {
        return meaning;
    }
    if let Some(nearest) = suggestions.into_iter().find_map(context) {
        return format!("did you mean `{nearest}`?");
    }
    let command = command_of(words);
    if let Some(line) = wrong.and_then(|wrong| with_dashes(&command, &wrong, words)) {
        return line;
    }
    match (error.kind(), context(ContextKind::Usage)) {
        (ErrorKind::MissingRequiredArgument, Some(usage)) => {
            let usage = usage.split_whitespace().collect::<Vec<_>>().join(" ");
            usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned()
        }
        (ErrorKind::InvalidSubcommand, _) => format!("{command} --help lists the commands"),
        _ => format!("{command} --help shows the options and examples"),
    }
}

fn first_text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        ContextValue::StyledStr(text) => Some(text.to_string()),
        _ => None,
    }
}

/// `dwell collect threading` of a whole command line.
fn command_of(words: &[String]) -> String {
    let mut command = Cli::command();
    let mut names = vec!["dwell".to_owned()];
    for word in words.iter().skip(1) {
        let Some(sub) = command.find_subcommand(word).cloned() else { break };
        names.push(word.clone());
        command = sub;
    }
    names.join(" ")
}

/// For `dwell collect threading ./app`: the same with `--` before the program.
fn with_dashes(command: &str, wrong: &str, words: &[String]) -> Option<String> {
    let missing = match command {
        "dwell collect" => "threading --",
        "dwell collect threading" | "dwell collect latency" => "--",
        _ => return None,
    };
    let at = words.iter().position(|word| word == wrong).filter(|_| !wrong.starts_with('-'))?;
    let quoted = |words: &[String]| words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let (before, program) = (words.get(1..at)?, words.get(at..)?);
    // With dashes already, the word before them is what is wrong.
    (!words.iter().any(|word| word == "--")).then(|| format!("dwell {} {missing} {}", quoted(before), quoted(program)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn told(line: &str) -> (String, String) {
        let words: Vec<String> = line.split_whitespace().map(String::from).collect();
        let error = Cli::try_parse_from(&words).unwrap_err();
        (sentence(&error), hint(&error, &words))
    }

    #[test]
    fn forgotten_dashes_are_put_in() {
        let line = "dwell collect threading --duration 10s ./app -v";
        assert_eq!(told(line).1, "dwell collect threading --duration 10s -- ./app -v");
        assert_eq!(told("dwell collect ./app").1, "dwell collect threading -- ./app");
        assert_eq!(told("dwell collect latency ./app").1, "dwell collect latency -- ./app");
        assert!(told("dwell collect threading app -- x").1.contains("--help"));
    }

    #[test]
    fn wrong_values_and_names_are_one_line_with_a_hint() {
        for (line, sentence, hint) in [
            ("dwell report waits --time-range abc", "`abc` is no range", "dwell report --help"),
            ("dwell report waits --bins 0", "must be from 1 to", "dwell report --help"),
            ("dwell report waits --format xml", "possible values: text, csv, json", "dwell report --help"),
            ("dwell report waits --time-rang 1-2", "--time-rang", "did you mean `--time-range`?"),
            ("dwell compare a b --fail-if foo", "no limit such as", "dwell compare --help"),
            ("dwell compare a b --fail-if wiat>3", "did you mean `wait", "dwell compare --help"),
            ("dwell compare a", "<SECOND>", "dwell compare"),
            ("dwell view --port 99999", "99999", "dwell view --help"),
            ("dwell foo", "'foo'", "dwell --help"),
        ] {
            let told = told(line);
            assert!(told.0.contains(sentence) && told.1.contains(hint), "{line}: {told:?}");
            assert!(!told.0.contains('\n') && !told.1.contains('\n'), "{line}: {told:?}");
        }
    }

    #[test]
    fn help_is_no_mistake() {
        let error = Cli::try_parse_from(["dwell", "--help"]).unwrap_err();
        assert!(matches!(explain(error, &[]), Refused::Shown(_)));
    }
}
