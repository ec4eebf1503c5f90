//! The way to servers on the web: a client that is built for the first of them, and what their errors mean.

use std::{error::Error as StdError, fs, io, sync::Once, time::Duration};

use reqwest::{
    Certificate, Client, Url,
    header::{HeaderName, HeaderValue},
    redirect,
};
use rmcp::transport::{
    StreamableHttpClientTransport,
    streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError},
};
use settings::Environment;

use crate::text;

/// A connection to `url`, which was checked, with headers that were expanded.
pub(crate) async fn transport(
    url: String,
    headers: impl IntoIterator<Item = (String, String)>,
    environment: &Environment,
) -> Result<StreamableHttpClientTransport<Client>, String> {
    let parsed =
        Url::parse(&url).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let Some(parsed) = parsed else { return Err("its address is not a web address".to_owned()) };
    let mut custom = std::collections::HashMap::new();
    for (name, value) in headers {
        let parsed = HeaderName::try_from(&name).ok().zip(HeaderValue::try_from(&value).ok());
        let Some((name, mut value)) = parsed else {
            return Err(format!("its header {name:?} cannot be sent"));
        };
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let authorities = environment.get("NODE_EXTRA_CA_CERTS").map(str::to_owned);
    // Reads the system's certificates from disk.
    let built = tokio::task::spawn_blocking(move || client(&parsed, authorities.as_deref())).await;
    let client = built.unwrap_or_else(|error| Err(error.to_string()))?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

fn client(url: &Url, authorities: Option<&str>) -> Result<Client, String> {
    install_crypto();
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let loopback =
        host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let builder = Client::builder()
        .user_agent(concat!("reverie/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .tcp_nodelay(true)
        // A redirection would carry the headers to another host.
        .redirect(redirect::Policy::none());
    let builder = if url.scheme() == "https" {
        builder.tls_certs_merge(authorities.map(read_authorities).unwrap_or_default())
    } else {
        let builder = builder.tls_certs_only([]);
        if loopback { builder.no_proxy() } else { builder }
    };
    builder.build().map_err(|error| format!("HTTPS cannot be set up: {error}"))
}

fn read_authorities(path: &str) -> Vec<Certificate> {
    let parse = |pem: Vec<u8>| Certificate::from_pem_bundle(&pem).map_err(io::Error::other);
    fs::read(path).and_then(parse).unwrap_or_else(|error| {
        tracing::warn!("NODE_EXTRA_CA_CERTS names {path}, which cannot be used: {error}");
        Vec::new()
    })
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

/// What went wrong, in words for the user, from the innermost cause that says something.
pub(crate) fn reason(error: &(dyn StdError + 'static)) -> String {
    let mut last = String::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            match error {
                StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => {
                    return "it wants a login; put an Authorization header into its configuration".to_owned();
                }
                StreamableHttpError::UnexpectedServerResponse(response) => {
                    let response = text::one_line(response, 300);
                    return format!("it answered with {}", response.trim_end_matches(':'));
                }
                // Not told as its cause.
                StreamableHttpError::Client(error) => {
                    cause = Some(error);
                    continue;
                }
                StreamableHttpError::UnexpectedContentType(_) => {
                    return "it does not answer like an MCP server; check the address".to_owned();
                }
                _ => {}
            }
        }
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::ConnectionRefused
        {
            return "it cannot be reached: connection refused".to_owned();
        }
        last = without_address(error);
        cause = error.source();
    }
    text::one_line(&last, 300)
}

/// An address may have a key in it.
fn without_address(error: &(dyn StdError + 'static)) -> String {
    match error.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request could not be sent".to_owned(),
        None => error.to_string(),
    }
}
