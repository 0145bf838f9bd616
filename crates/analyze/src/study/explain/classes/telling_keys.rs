//! What the names in a key alone tell of its waits.

use dwell_model::{Outcome, WakerKind};
use dwell_query::stacks::channels::consumes_messages;
use dwell_store::{EventKey, Trace};

use crate::study::explain::bare_stacks::is_of_nameless_pool;
use crate::study::explain::dialogues::Dialogues;
use crate::study::explain::names::Names;
use crate::study::explain::places::function_at;
use crate::study::explain::terms::{is_client_socket, listens};
use crate::study::explain::wait_ends::waited_for;

/// Whether a wait, which is no loop's, is for what a Unix socket's owner answers: a database on this machine.
pub fn is_answer_of_unix(key: &EventKey, name: &str) -> bool {
    WakerKind::from_code(key.waker_kind()) == WakerKind::Answer && name.contains("Unix /") && !listens(name)
}

/// Whether an answer is owed to whoever waits until `outcome`: of a datagram that did not come nobody knows whether it was asked for.
pub fn is_owed(name: &str, outcome: Outcome) -> bool {
    outcome != Outcome::TimedOut && !(outcome == Outcome::Unfinished && name.starts_with("UDP "))
}

/// Whether a thread waits for a broker's next message, and does so for itself.
pub fn consumes(names: &Names<'_, '_>, trace: &Trace, key: &EventKey) -> bool {
    let is_message = is_client_socket(waited_for(trace, key)) && consumes_messages(trace, key.stack());
    is_message && !names.answers_request(key.stack())
}

/// Whether a thread that was there waits in a function that says that it is a worker: for work. Nobody saw its first word. Where no function
/// has a name, the thread's own says so.
pub fn waits_as_worker(
    names: &mut Names<'_, '_>,
    (trace, dialogues): (&Trace, &Dialogues<'_>),
    key: &EventKey,
) -> bool {
    if is_of_nameless_pool(trace, key) {
        return true;
    }
    let was_there = key.thread().get().is_some_and(|thread| dialogues.workloads().was_there(thread));
    was_there && {
        let place = names.place_of(key.stack());
        function_at(&names.place_or_unknown(place).at).to_lowercase().contains("worker")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::explain::terms::serves;

    #[test]
    fn nobody_owes_packets_nor_datagrams_that_did_not_come() {
        let (tcp, udp) = ("TCP 10.0.0.1:* -> 10.0.0.2:80", "UDP 10.0.0.1:* -> 10.0.0.2:53");
        assert!(is_owed(tcp, Outcome::Woken) && is_owed(tcp, Outcome::Unfinished) && is_owed(udp, Outcome::Woken));
        assert!(!is_owed(udp, Outcome::Unfinished) && !is_owed(tcp, Outcome::TimedOut));
        assert!(serves("poll {Packet socket}") && serves("Netlink") && !serves(tcp));
    }
}
