//! Styles, and text as wide as its place.

use ratatui::style::{Color, Modifier, Style};

use crate::text::style::{colors_wanted, width};

/// Text in this colour, where colours are wanted.
pub fn painted(color: Color) -> Style {
    if colors_wanted() { Style::new().fg(color) } else { Style::new() }
}

/// A heading.
pub fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

/// At most so many columns of the terminal, the end cut.
pub fn cut(text: &str, columns: u16) -> String {
    fit_end(text, usize::from(columns))
}

/// The same for a number of columns.
pub fn fit_end(text: &str, columns: usize) -> String {
    crate::text::style::truncate_end(text, columns).into_owned()
}

/// Exactly `columns` columns wide.
pub fn fit(text: &str, columns: usize) -> String {
    let text = crate::text::style::truncate_middle(text, columns).into_owned();
    let missing = columns.saturating_sub(width(&text));
    text + &" ".repeat(missing)
}

/// Filled to so many columns.
pub fn pad(text: &str, columns: u16) -> String {
    let missing = usize::from(columns).saturating_sub(width(text));
    text.to_owned() + &" ".repeat(missing)
}
