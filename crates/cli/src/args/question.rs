//! The options of a question, as clap takes them: `dwell_analyze::options` says what each one is, this file how its value is
//! written on a command line.

use std::marker::PhantomData;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use dwell_analyze::options::{Form, OPTIONS, OptionDef, QueryCommand, Topic};
use dwell_analyze::{CallStackMode, Query, QueryError};

use super::parse;

/// The command that a question belongs to.
pub trait Of {
    /// Which.
    const ASKER: QueryCommand;
}

/// `dwell report`.
#[derive(Debug)]
pub struct Report;
/// `dwell compare`.
#[derive(Debug)]
pub struct Compare;
/// `dwell source`.
#[derive(Debug)]
pub struct Source;
/// `dwell export`.
#[derive(Debug)]
pub struct Export;

impl Of for Report {
    const ASKER: QueryCommand = QueryCommand::Report;
}

impl Of for Compare {
    const ASKER: QueryCommand = QueryCommand::Compare;
}

impl Of for Source {
    const ASKER: QueryCommand = QueryCommand::Source;
}

impl Of for Export {
    const ASKER: QueryCommand = QueryCommand::Export;
}

/// The options of a question that a command takes, with their values.
#[derive(Debug)]
pub struct Question<A> {
    matches: ArgMatches,
    asker: PhantomData<A>,
}

impl<A: Of> Question<A> {
    /// What they ask. Fails with the text that makes no sense.
    pub fn query(&self) -> Result<Query, QueryError> {
        let mut query = Query::default();
        for (row, _) in rows(A::ASKER) {
            give(row, &self.matches, &mut query)?;
        }
        Ok(query)
    }
}

/// The options that `asker` takes, each with its help.
fn rows(asker: QueryCommand) -> impl Iterator<Item = (&'static OptionDef, &'static str)> {
    OPTIONS.iter().filter_map(move |row| Some((row, row.help_for(asker)?)))
}

impl<A: Of> Args for Question<A> {
    fn augment_args(command: Command) -> Command {
        command.args(rows(A::ASKER).map(|(row, help)| arg(row, help)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<A: Of> FromArgMatches for Question<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { matches: matches.clone(), asker: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn arg(row: &OptionDef, help: &'static str) -> Arg {
    let heading = match row.topic {
        Topic::Show => "What to show",
        Topic::Count => "How to count",
    };
    // The parser's own help texts have no full stop at the end either.
    let help = help.strip_suffix('.').unwrap_or(help);
    let arg = Arg::new(row.option).long(row.option).help(help).help_heading(heading);
    let arg = match row.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    let arg = match row.default {
        Some(default) => arg.default_value(default),
        None => arg,
    };
    if matches!(row.form, Form::Flag(_)) {
        return arg.action(ArgAction::SetTrue);
    }
    let arg = arg.value_name(row.value);
    match row.form {
        Form::Texts(_) => arg.action(ArgAction::Append),
        Form::List(_) => arg.action(ArgAction::Append).value_delimiter(','),
        Form::Range(_) => arg.value_parser(parse::range).allow_hyphen_values(true),
        Form::Ranges(_) => arg.value_parser(parse::range).allow_hyphen_values(true).action(ArgAction::Append),
        Form::Mode(_) => arg.value_parser(parse::call_stack_modes()),
        Form::Switch(_) => arg.default_value("on").value_parser(switch()),
        Form::Number(least, most, _) => arg.value_parser(move |text: &str| parse::number(text, least, most)),
        Form::Time(_) => arg.value_parser(parse::seconds),
        Form::Share(_) => arg.value_parser(clap::value_parser!(f64)),
        Form::Flag(_) | Form::Text(_) => arg,
    }
}

fn switch() -> impl TypedValueParser<Value = bool> {
    let words = [PossibleValue::new("on").help("Yes"), PossibleValue::new("off").help("No")];
    PossibleValuesParser::new(words).map(|word| word == "on")
}

/// Does to `query` what the values of an option in `matches` say.
fn give(row: &OptionDef, matches: &ArgMatches, query: &mut Query) -> Result<(), QueryError> {
    let name = row.option;
    if matches!(matches.value_source(name), None | Some(ValueSource::DefaultValue)) {
        return Ok(());
    }
    let text = || matches.get_many::<String>(name).into_iter().flatten();
    let range = || matches.get_many::<(u64, u64)>(name).into_iter().flatten();
    let number = || matches.get_one::<u64>(name);
    match row.form {
        Form::Flag(set) => set(query),
        Form::Text(set) | Form::Texts(set) => return text().try_for_each(|text| set(query, text)),
        Form::List(set) => return text().try_for_each(|word| set(query, word.trim())),
        Form::Range(set) | Form::Ranges(set) => range().for_each(|range| set(query, *range)),
        Form::Switch(set) => matches.get_one(name).into_iter().for_each(|on| set(query, *on)),
        Form::Mode(set) => matches.get_one::<CallStackMode>(name).into_iter().for_each(|mode| set(query, *mode)),
        Form::Number(_, _, set) | Form::Time(set) => number().into_iter().for_each(|number| set(query, *number)),
        Form::Share(set) => matches.get_one(name).into_iter().for_each(|share| set(query, *share)),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query<A: Of>(words: &[&str]) -> Query {
        let command = Question::<A>::augment_args(Command::new("dwell").no_binary_name(true));
        let matches = command.try_get_matches_from(words).unwrap();
        Question::<A>::from_arg_matches(&matches).unwrap().query().unwrap()
    }

    #[test]
    fn options_become_a_question() {
        let asked = query::<Report>(&[
            "-g",
            "object, function",
            "-f",
            "thread=a",
            "-f",
            "cpu=1",
            "--time-range",
            "1.5s-3s",
            "--limit",
            "7",
            "--excluded-range",
            "-10ms",
            "--bins",
            "9",
            "--outlier",
            "50us",
            "--inline-mode",
            "off",
            "--include-idle",
            "--call-stack-mode",
            "all",
            "--target-concurrency",
            "3",
            "--sort",
            "wait_ns",
        ]);
        assert_eq!((asked.group_by.len(), asked.filters.len()), (2, 2));
        assert_eq!((asked.range, asked.limit), (Some((1_500_000_000, 3_000_000_000)), Some(7)));
        assert_eq!((asked.excluded_ranges, asked.bins), (vec![(0, 10_000_000)], 9));
        assert_eq!((asked.outlier_ns, asked.inlines, asked.include_idle), (Some(50_000), false, true));
        assert_eq!((asked.call_stack_mode, asked.target_concurrency), (CallStackMode::All, Some(3)));
        assert_eq!(asked.sort.map(|metric| metric.id), Some("wait_ns"));
    }

    #[test]
    fn without_options_the_question_is_the_default() {
        for asked in [query::<Report>(&[]), query::<Compare>(&[]), query::<Source>(&[])] {
            assert_eq!(format!("{asked:?}"), format!("{:?}", Query::default()));
        }
    }

    #[test]
    fn a_command_takes_its_own_options_only() {
        let command = Question::<Source>::augment_args(Command::new("dwell").no_binary_name(true));
        assert!(command.clone().try_get_matches_from(["--limit", "7"]).is_err());
        assert!(command.try_get_matches_from(["--filter", "thread=a"]).is_ok());
    }
}
