//! The tree of chains: each node is a wait, its parent the wait that it explains. What is booked on a node is the time of the
//! thread at the end of the chain.

use dwell_store::WordMap;

use crate::study::explain::terms::Link;

/// A node, by number.
pub type NodeId = u32;

/// Above the waits of demand.
pub const WAITS: NodeId = 0;
/// Above what the program's end waited for.
pub const PATH: NodeId = 1;

/// Waits of a chain, at most: equal ones are one.
const LONGEST: u16 = 24;

/// A wait of a chain.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The wait that it explains.
    pub parent: NodeId,
    /// Who waited for what.
    pub link: Option<Link>,
    /// Waits above it.
    pub depth: u16,
    /// Whether a thread without work is on the chain.
    pub idle: bool,
    /// [`WAITS`] or [`PATH`].
    pub root: NodeId,
}

/// The nodes.
pub struct Chains {
    nodes: Vec<Node>,
    numbers: WordMap<(NodeId, Link, bool), NodeId>,
}

impl Chains {
    /// The two roots.
    pub fn new() -> Self {
        let root = |root| Node { parent: root, link: None, depth: 0, idle: false, root };
        Self { nodes: vec![root(WAITS), root(PATH)], numbers: WordMap::default() }
    }

    /// A node.
    pub fn node(&self, node: NodeId) -> Node {
        self.nodes[node as usize]
    }

    /// The node of a wait that explains `parent`; `None` where the chain gets too long. One that is on the chain already is
    /// that one: a convoy, or two that take turns.
    pub fn below(&mut self, parent: NodeId, link: Link, idle: bool) -> Option<NodeId> {
        let mut above = parent;
        while let Some(known) = self.nodes[above as usize].link {
            if known == link {
                return Some(above);
            }
            above = self.nodes[above as usize].parent;
        }
        let Node { depth, idle: above_idle, root, .. } = self.nodes[parent as usize];
        let idle = idle || above_idle;
        if depth >= LONGEST {
            return None;
        }
        let next = self.nodes.len() as NodeId;
        let node = *self.numbers.entry((parent, link, idle)).or_insert(next);
        if node == next {
            self.nodes.push(Node { parent, link: Some(link), depth: depth + 1, idle, root });
        }
        Some(node)
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
