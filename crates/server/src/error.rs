//! The error of this crate: why nothing can be served.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The file holds no certificate or key.
    #[error("{}: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The certificate or key cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A result cannot be read.
    #[error(transparent)]
    Store(#[from] dwell_store::Error),
    /// An instruction trace cannot be read.
    #[error("{}: {source}", path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// Why.
        source: dwell_anatomy::trace::TraceError,
    },
    /// The system refuses something that every program may have.
    #[error("cannot start the server: {0}")]
    System(#[from] std::io::Error),
}
