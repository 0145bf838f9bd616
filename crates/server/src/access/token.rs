//! Who may ask: whoever has the token of the printed address, and sends it with each request in a header.
//!
//! It is no cookie: a browser sends those of 127.0.0.1 to every port of it, also to the server of another user.

use ring::hmac;
use subtle::ConstantTimeEq;

/// Random bytes of a token, and of a secret.
const BYTES: usize = 32;
const SCHEME: &str = "Bearer";

/// What stays from server to server of a user, so that their addresses do.
pub struct Secret([u8; BYTES]);

impl Secret {
    /// Of what a file has; `None` when it has not just as many bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// A fresh one. Fails when the kernel has no randomness.
    pub fn new() -> std::io::Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self(bytes))
    }

    /// What the file is to have.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

/// What opens the results of one server.
pub struct Token {
    hex: String,
    lasts: bool,
}

impl Token {
    /// A fresh one, for as long as its server runs. Fails when the kernel has no randomness.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { hex: hex(Secret::new()?.bytes()), lasts: false })
    }

    /// That of `origin` on this `machine`, for as long as the secret stays. It says nothing about those of other origins.
    pub fn lasting(secret: &Secret, machine: &str, origin: &str) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.bytes());
        let tag = hmac::sign(&key, format!("dwell view\n{machine}\n{origin}").as_bytes());
        Self { hex: hex(tag.as_ref()), lasts: true }
    }

    /// Whether it outlives its server.
    pub fn lasts(&self) -> bool {
        self.lasts
    }

    /// Its part of the printed address, after `#`. The page leaves one that lasts in the address.
    pub fn fragment(&self) -> String {
        format!("{}token={}", if self.lasts { "lasting-" } else { "" }, self.hex)
    }

    /// The `Authorization` header of who has it.
    pub fn authorization(&self) -> String {
        format!("{SCHEME} {}", self.hex)
    }

    /// Whether an `Authorization` header has the token; how long that takes does not tell how much of it is right.
    pub fn is_in(&self, authorization: &str) -> bool {
        let Some((scheme, given)) = authorization.split_once(' ') else { return false };
        scheme.eq_ignore_ascii_case(SCHEME) && given.as_bytes().ct_eq(self.hex.as_bytes()).into()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_of_this_server_counts() {
        let token = Token::new().unwrap();
        let authorization = token.authorization();
        let secret = authorization.strip_prefix("Bearer ").unwrap();
        assert_eq!(secret.len(), 2 * BYTES);
        assert_eq!(token.fragment(), format!("token={secret}"));
        assert!(token.is_in(&authorization) && token.is_in(&format!("bearer {secret}")));
        let other = Token::new().unwrap();
        for wrong in ["", "Bearer", "Bearer ", secret, &format!("Basic {secret}"), &other.authorization()] {
            assert!(!token.is_in(wrong), "{wrong}");
        }
        assert!(!token.is_in(&format!("Bearer {}", &secret[1..])) && !token.is_in(&format!("Bearer {secret} ")));
    }

    #[test]
    fn a_lasting_token_is_of_one_secret_machine_and_origin() {
        let secret = Secret::of(&[7; BYTES]).unwrap();
        let token = |secret: &Secret, machine: &str, origin: &str| Token::lasting(secret, machine, origin).hex;
        let here = token(&secret, "host", "http://127.0.0.1:8080");
        assert_eq!(here, token(&Secret::of(&[7; BYTES]).unwrap(), "host", "http://127.0.0.1:8080"));
        // By Python's hmac: no other Dwell may make another one of the same secret.
        assert_eq!(here, "733cfc37677d07bd5e5b4184c92cac9af3db1add60240bfaf1dc4321c240d36d");
        for other in [
            token(&Secret::new().unwrap(), "host", "http://127.0.0.1:8080"),
            token(&secret, "other", "http://127.0.0.1:8080"),
            token(&secret, "host", "http://127.0.0.1:8081"),
            token(&secret, "host", "http://[::1]:8080"),
            token(&secret, "host", "https://127.0.0.1:8080"),
        ] {
            assert_ne!(here, other);
        }
        assert!(Token::lasting(&secret, "host", "http://[::1]:1").fragment().starts_with("lasting-token="));
        assert!(Secret::of(&[7; BYTES - 1]).is_none() && Secret::of(&[7; BYTES + 1]).is_none());
    }
}
