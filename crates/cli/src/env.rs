//! `dwell env`: the environment in which a program can be heard when Dwell attaches to it later.

use std::ffi::OsString;
use std::process::ExitCode;

use serde_json::{Map, Value};

use crate::args::{EnvArgs, EnvFormat};
use crate::error::{Hinted, Result, script_word};
use crate::output;

/// Prints the variables.
pub fn run(args: &EnvArgs) -> Result<ExitCode> {
    let variables = dwell_capture::environment().map_err(|error| {
        Hinted::new(error)
            .hint("the library goes to ~/.cache/dwell, root's to /var/cache/dwell; the folder for data to /dev/shm")
    })?;
    let text = match args.format {
        EnvFormat::Shell => shell(&variables),
        EnvFormat::Json => json(&variables),
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn shell(variables: &[(&str, OsString)]) -> String {
    let line = |(name, value): &(&str, OsString)| format!("export {name}={}\n", script_word(&value.to_string_lossy()));
    variables.iter().map(line).collect()
}

fn json(variables: &[(&str, OsString)]) -> String {
    let entry = |(name, value): &(&str, OsString)| ((*name).to_owned(), Value::from(value.to_string_lossy()));
    format!("{:#}\n", Value::Object(variables.iter().map(entry).collect::<Map<_, _>>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        let variables = [("A", OsString::from("/a b")), ("B", OsString::from("off:/dev/shm/x"))];
        assert_eq!(shell(&variables), "export A='/a b'\nexport B=off:/dev/shm/x\n");
        assert_eq!(json(&variables), "{\n  \"A\": \"/a b\",\n  \"B\": \"off:/dev/shm/x\"\n}\n");
    }
}
