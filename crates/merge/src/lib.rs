//! Joins the results of two hosts into one.
//!
//! [`align`] finds what has to be added to the second host's clock from the exchanges that both saw of one connection;
//! [`join`] puts all rows of both into one result, on the first one's clock; [`link`] then says of a connection's two ends
//! that they are each other's, and who at the far end ended a wait; [`explain`] says what that end's thread did meanwhile.
//! Nothing here reads or writes files.

mod align;
mod connection;
mod exchanges;
mod explain;
mod join;
mod link;

pub use align::{Alignment, Bounds, align};
pub use connection::{Connection, FirstEnd, Joined, SecondEnd};
pub use exchanges::{connections, exchanges};
pub use explain::explain;
pub use join::{Both, join};
pub use link::link;
