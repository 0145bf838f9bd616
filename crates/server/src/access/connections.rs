//! Accepting connections, and not waiting for ever for those who say nothing.

use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use super::askers::{Askers, PeerUser};
use crate::error::Error;

/// Connections at once: a browser opens six, people open several. One more drops the longest-idle connection.
const CONNECTIONS: usize = 128;
/// How long a new connection waits for one to become idle.
const PAUSE: Duration = Duration::from_millis(20);
/// How long a client may take for the TLS handshake, and for the head of a request; also how long it may be silent
/// between two.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes that the head of a request may have.
const HEAD: usize = 32 << 10;

/// Where the certificate is.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate chain, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// What HTTPS needs.
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads certificate and key.
    pub fn read(files: &TlsFiles) -> Result<Self, Error> {
        let bad = |path: &Path, reason: String| Error::Tls { path: path.to_owned(), reason };
        let chain = CertificateDer::pem_file_iter(&files.certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| no_pem(&files.certificate, "certificate", error))?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| no_pem(&files.key, "private key", error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
        let mut config = config.map_err(|error| bad(&files.certificate, error.to_string()))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }
}

fn no_pem(path: &Path, what: &str, error: pem::Error) -> Error {
    match error {
        pem::Error::Io(source) => Error::Unreadable { path: path.to_owned(), source },
        other => Error::Tls { path: path.to_owned(), reason: format!("no {what} in PEM form: {other}") },
    }
}

/// A connection.
#[derive(Default)]
struct Peer {
    /// Requests that are being answered.
    busy: AtomicUsize,
    /// When it was last used: counts the uses of all connections.
    last_used: AtomicU64,
    gone: Notify,
}

/// The open connections.
#[derive(Default)]
struct Peers {
    open: Mutex<Vec<Arc<Peer>>>,
    uses: AtomicU64,
}

impl Peers {
    fn mark_used(&self, peer: &Peer) {
        peer.last_used.store(self.uses.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
    }

    /// A place for one more connection, in place of the longest-idle one if all are taken; `None` while all are being answered.
    fn admit(&self) -> Option<Arc<Peer>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CONNECTIONS {
            let silent = open.iter().enumerate().filter(|(_, peer)| peer.busy.load(Ordering::Relaxed) == 0);
            let (oldest, _) = silent.min_by_key(|(_, peer)| peer.last_used.load(Ordering::Relaxed))?;
            open.swap_remove(oldest).gone.notify_one();
        }
        let peer = Arc::new(Peer::default());
        self.mark_used(&peer);
        open.push(peer.clone());
        Some(peer)
    }

    fn remove(&self, peer: &Arc<Peer>) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|other| !Arc::ptr_eq(other, peer));
    }
}

/// Accepts connections until the process ends. Each request says whose it is, where `askers` can tell.
pub async fn serve(listener: TcpListener, tls: Option<Tls>, router: Router, askers: Option<Askers>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let tls = tls.map(|Tls(acceptor)| acceptor);
    let peers = Arc::new(Peers::default());
    loop {
        // Out of file descriptors, or the client has gone already: the next one may fare better.
        let Ok((stream, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        // At once: a client that has ended is nobody's.
        let asker = askers.as_ref().zip(stream.local_addr().ok()).map(|(askers, here)| askers.of(from, here));
        let router = router.clone().layer(Extension(asker.unwrap_or(PeerUser(None))));
        let peer = loop {
            match peers.admit() {
                Some(peer) => break peer,
                None => tokio::time::sleep(PAUSE).await,
            }
        };
        let (tls, peers) = (tls.clone(), peers.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = peer.gone.notified() => {}
                () = one(stream, tls, router, (&peers, &peer)) => {}
            }
            peers.remove(&peer);
        });
    }
}

async fn one(stream: TcpStream, tls: Option<TlsAcceptor>, router: Router, place: (&Arc<Peers>, &Arc<Peer>)) {
    // Answers are written whole: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => talk(stream, router, place).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                talk(stream, router, place).await;
            }
        }
    }
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    (peers, peer): (&Arc<Peers>, &Arc<Peer>),
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD).max_headers(64);
    let router = TowerToHyperService::new(router);
    let answer = service_fn(|request: hyper::Request<Incoming>| {
        let (peers, peer) = (peers.clone(), peer.clone());
        peer.busy.fetch_add(1, Ordering::Relaxed);
        let answer = router.call(request);
        async move {
            let answer = answer.await;
            peers.mark_used(&peer);
            peer.busy.fetch_sub(1, Ordering::Relaxed);
            answer
        }
    });
    // What goes wrong on a connection is the client's to notice.
    let _ = http.serve_connection(TokioIo::new(stream), answer).await;
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn who_says_nothing_keeps_nobody_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().route("/", axum::routing::get(async || "here"));
        tokio::spawn(serve(listener, None, router, None));
        let ask = async |stream: &mut TcpStream| {
            stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
            let mut bytes = [0; 1000];
            let read = tokio::time::timeout(PATIENCE / 2, stream.read(&mut bytes)).await;
            read.unwrap().is_ok_and(|count| String::from_utf8_lossy(&bytes[..count]).ends_with("here"))
        };
        let mut first = TcpStream::connect(address).await.unwrap();
        assert!(ask(&mut first).await);
        let mut silent = Vec::new();
        for number in 0..2 * CONNECTIONS {
            silent.push(TcpStream::connect(address).await.unwrap());
            // Who speaks now and then stays.
            assert!(number % 50 != 49 || ask(&mut first).await, "{number}");
        }
        assert!(ask(&mut TcpStream::connect(address).await.unwrap()).await);
        assert!(ask(&mut first).await);
        assert_eq!(silent[0].read(&mut [0; 10]).await.unwrap_or(0), 0, "the oldest silent one has gone");
    }
}
