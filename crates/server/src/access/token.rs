//! Who may ask: whoever has the token of the printed address, and sends it with each request in a header.
//!
//! It is no cookie: a browser sends those of 127.0.0.1 to every port of it, also to the server of another user.

use subtle::ConstantTimeEq;

/// Random bytes of a token.
const BYTES: usize = 32;
const SCHEME: &str = "Bearer";

/// The secret of one server, as long as it runs.
pub struct Token(String);

impl Token {
    /// A fresh one. Fails when the kernel has no randomness.
    pub fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// For the printed address.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The `Authorization` header of who has it.
    pub fn authorization(&self) -> String {
        format!("{SCHEME} {}", self.0)
    }

    /// Whether an `Authorization` header has the token; how long that takes does not tell how much of it is right.
    pub fn is_in(&self, authorization: &str) -> bool {
        let Some((scheme, given)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case(SCHEME) && given.as_bytes().ct_eq(self.0.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_of_this_server_counts() {
        let token = Token::new().unwrap();
        let secret = token.secret();
        assert_eq!(secret.len(), 2 * BYTES);
        assert!(token.is_in(&token.authorization()) && token.is_in(&format!("bearer {secret}")));
        let other = Token::new().unwrap();
        for wrong in ["", "Bearer", "Bearer ", secret, &format!("Basic {secret}"), &other.authorization()] {
            assert!(!token.is_in(wrong), "{wrong}");
        }
        assert!(!token.is_in(&format!("Bearer {}", &secret[1..])) && !token.is_in(&format!("Bearer {secret} ")));
    }
}
