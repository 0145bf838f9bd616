//! For the fuzzer: requests as they come from a client that has the token, without a connection.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::{Builder, Runtime};

use crate::access::{Guard, Token};
use crate::state::{App, Library};

/// What the host is called when a request does not say.
const HOST: &str = "127.0.0.1:8080";
/// No answer is longer than this.
const MOST_BYTES: usize = 64 << 20;

/// A server of one folder of results, and a client that has the token.
pub struct Site {
    service: TowerToHyperService<Router>,
    runtime: Runtime,
    authorization: String,
}

impl Site {
    /// A server of what lies at `path`. None when it cannot be made.
    pub fn open(path: &Path) -> Option<Self> {
        let token = Token::new().ok()?;
        let authorization = token.authorization();
        let guard = Guard::new(Ipv4Addr::LOCALHOST.into(), false, token);
        let app = Arc::new(App::new(Library::open(path).ok()?));
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let service = TowerToHyperService::new(crate::router(app, Arc::new(guard)));
        Some(Self { service, runtime, authorization })
    }

    /// Status and length of the answer to `GET target` with these headers; none to what is no request.
    pub fn ask(&self, target: &str, headers: &[(&str, &str)]) -> Option<(u16, usize)> {
        let mut request = Request::get(target).header(header::AUTHORIZATION, &self.authorization);
        if headers.iter().all(|(name, _)| !name.eq_ignore_ascii_case("host")) {
            request = request.header(header::HOST, HOST);
        }
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Body::empty()).ok()?;
        self.runtime.block_on(async {
            let response = self.service.call(request).await.ok()?;
            let status = response.status().as_u16();
            Some((status, to_bytes(response.into_body(), MOST_BYTES).await.ok()?.len()))
        })
    }
}
