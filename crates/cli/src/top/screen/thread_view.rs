//! One thread: what it did, what it waited for, and who has that.

use dwell_live::{Interval, Standing, WaitKind};
use ratatui::text::{Line as TextLine, Span};

use super::paint::{bold, cut, fit};
use crate::text::style::printable;
use crate::top::explanation::{Threads, label};

/// Columns of an object's name.
const NAME_WIDTH: usize = 40;

/// Its lines: a heading, a row for the CPU and for each object, and how it stands now.
pub fn lines(interval: &Interval, tid: u32, columns: u16) -> Vec<TextLine<'static>> {
    let threads = Threads::of(interval);
    let chain = threads.with_holders(tid);
    let Some(thread) = chain.first() else { return vec![TextLine::from("the thread has ended: Esc goes back")] };
    let length = interval.length_ns.max(1) as f64;
    let row = |ns: u64, kind: &str, name: &str, holder: &str| {
        let share = 100.0 * ns as f64 / length;
        let name = fit(&printable(name), NAME_WIDTH.min(usize::from(columns).saturating_sub(38)));
        TextLine::from(cut(&format!("{share:>6.1}  {kind:<10} {name}  {}", printable(holder)), columns))
    };
    let heading = format!("{:>6}  {:<10} THREAD {}", "%", "KIND", printable(&label(thread)));
    let mut lines = vec![TextLine::from(Span::styled(cut(&heading, columns), bold()))];
    lines.push(row(thread.sums.running_ns, "run", "on a CPU", ""));
    lines.push(row(thread.sums.runnable_ns, "queue", "ready, without a CPU", ""));
    for (waited_for, ns, target) in threads.targets(thread) {
        let holder = threads.label(target.holder).map(|label| format!("held by {label}")).unwrap_or_default();
        lines.push(row(ns, waited_for.kind.id(), &target.name, &holder));
    }
    lines.push(TextLine::from(""));
    for (depth, thread) in chain.iter().enumerate() {
        let does = match thread.standing() {
            Standing::Running => "runs".to_owned(),
            Standing::Runnable => "is in the run queue".to_owned(),
            Standing::Waiting(waited_for) if waited_for.kind == WaitKind::Sleep => "sleeps".to_owned(),
            Standing::Waiting(waited_for) => {
                let targets = threads.targets(thread);
                let name = targets.into_iter().find(|(it, ..)| *it == waited_for).map(|(_, _, target)| target.name);
                format!("waits for {}", name.unwrap_or_else(|| waited_for.kind.id().to_owned()))
            }
        };
        let who = if depth == 0 { "now it".to_owned() } else { format!("{:depth$}the holder {}", "", label(thread)) };
        lines.push(TextLine::from(cut(&printable(&format!("{who} {does}")), columns)));
    }
    lines
}
