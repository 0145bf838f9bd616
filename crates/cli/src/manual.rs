//! The manual page: all commands on one page, from the definitions of the command line.

use std::io::{self, Write};

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::args::Cli;

/// The page in roff.
pub fn page() -> io::Result<Vec<u8>> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let man = Man::new(command.clone());
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    writeln!(page, ".SH COMMANDS\nEach command has a section below.")?;
    for sub in visible(&command) {
        section(sub, &mut page)?;
    }
    writeln!(page, ".SH EXAMPLES AND EXIT STATUS")?;
    verbatim(&command, &mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set())
}

/// A command and those below it.
fn section(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    writeln!(page, ".SH \"{}\"\n{}", escaped(&name.to_uppercase()), escaped(&about))?;
    if visible(command).next().is_none() {
        // Its options have headings of their own, which become sub-sections.
        let mut options = Vec::new();
        Man::new(command.clone()).render_options_section(&mut options)?;
        page.extend(String::from_utf8_lossy(&options).replace(".SH ", ".SS ").bytes());
    }
    verbatim(command, page)?;
    for sub in visible(command) {
        section(sub, page)?;
    }
    Ok(())
}

/// The end of the command's help, line by line.
fn verbatim(command: &Command, page: &mut Vec<u8>) -> io::Result<()> {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    writeln!(page, ".PP\n.nf")?;
    for line in text.lines() {
        writeln!(page, "{}", escaped(line))?;
    }
    writeln!(page, ".fi")
}

/// Text as roff takes it: no control lines, no escapes, hyphens that can be copied.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_on_the_page() {
        let page = String::from_utf8(page().unwrap()).unwrap().replace("\\-", "-");
        fn check(command: &Command, page: &str) {
            for option in command.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(page.contains(&format!("--{option}")), "--{option} is missing");
            }
            visible(command).for_each(|sub| check(sub, page));
        }
        check(&Cli::command(), &page);
        assert!(page.contains("DWELL COLLECT THREADING"));
    }

    #[test]
    fn lines_cannot_be_taken_for_requests() {
        assert_eq!(escaped(".so a-b\\c"), "\\&.so a\\-b\\ec");
    }
}
