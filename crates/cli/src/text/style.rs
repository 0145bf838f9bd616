//! Colours and widths of the terminal that text goes to; none of either when it goes to a file or a pipe.

use std::borrow::Cow;
use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of text that goes to no terminal: wide enough for long C++ names, narrow enough for a pager.
const PIPE_WIDTH: usize = 160;
/// Below this no table can be laid out; the terminal then wraps the lines.
const LEAST_WIDTH: usize = 40;

/// What a colour says, not which one it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Ink {
    Title,
    Faint,
    Good,
    Warning,
    Bad,
    Idle,
    Poor,
    Ok,
    Ideal,
    Over,
}

/// How text is to look.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Columns that a line may take.
    pub width: usize,
    /// Whether to use colours.
    pub color: bool,
}

impl Style {
    /// Plain text of `width` columns.
    pub fn plain(width: usize) -> Self {
        Self { width: width.max(LEAST_WIDTH), color: false }
    }

    /// The style of text that goes to a file.
    pub fn of_file() -> Self {
        Self::plain(PIPE_WIDTH)
    }

    /// The style of standard output: its terminal's, or plain.
    #[expect(clippy::disallowed_methods, reason = "asks for its width, and writes nothing")]
    pub fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let width = size.filter(|&width| width > 0).or(columns).unwrap_or(PIPE_WIDTH);
        Self { width: width.max(LEAST_WIDTH), color: stdout.is_terminal() && colors_wanted() }
    }

    /// `text` in `ink`.
    pub fn paint<'a>(&self, ink: Ink, text: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
        let text = text.into();
        if !self.color || text.is_empty() {
            return text;
        }
        Cow::Owned(format!("\x1b[{}m{text}\x1b[{RESET}m", code(ink)))
    }
}

/// Whether the environment allows colours: <https://no-color.org>.
pub fn colors_wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

const RESET: &str = "0";

/// Whether a select-graphic-rendition code is one that [`Style::paint`] writes.
pub fn is_paint(sgr: &str) -> bool {
    use Ink::{Bad, Faint, Good, Ideal, Idle, Ok, Over, Poor, Title, Warning};
    sgr == RESET || [Title, Faint, Good, Warning, Bad, Idle, Poor, Ok, Ideal, Over].iter().any(|ink| code(*ink) == sgr)
}

/// Select-graphic-rendition codes of the 256-colour palette, readable on dark and light grounds.
fn code(ink: Ink) -> &'static str {
    match ink {
        Ink::Title => "1",
        Ink::Faint => "2",
        Ink::Good => "38;5;36",
        Ink::Warning => "38;5;178",
        Ink::Bad => "38;5;202",
        Ink::Idle => "38;5;245",
        Ink::Poor => "38;5;202",
        Ink::Ok => "38;5;178",
        Ink::Ideal => "38;5;36",
        Ink::Over => "38;5;39",
    }
}

/// Columns that `text` takes on a terminal. It must have no escape sequences.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// `text` without the characters that would move a terminal's cursor or change its state: names come from the
/// profiled program, and are not to be trusted.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.contains(steers) { Cow::Owned(text.replace(steers, "·")) } else { Cow::Borrowed(text) }
}

/// Whether a character moves a terminal's cursor, changes its state, or turns the direction of what follows.
pub fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` in at most `columns` columns: without the arguments of C++ templates where that suffices, else with an ellipsis in place
/// of its middle, because both ends of a name tell it apart.
pub fn truncate_middle(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(1) else { return Cow::Borrowed("") };
    let collapsed = collapse_templates(text, 1);
    if width(&collapsed) <= columns {
        return Cow::Owned(collapsed);
    }
    let text = collapsed.as_str();
    let head = fitting(text.chars(), room.div_ceil(2));
    let tail: String = fitting(text.chars().rev(), room / 2).chars().rev().collect();
    Cow::Owned(format!("{head}…{tail}"))
}

/// Bytes of a text whose template arguments are looked at: each bracket may be searched to the end.
const LONGEST_COLLAPSED: usize = 4096;

/// `text` with `<…>` for each list of template arguments of at least so many bytes; JSON and CSV have the whole names.
/// Brackets that operators have, or that do not close, stay; so do all of a longer text, which hostile names could make slow.
pub fn collapse_templates(text: &str, least: usize) -> String {
    if text.len() > LONGEST_COLLAPSED {
        return text.to_owned();
    }
    let (mut short, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('<') {
        let (head, tail) = rest.split_at(at);
        short.push_str(head);
        let follows_a_name = head.ends_with(|c: char| c.is_alphanumeric() || c == '_') && !head.ends_with("operator");
        match arguments_end(tail).filter(|end| follows_a_name && *end > least) {
            Some(end) => {
                short.push_str("<…>");
                rest = &tail[end + 1..];
            }
            None => {
                short.push('<');
                rest = &tail[1..];
            }
        }
    }
    short + rest
}

/// Where the bracket closes with which the text begins.
fn arguments_end(text: &str) -> Option<usize> {
    let (mut depth, mut before) = (0usize, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = c;
    }
    None
}

/// `text` in at most `columns` columns, with an ellipsis in place of its end.
pub fn truncate_end(text: &str, columns: usize) -> Cow<'_, str> {
    match columns.checked_sub(1) {
        _ if width(text) <= columns => Cow::Borrowed(text),
        Some(room) => Cow::Owned(format!("{}…", fitting(text.chars(), room))),
        None => Cow::Borrowed(""),
    }
}

fn fitting(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    characters.take_while(fits).collect()
}

/// `text` broken at blanks into lines of at most `columns` columns; a longer word has a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            if !line.is_empty() && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_arguments_are_collapsed() {
        let collapsed = |text: &str| collapse_templates(text, 1);
        assert_eq!(collapsed("std::map<int, std::vector<char> >::find(int const&)"), "std::map<…>::find(int const&)");
        assert_eq!(collapsed("a<b>::c<d->e>() -> f<g>"), "a<…>::c<…>() -> f<…>");
        for kept in ["operator<(A, B)", "A::operator<<(B)", "operator->()", "x < y", "left<open", "<lambda()>", "plain"]
        {
            assert_eq!(collapsed(kept), kept);
        }
        assert_eq!(collapse_templates("short<int>::long<std::allocator<Node>>", 10), "short<int>::long<…>");
        assert_eq!(truncate_middle("std::queue<std::shared_ptr<Job>>::pop", 20), "std::queue<…>::pop");
    }

    #[test]
    fn truncation_keeps_both_ends_and_the_width() {
        assert_eq!(truncate_middle("queue_lock", 10), "queue_lock");
        assert_eq!(truncate_middle("abcdefghij", 5), "ab…ij");
        assert_eq!(truncate_middle("abcdefghij", 6), "abc…ij");
        assert_eq!(truncate_middle("abc", 0), "");
        for columns in 1..12 {
            assert!(width(&truncate_middle("漢字かな混じり文", columns)) <= columns);
        }
    }

    #[test]
    fn names_cannot_steer_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\n"), "a·[2Jb·");
        assert_eq!(printable("plain"), "plain");
    }

    #[test]
    fn wrapping_breaks_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensibilities a", 5), ["incomprehensibilities", "a"]);
    }

    #[test]
    fn plain_style_paints_nothing() {
        assert_eq!(Style::plain(80).paint(Ink::Bad, "x"), "x");
        assert_eq!(Style { width: 80, color: true }.paint(Ink::Title, "x"), "\x1b[1mx\x1b[0m");
    }
}
