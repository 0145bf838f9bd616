//! The arguments of a tool's call, read one by one: each mistake is a sentence that names the argument.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::refusal::Refusal;

/// What a client gave.
#[derive(Debug)]
pub struct ToolArguments {
    given: JsonObject,
}

impl ToolArguments {
    /// Those given, all of which must be among the `known` ones.
    pub fn new(given: Option<JsonObject>, known: &[&str]) -> Result<Self, Refusal> {
        let given = given.unwrap_or_default();
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self { given }),
            Some(name) => {
                Err(Refusal::new(format!("there is no argument `{name}`"))
                    .hint(format!("it takes {}", known.join(", "))))
            }
        }
    }

    /// A text, or nothing.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => checked(name, text).map(Some),
            Some(_) => Err(wrong(name, "a text")),
        }
    }

    /// A text that must be there.
    pub fn needed_text(&self, name: &str, hint: &str) -> Result<&str, Refusal> {
        self.text(name)?.ok_or_else(|| Refusal::new(format!("the argument `{name}` is missing")).hint(hint))
    }

    /// Several texts, or one.
    pub fn texts(&self, name: &str) -> Result<Vec<&str>, Refusal> {
        match self.given.get(name) {
            Some(Value::Array(values)) => {
                let text =
                    |value: &'_ Value| value.as_str().map(str::len).ok_or_else(|| wrong(name, "a list of texts"));
                values.iter().try_for_each(|value| text(value).map(drop))?;
                values.iter().filter_map(Value::as_str).map(|text| checked(name, text)).collect()
            }
            _ => Ok(self.text(name)?.into_iter().collect()),
        }
    }

    /// A whole number from 1 to `most`, or nothing.
    pub fn number(&self, name: &str, most: u64) -> Result<Option<u64>, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) if (1..=most).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(name, &format!("a whole number from 1 to {most}"))),
            },
        }
    }

    /// Names with values, or nothing.
    pub fn object(&self, name: &str) -> Result<Option<&JsonObject>, Refusal> {
        match self.given.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(object)),
            Some(_) => Err(wrong(name, "an object of names and values")),
        }
    }
}

/// No argument of a program can have a NUL.
pub fn checked<'t>(name: &str, text: &'t str) -> Result<&'t str, Refusal> {
    if text.contains('\0') { Err(wrong(name, "a text without NUL characters")) } else { Ok(text) }
}

/// The argument is something else.
pub fn wrong(name: &str, what: &str) -> Refusal {
    Refusal::new(format!("the argument `{name}` is {what}"))
}
