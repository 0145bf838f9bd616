//! Options of another tool as options of a Dwell command: those of a table of habits, and those that the command has itself.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command};

use super::options::{GivenOption, OptionHabit};

/// What a command line of another tool says.
#[derive(Debug, Default)]
pub struct Translation {
    /// Options of Dwell's command.
    pub options: Vec<OsString>,
    /// Results and functions that options named.
    pub names: Vec<OsString>,
    /// What is no option: names, or the program and its arguments.
    pub rest: Vec<OsString>,
    /// Options that have no meaning here, and why.
    pub ignored: Vec<(String, &'static str)>,
    /// What Dwell cannot do: a sentence each.
    pub missing: Vec<String>,
}

/// How a tool's command line is read.
#[derive(Clone, Copy, Debug)]
pub struct HabitRules<'a> {
    /// The tool's options.
    pub habits: &'a [&'a [OptionHabit]],
    /// Dwell's command, whose own options are understood, too.
    pub own: &'a Command,
    /// Whether the first word that is no option begins a program's command line.
    pub runs_program: bool,
}

/// One option as typed: dashes, name, and the value in the same word.
struct TypedOption<'a> {
    name: &'a str,
    attached: Option<&'a str>,
}

/// What an option is that was found.
enum KnownOption<'a> {
    Habit(&'a OptionHabit),
    Own(&'a Arg),
}

impl Translation {
    /// Reads `words`. An option that nobody knows is missing.
    pub fn read(words: &[OsString], rules: HabitRules<'_>) -> Self {
        let mut translation = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.to_str().filter(|word| word.len() > 1 && word.starts_with('-')) {
                Some("--") => translation.rest.extend(words.by_ref().cloned()),
                Some(option) => translation.take(option, &mut words, rules),
                None => {
                    translation.rest.push(word.clone());
                    if rules.runs_program {
                        translation.rest.extend(words.by_ref().cloned());
                    }
                }
            }
        }
        translation
    }

    fn take<'a>(&mut self, word: &str, words: &mut impl Iterator<Item = &'a OsString>, rules: HabitRules<'_>) {
        for typed in typed_options(word, rules) {
            let Some(known) = rules.find(typed.name) else {
                return self.missing.push(format!("`{word}` has no equivalent in Dwell"));
            };
            let value = match typed.attached {
                Some(value) => Some(OsString::from(value)),
                None if known.takes_value() => words.next().cloned(),
                None => None,
            };
            if known.takes_value() && value.is_none() {
                return self.missing.push(format!("`{word}` needs a value"));
            }
            match known {
                KnownOption::Own(arg) => self.give_own(arg, value),
                KnownOption::Habit(habit) => self.give(word, habit, value.as_deref()),
            }
        }
    }

    fn give_own(&mut self, arg: &Arg, value: Option<OsString>) {
        let long = arg.get_long().map(|long| format!("--{long}"));
        let short = arg.get_short().map(|short| format!("-{short}"));
        self.options.extend(long.or(short).map(OsString::from));
        self.options.extend(value);
    }

    fn give(&mut self, word: &str, habit: &OptionHabit, value: Option<&OsStr>) {
        let text = value.map_or("".into(), OsStr::to_string_lossy);
        match (habit.gives)(&text) {
            GivenOption::Options(options) => self.options.extend(options.into_iter().map(OsString::from)),
            GivenOption::Name(name) => self.names.push(name.into()),
            GivenOption::Missing(sentence) => self.missing.push(sentence),
            GivenOption::Nothing(why) => {
                let is_apart = value.is_some() && !word.contains(text.as_ref());
                self.ignored.push((if is_apart { format!("{word} {text}") } else { word.to_owned() }, why));
            }
        }
    }

    /// One sentence for each reason why options have no meaning here.
    pub fn remarks(&self) -> Vec<String> {
        let mut reasons: Vec<&str> = Vec::new();
        for (_, why) in &self.ignored {
            if !reasons.contains(why) {
                reasons.push(why);
            }
        }
        let of = |reason: &str| {
            let words = self.ignored.iter().filter(|(_, why)| *why == reason).map(|(word, _)| format!("`{word}`"));
            words.collect::<Vec<_>>().join(", ")
        };
        reasons.into_iter().map(|reason| format!("{} changes nothing: {reason}", of(reason))).collect()
    }
}

impl<'a> HabitRules<'a> {
    fn find(&self, name: &str) -> Option<KnownOption<'a>> {
        let habit = self.habits.iter().copied().flatten().find(|habit| habit.names.contains(&name));
        habit.map(KnownOption::Habit).or_else(|| own_option(self.own, name).map(KnownOption::Own))
    }

    fn knows(&self, name: &str) -> bool {
        self.find(name).is_some()
    }
}

impl KnownOption<'_> {
    fn takes_value(&self) -> bool {
        match self {
            Self::Habit(habit) => habit.takes_value,
            Self::Own(arg) => arg.get_action().takes_values(),
        }
    }
}

/// The option of `command` that is called `name`, long or short.
pub fn own_option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is_short = |arg: &Arg, name: char| arg.get_short_and_visible_aliases().is_some_and(|all| all.contains(&name));
    let mut letters = name.chars();
    let letter = letters.next().filter(|_| letters.next().is_none());
    command.get_arguments().find(|arg| match letter {
        Some(letter) => is_short(arg, letter),
        None => arg.get_long() == Some(name),
    })
}

/// The options in one word: `--name=value`, `-name=value`, `-p4242`, or letters such as `-ag`.
fn typed_options<'a>(word: &'a str, rules: HabitRules<'_>) -> Vec<TypedOption<'a>> {
    let bare = word.trim_start_matches('-');
    let (name, attached) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
    if word.starts_with("--") || rules.knows(name) {
        return vec![TypedOption { name, attached }];
    }
    let mut options = Vec::new();
    for (at, letter) in bare.char_indices() {
        let (name, rest) = bare[at..].split_at(letter.len_utf8());
        let takes_value = rules.find(name).is_some_and(|known| known.takes_value());
        options.push(TypedOption { name, attached: Some(rest).filter(|rest| takes_value && !rest.is_empty()) });
        if takes_value {
            break;
        }
    }
    options
}
