//! What each key does.

use dwell_live::{GroupBy, SortBy};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::look::{Look, Wanted};
use super::state::{Key, State};
use crate::args::TopArgs;
use crate::top::explanation::Threads;

/// What follows from a key.
pub enum Action {
    /// The screen changes.
    Redraw,
    /// The screen is left.
    Leave,
}

/// The keys, for the help.
pub const KEYS: &[(&str, &str)] = &[
    ("↑ ↓ PgUp PgDn Home End", "select a row"),
    (
        "Enter",
        "its threads; on a thread: what it waits for and who has that; there: its stack, and the holder's, as they stand now",
    ),
    ("Esc ←", "back"),
    ("e", "explain: collect the selected process for 2 s, and show its summary"),
    ("c", "collect it for 5 s into the next result folder here (r000th, …)"),
    ("w", "record what is shown, and keep the last 30 s (--keep); w again writes them as the next result here"),
    ("W", "end that recording"),
    ("s S", "order: cpu, queue, blocked, waiting, switches, pid"),
    ("g", "rows: processes, threads, control groups"),
    ("t", "each process below its parent, each control group below the one that it is in"),
    ("- + ← →", "in the tree: fold the row, which sums what is below it in it, and unfold it"),
    ("m", "mark the row: it stays at the top"),
    ("/", "only rows with this name or process id; Enter ends, Esc clears it"),
    ("Space", "freeze, and go on"),
    ("mouse", "click: select a row, and again: Enter; wheel: other rows; click on a heading: order"),
    ("?", "this help"),
    ("q", "leave"),
];

/// Does what the key says.
pub fn press(state: &mut State, args: &TopArgs, key: KeyEvent) -> Action {
    if key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'd')) {
        return Action::Leave;
    }
    if state.is_typing {
        type_filter(state, key.code);
        return Action::Redraw;
    }
    state.message.clear();
    if state.shows_help {
        state.shows_help = false;
        return Action::Redraw;
    }
    let page = isize::try_from(state.page).unwrap_or(1);
    match key.code {
        KeyCode::Char('q') => return Action::Leave,
        KeyCode::Left if state.look.is_none() && state.shows_tree() => state.fold(true),
        KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => back(state),
        KeyCode::Char('w') => state.keep(args),
        KeyCode::Char('W') => state.recorder = None,
        _ if state.look.is_some() => scroll_look(state, key.code, page),
        KeyCode::Up | KeyCode::Char('k') => state.go(-1),
        KeyCode::Down | KeyCode::Char('j') => state.go(1),
        KeyCode::PageUp => state.go(-page),
        KeyCode::PageDown => state.go(page),
        KeyCode::Home => state.go(isize::MIN),
        KeyCode::End => state.go(isize::MAX),
        KeyCode::Right if state.shows_tree() => state.fold(false),
        KeyCode::Char('-') => state.fold(true),
        KeyCode::Char('+' | '=') => state.fold(false),
        KeyCode::Char('t') => state.is_tree = !state.is_tree,
        KeyCode::Char('m') => state.mark(),
        KeyCode::Enter | KeyCode::Right => enter(state),
        KeyCode::Char('e') => look(state, &Wanted::Summary),
        KeyCode::Char('c') => look(state, &Wanted::Result),
        KeyCode::Char('s') => state.sort = next(SortBy::ALL, state.sort, 1),
        KeyCode::Char('S') => state.sort = next(SortBy::ALL, state.sort, SortBy::ALL.len() - 1),
        KeyCode::Char('g') => regroup(state),
        KeyCode::Char('/') => state.is_typing = true,
        KeyCode::Char(' ') => state.is_frozen = !state.is_frozen,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => state.shows_help = true,
        _ => {}
    }
    Action::Redraw
}

fn type_filter(state: &mut State, code: KeyCode) {
    match code {
        KeyCode::Char(letter) => state.filter.push(letter),
        KeyCode::Backspace => drop(state.filter.pop()),
        KeyCode::Esc => {
            state.filter.clear();
            state.is_typing = false;
        }
        KeyCode::Enter => state.is_typing = false,
        _ => {}
    }
}

/// One step out: of the collection, of the thread, of the process, of the filter.
fn back(state: &mut State) {
    if state.look.take().is_some() {
        return;
    }
    if let Some(tid) = state.thread.take() {
        state.selected = Some(Key::Thread(tid));
        return;
    }
    match state.inside.take() {
        Some(pid) => state.selected = Some(Key::Process(pid)),
        None => state.filter.clear(),
    }
}

/// One step in: to the threads of a process, to what a thread waits for, to the stacks of it and of those that have that.
fn enter(state: &mut State) {
    if let Some(tid) = state.thread {
        let chain = Threads::of(&state.interval).with_holders(tid);
        let threads = chain.iter().map(|thread| (thread.last.pid, thread.last.tid)).collect();
        return look(state, &Wanted::Stacks(threads));
    }
    match state.selection().map(|line| (line.key, line.pid)) {
        Some((Key::Thread(tid), _)) => (state.thread, state.scrolled) = (Some(tid), 0),
        Some((Key::Process(pid), _)) => {
            state.inside = Some(pid);
            state.selected = None;
            state.filter.clear();
        }
        Some((Key::Cgroup(_), _)) => look(state, &Wanted::Summary),
        None => {}
    }
}

fn look(state: &mut State, wanted: &Wanted) {
    let Some(line) = state.selection() else { return };
    match Look::start(line.pid, &line.name, wanted) {
        Ok(look) => state.look = Some(look),
        Err(error) => state.message = format!("no collection: {error}"),
    }
}

fn scroll_look(state: &mut State, code: KeyCode, page: isize) {
    let Some(look) = &mut state.look else { return };
    let by = match code {
        KeyCode::Up | KeyCode::Char('k') => -1,
        KeyCode::Down | KeyCode::Char('j') => 1,
        KeyCode::PageUp => -page,
        KeyCode::PageDown | KeyCode::Char(' ') => page,
        KeyCode::Home => isize::MIN,
        _ => 0,
    };
    look.scrolled = look.scrolled.saturating_add_signed(by).min(look.lines.len().saturating_sub(1));
}

fn regroup(state: &mut State) {
    state.group_by = next(&[GroupBy::Process, GroupBy::Thread, GroupBy::Cgroup], state.group_by, 1);
    (state.inside, state.thread, state.selected) = (None, None, None);
}

fn next<T: Copy + PartialEq>(all: &[T], now: T, by: usize) -> T {
    let at = all.iter().position(|it| *it == now).unwrap_or(0);
    all.get((at + by) % all.len()).copied().unwrap_or(now)
}
