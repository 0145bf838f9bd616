//! Draws the state: a head, rows, what the selected one waits for, and the keys.

use dwell_live::{ActivitySums, GroupBy, SortBy, SumLosses, WaitKind};
use dwell_model::ObjectType;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line as TextLine, Span};
use ratatui::widgets::Paragraph;

use super::keys::KEYS;
use super::look::Look;
use super::mouse_area::RowArea;
use super::paint::{bold, cut, fit, fit_end, pad, painted};
use super::state::{Line, State};
use super::thread_view;
use crate::text::style::{printable, wrap};

/// Below this nothing can be shown.
const LEAST: (u16, u16) = (20, 5);
/// From this height on there is a line for a recording.
const ROOMY: u16 = 10;
/// Lines below the rows: what the selected one waits for, and the keys.
const FOOT: u16 = 3;

/// A column: its title, its width, and the share of a thread's time that it shows.
struct Column {
    title: &'static str,
    /// What a click on it sorts by.
    sort: SortBy,
    ns: fn(&ActivitySums) -> u64,
    /// Columns of the terminal from which it is shown.
    from: u16,
}

fn waits(sums: &ActivitySums, kind: WaitKind) -> u64 {
    sums.waits_ns[kind as usize]
}

const COLUMNS: &[Column] = &[
    Column { title: "RUN", sort: SortBy::Cpu, ns: |sums| sums.running_ns, from: 0 },
    Column { title: "QUEUE", sort: SortBy::Queue, ns: |sums| sums.runnable_ns, from: 0 },
    Column { title: "LOCK", sort: SortBy::Blocked, ns: |sums| waits(sums, WaitKind::Lock), from: 60 },
    Column { title: "COND", sort: SortBy::Waiting, ns: |sums| waits(sums, WaitKind::Condition), from: 90 },
    Column { title: "NET", sort: SortBy::Blocked, ns: |sums| waits(sums, WaitKind::Network), from: 60 },
    Column {
        title: "DISK",
        sort: SortBy::Blocked,
        ns: |sums| waits(sums, WaitKind::Disk) + waits(sums, WaitKind::PageFault),
        from: 60,
    },
    Column { title: "PIPE", sort: SortBy::Blocked, ns: |sums| waits(sums, WaitKind::Stream), from: 100 },
    Column { title: "POLL", sort: SortBy::Waiting, ns: |sums| waits(sums, WaitKind::Poll), from: 110 },
    Column { title: "SLEEP", sort: SortBy::Waiting, ns: |sums| waits(sums, WaitKind::Sleep), from: 120 },
];
const COLUMN_WIDTH: usize = 5;
/// Columns of a row's name; the 15 bytes of the kernel's names where there is room.
fn name_width(columns: u16) -> usize {
    match columns {
        ..100 => 13,
        100..140 => 16,
        140.. => 30,
    }
}

/// Draws all of it.
pub fn screen(frame: &mut Frame<'_>, state: &mut State) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        frame.render_widget(Paragraph::new("too small"), area);
        return;
    }
    let mut head_lines = head_lines(state);
    if let Some(recorder) = state.recorder.as_ref().filter(|_| area.height >= ROOMY) {
        head_lines
            .push(TextLine::from(Span::styled(cut(&printable(&recorder.line()), area.width), painted(Color::Red))));
    }
    let head_height = u16::try_from(head_lines.len()).unwrap_or(2);
    let [head, body, foot] =
        Layout::vertical([Constraint::Length(head_height), Constraint::Min(1), Constraint::Length(FOOT)]).areas(area);
    frame.render_widget(Paragraph::new(head_lines), head);
    if state.shows_help {
        return frame.render_widget(Paragraph::new(help(area.width)), Rect { height: body.height + FOOT, ..body });
    }
    state.area = RowArea { top: body.y, headings: headings(area.width) };
    state.page = usize::from(body.height.saturating_sub(1)).max(1);
    if let Some(look) = &mut state.look {
        let lines = look_lines(look, usize::from(area.width), usize::from(body.height + FOOT));
        return frame.render_widget(Paragraph::new(lines), Rect { height: body.height + FOOT, ..body });
    }
    let lines = state.lines();
    let at = state.position(&lines);
    if state.selected.is_none() {
        state.selected = lines.first().map(|line| line.key.clone());
    }
    state.scrolled = state.scrolled.clamp((at + 1).saturating_sub(state.page), at);
    let shown = match state.thread {
        Some(tid) => thread_view::lines(&state.interval, tid, area.width),
        None => rows(state, &lines, at, area.width),
    };
    frame.render_widget(Paragraph::new(shown), body);
    frame.render_widget(Paragraph::new(foot_lines(state, lines.get(at), area.width)), foot);
}

/// What the machine does, and how the rows come about.
fn head_lines(state: &State) -> Vec<TextLine<'static>> {
    let interval = &state.interval;
    let mut all = ActivitySums::default();
    interval.threads.iter().for_each(|thread| all.add(&thread.sums));
    let mean = |ns: u64| ns as f64 / interval.length_ns.max(1) as f64;
    let per_second = all.switches as f64 / (interval.length_ns.max(1) as f64 / 1e9);
    let first = format!(
        "{:.2} run, {:.2} in the run queue; {} threads, {:.0} switches/s",
        mean(all.running_ns),
        mean(all.runnable_ns),
        interval.threads.len(),
        per_second
    );
    let hertz = interval.snapshots as f64 / (interval.length_ns.max(1) as f64 / 1e9);
    let estimated = all.estimated_ns as f64 / all.waiting_ns.max(1) as f64;
    let mut second = match interval.summed {
        Some(SumLosses { waits: 0, .. }) => "% of a thread; exact: every wait is summed".to_owned(),
        Some(lost) => format!("% of a thread; exact but for {} waits that found no place", lost.waits),
        None => format!(
            "% of a thread; seen {hertz:.0}/s for {:.1} % of a CPU, {:.1} % of waits estimated",
            state.cost * 100.0,
            estimated * 100.0
        ),
    };
    if interval.ended > 0 {
        second += &format!("; {} threads ended", interval.ended);
    }
    if let Some(note) = state.source_note {
        second = format!("{note}; {second}");
    }
    let mut marks = Vec::new();
    if state.is_frozen {
        marks.push("FROZEN".to_owned());
    }
    if !state.filter.is_empty() || state.is_typing {
        marks.push(format!("/{}{}", state.filter, if state.is_typing { "_" } else { "" }));
    }
    let mark = Span::styled(
        marks.iter().map(|mark| format!("{} ", printable(mark))).collect::<String>(),
        painted(Color::Yellow),
    );
    let title = Span::styled(format!("dwell top by {}: ", state.sort.id()), bold());
    vec![
        TextLine::from(vec![title, mark, Span::raw(first)]),
        TextLine::from(Span::styled(second, painted(Color::DarkGray))),
    ]
}

/// Where each heading ends, and what a click on it sorts by.
fn headings(columns: u16) -> Vec<(u16, SortBy)> {
    let id_end = name_width(columns) + 8;
    let mut ends = vec![(id_end, SortBy::Pid)];
    for column in COLUMNS.iter().filter(|column| columns >= column.from) {
        ends.push((id_end + ends.len() * (COLUMN_WIDTH + 1), column.sort));
    }
    ends.push((id_end + ends.len() * (COLUMN_WIDTH + 1), SortBy::Switches));
    ends.into_iter().filter_map(|(end, sort)| Some((u16::try_from(end).ok()?, sort))).collect()
}

fn rows(state: &State, lines: &[Line], selected: usize, columns: u16) -> Vec<TextLine<'static>> {
    let shown: Vec<&Column> = COLUMNS.iter().filter(|column| columns >= column.from).collect();
    let title = match (state.inside, state.group_by) {
        (Some(_), _) | (None, GroupBy::Thread) => "THREAD",
        (None, GroupBy::Process) => "PROCESS",
        (None, GroupBy::Cgroup) => "CONTROL GROUP",
    };
    let numbers: String = shown.iter().map(|column| format!(" {:>COLUMN_WIDTH$}", column.title)).collect();
    let name_width = name_width(columns);
    let heading = format!("{title:name_width$} {:>7}{numbers} {:>5} WAITS FOR", "ID", "SW/s");
    let mut text = vec![TextLine::from(Span::styled(cut(&heading, columns), bold()))];
    let length = state.interval.length_ns.max(1) as f64;
    for (at, line) in lines.iter().enumerate().skip(state.scrolled).take(state.page) {
        let cells: String = shown.iter().map(|column| cell((column.ns)(&line.sums) as f64 / length)).collect();
        let id = match &line.key {
            super::state::Key::Thread(tid) => *tid,
            _ => line.pid,
        };
        let switches = line.sums.switches as f64 / (length / 1e9);
        let name = match line.threads {
            1 => format!("{}{}", line.branch, line.name),
            threads => format!("{}{} ×{threads}", line.branch, line.name),
        };
        let is_marked = state.marked.contains(&line.key);
        let name = fit(&printable(&name), name_width - usize::from(is_marked));
        let row = format!("{name} {id:>7}{cells} {switches:>5.0} {}", printable(&waits_for(line)));
        let style = match (at == selected, is_marked) {
            (true, _) => Style::new().add_modifier(Modifier::REVERSED),
            (false, true) => color_of(line, length).add_modifier(Modifier::BOLD),
            (false, false) => color_of(line, length),
        };
        let row = if is_marked { format!("*{row}") } else { row };
        text.push(TextLine::from(Span::styled(pad(&cut(&row, columns), columns), style)));
    }
    if lines.is_empty() {
        let why = if state.interval.length_ns == 0 { "looking …" } else { "no thread fits" };
        text.push(TextLine::from(Span::styled(why, painted(Color::DarkGray))));
    }
    text
}

/// `mutex of boss (12)`, or what the object is called.
fn waits_for(line: &Line) -> String {
    let explained = &line.explained;
    match explained.object_type {
        Some(ObjectType::ThreadJoin) if !explained.holder.is_empty() => format!("end of {}", explained.holder),
        Some(it) if !explained.holder.is_empty() => format!("{} of {}", it.title().to_lowercase(), explained.holder),
        _ => explained.object.clone(),
    }
}

/// Red: waits for what somebody may be at fault for, or for a CPU, most of a thread's time. Green: runs.
fn color_of(line: &Line, length: f64) -> Style {
    let share = |ns: u64| ns as f64 / length;
    let blocked = waits(&line.sums, WaitKind::Disk) + line.sums.runnable_ns;
    if share(blocked) > 0.5 {
        painted(Color::Red)
    } else if share(line.sums.running_ns) > 0.1 {
        painted(Color::Green)
    } else {
        Style::new()
    }
}

/// Per cent of one thread's time; nothing for nothing.
fn cell(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        percent if percent < 0.05 => format!(" {:COLUMN_WIDTH$}", ""),
        percent if percent < 99.95 => format!(" {percent:>COLUMN_WIDTH$.1}"),
        percent => format!(" {percent:>COLUMN_WIDTH$.0}"),
    }
}

fn foot_lines(state: &State, selected: Option<&Line>, columns: u16) -> Vec<TextLine<'static>> {
    let mut lines = Vec::new();
    let text = selected.map(|line| match line.explained.text.as_str() {
        "" if line.explained.object.is_empty() => String::new(),
        "" => format!("{}: mostly in {}", line.name, line.explained.object),
        text => text.to_owned(),
    });
    let text = if state.message.is_empty() { text.unwrap_or_default() } else { state.message.clone() };
    let mut wrapped = wrap(&printable(&text), usize::from(columns)).into_iter();
    for _ in 0..FOOT - 1 {
        lines.push(TextLine::from(wrapped.next().unwrap_or_default()));
    }
    let keys = match state.thread {
        Some(_) => "Enter stacks now  Esc back  e explain  c collect  w keep 30 s  Space freeze  ? help  q quit",
        None => {
            "Enter in  e explain  c collect  w keep 30 s  s sort  g group  t tree  m mark  / filter  Space freeze  ? help  q quit"
        }
    };
    lines.push(TextLine::from(Span::styled(cut(keys, columns), painted(Color::DarkGray))));
    lines
}

fn help(columns: u16) -> Vec<TextLine<'static>> {
    let mut lines = vec![TextLine::from("")];
    for (key, what) in KEYS {
        let mut wrapped = wrap(what, usize::from(columns).saturating_sub(26).max(12)).into_iter();
        lines.push(TextLine::from(vec![
            Span::styled(format!("  {key:<23} "), bold()),
            Span::raw(wrapped.next().unwrap_or_default()),
        ]));
        lines.extend(wrapped.map(|rest| TextLine::from(format!("{:26}{rest}", ""))));
    }
    let how = "Columns are per cent of one thread's time: a process of four threads that wait for a lock has 400 in LOCK. RUN and \
               QUEUE (ready, but without a CPU) are the kernel's accounts, exact; what waits are for is as seen at each look.";
    lines.push(TextLine::from(""));
    lines.extend(
        wrap(how, usize::from(columns).saturating_sub(2)).into_iter().map(|line| TextLine::from(format!("  {line}"))),
    );
    lines
}

fn look_lines(look: &mut Look, columns: usize, height: usize) -> Vec<TextLine<'static>> {
    let state = match (look.is_collecting(), look.lines.is_empty()) {
        (true, _) => "at work …  Esc ends it",
        (false, true) => "nothing was said",
        (false, false) => "↑ ↓ scroll  Esc back",
    };
    let title = format!("{}: {state}", printable(&look.title));
    let mut lines = vec![TextLine::from(Span::styled(title, bold()))];
    let text = look.lines.iter().skip(look.scrolled).map(|line| TextLine::from(fit_end(&printable(line), columns)));
    lines.extend(text.take(height.saturating_sub(1)));
    lines
}
