//! Who may ask: the connections to this machine, and what each request needs to pass.
//! It takes sockets and requests and gives answers of the routes to those who hold the session's cookie.
//! It does not know the routes or the results.

mod connections;
mod guard;
mod session;

pub use connections::{Tls, TlsFiles, serve};
pub use guard::{Guard, check};
pub use session::Session;
