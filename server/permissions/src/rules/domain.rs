//! The specifier of a `WebFetch` rule: `domain:example.com`, or `domain:*.example.com` for the hosts below it.

use super::Reading;

#[derive(Clone, Debug)]
pub(super) struct DomainPattern {
    /// In lower case, without the dot that may end it.
    name: String,
    /// The hosts below the name, not the name itself.
    below: bool,
}

impl DomainPattern {
    pub(super) fn parse(specifier: &str) -> Result<Self, String> {
        let Some(domain) = specifier.strip_prefix("domain:") else {
            return Err("it must name a domain, as in `WebFetch(domain:example.com)`".to_owned());
        };
        let name = plain(domain.trim());
        let (name, below) = match name.strip_prefix("*.") {
            Some(rest) => (rest.to_owned(), true),
            None => (name, false),
        };
        // An address of version 6 is written in brackets.
        let is_host = |character: char| character.is_alphanumeric() || "-._[]:".contains(character);
        if name.is_empty() || !name.chars().all(is_host) {
            return Err("a domain is a name such as `example.com` or `*.example.com`".to_owned());
        }
        Ok(Self { name, below })
    }

    /// A permission is for exactly what it names; a restriction reaches the hosts below, too.
    pub(super) fn matches(&self, host: &str, reading: Reading) -> bool {
        let host = plain(host);
        let is_below = host.strip_suffix(self.name.as_str()).is_some_and(|rest| rest.ends_with('.'));
        match reading {
            Reading::Permits if self.below => is_below,
            Reading::Permits => host == self.name,
            Reading::Restricts => is_below || host == self.name,
        }
    }
}

fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_lowercase()
}
