//! The way to a provider: HTTP clients built when first needed, one place that posts, and the words for what can
//! go wrong before an answer begins.
//!
//! Building a client with TLS reads the system's certificates from disk; it happens once, never at start-up, and
//! not at all for a server on plain `http://`.

use std::{
    error::Error as StdError,
    fs, io,
    path::PathBuf,
    sync::{Arc, Once, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use reqwest::{
    Certificate, Client, Response, Url,
    header::{CONTENT_TYPE, HeaderMap},
    redirect,
};
use tokio::time::timeout;

use crate::{
    ModelError, Transient,
    failure::{self, Origin},
    secret::Secret,
};

/// HTTP clients shared by all providers. Cheap to clone; connections are kept and used again.
#[derive(Clone, Debug, Default)]
pub struct Http(Arc<Clients>);

#[derive(Debug, Default)]
struct Clients {
    /// A PEM file with certificate authorities to trust besides the system's.
    extra_authorities: Option<PathBuf>,
    built: [OnceLock<Result<Client, String>>; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `http://` to this machine: a proxy could only get it wrong.
    Loopback = 0,
    /// `http://` elsewhere.
    Plain = 1,
    /// `https://`.
    Secure = 2,
}

impl Http {
    /// The system's certificates and proxies are taken from the process (`SSL_CERT_FILE`, `HTTPS_PROXY`, …).
    pub fn new(extra_authorities: Option<PathBuf>) -> Self {
        Self(Arc::new(Clients { extra_authorities, built: Default::default() }))
    }

    /// Builds the client for `base_url` now, so that the first request does not wait for it. Blocks.
    pub fn prepare(&self, base_url: &str) {
        if let Ok(url) = Url::parse(base_url) {
            self.0.client(Kind::of(&url)).map_or_else(|error| tracing::warn!("{error}"), drop);
        }
    }

    async fn client(&self, kind: Kind) -> Result<Client, String> {
        if let Some(ready) = self.0.slot(kind).get() {
            return ready.clone();
        }
        let clients = Arc::clone(&self.0);
        let build = move || clients.client(kind);
        tokio::task::spawn_blocking(build).await.unwrap_or_else(|error| Err(error.to_string()))
    }
}

impl Clients {
    fn slot(&self, kind: Kind) -> &OnceLock<Result<Client, String>> {
        let [loopback, plain, secure] = &self.built;
        match kind {
            Kind::Loopback => loopback,
            Kind::Plain => plain,
            Kind::Secure => secure,
        }
    }

    fn client(&self, kind: Kind) -> Result<Client, String> {
        self.slot(kind).get_or_init(|| self.build(kind)).clone()
    }

    fn build(&self, kind: Kind) -> Result<Client, String> {
        install_crypto();
        let builder = Client::builder()
            .user_agent(concat!("reverie/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .tcp_nodelay(true)
            // A redirection would carry the key to another host.
            .redirect(redirect::Policy::none());
        let builder = match kind {
            Kind::Loopback => builder.no_proxy().tls_certs_only([]),
            Kind::Plain => builder.tls_certs_only([]),
            Kind::Secure => builder.tls_certs_merge(self.authorities()),
        };
        builder.build().map_err(|error| {
            format!(
                "cannot set up HTTPS: {}; install the system's ca-certificates or set SSL_CERT_FILE",
                causes(&error)
            )
        })
    }

    /// A file that cannot be used is reported and left out: the system's certificates may do.
    fn authorities(&self) -> Vec<Certificate> {
        let Some(path) = &self.extra_authorities else { return Vec::new() };
        let parse = |pem: Vec<u8>| Certificate::from_pem_bundle(&pem).map_err(io::Error::other);
        fs::read(path).and_then(parse).unwrap_or_else(|error| {
            tracing::warn!("NODE_EXTRA_CA_CERTS names {}, which cannot be used: {error}", path.display());
            Vec::new()
        })
    }
}

impl Kind {
    fn of(url: &Url) -> Self {
        if url.scheme() == "https" {
            return Self::Secure;
        }
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let loopback = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if loopback { Self::Loopback } else { Self::Plain }
    }
}

/// rustls wants one implementation of its cryptography per process, chosen before the first client.
fn install_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another part of the process has already chosen its cryptography");
        }
    });
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the answer to begin.
    pub response: Duration,
    /// For the next byte. A ping counts.
    pub idle: Duration,
    /// For the next event that is not a ping: a server that only pings is not answering.
    pub content: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            response: Duration::from_secs(120),
            idle: Duration::from_secs(90),
            content: Duration::from_secs(600),
        }
    }
}

/// A provider's address and how to reach it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) provider: &'static str,
    pub(crate) http: Http,
    pub(crate) patience: Patience,
    /// Without a slash at the end and without `/v1`.
    pub(crate) base_url: String,
    pub(crate) secret: Option<Secret>,
}

impl Endpoint {
    /// People write a base URL with and without `/v1` and a slash at the end: all are the same address.
    pub(crate) fn normalise(base_url: &str) -> String {
        let base = base_url.trim().trim_end_matches('/');
        base.strip_suffix("/v1").unwrap_or(base).trim_end_matches('/').to_owned()
    }

    pub(crate) fn origin(&self, model: &str) -> Origin {
        let mut address = self.base_url.clone();
        if let Ok(mut url) = Url::parse(&self.base_url) {
            url.set_query(None);
            if url.password().is_some() || !url.username().is_empty() {
                // Fails only for addresses that cannot have credentials.
                url.set_username("").and_then(|()| url.set_password(None)).unwrap_or_default();
            }
            address = url.as_str().trim_end_matches('/').to_owned();
        }
        Origin { provider: self.provider, address, model: model.to_owned(), secret: self.secret.clone() }
    }

    /// Posts JSON and waits for the answer to begin; any status but success is an error.
    pub(crate) async fn post(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        origin: &Origin,
    ) -> Result<Response, ModelError> {
        let url = Url::parse(&format!("{}{path}", self.base_url)).ok();
        let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) else {
            return Err(origin.protocol("is not a web address"));
        };
        let fatal = |message: String| ModelError::Fatal { code: "protocol", message };
        let client = self.http.client(Kind::of(&url)).await.map_err(fatal)?;
        let request = client.post(url).header(CONTENT_TYPE, "application/json").headers(headers).body(body);
        let response = match timeout(self.patience.response, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(network_error(origin, &error)),
            Err(_) => {
                let seconds = self.patience.response.as_secs();
                let message = format!("{} did not answer within {seconds} s", origin.address);
                return Err(origin.transient(Transient::Stalled, message));
            }
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let wait = failure::retry_after(response.headers(), Timestamp::now());
        // An error whose explanation does not arrive is still that error.
        let body = read_text(response, ERROR_BODY, self.patience.idle).await;
        Err(failure::from_status(origin, status.as_u16(), wait, &body))
    }
}

/// An explanation is short; whatever is longer is not one.
const ERROR_BODY: usize = 64 * 1024;

/// The body's text, as far as it arrives within the limits.
pub(crate) async fn read_text(mut response: Response, limit: usize, patience: Duration) -> String {
    let mut body = Vec::new();
    while let Ok(Ok(Some(chunk))) = timeout(patience, response.chunk()).await {
        body.extend_from_slice(chunk.get(..(limit - body.len()).min(chunk.len())).unwrap_or_default());
        if body.len() >= limit {
            break;
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// The media type of an answer, in lower case and without parameters.
pub(crate) fn media_type(response: &Response) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn network_error(origin: &Origin, error: &reqwest::Error) -> ModelError {
    let address = &origin.address;
    let variable = origin.address_variable();
    let all = causes(error);
    let io_kind = find_cause::<io::Error>(error).map(io::Error::kind);
    let message = if error.is_dns() || all.contains("dns error") {
        format!(
            "cannot find {address}: the name does not resolve; check the network, {variable} and, behind a proxy, HTTPS_PROXY"
        )
    } else if all.contains("certificate") {
        format!(
            "the certificate of {address} was not accepted ({}); behind a proxy that inspects traffic, name its \
             certificate authority in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE",
            last_cause(error)
        )
    } else if io_kind == Some(io::ErrorKind::ConnectionRefused) {
        let message = format!(
            "cannot reach {address}: connection refused; check that a server runs there and that {variable} is right"
        );
        return origin.transient(Transient::Refused, message);
    } else if error.is_connect() && error.is_timeout() {
        format!(
            "cannot reach {address}: no connection within 10 s; check the network and, behind a proxy, HTTPS_PROXY"
        )
    } else if error.is_connect() {
        format!(
            "cannot connect to {address}: {}; check the network, {variable} and HTTPS_PROXY",
            last_cause(error)
        )
    } else {
        format!("the connection to {address} broke before the answer: {}", last_cause(error))
    };
    origin.transient(Transient::Network, message)
}

/// The error and what caused it, outermost first. Without addresses: those can contain secrets.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn causes(error: &reqwest::Error) -> String {
    chain(error).skip(1).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn last_cause(error: &reqwest::Error) -> String {
    chain(error).skip(1).last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

fn find_cause<T: StdError + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).find_map(|cause| cause.downcast_ref::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings_of_a_base_url_are_one_address() {
        for text in ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", " http://h:1//v1// "] {
            assert_eq!(Endpoint::normalise(text), "http://h:1", "{text}");
        }
        assert_eq!(Endpoint::normalise("https://h/api/anthropic/"), "https://h/api/anthropic");
    }

    #[test]
    fn the_address_in_messages_has_no_credentials() {
        let endpoint = Endpoint {
            provider: "anthropic",
            http: Http::default(),
            patience: Patience::default(),
            base_url: "https://me:hunter2@h:8/p?token=hunter2".to_owned(),
            secret: None,
        };
        assert_eq!(endpoint.origin("m").address, "https://h:8/p");
    }

    #[test]
    fn only_https_needs_certificates_and_loopback_needs_no_proxy() {
        let kind = |text: &str| Kind::of(&Url::parse(text).unwrap());
        assert_eq!(kind("https://127.0.0.1"), Kind::Secure);
        assert_eq!(kind("http://127.0.0.1:8080"), Kind::Loopback);
        assert_eq!(kind("http://[::1]:8080"), Kind::Loopback);
        assert_eq!(kind("http://localhost"), Kind::Loopback);
        assert_eq!(kind("http://example.com"), Kind::Plain);
    }
}
