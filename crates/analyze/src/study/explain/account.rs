//! The account: what the threads of each role did with their lives. Running, run queue, waits on others, joins and children,
//! own sleeps and idle add up to it.

use crate::study::explain::terms::WaitClass;

/// Times of a role's threads, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// How many threads.
    pub threads: u64,
    /// Their lives.
    pub life_ns: u64,
    /// On a CPU.
    pub running_ns: u64,
    /// Ready, in a run queue.
    pub run_queue_ns: u64,
    /// For what was asked for.
    pub demand_ns: u64,
    /// For threads and children to end.
    pub structure_ns: u64,
    /// Sleeps and time-outs of the threads' own.
    pub own_ns: u64,
    /// For whatever came.
    pub idle_ns: u64,
}

impl Account {
    /// Multiplies the parts; the life is their sum.
    pub fn scale(&mut self, scaled: &dyn Fn(u64) -> u64) {
        let Self { threads: _, life_ns, running_ns, run_queue_ns, demand_ns, structure_ns, own_ns, idle_ns } = self;
        let parts = [running_ns, run_queue_ns, demand_ns, structure_ns, own_ns, idle_ns];
        *life_ns = parts.into_iter().fold(0, |sum, part| {
            *part = scaled(*part);
            sum.saturating_add(*part)
        });
    }

    /// The part of the lives in which the threads were without work.
    pub fn idle_share(&self) -> f64 {
        self.idle_ns as f64 / self.life_ns.max(1) as f64
    }

    /// Adds a wait.
    pub fn add_wait(&mut self, class: WaitClass, ns: u64) {
        let sum = match class {
            WaitClass::Demand | WaitClass::GivenUp => &mut self.demand_ns,
            WaitClass::Structure => &mut self.structure_ns,
            WaitClass::Own => &mut self.own_ns,
            WaitClass::Idle => &mut self.idle_ns,
        };
        *sum = sum.saturating_add(ns);
    }

    /// What is left of the life ran.
    pub fn set_running(&mut self) {
        let off = self.run_queue_ns + self.demand_ns + self.structure_ns + self.own_ns + self.idle_ns;
        self.running_ns = self.life_ns.saturating_sub(off);
    }

    /// Makes it agree with the time that threads ran, where looks at fibers estimated it. A fiber that was seen to run for longer was on a thread
    /// without a CPU; what ran between two looks was seen at rest.
    pub fn agree_with_running(&mut self, ran_ns: u64) {
        let stalled = self.running_ns.saturating_sub(ran_ns);
        self.running_ns -= stalled;
        self.run_queue_ns = self.run_queue_ns.saturating_add(stalled);
        for part in [&mut self.idle_ns, &mut self.own_ns, &mut self.demand_ns, &mut self.run_queue_ns] {
            let unseen = ran_ns.saturating_sub(self.running_ns).min(*part);
            *part -= unseen;
            self.running_ns += unseen;
        }
    }

    /// Counts `ns` of the waits on others as idle: nobody had been asked.
    pub fn move_demand_to_idle(&mut self, ns: u64) {
        let ns = ns.min(self.demand_ns);
        self.demand_ns -= ns;
        self.idle_ns = self.idle_ns.saturating_add(ns);
    }

    /// Adds another account.
    pub fn add(&mut self, other: &Self) {
        self.threads += other.threads;
        self.life_ns = self.life_ns.saturating_add(other.life_ns);
        self.running_ns = self.running_ns.saturating_add(other.running_ns);
        self.run_queue_ns = self.run_queue_ns.saturating_add(other.run_queue_ns);
        self.demand_ns = self.demand_ns.saturating_add(other.demand_ns);
        self.structure_ns = self.structure_ns.saturating_add(other.structure_ns);
        self.own_ns = self.own_ns.saturating_add(other.own_ns);
        self.idle_ns = self.idle_ns.saturating_add(other.idle_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_saw_agrees_with_what_threads_ran() {
        let seen = Account { life_ns: 100, running_ns: 40, run_queue_ns: 10, idle_ns: 50, ..Account::default() };
        let agreed = |ran_ns| {
            let mut account = seen;
            account.agree_with_running(ran_ns);
            let Account { running_ns, run_queue_ns, idle_ns, .. } = account;
            assert_eq!(running_ns + run_queue_ns + idle_ns, seen.life_ns);
            (running_ns, run_queue_ns, idle_ns)
        };
        assert_eq!(agreed(28), (28, 22, 50), "some were on threads without a CPU");
        assert_eq!(agreed(45), (45, 10, 45), "some ran between looks");
        assert_eq!(agreed(95), (95, 5, 0));
        assert_eq!(agreed(40), (40, 10, 50));
    }
}
