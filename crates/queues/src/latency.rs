//! How long packets take from a sender to a receiver through a lock-free ring, each on a CPU of its own, both spinning.
//!
//! A packet is the time at which it is sent. When the ring is full the sender waits with the packet in its hand, so that the
//! wait is part of its latency.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use crate::itt::Packets;
use crate::pin;
use crate::ring::{Receiver, Sender, ring};
use crate::ticks::{Span, Ticks};

/// Sent when nothing comes any more: no time is 0.
const END: u64 = 0;

/// What is sent, how and where.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many packets.
    pub packets: usize,
    /// How many of them the ring holds.
    pub buffer: usize,
    /// How many are sent in a second; 0 = as many as can be.
    pub per_second: u64,
    /// CPUs of the sender and the receiver.
    pub cpus: (u32, u32),
}

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of each packet, in the order of sending, ns.
    pub latencies_ns: Vec<u64>,
    /// From before the first to after the last, ns.
    pub elapsed_ns: u64,
}

/// Sends the packets; fewer when `stop` is set meanwhile.
///
/// # Errors
///
/// A CPU that this process may not use; no memory for a thread.
pub fn run(setup: &Setup, stop: &AtomicBool) -> io::Result<Measured> {
    let clock = Ticks::choose();
    let period = if setup.per_second == 0 { 0.0 } else { clock.per_second() / setup.per_second as f64 };
    let (sender, receiver) = ring(setup.buffer);
    let waits = Waits { yields: setup.cpus.0 == setup.cpus.1 };
    let (tell, told) = mpsc::channel();
    thread::scope(|scope| {
        let receiving = thread::Builder::new().name("receiver".into()).spawn_scoped(scope, move || {
            let pinned = pin(setup.cpus.1);
            let failed = pinned.is_err();
            let received = Vec::with_capacity(setup.packets);
            // The sender waits for it.
            let _ = tell.send(pinned);
            if failed { Vec::new() } else { receive(receiver, received, clock, waits) }
        })?;
        let sending = thread::Builder::new().name("sender".into()).spawn_scoped(scope, move || {
            let pinned = pin(setup.cpus.0);
            told.recv().unwrap_or_else(|_| Err(io::Error::other("the receiver broke off")))?;
            let (begun, ticks) = (Instant::now(), clock.now());
            // Without packets too, the receiver waits for the end.
            let packets = if pinned.is_ok() { setup.packets } else { 0 };
            send(sender, packets, &Pace { clock, period, waits }, stop);
            let span = Span { ticks: clock.now() - ticks, ns: begun.elapsed().as_nanos() as u64 };
            pinned.map(|()| span)
        })?;
        let span = sending.join().unwrap_or_else(|_| Err(io::Error::other("the sender broke off")))?;
        let ticks = receiving.join().unwrap_or_default();
        let latencies_ns = ticks.into_iter().map(|ticks| span.to_ns(ticks)).collect();
        Ok(Measured { latencies_ns, elapsed_ns: span.ns })
    })
}

/// How a thread waits for the other one.
#[derive(Clone, Copy)]
struct Waits {
    /// Both threads share a CPU: who waits must let it go.
    yields: bool,
}

impl Waits {
    #[inline(always)]
    fn a_moment(self) {
        if self.yields { thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// When packets are due.
struct Pace {
    clock: Ticks,
    /// Ticks from one packet to the next.
    period: f64,
    waits: Waits,
}

/// A packet that is late is sent at once, and the next ones when they would have been due: a delay does not slow the sender.
fn send(mut sender: Sender, packets: usize, pace: &Pace, stop: &AtomicBool) {
    let begun = pace.clock.now();
    for number in 0..packets {
        let due = begun + (number as f64 * pace.period) as u64;
        let mut now = pace.clock.now();
        while now < due {
            pace.waits.a_moment();
            now = pace.clock.now();
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        while !sender.send(now) {
            pace.waits.a_moment();
        }
    }
    while !sender.send(END) {
        pace.waits.a_moment();
    }
}

/// The latencies, in ticks.
fn receive(mut receiver: Receiver, mut received: Vec<u64>, clock: Ticks, waits: Waits) -> Vec<u64> {
    // Touched now: a page fault is no latency of the queue.
    received.resize(received.capacity(), u64::MAX);
    received.clear();
    let packets = Packets::new();
    loop {
        let Some(sent) = receiver.receive() else {
            waits.a_moment();
            continue;
        };
        if sent == END {
            return received;
        }
        let now = clock.now();
        received.push(now.saturating_sub(sent));
        packets.announce(received.len() as u64, sent, now.max(sent));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(packets: usize, per_second: u64, stop: bool) -> io::Result<Measured> {
        let usable = crate::usable_cpus().expect("CPUs");
        let cpus = (usable[0], usable[usable.len().min(2) - 1]);
        run(&Setup { packets, buffer: 10, per_second, cpus }, &AtomicBool::new(stop))
    }

    #[test]
    fn every_packet_is_measured() {
        let measured = measured(5_000, 50_000, false).expect("a run");
        assert_eq!(measured.latencies_ns.len(), 5_000);
        assert!(measured.latencies_ns.iter().all(|&ns| ns <= measured.elapsed_ns));
        assert!(
            measured.elapsed_ns >= 95_000_000,
            "5,000 packets at 50,000 a second take 100 ms: {}",
            measured.elapsed_ns
        );
    }

    #[test]
    fn as_fast_as_can_be_and_stopped() {
        assert_eq!(measured(10_000, 0, false).expect("a run").latencies_ns.len(), 10_000);
        assert_eq!(measured(10_000, 100, true).expect("a run").latencies_ns.len(), 0);
    }

    #[test]
    fn a_shared_cpu_works_and_a_foreign_one_is_an_error() {
        let cpu = crate::usable_cpus().expect("CPUs")[0];
        let setup = Setup { packets: 100, buffer: 4, per_second: 0, cpus: (cpu, cpu) };
        assert_eq!(run(&setup, &AtomicBool::new(false)).expect("a run").latencies_ns.len(), 100);
        for cpus in [(cpu, 1023), (1023, cpu)] {
            assert!(run(&Setup { cpus, ..setup }, &AtomicBool::new(false)).is_err());
        }
    }
}
