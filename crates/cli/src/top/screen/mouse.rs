//! What the mouse does: a click selects a row and a second one goes in, the wheel goes through the rows, a click on a heading sorts.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use super::keys::{Action, press};
use super::state::State;
use crate::args::TopArgs;

/// Rows that a notch of the wheel goes.
const NOTCH: usize = 3;

/// Does what the mouse says.
pub fn click(state: &mut State, args: &TopArgs, event: MouseEvent) -> Action {
    let mut press_often = |code| {
        for _ in 0..NOTCH {
            press(state, args, KeyEvent::new(code, KeyModifiers::NONE));
        }
    };
    match event.kind {
        MouseEventKind::ScrollUp => press_often(KeyCode::Up),
        MouseEventKind::ScrollDown => press_often(KeyCode::Down),
        MouseEventKind::Down(MouseButton::Left) if state.shows_rows() => return click_at(state, args, event),
        _ => {}
    }
    Action::Redraw
}

fn click_at(state: &mut State, args: &TopArgs, event: MouseEvent) -> Action {
    let Some(row) = event.row.checked_sub(state.area.top) else { return Action::Redraw };
    if row == 0 {
        let found = state.area.headings.iter().find(|(end, _)| event.column < *end);
        state.sort = found.map_or(state.sort, |(_, sort)| *sort);
        return Action::Redraw;
    }
    let at = state.scrolled + usize::from(row) - 1;
    let Some(line) = state.lines().into_iter().nth(at).filter(|_| usize::from(row) <= state.page) else {
        return Action::Redraw;
    };
    if state.selected.as_ref() == Some(&line.key) {
        return press(state, args, KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE));
    }
    state.selected = Some(line.key);
    Action::Redraw
}
