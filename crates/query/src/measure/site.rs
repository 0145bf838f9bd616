//! A place in the sums: events that share thread, object, stack and waker, with their times.

use dwell_model::{ObjectId, Reason, StackId, ThreadId};
use dwell_store::{EventKey, Nesting};
use dwell_view::ByClass;

use crate::measure::cpu_kind::CpuKind;
use crate::measure::utilization::{add, total};
use crate::measure::weights::Weights;

/// What the events of one site have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SiteKey {
    /// The thread.
    pub thread: ThreadId,
    /// What it waited on, or spun for by the program's own word.
    pub object: ObjectId,
    /// Where it was.
    pub stack: StackId,
    /// Who woke it.
    pub waker: ThreadId,
    /// Where the waker was.
    pub waker_stack: StackId,
    /// CPU, when the query asks for it.
    pub cpu: u16,
    /// Tasks that the thread was in: a context of [`dwell_store::Nesting`].
    pub context: u32,
    /// Why it was off the CPU; none: it ran.
    pub reason: Option<Reason>,
    /// Outcome's code.
    pub outcome: u8,
    /// Waker kind's code.
    pub waker_kind: u8,
    /// Whether the wait goes on with the thread's wait before it.
    pub again: bool,
}

impl SiteKey {
    /// The key's in a context; `cpu` where CPUs are told apart.
    pub fn new(nesting: &Nesting, key: &EventKey, context: u32, cpu: u16) -> Self {
        let ran = key.reason().is_none();
        Self {
            thread: key.thread(),
            object: if ran { nesting.announced(context) } else { key.object() },
            stack: key.stack(),
            waker: key.waker(),
            waker_stack: key.waker_stack(),
            cpu,
            context,
            reason: key.reason(),
            outcome: key.outcome(),
            waker_kind: key.waker_kind(),
            again: key.again(),
        }
    }
}

/// Self weights of one place.
#[derive(Clone, Debug)]
pub struct Site {
    /// What its events have in common.
    pub key: SiteKey,
    /// Running time, or blocked time.
    pub time: ByClass,
    /// Time in the run queue.
    pub runnable: ByClass,
    /// Intervals begun, by the class in which they began.
    pub began: [u32; 5],
    /// Intervals under way when a window began, by the class then.
    pub under_way: [u32; 5],
    /// The longest of both.
    pub longest_ns: u64,
    /// What its running time is.
    pub cpu_kind: CpuKind,
    /// Whether it is a wait of an idle worker.
    pub idle: bool,
    /// Whether the filters let it through.
    pub selected: bool,
}

impl Site {
    /// Its weights as far as the classes of `mask` go.
    pub fn weights(&self, mask: [bool; 5]) -> Weights {
        let mut weights = Weights::default();
        weights.add_site(self, mask);
        weights
    }

    /// Its CPU time or wait time as far as the classes of `mask` go.
    pub fn busy_ns(&self, mask: [bool; 5]) -> u64 {
        let counts = matches!(self.key.reason, None | Some(Reason::Waiting));
        let classes = (0..5).filter(|&class| mask[class] && counts);
        classes.fold(0, |sum, class| sum.saturating_add(self.time[class]))
    }

    /// How many intervals begin in it, or are under way at the begin of a window, as far as the classes of `mask` go.
    pub fn count(&self, mask: [bool; 5]) -> u64 {
        count(&self.began, mask) + count(&self.under_way, mask)
    }

    /// Whether it is a wait on an object, or running time that was spent spinning for one by the program's own word.
    pub fn is_for_object(&self) -> bool {
        self.is_wait() || (self.key.reason.is_none() && self.key.object.is_some())
    }

    /// Whether it is a wait on an object.
    pub fn is_wait(&self) -> bool {
        self.key.reason == Some(Reason::Waiting)
    }
}

fn count(of_class: &[u32; 5], mask: [bool; 5]) -> u64 {
    (0..5).filter(|&class| mask[class]).map(|class| u64::from(of_class[class])).sum()
}

impl Weights {
    /// Adds those of a site as far as the classes of `mask` go.
    pub fn add_site(&mut self, site: &Site, mask: [bool; 5]) {
        let masked = |classes: &ByClass| std::array::from_fn(|class| if mask[class] { classes[class] } else { 0 });
        let time: ByClass = masked(&site.time);
        let Some(reason) = site.key.reason else {
            match site.cpu_kind {
                CpuKind::Effective => add(&mut self.effective, &time),
                CpuKind::Spin(kind) => {
                    add(&mut self.spinning, &time);
                    let sum = &mut self.spin[kind as usize];
                    *sum = sum.saturating_add(total(&time));
                }
                CpuKind::Overhead(kind) => {
                    add(&mut self.overheads, &time);
                    let sum = &mut self.overhead[kind as usize];
                    *sum = sum.saturating_add(total(&time));
                }
            }
            return;
        };
        let (began, under_way) = (count(&site.began, mask), count(&site.under_way, mask));
        add(&mut self.runnable, &masked(&site.runnable));
        self.switches += began;
        // Blocked time without a known wait: conservation counts it as waiting, Wait Time does not.
        add(if reason == Reason::Waiting { &mut self.wait } else { &mut self.unknown }, &time);
        match reason {
            Reason::Waiting => {
                if site.idle {
                    add(&mut self.idle, &time);
                }
                self.wait_count += began + under_way;
                self.max_wait_ns = self.max_wait_ns.max(site.longest_ns);
            }
            Reason::Preempted => self.preemptions += began + under_way,
            _ => {}
        }
    }
}
