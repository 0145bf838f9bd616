//! Who may ask: the connections to this machine, and what each request needs to pass.
//! It takes sockets and requests and gives answers of the routes; those with data to who has the token.
//! It does not know the routes or the results.

mod connections;
mod guard;
mod token;

pub use connections::{Tls, TlsFiles, serve};
pub use guard::{Guard, check, demand_token};
pub use token::Token;
