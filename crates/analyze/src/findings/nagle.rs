//! Nagle's algorithm and delayed acknowledgements: who writes in small pieces, what it costs, what is gained without.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use dwell_model::{FindingDef, HoldKind, SocketCause, StackId};
use dwell_query::engine::fold::Fold;
use dwell_query::measure::quantile::median_of;
use dwell_store::Table;
use dwell_view::{Prose, Sentence, Word};

use crate::findings::evidence::Evidence;
use crate::findings::finding::Finding;
use crate::findings::send_queues::held_by_nagle;
use crate::findings::sockets::claims;
use crate::sentences::say;
use crate::study::socket_groups::Group;
use crate::study::sockets::{SocketWait, SocketWaits, main_cause};

/// Small pieces wait for a delayed acknowledgement.
pub const NAGLE_DELAYED_ACK: FindingDef = FindingDef {
    id: "nagle-delayed-ack",
    title: "Small writes wait for a delayed ACK",
    help: "A message is written in several small pieces. Nagle's algorithm holds the second piece until the first one \
           is acknowledged, and the receiver, which cannot answer yet, delays its ACK by 40 ms or more. Both are seen \
           in the kernel; when one host is not profiled, the delay is inferred from its length. The cost is the time \
           of these waits minus the usual time of the other waits on the same socket.",
    advice: "Write a message with one call (writev, sendmsg) or mark all pieces but the last with MSG_MORE; or set TCP_NODELAY \
             on the sending socket. Where only the receiver can be changed, set TCP_QUICKACK after each receive.",
    japanese_title: "小さな書き込みが遅延 ACK を待つ",
    japanese_advice: "メッセージを 1 回の呼び出しで送ってください (writev、MSG_MORE)。\
                      または送信側で TCP_NODELAY か、受信側で TCP_QUICKACK を設定してください。",
};

/// Part of the elapsed time that such waits must take.
const COST_SHARE: f64 = 0.02;
/// Waits from which it is no accident.
const LEAST_WAITS: usize = 3;
/// Call sites that the evidence names.
const NAMED_SITES: usize = 3;

/// What makes waits Nagle's.
const HELD: [SocketCause; 2] = [SocketCause::DelayedAck, SocketCause::Nagle];

pub fn nagle_delayed_ack(evidence: &Evidence<'_, '_>) -> Vec<Finding> {
    let (sockets, at_looks) = (evidence.sockets(), held_by_nagle(evidence));
    let all = evidence.socket_groups().iter();
    let mut groups: Vec<&Group> = all.filter(|group| group.of(SocketCause::DelayedAck) > 0).collect();
    // Both ends of a connection wait at the same time: it is told of the end that asks.
    let asks = |group: &&Group| group.sockets.iter().any(|socket| sockets.tables.sockets.asks[*socket]);
    groups.sort_by_key(|group| Reverse(asks(group)));
    let mut told: Vec<usize> = Vec::new();
    let mut found = Vec::new();
    for group in groups {
        let Some(finding) = finding(evidence, group) else { continue };
        if group.sockets.iter().all(|socket| told.contains(socket)) {
            continue;
        }
        told.extend(group.sockets.iter().filter_map(|socket| sockets.peer(*socket)));
        found.push(finding);
    }
    // Where the calls are recorded they tell more.
    if found.is_empty() { at_looks } else { found }
}

fn finding(evidence: &Evidence<'_, '_>, group: &Group) -> Option<Finding> {
    let sockets = evidence.sockets();
    let is_held = |wait: &&SocketWait| HELD.contains(&main_cause(&sockets.causes(wait)));
    let (held, fast): (Vec<&SocketWait>, Vec<&SocketWait>) = group.waits.iter().partition(is_held);
    let lengths = |waits: &[&SocketWait]| waits.iter().map(|wait| sockets.wait_ns(wait)).collect::<Vec<_>>();
    let (held_ns, usual_ns) = (sockets.total_ns(held.iter().copied()), median_of(lengths(&fast)));
    // As long as the others they would still take.
    let gain_ns = held_ns.saturating_sub(usual_ns.saturating_mul(held.len() as u64));
    if held.len() < LEAST_WAITS || evidence.share(gain_ns) < COST_SHARE {
        return None;
    }
    let sites = call_sites(evidence.fold, sockets, group);
    let cause_ns = HELD.iter().fold(0u64, |sum, cause| sum.saturating_add(group.of(*cause)));
    let last = say!(
        NAGLE_DELAYED_ACK,
        held = held.len(),
        waits = group.waits.len(),
        median = Word::Ns(median_of(lengths(&held))),
        usual = Word::Ns(usual_ns),
        share = Word::part(cause_ns, group.total_ns()),
    );
    let senders = sites.iter().take(NAMED_SITES).map(Site::sentence);
    let text = Prose::from(last).and(senders).and([say!(NAGLE_GAIN, gain = Word::Ns(gain_ns))]);
    let stack = sites.first().map_or(StackId::NONE, |site| site.stack);
    let claims = claims(evidence, group);
    Some(Finding { subject: group.name.clone(), evidence: text, stack, cost_ns: gain_ns, claims, ..Finding::default() })
}

/// A place that wrote data which was held.
struct Site {
    place: CallSite,
    /// The stack with the most time held.
    stack: StackId,
    held_ns: u64,
    bytes: Vec<u64>,
}

impl Site {
    fn sentence(&self) -> Sentence {
        let (pieces, bytes, place) = (self.bytes.len(), median_of(self.bytes.clone()), self.place.own.clone());
        match self.place.caller.clone() {
            Some(caller) => say!(NAGLE_SITE_CALLED, pieces = pieces, bytes = bytes, place = place, caller = caller),
            None => say!(NAGLE_SITE, pieces = pieces, bytes = bytes, place = place),
        }
    }
}

/// The places that wrote what was held at either end of the group's connections, the one with the most time first.
fn call_sites(fold: &Fold<'_>, sockets: &SocketWaits<'_>, group: &Group) -> Vec<Site> {
    let holds = &sockets.tables.holds;
    let mut ends: Vec<usize> = group.sockets.clone();
    ends.extend(group.sockets.iter().filter_map(|socket| sockets.peer(*socket)));
    ends.sort_unstable();
    let is_of = |row: &usize| {
        let of_group = holds.socket[*row].get().is_some_and(|socket| ends.binary_search(&socket).is_ok());
        of_group
            && HoldKind::from_code(holds.kind[*row]) == HoldKind::Nagle
            && fold.sums.windows.contains(holds.start_ns[*row])
    };
    let mut sites: BTreeMap<CallSite, Site> = BTreeMap::new();
    for row in (0..holds.len()).filter(is_of) {
        let stack = holds.stack[row];
        let place = place(fold, stack);
        let new = || Site { place: place.clone(), stack, held_ns: 0, bytes: Vec::new() };
        let site = sites.entry(place.clone()).or_insert_with(new);
        site.held_ns = site.held_ns.saturating_add(holds.end_ns[row].saturating_sub(holds.start_ns[row]));
        site.bytes.push(holds.bytes[row].into());
    }
    let mut sites: Vec<Site> = sites.into_values().collect();
    sites.sort_by_key(|site| Reverse(site.held_ns));
    sites
}

/// The program's own place that made the call, and who called it: one that sends for all of a program says little.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CallSite {
    own: Option<String>,
    caller: Option<String>,
}

fn place(fold: &Fold<'_>, stack: StackId) -> CallSite {
    let own = fold.sums.stacks.own(stack);
    let caller = own.get().and_then(|row| fold.trace.stacks.parent.get(row)).copied();
    let caller = caller.filter(|caller| caller.is_some() && !fold.sums.stacks.is_system(*caller));
    CallSite { own: fold.sums.stacks.place(own), caller: caller.and_then(|caller| fold.sums.stacks.place(caller)) }
}
