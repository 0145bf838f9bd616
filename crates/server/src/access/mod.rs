//! Who may ask: the connections to this machine, and what each request needs to pass.
//! It takes sockets and requests and gives answers of the routes; those with data to who has the token.
//! It does not know the routes or the results.

mod askers;
mod connections;
mod guard;
mod token;

pub use askers::Askers;
#[cfg(test)]
pub use askers::PeerUser;
pub use connections::{Tls, TlsFiles, serve};
pub use guard::{Guard, check, demand_token, machine};
pub use token::{Secret, Token};
