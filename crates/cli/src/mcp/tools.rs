//! The tools, one row each: name, what it answers, its arguments. And the command of Dwell that each call becomes.
//!
//! Options are always written `--name=value` and words stand behind `--`, so that no value of a client's is taken for an option; none
//! of the options offered names a file.

use dwell_analyze::Report;
use dwell_analyze::options::{Form, OPTIONS, QueryCommand};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use super::arguments::{ToolArguments, checked, wrong};
use super::refusal::Refusal;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolName {
    /// The results that there are.
    ListResults,
    /// One result in numbers, with its findings and causes.
    Summary,
    /// Why threads waited, down to the causes.
    Explain,
    /// Diagnoses.
    Findings,
    /// Any report.
    Report,
    /// A function's lines and instructions.
    Source,
    /// Two results.
    Compare,
    /// A new result.
    Collect,
}

/// What an argument takes.
#[derive(Clone, Copy, Debug)]
enum Takes {
    Text,
    Texts,
    Rows,
    Options,
}

type ArgumentRow = (&'static str, Takes, &'static str);

/// A row of the table.
#[derive(Debug)]
pub struct ToolRow {
    /// Which.
    pub tool: ToolName,
    /// As clients call it.
    pub name: &'static str,
    help: &'static str,
    /// How many of the arguments must be given: the first ones.
    needed: usize,
    arguments: &'static [ArgumentRow],
}

const RESULT: ArgumentRow = ("result", Takes::Text, "Name of a result, as list_results gives it.");
const LIMIT: ArgumentRow = ("limit", Takes::Rows, "Most rows of each list in the answer; 50 without it, 1000 at most.");
const TIME_RANGE: ArgumentRow = ("time_range", Takes::Text, "Only this part of the time, such as 1.5s-3s.");
const FILTERS: ArgumentRow =
    ("filters", Takes::Texts, "Only what matches KEY=VALUE, such as thread=worker* or object=w3, a handle.");

/// Every tool, `collect` last.
pub const TOOLS: [ToolRow; 8] = [
    ToolRow {
        tool: ToolName::ListResults,
        name: "list_results",
        help: "The results in the served folder, the newest first: names, commands, when and how long.",
        needed: 0,
        arguments: &[LIMIT],
    },
    ToolRow {
        tool: ToolName::Summary,
        name: "summary",
        help: "One result in numbers: elapsed, CPU and wait time, findings, causes, losses. Begin here.",
        needed: 1,
        arguments: &[RESULT, TIME_RANGE, FILTERS, LIMIT],
    },
    ToolRow {
        tool: ToolName::Explain,
        name: "explain",
        help: "Why threads waited: each row is a cause (who did what, where) with the waits that it explains, the chain from the \
               waiting threads to it, and advice. A row's handle names its object in every answer about the result. wait_ns is thread time, wall_ns is elapsed time.",
        needed: 1,
        arguments: &[
            RESULT,
            (
                "for",
                Takes::Text,
                "Only the waits of this role or thread, or for this object, such as worker*, queue_lock or w3, a handle.",
            ),
            TIME_RANGE,
            FILTERS,
            LIMIT,
        ],
    },
    ToolRow {
        tool: ToolName::Findings,
        name: "findings",
        help: "What is wrong beside the causes of waits, the dearest first, each with its evidence, its claims (numbers, and the \
               report that shows each) and advice.",
        needed: 1,
        arguments: &[RESULT, TIME_RANGE, FILTERS, LIMIT],
    },
    ToolRow {
        tool: ToolName::Report,
        name: "report",
        help: "Any report of `dwell report`, such as waits, blame (subject: an object), hotspots, bottom-up, top-down, \
               caller-callee (subject: a function), threads, timeline, critical-path, latency, log.",
        needed: 2,
        arguments: &[
            RESULT,
            ("name", Takes::Text, "Name of the report."),
            (
                "subject",
                Takes::Text,
                "The object of blame, the function of caller-callee, the interval of outlier; a handle where rows have one. With it, waits, threads, findings and latency show one thing alone.",
            ),
            ("options", Takes::Options, "Options as `dwell report` takes them, without dashes."),
            LIMIT,
        ],
    },
    ToolRow {
        tool: ToolName::Source,
        name: "source",
        help: "A function's source lines and instructions, with CPU and wait time at each.",
        needed: 2,
        arguments: &[
            RESULT,
            ("function", Takes::Text, "A function, exact or with *, or FILE:LINE."),
            ("module", Takes::Text, "The program or library that it is in, where several have one of this name."),
            TIME_RANGE,
            FILTERS,
            LIMIT,
        ],
    },
    ToolRow {
        tool: ToolName::Compare,
        name: "compare",
        help: "Two results side by side: CPU and wait time of each function or object, difference = first - second.",
        needed: 2,
        arguments: &[
            ("first", Takes::Text, "Name of the result to compare with."),
            ("second", Takes::Text, "Name of the result that is compared."),
            ("level", Takes::Text, "What rows are: function (without it), object, thread-name."),
            TIME_RANGE,
            FILTERS,
            LIMIT,
        ],
    },
    ToolRow {
        tool: ToolName::Collect,
        name: "collect",
        help: "Runs a program and records its threads; answers with the name of the new result. A program that runs longer than \
               the duration goes on without being recorded.",
        needed: 1,
        arguments: &[
            ("program", Takes::Text, "The program: a path, or a name that PATH has."),
            ("arguments", Takes::Texts, "Its arguments."),
            ("analysis", Takes::Text, "threading (without it), or latency."),
            ("duration", Takes::Text, "How long it is recorded at most, such as 10s, which it is without it."),
        ],
    },
];

/// Where a command begins.
#[derive(Debug)]
pub enum StartFolder {
    /// In the folder of all results.
    All,
    /// In the folder of this result.
    One(String),
}

/// A command that prints JSON.
#[derive(Debug)]
pub struct ReadingCommand {
    /// Where it begins.
    pub place: StartFolder,
    /// Results beside, which must be there.
    pub beside: Vec<String>,
    /// Its words.
    pub words: Vec<String>,
}

impl ToolRow {
    /// The names of its arguments.
    pub fn known(&self) -> Vec<&'static str> {
        self.arguments.iter().map(|argument| argument.0).collect()
    }

    /// As the protocol describes it.
    pub fn described(&self) -> Tool {
        let properties: JsonObject = self.arguments.iter().map(|row| (row.0.to_owned(), schema(row))).collect();
        let needed: Vec<&str> = self.known().into_iter().take(self.needed).collect();
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": needed,
            "additionalProperties": false,
        });
        let collects = self.tool == ToolName::Collect;
        let hints = ToolAnnotations::new().read_only(!collects).destructive(collects).open_world(collects);
        Tool::new(self.name, self.help, schema.as_object().cloned().unwrap_or_default()).with_annotations(hints)
    }

    /// The command that answers; none for `collect`.
    pub fn command(&self, given: &ToolArguments) -> Result<Option<ReadingCommand>, Refusal> {
        let text = |name: &str| given.needed_text(name, self.needed_hint());
        let of_result = |words: Vec<String>| {
            Ok(Some(ReadingCommand { place: StartFolder::One(text("result")?.to_owned()), beside: Vec::new(), words }))
        };
        match self.tool {
            ToolName::ListResults => {
                let words = ["mcp", "--list", "--results=."].map(str::to_owned).to_vec();
                Ok(Some(ReadingCommand { place: StartFolder::All, beside: Vec::new(), words }))
            }
            ToolName::Summary => of_result(report("summary", None, selection(given)?)),
            ToolName::Findings => of_result(report("findings", None, selection(given)?)),
            ToolName::Explain => {
                let mut options = selection(given)?;
                options.extend(given.text("for")?.map(|name| format!("--for={name}")));
                of_result(report("explain", None, options))
            }
            ToolName::Report => {
                let name = report_name(text("name")?)?;
                of_result(report(name, given.text("subject")?, report_options(given.object("options")?)?))
            }
            ToolName::Source => {
                let mut words = vec!["source".to_owned(), "--format=json".to_owned()];
                words.extend(selection(given)?);
                words.extend(given.text("module")?.map(|name| format!("--module={name}")));
                words.extend(["--", ".", text("function")?].map(str::to_owned));
                of_result(words)
            }
            ToolName::Compare => {
                let (first, second) = (text("first")?.to_owned(), text("second")?.to_owned());
                let mut words = vec!["compare".to_owned(), "--format=json".to_owned()];
                words.extend(selection(given)?);
                words.extend(given.text("level")?.map(|level| format!("--level={level}")));
                words.extend(["--".to_owned(), first.clone(), second.clone()]);
                Ok(Some(ReadingCommand { place: StartFolder::All, beside: vec![first, second], words }))
            }
            ToolName::Collect => Ok(None),
        }
    }

    /// What to give where an argument is missing.
    pub fn needed_hint(&self) -> &'static str {
        match self.tool {
            ToolName::Report => {
                "result is a name that list_results gives, name a report: summary, waits, blame, hotspots"
            }
            ToolName::Source => "result is a name that list_results gives; the report hotspots lists functions",
            ToolName::Collect => "program is what is run, arguments a list of its words",
            _ => "list_results names the results",
        }
    }
}

fn report(name: &str, subject: Option<&str>, options: Vec<String>) -> Vec<String> {
    let words = ["report", "--format=json"].map(str::to_owned).into_iter().chain(options);
    words.chain(["--", ".", name].map(str::to_owned)).chain(subject.map(str::to_owned)).collect()
}

fn selection(given: &ToolArguments) -> Result<Vec<String>, Refusal> {
    let range = given.text("time_range")?.map(|range| format!("--time-range={range}"));
    let filters = given.texts("filters")?.into_iter().map(|filter| format!("--filter={filter}"));
    Ok(range.into_iter().chain(filters).collect())
}

/// The name of a report, or of the log. Said here, since a command line would take a name that there is not for a result.
fn report_name(name: &str) -> Result<&str, Refusal> {
    if name == "log" || Report::parse(name).is_ok() {
        return Ok(name);
    }
    let known: Vec<&str> = Report::ALL.iter().map(|report| report.id()).collect();
    Err(Refusal::new(format!("there is no report `{name}`")).hint(format!("there are {}, log", known.join(", "))))
}

/// The options that the command line has of a question, and no others.
fn report_options(given: Option<&JsonObject>) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    for (name, value) in given.into_iter().flatten() {
        let row = OPTIONS.iter().find(|row| row.option == name && row.help_for(QueryCommand::Report).is_some());
        let Some(row) = row else {
            let known: Vec<&str> = OPTIONS.iter().map(|row| row.option).filter(|name| !name.is_empty()).collect();
            let refusal = Refusal::new(format!("there is no option `{name}`"));
            return Err(refusal.hint(format!("options takes {}", known.join(", "))));
        };
        match (row.form, value) {
            (Form::Flag(_), Value::Bool(on)) => words.extend(on.then(|| format!("--{name}"))),
            (Form::Flag(_), _) => return Err(wrong(name, "true or false")),
            (Form::Switch(_), Value::Bool(on)) => words.push(format!("--{name}={}", if *on { "on" } else { "off" })),
            (_, Value::Array(values)) => {
                for value in values {
                    words.push(format!("--{name}={}", written(name, value)?));
                }
            }
            (_, value) => words.push(format!("--{name}={}", written(name, value)?)),
        }
    }
    Ok(words)
}

fn written(name: &str, value: &Value) -> Result<String, Refusal> {
    match value {
        Value::String(text) => checked(name, text).map(str::to_owned),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(wrong(name, "a text, a number, or a list of them")),
    }
}

fn schema((_, takes, help): &ArgumentRow) -> Value {
    match takes {
        Takes::Text => json!({ "type": "string", "description": help }),
        Takes::Texts => json!({ "type": "array", "items": { "type": "string" }, "description": help }),
        Takes::Rows => {
            json!({ "type": "integer", "minimum": 1, "maximum": super::answer::MOST_ROWS, "description": help })
        }
        Takes::Options => {
            let rows = OPTIONS.iter().filter_map(|row| Some((row, row.help_for(QueryCommand::Report)?)));
            let properties: JsonObject =
                rows.map(|(row, help)| (row.option.to_owned(), option_schema(row.form, help))).collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false, "description": help })
        }
    }
}

fn option_schema(form: Form, help: &str) -> Value {
    let kind = match form {
        Form::Flag(_) | Form::Switch(_) => json!("boolean"),
        Form::Number(..) => json!("integer"),
        Form::Texts(_) | Form::Ranges(_) | Form::List(_) => {
            return json!({ "type": "array", "items": { "type": "string" }, "description": help });
        }
        _ => json!("string"),
    };
    json!({ "type": kind, "description": help })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(tool: ToolName, given: &Value) -> Result<Vec<String>, Refusal> {
        let row = TOOLS.iter().find(|row| row.tool == tool).unwrap();
        let given = ToolArguments::new(given.as_object().cloned(), &row.known())?;
        Ok(row.command(&given)?.unwrap().words)
    }

    #[test]
    fn no_value_is_taken_for_an_option() {
        let given = json!({ "result": "r", "for": "--html=x", "filters": ["--output=y"], "time_range": "-o" });
        let words = command(ToolName::Explain, &given).unwrap();
        let expected = ["report", "--format=json", "--time-range=-o", "--filter=--output=y", "--for=--html=x"];
        assert_eq!(words[..5], expected);
        assert_eq!(words[5..], ["--", ".", "explain"]);
        let words = command(ToolName::Source, &json!({ "result": "r", "function": "--file=/etc/passwd" })).unwrap();
        assert_eq!(words[2..], ["--", ".", "--file=/etc/passwd"]);
    }

    #[test]
    fn options_are_those_of_the_table() {
        let of =
            |options: Value| command(ToolName::Report, &json!({ "result": "r", "name": "waits", "options": options }));
        let words = of(json!({ "group-by": ["object", "function"], "include-idle": true, "limit": 3 })).unwrap();
        assert_eq!(words[2..6], ["--group-by=object", "--group-by=function", "--include-idle", "--limit=3"]);
        for file in ["output", "html", "format", "o"] {
            assert!(of(json!({ file: "x" })).unwrap_err().hint.contains("group-by"), "{file}");
        }
        assert_eq!(
            of(json!({ "include-idle": "x" })).unwrap_err().sentence,
            "the argument `include-idle` is true or false"
        );
    }

    #[test]
    fn mistakes_are_told() {
        let sentence = |given: Value| command(ToolName::Summary, &given).unwrap_err().sentence;
        assert_eq!(sentence(json!({})), "the argument `result` is missing");
        assert_eq!(sentence(json!({ "result": 7 })), "the argument `result` is a text");
        assert_eq!(sentence(json!({ "reslut": "r" })), "there is no argument `reslut`");
        assert_eq!(sentence(json!({ "result": "r", "filters": [1] })), "the argument `filters` is a list of texts");
        assert_eq!(sentence(json!({ "result": "a\0" })), "the argument `result` is a text without NUL characters");
    }
}
