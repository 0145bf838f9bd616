//! Functions that make connections: what runs and waits below them would not, were connections kept.

use dwell_model::StackId;

use crate::stacks::call_stacks::CallStacks;
use crate::stacks::name_words::{has_word, without_template_arguments};

/// How functions are called that do nothing else: `HTTPSConnection.connect`, `net.Dial`.
const CONNECT: &[&str] = &["connect", "dial"];
/// Words of those that agree on encryption: `SSL_do_handshake`, `crypto/tls.(*Conn).serverHandshake`.
const HANDSHAKE: &[&str] = &["handshake"];
/// The same of Python's libraries.
const WRAPS: &str = "wrap_socket";

/// Whether a function makes a connection, by its name.
pub fn connects(name: &str) -> bool {
    let name = without_template_arguments(name);
    let last = name.rsplit(['.', ':']).next().unwrap_or(&name);
    CONNECT.iter().any(|it| it.eq_ignore_ascii_case(last)) || has_word(&name, HANDSHAKE) || name.contains(WRAPS)
}

/// Whether a stack is in such a function.
pub fn is_connecting(stacks: &CallStacks<'_>, stack: StackId) -> bool {
    stacks.whole_chain(stack).any(|at| connects(stacks.function_name(stacks.function(at))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_connect_are_known_by_name() {
        for name in [
            "connect",
            "HTTPSConnection.connect",
            "net.Dial",
            "SSL_do_handshake",
            "crypto/tls.(*Conn).serverHandshake-fm",
            "sun.security.ssl.SSLSocketImpl.startHandshake",
            "_ssl_wrap_socket_and_match_hostname",
            "boost::asio::ip::tcp::socket::connect",
        ] {
            assert!(connects(name), "{name}");
        }
        for name in ["connection_loop", "reconnect_and_serve", "on_connected", "Dialog.show", "disconnect", ""] {
            assert!(!connects(name), "{name}");
        }
    }
}
