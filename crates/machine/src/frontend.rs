//! Fetch and decoding: when the µops of a block are there for the core.
//!
//! The front end has a clock of its own. It runs ahead of the core as far as the queue between them reaches; what it takes
//! longer than that is a stall of the core.

use crate::branches::{Branches, Executed, Outcome};
use crate::cache::{Cache, Geometry};
use crate::counts::{Counts, Level, TICKS_PER_CYCLE};
use crate::description::{Machine, Replacement};
use crate::hierarchy::{Hierarchy, When};
use crate::plan::Plan;
use crate::translation::Tlbs;

#[derive(Debug)]
struct Uops {
    cache: Cache,
    window_shift: u32,
    /// Ticks for a µop.
    slot: u64,
    switch: u64,
    last: u64,
    decoding: bool,
}

#[derive(Debug)]
pub(crate) struct Frontend {
    branches: Branches,
    uops: Option<Uops>,
    /// When it is through with what it has fetched.
    clock: u64,
    /// When it last began anew.
    restarted: u64,
    queue: u64,
    ahead: u64,
    mispredict: u64,
    resteer: u64,
    last_line: u64,
}

/// How long the core would wait for a block if it had nothing else to wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fetched {
    /// When its last µop is there.
    pub ready: u64,
    /// Ticks of that for misses; the rest is bandwidth.
    pub latency: u64,
}

impl Frontend {
    pub fn new(machine: &Machine) -> Self {
        let ticks = |cycles: u64| cycles * TICKS_PER_CYCLE;
        let frontend = &machine.frontend;
        let uops = frontend.uop_cache.as_ref().map(|cache| Uops {
            cache: Cache::new(Geometry {
                slices: 1,
                sets: cache.entries / cache.ways as u64,
                ways: cache.ways,
                replacement: Replacement::Lru,
            }),
            window_shift: cache.window.trailing_zeros(),
            slot: TICKS_PER_CYCLE / cache.width,
            switch: ticks(cache.switch_penalty),
            last: u64::MAX,
            decoding: false,
        });
        Self {
            branches: Branches::new(&machine.branch),
            uops,
            clock: 0,
            restarted: 0,
            queue: frontend.queue * TICKS_PER_CYCLE / machine.core.width,
            ahead: ticks(frontend.fetch_ahead),
            mispredict: ticks(machine.branch.mispredict_penalty),
            resteer: ticks(machine.branch.resteer_penalty),
            last_line: u64::MAX,
        }
    }

    /// What a branch does to fetching: on a wrong prediction it begins anew when the branch was executed.
    pub fn branch(&mut self, branch: Executed, executed: u64) -> Outcome {
        let outcome = self.branches.outcome(branch);
        match outcome {
            Outcome::Right => {}
            Outcome::Resteered => self.clock += self.resteer,
            Outcome::Wrong => self.restart(executed + self.mispredict),
        }
        outcome
    }

    /// Fetching begins anew behind an interrupt or exception that was taken at a time.
    pub fn interrupted(&mut self, at: u64) {
        self.restart(at + self.mispredict);
    }

    /// Nothing is fetched before a time.
    pub fn restart(&mut self, at: u64) {
        self.clock = self.clock.max(at);
        self.restarted = self.clock;
    }

    pub fn clock(&self) -> u64 {
        self.clock
    }

    /// Fetches a block for a core that is at `now`.
    #[inline]
    pub fn fetch(
        &mut self,
        plan: &Plan,
        now: u64,
        memory: (&mut Hierarchy, &mut Tlbs),
        counts: &mut Counts,
    ) -> Fetched {
        self.clock = self.clock.max(now.saturating_sub(self.queue));
        let begun = self.clock;
        let (hierarchy, tlbs) = memory;
        let (cost, decoded) = self.deliver(plan, counts);
        let first = plan.address >> hierarchy.shift;
        let last = plan.end.wrapping_sub(1) >> hierarchy.shift;
        if (decoded || hierarchy.has_l1i()) && !(first == last && first == self.last_line) {
            self.lines((first, last), (now, begun), (hierarchy, tlbs), counts);
        }
        let latency = self.clock - begun;
        self.clock += cost;
        Fetched { ready: self.clock, latency }
    }

    /// Ticks that µop cache or decoders need for a block; whether it was decoded.
    #[inline]
    fn deliver(&mut self, plan: &Plan, counts: &mut Counts) -> (u64, bool) {
        let Some(uops) = &mut self.uops else { return (plan.decode, true) };
        let first = plan.address >> uops.window_shift;
        let last = plan.end.wrapping_sub(1) >> uops.window_shift;
        let mut missed = false;
        if !(first == last && first == uops.last && !uops.decoding) {
            for window in first..=last {
                missed |= uops.miss(window, plan, counts);
            }
            uops.last = last;
        }
        let switched = missed != uops.decoding;
        uops.decoding = missed;
        let cost = if missed { plan.decode } else { (u64::from(plan.slots) * uops.slot).max(TICKS_PER_CYCLE) };
        (if switched { cost + uops.switch } else { cost }, missed)
    }

    #[inline(never)]
    fn lines(
        &mut self,
        (first, last): (u64, u64),
        (issued, begun): (u64, u64),
        (hierarchy, tlbs): (&mut Hierarchy, &mut Tlbs),
        counts: &mut Counts,
    ) {
        for line in first..=last {
            let when = When { issued, known: self.clock };
            let translated = tlbs.code(line << hierarchy.shift, when, hierarchy);
            if translated.missed {
                counts.itlb_misses += 1;
                counts.walks += u64::from(translated.walked);
            }
            let reached = hierarchy.code::<true>(line, When { issued, known: translated.ready });
            counts.code(reached.level);
            // Fetch has run ahead of decoding since it last began anew.
            let hidden = self.ahead.min(begun - self.restarted.min(begun));
            self.clock = self.clock.max(reached.ready.saturating_sub(hidden));
        }
        self.last_line = last;
    }
}

/// Bits of a window's number: above them, which part of its µops an entry has.
const WINDOW_BITS: u64 = (1 << 54) - 1;

impl Uops {
    /// Looks up a window of code; one that is missing comes in. µops that fill several entries take several ways.
    #[inline(always)]
    fn miss(&mut self, window: u64, plan: &Plan, counts: &mut Counts) -> bool {
        let missed = self.cache.touch(window & WINDOW_BITS).is_none();
        if missed {
            self.bring(window & WINDOW_BITS, plan, counts);
        }
        missed
    }

    #[inline(never)]
    fn bring(&mut self, window: u64, plan: &Plan, counts: &mut Counts) {
        counts.uop_cache_misses += 1;
        for part in 0..plan.entries {
            self.cache.fill(window | part << 56, 0, 0);
        }
    }
}

impl Counts {
    /// A line of code came from a level.
    pub(crate) fn code(&mut self, level: Level) {
        if level > Level::L1 {
            self.l1i_misses += 1;
            self.l2_code_misses += u64::from(level > Level::L2);
            self.llc_code_misses += u64::from(level > Level::Llc);
        }
    }
}
