//! The screen: rows that change each interval, and what is asked of one of them.

mod draw;
mod keys;
mod look;
mod mouse;
mod mouse_area;
mod paint;
mod recorder;
mod state;
mod thread_view;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture, Event, KeyEventKind};
use ratatui::crossterm::execute;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::sampler::Sampler;
use crate::args::TopArgs;
use crate::collect::Signals;
use crate::error::{Hinted, Result, status};
use crate::terminal;
use keys::Action;
use state::State;

const USUAL_INTERVAL: Duration = Duration::from_secs(1);
/// The first rows come after so long.
const FIRST_INTERVAL: Duration = Duration::from_millis(300);

/// Shows the screen until it is left.
#[expect(
    clippy::disallowed_methods,
    reason = "asks whether it is a terminal; what is drawn has no names that steer it"
)]
pub fn run(args: &TopArgs, sampler: Sampler) -> Result<ExitCode> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let error = Hinted::new("the screen needs a terminal").with_status(status::USAGE);
        return Err(error.hint("dwell top --once prints one interval, also with --format json"));
    }
    let signals = Signals::catch()?;
    let terminal = ratatui::try_init().map_err(failed)?;
    let mut state = State::new(args);
    // A terminal without a mouse has none to tell of.
    let _ = execute!(io::stdout(), EnableMouseCapture);
    let outcome = show(args, sampler, terminal, &mut state, &signals);
    let _ = execute!(io::stdout(), DisableMouseCapture);
    ratatui::restore();
    drop(state.recorder.take()); // its folder goes before the words that all is done
    for result in &state.results {
        terminal::print_line(format_args!("dwell: result {}", result.display()));
    }
    outcome.map(|()| ExitCode::SUCCESS)
}

#[expect(clippy::needless_pass_by_value, reason = "what map_err hands over")]
fn failed(error: io::Error) -> Hinted {
    Hinted::new(format!("the terminal cannot be used: {error}")).hint("dwell top --once prints one interval")
}

/// Waits until a key or a signal comes, at most so long. Whether the terminal is still there: crossterm reads one that went away
/// again and again, and under nohup no signal says so.
fn wait(longest: Duration) -> bool {
    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let longest = Timespec::try_from(longest).ok();
    // Interrupted by a signal: the window has another size, or all ends.
    let _ = poll(&mut fds, longest.as_ref());
    !fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
}

fn show(
    args: &TopArgs,
    mut sampler: Sampler,
    mut terminal: DefaultTerminal,
    state: &mut State,
    signals: &Signals,
) -> Result<()> {
    let length = args.interval.map_or(USUAL_INTERVAL, Duration::from_nanos);
    sampler.sample()?;
    let mut interval_end = Instant::now() + FIRST_INTERVAL.min(length);
    let mut next_sample = Instant::now() + sampler.period().min(FIRST_INTERVAL);
    state.source_note = sampler.source_note();
    if args.keep.is_some() {
        state.keep(args);
    }
    terminal.draw(|frame| draw::screen(frame, state)).map_err(failed)?;
    while !signals.stopped() {
        let due = next_sample.saturating_duration_since(Instant::now());
        let mut changed = state.take_messages();
        if !wait(due) {
            return Ok(());
        }
        while event::poll(Duration::ZERO).map_err(failed)? {
            match event::read().map_err(failed)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => match keys::press(state, args, key) {
                    Action::Leave => return Ok(()),
                    Action::Redraw => changed = true,
                },
                Event::Mouse(event) => {
                    mouse::click(state, args, event);
                    changed = true;
                }
                Event::Resize(..) => changed = true,
                _ => {}
            }
        }
        let now = Instant::now();
        if now >= next_sample {
            sampler.sample()?;
            next_sample = now + sampler.period();
        }
        if now >= interval_end {
            state.take(sampler.end_interval()?, sampler.cost());
            interval_end = now + length;
            changed = true;
        }
        if changed {
            terminal.draw(|frame| draw::screen(frame, state)).map_err(failed)?;
        }
    }
    Ok(())
}
