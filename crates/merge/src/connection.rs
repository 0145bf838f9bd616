//! The two ends of a connection between two hosts, before and after their results are one: a row of `sockets` of either result
//! is no row of both together.

use dwell_model::{SocketId, ids};

ids! {
    /// A row of `sockets` of the first result.
    FirstEnd;
    /// A row of `sockets` of the second result.
    SecondEnd;
}

/// A connection that two results have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// The end in the first result.
    pub first: FirstEnd,
    /// The end in the second result.
    pub second: SecondEnd,
}

/// A connection with both ends in one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The end that was in the first result.
    pub first: SocketId,
    /// The end that was in the second result.
    pub second: SocketId,
}

impl Connection {
    /// The connection once the second result's sockets lie behind the first one's `sockets`.
    pub(crate) fn joined(self, sockets: usize) -> Joined {
        let behind = |row| SocketId::new(sockets + row);
        Joined {
            first: self.first.get().map_or(SocketId::NONE, SocketId::new),
            second: self.second.get().map_or(SocketId::NONE, behind),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_results_sockets_lie_behind_the_first_ones() {
        let joined = Connection { first: FirstEnd::new(2), second: SecondEnd::new(1) }.joined(5);
        assert_eq!(joined, Joined { first: SocketId::new(2), second: SocketId::new(6) });
    }
}
