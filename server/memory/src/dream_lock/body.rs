//! What the lock file says.

use std::fmt;

use jiff::Timestamp;

use super::process::Process;

/// More than any lock says.
pub(super) const LONGEST: u64 = 4 << 10;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// Somebody dreams, or was killed while dreaming.
    Running(Running),
    /// Only a process's number: as we leave it behind; and as Claude Code writes it, both while it dreams and after.
    Bare(u32),
    /// Nothing that we understand.
    Other,
}

/// The first line is the bare number, which is all that Claude Code looks at.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Running {
    pub process: Process,
    pub acquired: Option<Timestamp>,
    pub token: String,
    pub previous: Option<Timestamp>,
}

impl Body {
    pub fn parse(bytes: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(bytes) else { return Self::Other };
        let mut lines = text.trim().lines();
        let Some(pid) = lines.next().and_then(|line| line.trim().parse().ok()).filter(|pid| *pid != 0) else {
            return Self::Other;
        };
        let rest: Vec<&str> = lines.collect();
        if rest.is_empty() {
            return Self::Bare(pid);
        }
        let value = |key: &str| {
            rest.iter().find_map(|line| line.trim().strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
        };
        let time = |key: &str| value(key).and_then(|text| text.parse().ok());
        let Some(token) = value("token") else { return Self::Other };
        let start = value("start").and_then(|start| start.parse().ok());
        Self::Running(Running {
            process: Process { pid, start, namespace: value("namespace") },
            acquired: time("acquired"),
            token,
            previous: time("previous"),
        })
    }
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, acquired, token, previous } = self;
        writeln!(f, "{}", process.pid)?;
        if let Some(start) = process.start {
            writeln!(f, "start={start}")?;
        }
        if let Some(namespace) = &process.namespace {
            writeln!(f, "namespace={namespace}")?;
        }
        if let Some(acquired) = acquired {
            writeln!(f, "acquired={acquired}")?;
        }
        writeln!(f, "token={token}")?;
        match previous {
            Some(previous) => writeln!(f, "previous={previous}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let whole = Running {
            process: Process { pid: 7, start: Some(9), namespace: Some("pid:[3]".to_owned()) },
            acquired: Some("2026-03-01T10:00:00.000000001Z".parse().unwrap()),
            token: "t".to_owned(),
            previous: Some("2026-02-27T10:00:00.5Z".parse().unwrap()),
        };
        expect![[r#"
            7
            start=9
            namespace=pid:[3]
            acquired=2026-03-01T10:00:00.000000001Z
            token=t
            previous=2026-02-27T10:00:00.5Z
        "#]]
        .assert_eq(&whole.to_string());
        assert_eq!(Body::parse(whole.to_string().as_bytes()), Body::Running(whole));
        let least =
            Running { process: Process::numbered(7), acquired: None, token: "t".to_owned(), previous: None };
        assert_eq!(least.to_string(), "7\ntoken=t\n");
        assert_eq!(Body::parse(least.to_string().as_bytes()), Body::Running(least));
    }

    #[test]
    fn what_others_write_is_a_number_or_nothing() {
        for text in ["12", "12\n", " 12 \r\n"] {
            assert_eq!(Body::parse(text.as_bytes()), Body::Bare(12), "{text:?}");
        }
        for text in ["", "\n", "0", "-1", "99999999999", "x", "12 13", "12\nx", "12\nstart=4\nacq", "token=t"]
        {
            assert_eq!(Body::parse(text.as_bytes()), Body::Other, "{text:?}");
        }
        assert_eq!(Body::parse(b"\xff\x00"), Body::Other);
    }
}
