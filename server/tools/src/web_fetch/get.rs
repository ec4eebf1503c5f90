//! One page over HTTP: each step to a checked address, bounded in steps and bytes. The time is the caller's.

use std::{
    error::Error as StdError,
    net::SocketAddr,
    sync::{Arc, Once},
};

use futures_util::future::ready;
use reqwest::{
    Client, Response, Url,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION},
    redirect,
};

use super::gate::{self, Way};
use crate::tool::{FetchPolicy, ToolFailure, blocking};

pub(super) const MAX_BYTES: usize = 5 * 1024 * 1024;
const MAX_STEPS: usize = 5;

/// What came of it.
pub(super) enum Reply {
    Page(Body),
    /// Another host has it; whether that is asked is not for us to say.
    Elsewhere(Url),
}

pub(super) struct Body {
    /// Where it came from in the end.
    pub(super) url: Url,
    /// As the server says it.
    pub(super) content_type: Option<String>,
    pub(super) bytes: Vec<u8>,
    /// Whether there is more than [`MAX_BYTES`].
    pub(super) cut: bool,
}

/// `wanted` sees what the server calls the content before it is read.
pub(super) async fn get(
    start: &Url,
    policy: &FetchPolicy,
    wanted: impl Fn(&Url, Option<&str>) -> Result<(), ToolFailure>,
) -> Result<Reply, ToolFailure> {
    let mut url = start.clone();
    for _ in 0..=MAX_STEPS {
        let response = step(&url, policy).await?;
        let status = response.status();
        if matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            let next = next(&url, &response)?;
            if !is_same_site(&url, &next) {
                return Ok(Reply::Elsewhere(next));
            }
            url = next;
            continue;
        }
        if !status.is_success() {
            return Err(ToolFailure(format!("{url} answered {status}")));
        }
        let content_type = header(response.headers(), CONTENT_TYPE).map(str::to_owned);
        let encoding = header(response.headers(), CONTENT_ENCODING).unwrap_or("identity").trim();
        if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
            return Err(ToolFailure(format!(
                "{url} answered compressed ({encoding}), which was not asked for"
            )));
        }
        wanted(&url, content_type.as_deref())?;
        return read(url, content_type, response).await.map(Reply::Page);
    }
    Err(ToolFailure(format!("{start} redirects more than {MAX_STEPS} times")))
}

async fn step(url: &Url, policy: &FetchPolicy) -> Result<Response, ToolFailure> {
    let way = gate::way(url, policy).await?;
    let client = blocking({
        let (url, way) = (url.clone(), way.clone());
        move || client(&url, &way)
    })
    .await?;
    let request = client
        .get(url.clone())
        .header(
            ACCEPT,
            "text/markdown, text/html, application/xhtml+xml, text/plain, application/json, */*;q=0.5",
        )
        // What is not packed cannot burst.
        .header(ACCEPT_ENCODING, "identity");
    request.send().await.map_err(|error| unreachable(url, &way, &error))
}

/// A client for one step, which can reach nothing but what was checked.
fn client(url: &Url, way: &Way) -> Result<Client, ToolFailure> {
    install_crypto();
    let mut builder = Client::builder()
        .user_agent(concat!("Mozilla/5.0 (compatible; reverie/", env!("CARGO_PKG_VERSION"), ")"))
        .redirect(redirect::Policy::none())
        .referer(false);
    let host = gate::host(url);
    match way {
        Way::Checked(addresses) => {
            // A proxy would look the name up by itself, and so could be sent anywhere.
            builder = builder.no_proxy().dns_resolver(Arc::new(Only(addresses.clone())));
        }
        Way::Allowed if is_loopback(&host) => builder = builder.no_proxy(),
        Way::Allowed => {}
    }
    if url.scheme() == "http" {
        // Reading the system's certificates takes longer than many a page.
        builder = builder.tls_certs_only([]);
    }
    builder.build().map_err(|error| ToolFailure(format!("HTTPS cannot be set up: {}", last_cause(&error))))
}

/// Knows these addresses, whatever the name.
struct Only(Vec<SocketAddr>);

impl Resolve for Only {
    fn resolve(&self, _name: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
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

fn next(url: &Url, response: &Response) -> Result<Url, ToolFailure> {
    let location = header(response.headers(), LOCATION);
    let target = location.and_then(|location| url.join(location).ok());
    let Some(mut target) = target else {
        return Err(ToolFailure(format!("{url} redirects, but not to a web address")));
    };
    gate::acceptable(&target)
        .map_err(|why| ToolFailure(format!("{url} redirects to an address that cannot be fetched: {why}")))?;
    target.set_fragment(None);
    Ok(target)
}

/// The same host but for `www.`, on the same port or on the usual ones, and no less safe.
fn is_same_site(from: &Url, to: &Url) -> bool {
    let name = |url: &Url| {
        let host = gate::host(url);
        host.strip_prefix("www.").map_or(host.clone(), str::to_owned)
    };
    let usual = |url: &Url| url.port().is_none();
    let same_port = from.port_or_known_default() == to.port_or_known_default();
    let less_safe = from.scheme() == "https" && to.scheme() == "http";
    name(from) == name(to) && (same_port || usual(from) && usual(to)) && !less_safe
}

async fn read(url: Url, content_type: Option<String>, mut response: Response) -> Result<Body, ToolFailure> {
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await;
        match chunk
            .map_err(|error| ToolFailure(format!("the answer of {url} broke off: {}", last_cause(&error))))?
        {
            None => return Ok(Body { url, content_type, bytes, cut: false }),
            Some(chunk) => {
                let room = MAX_BYTES - bytes.len();
                bytes.extend_from_slice(chunk.get(..room.min(chunk.len())).unwrap_or_default());
                if chunk.len() > room {
                    return Ok(Body { url, content_type, bytes, cut: true });
                }
            }
        }
    }
}

fn header(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn unreachable(url: &Url, way: &Way, error: &reqwest::Error) -> ToolFailure {
    let host = gate::host(url);
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let proxy = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];
    let hint = match (way, proxy.iter().find(|name| set(name))) {
        (Way::Checked(_), Some(name)) => format!(
            "; the proxy in {name} is used only for hosts in webFetch.allowPrivate, because addresses behind it cannot be checked"
        ),
        _ => String::new(),
    };
    ToolFailure(format!("{host} cannot be reached: {}{hint}", last_cause(error)))
}

fn last_cause(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(StdError::source(error), |error| (*error).source());
    causes.last().map_or_else(|| "no reason given".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_site_is_followed() {
        let same = |from: &str, to: &str| is_same_site(&Url::parse(from).unwrap(), &Url::parse(to).unwrap());
        assert!(same("http://a.example/x", "https://a.example/y"));
        assert!(same("https://a.example", "https://www.a.example"));
        assert!(same("https://www.a.example", "https://A.example."));
        assert!(same("http://a.example:8080", "http://a.example:8080/z"));
        assert!(!same("https://a.example", "http://a.example"));
        assert!(!same("https://a.example", "https://b.example"));
        assert!(!same("https://a.example", "https://b.a.example"));
        assert!(!same("https://a.example", "https://a.example.evil.example"));
        assert!(!same("http://a.example", "http://a.example:6379"));
        assert!(!same("https://www.www.a.example", "https://a.example"));
    }
}
