use std::path::PathBuf;

use super::*;
use crate::{Scope, Transport};

fn config() -> ServerConfig {
    let transport = Transport::Stdio {
        command: "/no/such/program".to_owned(),
        args: vec!["${TOKEN}".to_owned()],
        env: BTreeMap::new(),
    };
    let fingerprint = "1".to_owned();
    ServerConfig {
        name: "broken".to_owned(),
        scope: Scope::User,
        transport,
        fingerprint,
        source: String::new(),
    }
}

#[tokio::test]
async fn a_server_that_could_not_be_started_is_tried_again_after_a_while() {
    let servers = Servers::new(Options::default());
    let keep = |now, config, variables: &[(&str, &str)]| {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let environment = Environment::new(PathBuf::from("/"), variables);
        servers.keep_at(now, vec![config], Path::new("/"), &environment);
    };
    let status = async || {
        servers.tools(Duration::from_secs(60)).await;
        match servers.status().as_slice() {
            [(_, Status::Failed(why))] => why.clone(),
            other => format!("{other:?}"),
        }
    };
    let unset = "cannot be used: the environment variable TOKEN is not set";
    let missing = "cannot be started: /no/such/program: No such file or directory (os error 2)";
    keep(Instant::now(), config(), &[]);
    assert_eq!(status().await, unset);

    let soon = Instant::now() + UNTIL_RETRIED.saturating_sub(Duration::from_secs(10));
    keep(soon, config(), &[("TOKEN", "x")]);
    assert!(matches!(servers.status().as_slice(), [(_, Status::Failed(_))]));
    assert_eq!(status().await, unset);

    // With what is known by then.
    keep(Instant::now() + UNTIL_RETRIED, config(), &[("TOKEN", "x")]);
    assert_eq!(servers.status(), [("broken".to_owned(), Status::Starting)]);
    assert_eq!(status().await, missing);

    // What would run something else now is not made to wait.
    keep(Instant::now(), ServerConfig { fingerprint: "2".to_owned(), ..config() }, &[]);
    assert_eq!(status().await, unset);
}
