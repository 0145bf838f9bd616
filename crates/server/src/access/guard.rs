//! Which requests are answered at all, and what every answer tells the browser not to do.
//!
//! Against pages of other sites (CSRF), `Origin` and `Sec-Fetch-Site` must be ours; against names that are made to
//! point here (DNS rebinding), `Host` must be an address or a name of this machine; against other users of it, what asks
//! for data must send the token, and a server that answers only this machine answers only programs of its own user and of root. The page and its scripts, the same in every Dwell, are for everyone: they get the token
//! from the fragment of the address, which no server sees.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::askers::{PeerUser, Trusted};
use super::token::Token;
use crate::collector::COLLECTIONS;
use crate::problem::{Fault, Problem};

/// The longest address of a request, bytes.
const LONGEST_ADDRESS: usize = 8 << 10;

/// No script but ours from here, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Where the page is that asks, as browsers say it.
const SITE: &str = "sec-fetch-site";

/// What every answer says.
const HEADERS: &[(&str, &str)] = &[
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("x-frame-options", "DENY"),
    ("cache-control", "no-store"),
];

/// Who may ask.
pub struct Guard {
    token: Token,
    https: bool,
    /// Listens on loopback only.
    local: bool,
    /// Its page may start collections.
    collects: bool,
    /// This machine's name.
    machine: String,
    trusted: Trusted,
}

impl Guard {
    /// The guard of a server on `address`.
    pub fn new(address: IpAddr, https: bool, token: Token) -> Self {
        Self {
            token,
            https,
            local: address.is_loopback(),
            collects: false,
            machine: machine(),
            trusted: Trusted::of_this_process(),
        }
    }

    /// The same, of a page that may start collections.
    pub fn with_collections(self) -> Self {
        Self { collects: true, ..self }
    }

    /// Whether the request only asks, or is for a collection and these may be started. A browser sends the latter from our page only: a
    /// page of another site is refused by its name, and has no token.
    fn is_allowed_method(&self, request: &Request) -> bool {
        match *request.method() {
            Method::GET | Method::HEAD => true,
            Method::POST => self.collects && request.uri().path().starts_with(COLLECTIONS),
            _ => false,
        }
    }

    /// The answer to a request that may not pass; else none.
    fn refuse(&self, request: &Request) -> Option<Response> {
        let (headers, uri) = (request.headers(), request.uri());
        if !self.is_of_trusted_user(request) {
            let problem =
                Problem::new(Fault::OtherUser, "this dwell view answers only the programs of the user who runs it");
            return Some(problem.hint("run dwell view as yourself").into_response());
        }
        if uri.path_and_query().is_some_and(|text| text.as_str().len() > LONGEST_ADDRESS) {
            return Some(Problem::new(Fault::TooLong, "the question is too long").into_response());
        }
        if !self.is_allowed_method(request) {
            let problem = Problem::new(Fault::NotARead, "results are only read: use GET");
            return Some(problem.into_response());
        }
        // A request to a proxy names its host twice: this is no proxy.
        let host = only(headers, header::HOST).filter(|host| uri.authority().is_none() && self.is_ours(host));
        let Some(host) = host else {
            let problem = Problem::new(Fault::OtherHost, "this is no name of this server");
            return Some(problem.hint("use the address that dwell view printed").into_response());
        };
        if !self.is_from_our_page(headers, host) && !Self::is_link_to_page(request) {
            let problem = Problem::new(Fault::OtherPage, "a page of another site may not ask");
            return Some(problem.into_response());
        }
        None
    }

    /// Whether the program that asks is of a user who may. Where nobody knows, a token decides that is younger than this server:
    /// one that stays may be known to others.
    fn is_of_trusted_user(&self, request: &Request) -> bool {
        let asker = request.extensions().get::<PeerUser>().and_then(|asker| asker.0);
        asker.map_or(!self.token.lasts(), |user| self.trusted.has(user))
    }

    /// Whether the name is one that no foreign DNS server can have answered for.
    fn is_ours(&self, host: &str) -> bool {
        // A browser that another name sent here finds no certificate for it.
        if self.https && !self.local {
            return true;
        }
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, _)) => name,
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let name = name.to_lowercase();
        match name.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback() || !self.local,
            Err(_) => name == "localhost" || (!self.local && name == self.machine),
        }
    }

    fn is_from_our_page(&self, headers: &HeaderMap, host: &str) -> bool {
        let scheme = if self.https { "https" } else { "http" };
        let origin = headers.get_all(header::ORIGIN).iter().all(|origin| {
            origin.to_str().is_ok_and(|origin| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")))
        });
        // Old browsers and other programs do not send it; pages of other sites have no token.
        let site = headers.get_all(SITE).iter().all(|site| site == "same-origin" || site == "none");
        origin && site
    }

    /// Whether somebody follows a link to the page, wherever it is: the page alone has no data.
    fn is_link_to_page(request: &Request) -> bool {
        let navigates = only(request.headers(), HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
        navigates && request.method() == Method::GET && request.uri().path() == "/"
    }

    /// The answer to a request for data without the token; else none.
    fn refuse_data(&self, headers: &HeaderMap) -> Option<Response> {
        let given = only(headers, header::AUTHORIZATION);
        if given.is_some_and(|given| self.token.is_in(given)) {
            return None;
        }
        let error =
            if given.is_some() { "the token is of another dwell view" } else { "this tab does not have the token" };
        let problem = Problem::new(Fault::NotSignedIn, error);
        let hint = "open the address that dwell view printed, in this tab; if dwell view has ended, start it again";
        Some(([(header::WWW_AUTHENTICATE, "Bearer")], problem.hint(hint)).into_response())
    }
}

/// This machine's name.
pub fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().to_lowercase()
}

/// The value of a header that is there once.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Answers what may pass, and puts the headers on every answer.
pub async fn check(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let mut response = match guard.refuse(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().entry(*name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Answers what has the token.
pub async fn demand_token(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    match guard.refuse_data(request.headers()) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}
