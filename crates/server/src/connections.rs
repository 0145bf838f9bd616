//! Accepting connections, and not waiting for ever for those who say nothing.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use crate::{Error, TlsFiles};

/// Connections at once: a browser opens six, people open several.
const CONNECTIONS: usize = 128;
/// How long a client may take for the TLS handshake, and for the head of a request; also how long it may be silent
/// between two.
const PATIENCE: Duration = Duration::from_secs(15);
/// Bytes that the head of a request may have.
const HEAD: usize = 32 << 10;

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

/// Accepts connections until the process ends.
pub async fn serve(listener: TcpListener, tls: Option<Tls>, router: Router) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let tls = tls.map(|Tls(acceptor)| acceptor);
    let permits = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let permit = permits.clone().acquire_owned().await.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(one(stream, tls.clone(), router.clone(), permit));
            }
            // Out of file descriptors, or the client has gone already: the next one may fare better.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn one(stream: TcpStream, tls: Option<TlsAcceptor>, router: Router, _permit: OwnedSemaphorePermit) {
    // Answers are written whole: waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => talk(stream, router).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, acceptor.accept(stream)).await {
                talk(stream, router).await;
            }
        }
    }
}

async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(HEAD).max_headers(64);
    // What goes wrong on a connection is the client's to notice.
    let _ = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).await;
}
