//! A bucket of an object store that speaks S3: writes objects, and tells why it does not.
//!
//! Takes a place and the usual variables of the environment; one request writes an object, so that it is there when it is whole.
//! It reads and lists nothing.

use std::io::{self, ErrorKind, Read};
use std::sync::Arc;
use std::time::Duration;

use rusty_s3::actions::{AbortMultipartUpload, CreateMultipartUpload, PutObject, S3Action};
use rusty_s3::{Bucket, Credentials, UrlStyle};
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

use crate::questions::USUAL_REGION;

/// A server that takes longer is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a signature counts.
const SIGNED_FOR: Duration = Duration::from_secs(300);
/// What is read of an answer.
const MOST_ANSWER_BYTES: u64 = 64 << 10;
/// Characters of a server's message that are told.
const MOST_MESSAGE_CHARS: usize = 200;
/// Key of the upload that is begun and aborted.
const PROBE: &str = ".dwell-agent-probe";

/// Writes to a bucket.
pub(crate) struct BucketClient {
    bucket: Bucket,
    credentials: Credentials,
    /// What keys begin with: empty, or with a slash at the end.
    prefix: String,
    agent: Agent,
}

impl BucketClient {
    /// A client as the variables say: credentials, region and endpoint. Asks nobody yet.
    pub(crate) fn open(bucket: &str, prefix: &str, variable: impl Fn(&str) -> Option<String>) -> io::Result<Self> {
        let wrong = |why: String| io::Error::new(ErrorKind::InvalidInput, why);
        let value = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let secret = || value(&["AWS_SECRET_ACCESS_KEY"]);
        let Some((key, secret)) = value(&["AWS_ACCESS_KEY_ID"]).and_then(|key| Some((key, secret()?))) else {
            return Err(wrong("AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is not set".into()));
        };
        let credentials = match value(&["AWS_SESSION_TOKEN"]) {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        };
        let region = value(&["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| USUAL_REGION.into());
        let (endpoint, style) = match value(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            // A certificate for *.s3.amazonaws.com is none for a.b.s3.amazonaws.com.
            None if bucket.contains('.') => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::Path),
            None => (format!("https://s3.{region}.amazonaws.com"), UrlStyle::VirtualHost),
        };
        let url = endpoint.parse().map_err(|error| wrong(format!("the endpoint {endpoint} is no address: {error}")))?;
        let bucket = Bucket::new(url, style, bucket.to_owned(), region)
            .map_err(|error| wrong(format!("the endpoint {endpoint} is no place of buckets: {error}")))?;
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let agent = agent(bucket.base_url().scheme() == "https")?;
        Ok(Self { bucket, credentials, prefix, agent })
    }

    /// Writes an object; another one of that name is replaced.
    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let key = format!("{}{path}", self.prefix);
        let url = PutObject::new(&self.bucket, Some(&self.credentials), &key).sign(SIGNED_FOR);
        let request = self.agent.put(url.as_str()).content_type("application/vnd.apache.parquet");
        answer(request.send(bytes)).map(drop)
    }

    /// Whether objects can be written: begins an upload in parts and aborts it, which leaves no object.
    pub(crate) fn probe(&self) -> io::Result<()> {
        let key = format!("{}{PROBE}", self.prefix);
        let begin = CreateMultipartUpload::new(&self.bucket, Some(&self.credentials), &key).sign(SIGNED_FOR);
        let begun = answer(self.agent.post(begin.as_str()).send_empty())?;
        let upload = CreateMultipartUpload::parse_response(&begun)
            .map_err(|_| io::Error::new(ErrorKind::InvalidInput, "what answers there is no object store"))?;
        let id = upload.upload_id();
        let abort = AbortMultipartUpload::new(&self.bucket, Some(&self.credentials), &key, id).sign(SIGNED_FOR);
        // Who may write may not abort everywhere; an upload without parts is no object.
        match answer(self.agent.delete(abort.as_str()).call()) {
            Err(error) if error.kind() != ErrorKind::PermissionDenied => Err(error),
            _ => Ok(()),
        }
    }
}

/// Why nothing can be written as long as nobody changes names, rights or credentials; else the store is only away.
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound | ErrorKind::InvalidInput)
}

fn agent(is_https: bool) -> io::Result<Agent> {
    let mut config = Agent::config_builder()
        .user_agent("dwell")
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_global(Some(REQUEST_TIMEOUT))
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false);
    if is_https {
        let roots: Vec<Certificate<'static>> = rustls_native_certs::load_native_certs()
            .certs
            .iter()
            .map(|certificate| Certificate::from_der(certificate).to_owned())
            .collect();
        if roots.is_empty() {
            let why = "this machine has no certificates of authorities: install ca-certificates, or set SSL_CERT_FILE";
            return Err(io::Error::new(ErrorKind::InvalidInput, why));
        }
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
        config = config.tls_config(tls.build());
    }
    Ok(config.build().into())
}

/// The text of a good answer; of any other, what the server says.
fn answer(response: Result<Response<Body>, ureq::Error>) -> io::Result<String> {
    let mut response = response.map_err(|error| match error {
        ureq::Error::Io(error) => error,
        other => io::Error::other(other.to_string()),
    })?;
    let status = response.status().as_u16();
    let mut bytes = Vec::new();
    // An answer that breaks off is still an answer.
    let _ = response.body_mut().as_reader().take(MOST_ANSWER_BYTES).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if (200..300).contains(&status) {
        return Ok(text);
    }
    let kind = match status {
        401 | 403 => ErrorKind::PermissionDenied,
        404 => ErrorKind::NotFound,
        300..=400 => ErrorKind::InvalidInput,
        _ => ErrorKind::Other,
    };
    Err(io::Error::new(kind, refusal(status, &text)))
}

/// `403 SignatureDoesNotMatch: The request signature …`.
fn refusal(status: u16, text: &str) -> String {
    let mut told = format!("it answers {status}");
    for (name, before) in [("Code", " "), ("Message", ": ")] {
        if let Some(value) = element(text, name) {
            told += before;
            told.extend(value.chars().filter(|c| !c.is_control()).take(MOST_MESSAGE_CHARS));
        }
    }
    told
}

/// The text of the first element of this name, as it stands there: it is only told.
fn element<'t>(xml: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = xml.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(text, _)| text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(variables: &[(&str, &str)], bucket: &str) -> io::Result<BucketClient> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        BucketClient::open(bucket, "a/b", value)
    }

    #[test]
    fn variables_say_where_a_bucket_is() {
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        let base = |more: &[(&str, &str)], bucket| {
            open(&[&keys[..], more].concat(), bucket).unwrap().bucket.base_url().to_string()
        };
        let local = ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000");
        assert_eq!(base(&[local], "fleet"), "http://127.0.0.1:9000/fleet/");
        assert_eq!(base(&[local, ("AWS_ENDPOINT_URL_S3", "http://[::1]:1")], "fleet"), "http://[::1]:1/fleet/");
        for missing in [&keys[..1], &keys[1..], &[("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "")]] {
            assert_eq!(open(missing, "fleet").err().unwrap().kind(), ErrorKind::InvalidInput);
        }
        for wrong in ["ftp://a", "nowhere", "http://"] {
            let error = open(&[&keys[..], &[("AWS_ENDPOINT_URL", wrong)]].concat(), "fleet").err().unwrap();
            assert!(is_refusal(&error) && error.to_string().contains("the endpoint"), "{error}");
        }
    }

    #[test]
    fn a_refusal_is_told_in_a_line() {
        let text = "<?xml?><Error><Code>NoSuchBucket</Code><Message>The bucket\n is not there</Message></Error>";
        assert_eq!(refusal(404, text), "it answers 404 NoSuchBucket: The bucket is not there");
        assert_eq!(refusal(503, "<html>busy"), "it answers 503");
        assert_eq!(refusal(500, &format!("<Message>{}</Message>", "x".repeat(9_999))).len(), 216);
    }
}
