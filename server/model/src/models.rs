//! Which model a name means and who serves it, from settings and environment.
//!
//! Making it costs nothing: clients are built for the first request, or ahead of it on another thread.

use std::{fmt, path::PathBuf, sync::Arc};

use settings::{Environment, Settings};

use crate::{
    ModelError, Provider,
    anthropic::{self, Anthropic, Credential, missing_key},
    catalogue::{self, ANTHROPIC, ModelSpec, OFFLINE, OPENAI},
    http::{Http, Patience},
    offline::Offline,
    openai::{self, OpenAi},
    secret::Secret,
};

/// Like Claude Code: a token was set on purpose, for a gateway, and comes first; a key may be there for other programs.
const TOKEN: &str = "ANTHROPIC_AUTH_TOKEN";

pub struct Models {
    environment: Environment,
    settings: Settings,
    http: Http,
    anthropic: Arc<Anthropic>,
    openai: Arc<OpenAi>,
    offline: Arc<Offline>,
}

/// A model and who serves it.
pub type Resolved = (ModelSpec, Arc<dyn Provider>);

impl Models {
    pub fn new(environment: &Environment, settings: &Settings) -> Self {
        let environment = settings.environment(environment);
        let http = Http::new(extra_authorities(&environment));
        let credential = secret(&environment, TOKEN)
            .map(Credential::Token)
            .or_else(|| secret(&environment, "ANTHROPIC_API_KEY").map(Credential::ApiKey));
        let anthropic = Anthropic::new(anthropic::Config {
            base_url: anthropic_address(&environment).to_owned(),
            credential,
            http: http.clone(),
            patience: Patience::default(),
        });
        let openai = OpenAi::new(openai::Config {
            base_url: openai_address(&environment).to_owned(),
            key: secret(&environment, "OPENAI_API_KEY"),
            http: http.clone(),
            patience: openai::LOCAL_PATIENCE,
        });
        Self {
            environment,
            settings: settings.clone(),
            http,
            anthropic: Arc::new(anthropic),
            openai: Arc::new(openai),
            offline: Arc::new(Offline::new()),
        }
    }

    /// `None` and `inherit` mean the default: the setting, `ANTHROPIC_MODEL`, what has a key, else offline.
    pub fn resolve(&self, name: Option<&str>) -> Result<Resolved, ModelError> {
        let name = match name.map(str::trim) {
            None | Some("" | "inherit") => self.default_name(),
            Some(name) => name.to_owned(),
        };
        let spec = self.spec(&name).ok_or_else(|| self.unknown(&name))?;
        let provider: Arc<dyn Provider> = match spec.provider {
            ANTHROPIC if !self.has_anthropic() => return Err(missing_key()),
            OPENAI if !self.has_openai() => return Err(missing_openai()),
            ANTHROPIC => Arc::clone(&self.anthropic) as Arc<dyn Provider>,
            OPENAI => Arc::clone(&self.openai) as Arc<dyn Provider>,
            _ => Arc::clone(&self.offline) as Arc<dyn Provider>,
        };
        Ok((spec, provider))
    }

    /// The variable that requests to a provider take their credential from; `None`: they carry none.
    pub fn credential_variable(&self, provider: &str) -> Option<&'static str> {
        let names: &[&'static str] = match provider {
            ANTHROPIC => &[TOKEN, "ANTHROPIC_API_KEY"],
            OPENAI => &["OPENAI_API_KEY"],
            _ => &[],
        };
        names.iter().copied().find(|name| self.environment.get(name).is_some())
    }

    /// Models worth offering, and whether each can be used as things are.
    pub fn list(&self) -> Vec<(ModelSpec, bool)> {
        let default = self.default_name();
        let mut names: Vec<&str> = catalogue::current().collect();
        names.extend(self.settings.models.keys().map(String::as_str));
        names.extend([default.as_str(), OFFLINE]);
        let mut list: Vec<(ModelSpec, bool)> = Vec::new();
        for spec in names.into_iter().filter_map(|name| self.spec(name)) {
            if !list.iter().any(|(listed, _)| listed.id() == spec.id()) {
                let available = match spec.provider {
                    ANTHROPIC => self.has_anthropic(),
                    OPENAI => self.has_openai(),
                    _ => true,
                };
                list.push((spec, available));
            }
        }
        list
    }

    /// Builds the HTTP client that the default model needs, on another thread.
    pub fn warm_up(&self) {
        let base_url = match self.spec(&self.default_name()).map(|spec| spec.provider) {
            Some(ANTHROPIC) if self.has_anthropic() => anthropic_address(&self.environment).to_owned(),
            Some(OPENAI) if self.has_openai() => openai_address(&self.environment).to_owned(),
            _ => return,
        };
        let http = self.http.clone();
        let built =
            std::thread::Builder::new().name("http".to_owned()).spawn(move || http.prepare(&base_url));
        if let Err(error) = built {
            tracing::debug!("no thread to build the HTTP client on, the first request will: {error}");
        }
    }

    fn default_name(&self) -> String {
        let table = || self.settings.models.keys().find(|id| id.starts_with("openai/")).map(String::as_str);
        let get = |name: &str| self.environment.get(name);
        let chosen = self.settings.model.as_deref().or_else(|| get("ANTHROPIC_MODEL"));
        if let Some(name) = chosen.map(str::trim).filter(|name| !name.is_empty() && *name != "inherit") {
            return name.to_owned();
        }
        if self.has_anthropic() {
            return catalogue::DEFAULT_CLAUDE.to_owned();
        }
        if !self.has_openai() {
            return OFFLINE.to_owned();
        }
        match get("OPENAI_MODEL") {
            Some(name) if name.starts_with("openai/") => name.to_owned(),
            Some(name) => format!("{OPENAI}/{name}"),
            None => match table() {
                Some(id) => id.to_owned(),
                // A server of one's own often has one model and does not care what it is called. A mere key may
                // be there for other programs: without a word about models nothing is sent anywhere.
                None if get("OPENAI_BASE_URL").is_some() => format!("{OPENAI}/default"),
                None => OFFLINE.to_owned(),
            },
        }
    }

    fn spec(&self, name: &str) -> Option<ModelSpec> {
        let (provider, model) = catalogue::parse(name, self.has_openai())?;
        Some(catalogue::spec(provider, model, &self.environment, &self.settings))
    }

    fn has_anthropic(&self) -> bool {
        self.environment.get("ANTHROPIC_API_KEY").or(self.environment.get("ANTHROPIC_AUTH_TOKEN")).is_some()
    }

    fn has_openai(&self) -> bool {
        self.environment.get("OPENAI_API_KEY").or(self.environment.get("OPENAI_BASE_URL")).is_some()
    }

    fn unknown(&self, name: &str) -> ModelError {
        let known: Vec<String> = self.list().iter().map(|(spec, _)| spec.id()).collect();
        ModelError::Fatal {
            code: "model_not_found",
            message: format!(
                "there is no model called {name}; known are opus, sonnet, haiku, {}, and any openai/MODEL of a server at \
                 OPENAI_BASE_URL",
                known.join(", ")
            ),
        }
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("default", &self.default_name()).finish_non_exhaustive()
    }
}

fn missing_openai() -> ModelError {
    ModelError::Fatal {
        code: "auth",
        message: "no address and no key for openai: set OPENAI_BASE_URL (a server of your own, for example \
                  http://127.0.0.1:11434) or OPENAI_API_KEY, and start again"
            .to_owned(),
    }
}

fn anthropic_address(environment: &Environment) -> &str {
    environment.get("ANTHROPIC_BASE_URL").unwrap_or(anthropic::DEFAULT_BASE_URL)
}

fn openai_address(environment: &Environment) -> &str {
    environment.get("OPENAI_BASE_URL").unwrap_or(openai::DEFAULT_BASE_URL)
}

fn secret(environment: &Environment, name: &str) -> Option<Secret> {
    environment.get(name).map(Secret::new)
}

/// `SSL_CERT_FILE` is honoured as one of the system's own places; what it names need not be read twice.
fn extra_authorities(environment: &Environment) -> Option<PathBuf> {
    let extra = environment.get("NODE_EXTRA_CA_CERTS")?;
    (environment.get("SSL_CERT_FILE") != Some(extra)).then(|| PathBuf::from(extra))
}

#[cfg(test)]
mod tests;
