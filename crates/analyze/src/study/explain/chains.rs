//! The tree of chains: each node is a wait, its parent the wait that it explains. What is booked on a node is the time of the
//! thread at the end of the chain.

use dwell_store::WordMap;

use crate::study::explain::terms::{CauseKind, Link};

/// A node, by number.
pub type NodeId = u32;

/// Above the waits of demand.
pub const WAITS: NodeId = 0;
/// Above what the program's end waited for.
pub const PATH: NodeId = 1;
/// Above the sleeps of threads that serve others from outside the recording, who wait for them unseen.
pub const SERVED: NodeId = 2;

/// Waits of a chain that are kept, at most: equal ones are one. What comes behind is explained, and not told.
const LONGEST: u16 = 6;
/// Nodes from which on chains get no longer than two waits: programs with many locks have as many chains as there are orders.
const MANY: usize = 512;

/// Whether a thread on a chain was without work: then nobody is delayed by what ended its wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Idleness {
    /// No thread was.
    #[default]
    Busy,
    /// One waited for whatever comes, or for a time that it chose.
    Idle,
    /// One waited for questions of others.
    Serves,
}

impl Idleness {
    /// Whether there was only no work, where this is what ended the last wait.
    pub fn has_no_work(self, kind: CauseKind) -> bool {
        match self {
            Self::Busy => false,
            Self::Idle => kind.is_passive(),
            Self::Serves => kind.is_passive() || matches!(kind, CauseKind::Outside | CauseKind::Network),
        }
    }
}

/// A wait of a chain.
#[derive(Clone, Copy, Debug)]
pub struct ChainNode {
    /// The wait that it explains.
    pub parent: NodeId,
    /// Who waited for what.
    pub link: Option<Link>,
    /// Waits above it.
    pub depth: u16,
    /// What is known of threads without work on the chain.
    pub idle: Idleness,
    /// [`WAITS`], [`PATH`] or [`SERVED`].
    pub root: NodeId,
}

/// The nodes.
pub struct Chains {
    nodes: Vec<ChainNode>,
    numbers: WordMap<(NodeId, Link, Idleness), NodeId>,
}

impl Chains {
    /// The roots.
    pub fn new() -> Self {
        let root = |root| ChainNode { parent: root, link: None, depth: 0, idle: Idleness::Busy, root };
        Self { nodes: vec![root(WAITS), root(PATH), root(SERVED)], numbers: WordMap::default() }
    }

    /// A node.
    pub fn node(&self, node: NodeId) -> ChainNode {
        self.nodes[node as usize]
    }

    /// The node of a wait that explains `parent`. One that is on the chain already is that one: a convoy, or two that take
    /// turns. Where the chain is long enough it is the chain's end.
    pub fn below(&mut self, parent: NodeId, link: Link, idle: Idleness) -> NodeId {
        let mut above = parent;
        while let Some(known) = self.nodes[above as usize].link {
            if known == link {
                return above;
            }
            above = self.nodes[above as usize].parent;
        }
        let ChainNode { parent: before, link: end, depth, idle: was_idle, .. } = self.nodes[parent as usize];
        let idle = idle.max(was_idle);
        let is_long = depth >= LONGEST || (depth >= 2 && self.nodes.len() >= MANY);
        match end.filter(|_| is_long) {
            Some(_) if idle == was_idle => parent,
            Some(end) => self.made(before, end, idle),
            None => self.made(parent, link, idle),
        }
    }

    fn made(&mut self, parent: NodeId, link: Link, idle: Idleness) -> NodeId {
        let next = self.nodes.len() as NodeId;
        let node = *self.numbers.entry((parent, link, idle)).or_insert(next);
        if node == next {
            let ChainNode { depth, root, .. } = self.nodes[parent as usize];
            self.nodes.push(ChainNode { parent, link: Some(link), depth: depth + 1, idle, root });
        }
        node
    }

    /// Adds the nodes of another walk; returns which node each of them is here.
    pub fn add(&mut self, other: &Self) -> Vec<NodeId> {
        let mut here: Vec<NodeId> = Vec::with_capacity(other.nodes.len());
        for (number, node) in other.nodes.iter().enumerate() {
            here.push(match node.link {
                Some(link) => self.made(here[node.parent as usize], link, node.idle),
                None => number as NodeId, // a root
            });
        }
        here
    }

    /// The first wait of the chain that ends at `node`, where it is one of waits.
    pub fn first(&self, node: NodeId) -> Option<Link> {
        let mut at = self.nodes[node as usize];
        if at.root != WAITS {
            return None;
        }
        let mut first = at.link;
        while at.depth > 1 {
            at = self.nodes[at.parent as usize];
            first = at.link;
        }
        first
    }

    /// Whether any wait of the chain that ends at `node` is one that `holds`.
    pub fn any_above(&self, node: NodeId, mut holds: impl FnMut(Link) -> bool) -> bool {
        let mut at = self.nodes[node as usize];
        while let Some(link) = at.link {
            if holds(link) {
                return true;
            }
            at = self.nodes[at.parent as usize];
        }
        false
    }

    /// The waits from the first to the last of the chain that ends at `node`.
    pub fn chain(&self, node: NodeId) -> Vec<Link> {
        let mut links = Vec::new();
        let mut at = self.nodes[node as usize];
        while let Some(link) = at.link {
            links.push(link);
            at = self.nodes[at.parent as usize];
        }
        links.reverse();
        links
    }
}
