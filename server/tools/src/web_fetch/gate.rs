//! Where WebFetch may go: which addresses, asked anew for every step of a redirection.
//!
//! A name is looked up once, and the connection goes to the addresses that were checked and to no others: what the
//! name means a moment later does not matter.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

use super::address::is_public;
use crate::tool::{FetchPolicy, ToolFailure};

/// Longer ones carry data out rather than name a page.
const MAX_URL_CHARS: usize = 2_000;

/// How to reach a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Only at these addresses.
    Checked(Vec<SocketAddr>),
    /// Wherever it is: the user's settings name it.
    Allowed,
}

/// A web address that may be asked about. `http` stays `http`: pages that have no other exist.
pub(super) fn parse(text: &str) -> Result<Url, ToolFailure> {
    let text = text.trim();
    if text.chars().count() > MAX_URL_CHARS {
        return Err(ToolFailure(format!("url is longer than {MAX_URL_CHARS} characters")));
    }
    let mut url = Url::parse(text).map_err(|error| {
        ToolFailure(format!("url is not a web address: {error}; give one that begins with https://"))
    })?;
    acceptable(&url).map_err(|why| ToolFailure(format!("url cannot be fetched: {why}")))?;
    url.set_fragment(None);
    Ok(url)
}

/// What holds for the address of a page wherever it comes from.
pub(super) fn acceptable(url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https addresses are fetched, not {}:", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it contains a user name or a password; leave them out".to_owned());
    }
    match url.host_str() {
        None | Some("") => Err("it names no host".to_owned()),
        Some(_) => Ok(()),
    }
}

/// The host as rules and settings name it.
pub(super) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
}

pub(super) fn is_allowed(url: &Url, policy: &FetchPolicy) -> bool {
    let host = host(url);
    let with_port = format!("{host}:{}", url.port_or_known_default().unwrap_or_default());
    policy.allow_private.iter().any(|allowed| {
        let allowed = allowed.trim().to_ascii_lowercase();
        allowed == host || allowed == with_port || format!("[{allowed}]") == host
    })
}

/// Looks up the host and leaves only addresses on the public internet.
pub(super) async fn way(url: &Url, policy: &FetchPolicy) -> Result<Way, ToolFailure> {
    if is_allowed(url, policy) {
        return Ok(Way::Allowed);
    }
    let host = host(url);
    let port = url.port_or_known_default().unwrap_or_default();
    let bare = host.trim_matches(['[', ']']);
    // `Url` has already turned 0x7f.1, 017700000001 and the like into what they mean.
    let found: Vec<SocketAddr> = match bare.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => match tokio::net::lookup_host((bare, port)).await {
            Ok(addresses) => addresses.collect(),
            Err(error) => {
                tracing::debug!(host, %error, "a name does not resolve");
                return Err(ToolFailure(format!(
                    "{host} cannot be found: the name does not resolve; check its spelling"
                )));
            }
        },
    };
    public(&host, found).map(Way::Checked)
}

fn public(host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, ToolFailure> {
    let (public, private): (Vec<_>, Vec<_>) = found.into_iter().partition(|address| is_public(address.ip()));
    if !public.is_empty() {
        return Ok(public);
    }
    Err(ToolFailure(match private.first() {
        None => format!("{host} cannot be found: the name has no address"),
        Some(address) => format!(
            "{host} is at {}, an address that is private or of this machine, which is not fetched; the user can allow it with webFetch.allowPrivate in the settings",
            address.ip()
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allowed: &[&str]) -> FetchPolicy {
        FetchPolicy { allow_private: allowed.iter().map(ToString::to_string).collect() }
    }

    #[test]
    fn only_plain_web_addresses_are_taken() {
        let words = |text: &str| parse(text).map_or_else(|ToolFailure(words)| words, |url| url.to_string());
        assert_eq!(words(" https://Example.com/a b#part "), "https://example.com/a%20b");
        assert_eq!(words("http://example.com:8080"), "http://example.com:8080/");
        assert_eq!(
            words("example.com"),
            "url is not a web address: relative URL without a base; give one that begins with https://"
        );
        assert_eq!(
            words("file:///etc/passwd"),
            "url cannot be fetched: only http and https addresses are fetched, not file:"
        );
        assert_eq!(
            words("https://user@example.com"),
            "url cannot be fetched: it contains a user name or a password; leave them out"
        );
        assert_eq!(
            words("https://:x@example.com"),
            "url cannot be fetched: it contains a user name or a password; leave them out"
        );
        assert_eq!(
            words("https://"),
            "url is not a web address: empty host; give one that begins with https://"
        );
        assert_eq!(
            words(&format!("https://a.b/{}", "x".repeat(2_000))),
            "url is longer than 2000 characters"
        );
    }

    #[tokio::test]
    async fn every_spelling_of_a_private_address_is_refused() {
        for text in [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f000001/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://0177.0.0.1/",
            "http://127.0.0.1./",
            "http://１２７.0.0.1/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:a9fe:a9fe]/",
            "http://169.254.169.254/latest/meta-data/",
            "http://0/",
            "http://localhost/",
            "http://LOCALHOST./",
        ] {
            let result = way(&parse(text).unwrap(), &policy(&[])).await;
            let ToolFailure(words) = result.expect_err(text);
            assert!(
                words.contains("private or of this machine") || words.contains("resolve"),
                "{text}: {words}"
            );
        }
    }

    #[test]
    fn of_several_addresses_only_the_public_are_connected_to() {
        let addresses = ["10.0.0.1:80", "1.1.1.1:80", "[::1]:80"].map(|text| text.parse().unwrap());
        assert_eq!(public("h", addresses.to_vec()).unwrap(), ["1.1.1.1:80".parse().unwrap()]);
        assert!(public("h", Vec::new()).is_err());
    }

    #[tokio::test]
    async fn what_the_settings_name_is_allowed() {
        let check = async |text: &str, allowed: &[&str]| {
            way(&parse(text).unwrap(), &policy(allowed)).await.is_ok_and(|way| way == Way::Allowed)
        };
        assert!(check("http://127.0.0.1:8080/", &["127.0.0.1:8080"]).await);
        assert!(check("http://127.0.0.1:8080/", &["127.0.0.1"]).await);
        assert!(check("http://127.0.0.1/", &["127.0.0.1:80"]).await);
        assert!(check("https://Wiki.corp/", &["wiki.CORP"]).await);
        assert!(check("http://[::1]:3000/", &["[::1]:3000"]).await);
        assert!(check("http://[::1]:3000/", &["::1"]).await);
        assert!(!check("http://127.0.0.1:8081/", &["127.0.0.1:8080"]).await);
        assert!(!check("http://127.0.0.1/", &["localhost", ""]).await);
    }
}
