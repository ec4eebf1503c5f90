//! What is known about models: names and aliases, limits, prices. The settings' table comes before the built-in one.

use conversation::Usage;
use settings::{Environment, ModelSettings, Settings};

/// One model, as a session uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// `anthropic`, `openai` or `offline`.
    pub provider: &'static str,
    /// What a [`Request`](crate::Request) calls it; a `[1m]` at the end is a part of it.
    pub name: String,
    pub display_name: String,
    /// Tokens, input and output together.
    pub context_window: u64,
    pub max_output_tokens: u64,
    pub prices: Prices,
    /// In words, as the system prompt says it: `January 2025`.
    pub knowledge_cutoff: Option<&'static str>,
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
    /// For requests whose prompt is longer than a limit.
    pub long_prompt: Option<LongPrompt>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LongPrompt {
    pub over_tokens: u64,
    pub input_factor: f64,
    pub output_factor: f64,
}

impl Prices {
    /// "A read costs 0.1, a write 1.25, plain input 1."
    fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: input * 0.1, cache_write: input * 1.25, long_prompt: None }
    }
}

impl ModelSpec {
    /// `provider/model`.
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }

    /// What one response cost. Sum costs, not usages: the price depends on the length of each prompt.
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        // What a server reports may be anything.
        let prompt = usage
            .input_tokens
            .saturating_add(usage.cache_read_input_tokens)
            .saturating_add(usage.cache_creation_input_tokens);
        let long = self.prices.long_prompt.filter(|long| prompt > long.over_tokens);
        let (input_factor, output_factor) =
            long.map_or((1.0, 1.0), |long| (long.input_factor, long.output_factor));
        let input = usage.input_tokens as f64 * self.prices.input
            + usage.cache_read_input_tokens as f64 * self.prices.cache_read
            + usage.cache_creation_input_tokens as f64 * self.prices.cache_write;
        let output = usage.output_tokens as f64 * self.prices.output;
        (input * input_factor + output * output_factor) / 1e6
    }
}

pub const ANTHROPIC: &str = "anthropic";
pub const OPENAI: &str = "openai";
pub const OFFLINE: &str = "offline";

/// "Default context window 200,000". Newer models take a million, which is asked for with `[1m]`: a window that
/// long makes every request of a long session dear.
const WINDOW: u64 = 200_000;
const LONG_WINDOW: u64 = 1_000_000;
/// Chat-completions servers do not say; most models of the last years have this much.
const OPENAI_WINDOW: u64 = 128_000;
const LONG_SUFFIX: &str = "[1m]";

struct Known {
    /// Dated releases of it have the date behind another hyphen.
    name: &'static str,
    display_name: &'static str,
    max_output_tokens: u64,
    input: f64,
    output: f64,
    knowledge_cutoff: Option<&'static str>,
    long_prompt: Option<LongPrompt>,
}

const fn known(
    name: &'static str,
    display_name: &'static str,
    max_output_tokens: u64,
    (input, output): (f64, f64),
    knowledge_cutoff: &'static str,
) -> Known {
    let knowledge_cutoff = if knowledge_cutoff.is_empty() { None } else { Some(knowledge_cutoff) };
    Known { name, display_name, max_output_tokens, input, output, knowledge_cutoff, long_prompt: None }
}

const fn dearer_over(over_tokens: u64, input_factor: f64, output_factor: f64, known: Known) -> Known {
    let long_prompt = Some(LongPrompt { over_tokens, input_factor, output_factor });
    Known { long_prompt, ..known }
}

/// As Anthropic publishes them. The first of a family is what its alias means.
#[rustfmt::skip]
const CLAUDE: &[Known] = &[
    known("claude-opus-5-5", "Claude Opus 5.5", 128_000, (4.0, 20.0), "June 2026"),
    known("claude-sonnet-5-5", "Claude Sonnet 5.5", 128_000, (2.0, 10.0), "June 2026"),
    dearer_over(100_000, 5.0, 5.0, known("claude-haiku-5-5", "Claude Haiku 5.5", 128_000, (0.1, 0.5), "June 2026")),
    known("claude-fable-5-1", "Claude Fable 5.1", 128_000, (10.0, 50.0), "June 2026"),
    known("claude-opus-5", "Claude Opus 5", 128_000, (5.0, 25.0), "May 2026"),
    known("claude-sonnet-5", "Claude Sonnet 5", 128_000, (2.0, 10.0), ""),
    known("claude-opus-4-8", "Claude Opus 4.8", 128_000, (5.0, 25.0), ""),
    known("claude-opus-4-7", "Claude Opus 4.7", 128_000, (5.0, 25.0), ""),
    known("claude-opus-4-6", "Claude Opus 4.6", 128_000, (5.0, 25.0), "May 2025"),
    known("claude-sonnet-4-6", "Claude Sonnet 4.6", 128_000, (3.0, 15.0), "August 2025"),
    known("claude-opus-4-5", "Claude Opus 4.5", 64_000, (5.0, 25.0), "May 2025"),
    dearer_over(200_000, 2.0, 1.5, known("claude-sonnet-4-5", "Claude Sonnet 4.5", 64_000, (3.0, 15.0), "January 2025")),
    known("claude-haiku-4-5", "Claude Haiku 4.5", 64_000, (1.0, 5.0), "February 2025"),
    known("claude-opus-4-1", "Claude Opus 4.1", 32_000, (15.0, 75.0), "January 2025"),
    known("claude-opus-4", "Claude Opus 4", 32_000, (15.0, 75.0), "January 2025"),
    dearer_over(200_000, 2.0, 1.5, known("claude-sonnet-4", "Claude Sonnet 4", 64_000, (3.0, 15.0), "January 2025")),
    known("claude-3-7-sonnet", "Claude Sonnet 3.7", 64_000, (3.0, 15.0), "October 2024"),
    known("claude-3-5-sonnet", "Claude Sonnet 3.5", 8_192, (3.0, 15.0), "April 2024"),
    known("claude-3-5-haiku", "Claude Haiku 3.5", 8_192, (0.8, 4.0), "July 2024"),
    known("claude-3-opus", "Claude Opus 3", 4_096, (15.0, 75.0), "August 2023"),
    known("claude-3-haiku", "Claude Haiku 3", 4_096, (0.25, 1.25), "August 2023"),
];

const ALIASES: &[(&str, &str)] =
    &[("opus", "claude-opus-5-5"), ("sonnet", "claude-sonnet-5-5"), ("haiku", "claude-haiku-5-5")];

/// The model of a key without a word about models.
pub(crate) const DEFAULT_CLAUDE: &str = "claude-sonnet-5-5";

/// The names to offer: current models, newest generation first.
pub(crate) fn current() -> impl Iterator<Item = &'static str> {
    CLAUDE.iter().take(4).map(|known| known.name)
}

/// Provider and model of a name that a person wrote. `openai` says whether bare names may mean that provider.
pub(crate) fn parse(name: &str, openai: bool) -> Option<(&'static str, String)> {
    let name = name.trim();
    match name.split_once('/') {
        Some((ANTHROPIC, model)) if !model.is_empty() => Some((ANTHROPIC, unalias(model))),
        Some((OPENAI, model)) if !model.is_empty() => Some((OPENAI, model.to_owned())),
        Some((OFFLINE, OFFLINE)) => Some((OFFLINE, OFFLINE.to_owned())),
        _ if name.eq_ignore_ascii_case(OFFLINE) => Some((OFFLINE, OFFLINE.to_owned())),
        _ if unalias(name).starts_with("claude") => Some((ANTHROPIC, unalias(name))),
        _ if openai && !name.is_empty() => Some((OPENAI, name.to_owned())),
        _ => None,
    }
}

fn unalias(name: &str) -> String {
    let bare = name.strip_suffix(LONG_SUFFIX).unwrap_or(name);
    let suffix = name.get(bare.len()..).unwrap_or_default();
    match ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(bare)) {
        Some((_, model)) => format!("{model}{suffix}"),
        None => name.to_owned(),
    }
}

pub(crate) fn spec(
    provider: &'static str,
    name: String,
    environment: &Environment,
    settings: &Settings,
) -> ModelSpec {
    let bare = name.strip_suffix(LONG_SUFFIX).unwrap_or(&name);
    let known = (provider == ANTHROPIC).then(|| find(bare)).flatten();
    let similar = (provider == ANTHROPIC).then(|| known.or_else(|| family(bare))).flatten();
    let table = |key: &str| settings.models.get(key).copied();
    let own: ModelSettings = table(&format!("{provider}/{name}"))
        .or_else(|| table(&format!("{provider}/{bare}")))
        .or_else(|| table(bare))
        .unwrap_or_default();
    let prices = match (own.input_price, own.output_price, similar) {
        (None, None, Some(similar)) => {
            Prices { long_prompt: similar.long_prompt, ..Prices::new(similar.input, similar.output) }
        }
        (input, output, similar) => Prices::new(
            input.or(similar.map(|similar| similar.input)).unwrap_or_default(),
            output.or(similar.map(|similar| similar.output)).unwrap_or_default(),
        ),
    };
    let (default_window, default_output) = match provider {
        ANTHROPIC => (WINDOW, 32_000),
        OPENAI => (OPENAI_WINDOW, 8_192),
        _ => (WINDOW, 8_192),
    };
    let context_window = if name.ends_with(LONG_SUFFIX) {
        LONG_WINDOW
    } else {
        own.context_window.or_else(|| window_of(environment)).unwrap_or(default_window)
    };
    let max_output = own.max_output_tokens.or(known.map(|known| known.max_output_tokens));
    let display_name = match known {
        Some(known) if name != bare => format!("{} (1M)", known.display_name),
        Some(known) => known.display_name.to_owned(),
        None if provider == OFFLINE => "Offline".to_owned(),
        None => name.clone(),
    };
    ModelSpec {
        provider,
        display_name,
        context_window,
        // An answer as long as the window would leave no room for the question.
        max_output_tokens: max_output.unwrap_or(default_output).min(context_window / 2).max(1),
        prices,
        knowledge_cutoff: known.and_then(|known| known.knowledge_cutoff),
        name,
    }
}

fn window_of(environment: &Environment) -> Option<u64> {
    environment.get("CLAUDE_CODE_MAX_CONTEXT_TOKENS")?.trim().parse().ok().filter(|tokens| *tokens > 0)
}

/// The longest known name that `name` is, or continues behind a separator.
fn find(name: &str) -> Option<&'static Known> {
    let continues = |known: &&Known| {
        name.strip_prefix(known.name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
    };
    CLAUDE.iter().filter(continues).max_by_key(|known| known.name.len())
}

/// A model that came after this table: the prices of its family are a better guess than none, because budgets
/// are kept by them.
fn family(name: &str) -> Option<&'static Known> {
    let family = ALIASES.iter().find(|(alias, _)| name.contains(alias))?;
    find(family.1)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fmt::Write as _, path::PathBuf};

    use expect_test::expect;

    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let owned = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Environment::new(PathBuf::from("/home/nobody"), owned)
    }

    fn print(spec: &ModelSpec) -> String {
        let ModelSpec { display_name, context_window, max_output_tokens, prices, knowledge_cutoff, .. } =
            spec;
        let cutoff = knowledge_cutoff.unwrap_or("-");
        let (input, output) = (prices.input, prices.output);
        format!(
            "{} = {display_name}, {context_window} / {max_output_tokens}, ${input} / ${output}, {cutoff}",
            spec.id()
        )
    }

    #[test]
    fn names_of_all_kinds() {
        let mut out = String::new();
        for name in [
            "sonnet",
            "Opus",
            "haiku[1m]",
            "anthropic/sonnet",
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-20250514[1m]",
            "claude-opus-4-20250514",
            "claude-opus-9",
            "claude-unheard-of",
            "anthropic/private-model",
            "offline",
            "offline/offline",
            "openai/qwen3:8b",
            "openai/meta-llama/Llama-3.3",
            "qwen3:8b",
            "meta-llama/Llama-3.3",
        ] {
            match parse(name, true) {
                Some((provider, model)) => {
                    let spec = spec(provider, model, &environment(&[]), &Settings::default());
                    writeln!(out, "{name} → {}", print(&spec)).unwrap();
                }
                None => writeln!(out, "{name} → nothing").unwrap(),
            }
        }
        expect![[r#"
            sonnet → anthropic/claude-sonnet-5-5 = Claude Sonnet 5.5, 200000 / 100000, $2 / $10, June 2026
            Opus → anthropic/claude-opus-5-5 = Claude Opus 5.5, 200000 / 100000, $4 / $20, June 2026
            haiku[1m] → anthropic/claude-haiku-5-5[1m] = Claude Haiku 5.5 (1M), 1000000 / 128000, $0.1 / $0.5, June 2026
            anthropic/sonnet → anthropic/claude-sonnet-5-5 = Claude Sonnet 5.5, 200000 / 100000, $2 / $10, June 2026
            claude-sonnet-4-5 → anthropic/claude-sonnet-4-5 = Claude Sonnet 4.5, 200000 / 64000, $3 / $15, January 2025
            claude-sonnet-4-5-20250929 → anthropic/claude-sonnet-4-5-20250929 = Claude Sonnet 4.5, 200000 / 64000, $3 / $15, January 2025
            claude-sonnet-4-20250514[1m] → anthropic/claude-sonnet-4-20250514[1m] = Claude Sonnet 4 (1M), 1000000 / 64000, $3 / $15, January 2025
            claude-opus-4-20250514 → anthropic/claude-opus-4-20250514 = Claude Opus 4, 200000 / 32000, $15 / $75, January 2025
            claude-opus-9 → anthropic/claude-opus-9 = claude-opus-9, 200000 / 32000, $4 / $20, -
            claude-unheard-of → anthropic/claude-unheard-of = claude-unheard-of, 200000 / 32000, $0 / $0, -
            anthropic/private-model → anthropic/private-model = private-model, 200000 / 32000, $0 / $0, -
            offline → offline/offline = Offline, 200000 / 8192, $0 / $0, -
            offline/offline → offline/offline = Offline, 200000 / 8192, $0 / $0, -
            openai/qwen3:8b → openai/qwen3:8b = qwen3:8b, 128000 / 8192, $0 / $0, -
            openai/meta-llama/Llama-3.3 → openai/meta-llama/Llama-3.3 = meta-llama/Llama-3.3, 128000 / 8192, $0 / $0, -
            qwen3:8b → openai/qwen3:8b = qwen3:8b, 128000 / 8192, $0 / $0, -
            meta-llama/Llama-3.3 → openai/meta-llama/Llama-3.3 = meta-llama/Llama-3.3, 128000 / 8192, $0 / $0, -
        "#]].assert_eq(&out);
        for name in ["", "qwen3:8b", "anthropic/", "offline/x", "inherit"] {
            assert_eq!(parse(name, false), None, "{name}");
        }
    }

    #[test]
    fn the_window_is_that_of_the_suffix_then_the_table_then_the_variable() {
        let own = ModelSettings { context_window: Some(64_000), ..ModelSettings::default() };
        let models = BTreeMap::from([("anthropic/claude-opus-4-5".to_owned(), own)]);
        let mut settings = Settings::default();
        settings.models = models;
        let environment = environment(&[("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "50000")]);
        let window = |name: &str| spec(ANTHROPIC, name.to_owned(), &environment, &settings).context_window;
        assert_eq!(window("claude-opus-4-5[1m]"), 1_000_000);
        assert_eq!(window("claude-opus-4-5"), 64_000);
        assert_eq!(window("claude-haiku-4-5"), 50_000);
    }

    #[test]
    fn the_table_of_the_settings_sets_limits_and_prices() {
        let own = ModelSettings {
            context_window: Some(32_768),
            max_output_tokens: Some(4_096),
            input_price: Some(1.0),
            output_price: None,
        };
        let models = BTreeMap::from([("openai/qwen3:8b".to_owned(), own)]);
        let mut settings = Settings::default();
        settings.models = models;
        let spec = spec(OPENAI, "qwen3:8b".to_owned(), &environment(&[]), &settings);
        expect!["openai/qwen3:8b = qwen3:8b, 32768 / 4096, $1 / $0, -"].assert_eq(&print(&spec));
    }

    #[test]
    fn a_response_costs_its_tokens_and_a_long_prompt_more() {
        let spec = |name: &str| spec(ANTHROPIC, name.to_owned(), &environment(&[]), &Settings::default());
        let usage = |input_tokens| Usage {
            input_tokens,
            output_tokens: 1_000,
            cache_read_input_tokens: 50_000,
            cache_creation_input_tokens: 10_000,
        };
        // 2,000 × 3 + 50,000 × 0.3 + 10,000 × 3.75 + 1,000 × 15, by the million.
        assert!((spec("claude-sonnet-4-5").cost_usd(&usage(2_000)) - 0.0735).abs() < 1e-9);
        // (150,000 × 3 + 15,000 + 37,500) × 2 + 15,000 × 1.5.
        assert!((spec("claude-sonnet-4-5[1m]").cost_usd(&usage(150_000)) - 1.0275).abs() < 1e-9);
    }
}
