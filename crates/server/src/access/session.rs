//! Who may ask: the holder of a one-time token, which the printed address has, and then of a cookie that no script and
//! no other site's page can read or use.

use std::sync::{Mutex, PoisonError};

use subtle::ConstantTimeEq;

/// Bytes of a secret.
const SECRET: usize = 32;

/// One session: it lasts as long as the server.
#[derive(Debug)]
pub struct Session {
    token: String,
    /// Whether the token was exchanged.
    spent: Mutex<bool>,
    cookie: String,
    /// Cookies know no ports: two servers on one host need two names.
    cookie_name: String,
}

impl Session {
    /// Fresh secrets for the server on `port`. Fails when the kernel has no randomness.
    pub fn new(port: u16) -> Result<Self, getrandom::Error> {
        let (token, cookie) = (secret()?, secret()?);
        Ok(Self { token, spent: Mutex::new(false), cookie, cookie_name: format!("dwell-{port}") })
    }

    /// The token, for the address.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Takes the token once; every later time, and any other one, is refused.
    pub fn exchange(&self, token: &str) -> bool {
        if !equal(token, &self.token) {
            return false;
        }
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        !std::mem::replace(&mut *spent, true)
    }

    /// The `Set-Cookie` header; over HTTPS the browser keeps the cookie from HTTP.
    pub fn set_cookie(&self, https: bool) -> String {
        let secure = if https { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name, self.cookie)
    }

    /// Whether a `Cookie` header has the session's cookie.
    pub fn holds(&self, cookies: &str) -> bool {
        let mut pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == self.cookie_name && equal(value, &self.cookie))
    }
}

/// In a time that does not tell how much of it is right.
fn equal(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; SECRET];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_once_and_a_cookie_as_long_as_the_server() {
        let session = Session::new(80).unwrap();
        assert!(!session.exchange("") && !session.exchange("0000"));
        let token = session.token().to_owned();
        assert!(session.exchange(&token));
        assert!(!session.exchange(&token));
        let cookie = session.set_cookie(false).split(';').next().unwrap().to_owned();
        assert!(session.holds(&format!("a=b; {cookie}; c")));
        assert!(!session.holds(&cookie.replace("dwell-80", "dwell-81")));
        assert!(!session.holds("dwell-80=") && !session.holds(""));
        assert_ne!(Session::new(80).unwrap().token(), token);
    }
}
