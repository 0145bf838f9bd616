//! `dwell view`: the web UI and what it asks for, over HTTP on this machine.
//!
//! Every answer is a projection of `dwell_analyze` or `dwell_anatomy`; nothing is computed here and no result is
//! changed. The only crate that knows HTTP. Who may ask is decided in one place, `access/guard.rs`; results are named by ids
//! that are looked up in a list, never by paths.

mod access;
mod api;
mod collection_picture;
mod collector;
mod error;
mod problem;
pub mod readers;
mod state;
mod ui;

#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;

use access::{Askers, Guard, Tls, Token, check, demand_token, machine, serve};
pub use access::{Secret, TlsFiles};
pub use collection_picture::{CollectionPicture, LiveAccount, LiveObject, PictureBand};
pub use collector::{
    CollectedAnalysis, CollectionInfo, CollectionList, CollectionPlan, CollectionRequest, CollectionTarget, Collector,
    CollectorAnswer, CollectorQuestion, MOST_QUESTION_BYTES, ProcessInfo,
};
pub use error::Error;
use state::App;
pub use state::Library;

/// What to serve, and where.
#[derive(Debug)]
pub struct Options {
    /// The results.
    pub library: Library,
    /// Address and port to listen on; port 0 is any free one.
    pub listen: SocketAddr,
    /// Certificate chain and key, PEM: with them, HTTPS.
    pub tls: Option<TlsFiles>,
    /// What makes the address the same as that of the user's server before, on the same port of this machine.
    pub secret: Option<Secret>,
    /// The process that makes collections for the page, if it may have any made.
    pub collector: Option<Collector>,
}

/// A server that listens and is not running yet.
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    app: Arc<App>,
    guard: Arc<Guard>,
    /// Where only this machine is answered.
    askers: Option<Askers>,
    lasts: bool,
    url: String,
}

impl Server {
    /// Binds the address and draws the token.
    pub fn bind(options: Options) -> Result<Self, Error> {
        let tls = options.tls.as_ref().map(Tls::read).transpose()?;
        let listen = |source| Error::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let askers = address.ip().is_loopback().then(Askers::open).flatten();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", host(address));
        // Others may know one that lasts: it needs to be known who asks.
        let token = match options.secret.filter(|_| askers.is_some()) {
            Some(secret) => Token::lasting(&secret, &machine(), &origin),
            None => Token::new()?,
        };
        let (lasts, url) = (token.lasts(), format!("{origin}/#{}", token.fragment()));
        let guard = Guard::new(address.ip(), tls.is_some(), token);
        let guard = Arc::new(if options.collector.is_some() { guard.with_collections() } else { guard });
        let app = Arc::new(App::new(options.library).with_collector(options.collector));
        Ok(Self { listener, tls, app, guard, askers, lasts, url })
    }

    /// The address to open. The token is in its fragment, which browsers send to no server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether the address is that of the user's next server on this port, too.
    pub fn has_lasting_address(&self) -> bool {
        self.lasts
    }

    /// Whether the web UI is part of this binary.
    pub fn has_ui() -> bool {
        ui::is_built()
    }

    /// Serves until the process ends.
    pub fn run(self) -> Result<(), Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.spawn(state::open_ahead(self.app.clone()));
        Ok(runtime.block_on(serve(self.listener, self.tls, router(self.app, self.guard), self.askers))?)
    }
}

/// Every route, behind the guard; those with data for who has the token.
fn router(app: Arc<App>, guard: Arc<Guard>) -> Router {
    let soundly = axum::middleware::from_fn_with_state(app.clone(), api::answer_soundly);
    let with_token = axum::middleware::from_fn_with_state(guard.clone(), demand_token);
    let guarded = axum::middleware::from_fn_with_state(guard, check);
    let routes = api::routes().layer(soundly).merge(api::collection_routes());
    ui::routes(routes.layer(with_token)).layer(guarded).with_state(app)
}

/// How the address stands in a URL: one that means every interface is reached by loopback.
fn host(address: SocketAddr) -> String {
    let loopback = |ip: IpAddr| match ip {
        IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
    };
    let ip = if address.ip().is_unspecified() { loopback(address.ip()) } else { address.ip() };
    SocketAddr::new(ip, address.port()).to_string()
}
