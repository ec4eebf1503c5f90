//! The switches under `reverie.features`: one table, from which the type, the defaults, the checks, the schema and the
//! table in `docs/settings.md` are made.
//!
//! What each does is elsewhere. Whoever asks takes `Settings::features`, which knows what the environment decides.

mod kinds;
mod time_of_day;

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error};
use serde_json::{Map, Value};

use crate::settings::check::positive_count;
use kinds::Feature;
pub use kinds::{Kind, RecallModel};
pub use time_of_day::TimeOfDay;

/// A switch, as documents and checks see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// As files write it.
    pub name: &'static str,
    /// What the seeds call it; empty where they have no gate for it.
    pub gate: &'static str,
    pub kind: Kind,
    /// What `--bare` makes of it.
    pub bare: Bare,
    /// One line.
    pub doc: &'static str,
}

/// "No memory, no secondary features."
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    Off,
    /// Without it a session would not come to its end.
    Stays,
}

macro_rules! features {
    ($($(#[doc = $doc:literal])+ $name:literal $field:ident: $kind:ty = $default:expr, $gate:literal, $bare:ident;)*) => {
        /// Which features are on, and their parameters. A name that is not here is kept and ignored.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Features {
            $($(#[doc = $doc])+ pub $field: $kind,)*
        }

        /// Every switch, in the order of the layers of the design.
        pub const GATES: &[Gate] = &[
            $(Gate {
                name: $name,
                gate: $gate,
                kind: <$kind as Feature>::KIND,
                bare: Bare::$bare,
                doc: concat!($($doc),+).trim_ascii(),
            },)*
        ];

        impl Default for Features {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Features {
            fn read(given: &Map<String, Value>) -> Result<Self, String> {
                let mut features = Self::default();
                $(if let Some(value) = given.get($name) {
                    features.$field = Feature::read(value)?;
                })*
                Ok(features)
            }

            /// By the names of files.
            pub(crate) fn listed(&self) -> Map<String, Value> {
                let mut listed = Map::new();
                $(listed.insert($name.to_owned(), self.$field.shown());)*
                listed
            }

            pub(crate) fn make_bare(&mut self) {
                $(if Bare::$bare == Bare::Off {
                    self.$field = Feature::off();
                })*
            }

            fn properties(generator: &mut SchemaGenerator) -> Map<String, Value> {
                let mut properties = Map::new();
                $(properties.insert($name.to_owned(), <$kind as Feature>::schema(generator).to_value());)*
                properties
            }
        }
    };
}

features! {
    /// Long tool results go to a file; the model sees their beginning and can read on.
    "toolResultStorage" tool_result_storage: bool = true, "", Stays;
    /// Characters of a tool's result that the model sees, by the name of the tool.
    "toolResultLimits" tool_result_limits: BTreeMap<String, u64> = BTreeMap::new(), "tengu_satin_quoll", Stays;
    /// The oldest messages of a long conversation are left out of what is sent; the history keeps them.
    "snip" snip: bool = false, "HISTORY_SNIP", Off;
    /// After a pause in which the prompt cache grows cold, old tool results are cleared.
    "microcompactTime" microcompact_time: Option<MicrocompactTime> = Some(MicrocompactTime::default()), "tengu_slate_heron", Stays;
    /// Old tool results are cleared by edits of the provider's cache, where it can do that.
    "cacheEdits" cache_edits: bool = false, "CACHED_MICROCOMPACT", Off;
    /// The provider clears old tool results by itself, where it can do that.
    "serverContextManagement" server_context_management: bool = true, "", Off;
    /// Summaries stand for old parts of a long conversation, which can be unfolded; the history keeps everything.
    "collapse" collapse: bool = false, "CONTEXT_COLLAPSE", Off;
    /// Notes about the session, kept while it goes on.
    "sessionMemory" session_memory: bool = true, "tengu_session_memory", Off;
    /// Compaction takes those notes instead of asking for a summary.
    "sessionMemoryCompact" session_memory_compact: bool = true, "tengu_sm_compact", Off;
    /// A request that was too long is compacted and sent again.
    "reactiveCompaction" reactive_compaction: bool = true, "REACTIVE_COMPACT", Stays;
    /// Nothing is compacted before a request was too long.
    "reactiveOnly" reactive_only: bool = false, "tengu_cobalt_raccoon", Stays;
    /// What is worth knowing later is written down at the end of turns.
    "extraction" extraction: bool = true, "tengu_passport_quail, EXTRACT_MEMORIES", Off;
    /// Extraction runs after every so many turns.
    "extractionEveryN" extraction_every_n: u32 = 1, "tengu_bramble_lintel", Off;
    /// Extraction runs also where nobody is there to see it: after `reverie ask`.
    "extractionNonInteractive" extraction_non_interactive: bool = false, "tengu_slate_thimble", Off;
    /// Memories that fit the prompt are put beside it.
    "recall" recall: bool = true, "tengu_moth_copse", Off;
    /// Who picks the memories: `"auto"` (the small model, else the local ranker), `"local"`, or a model.
    "recallModel" recall_model: RecallModel = RecallModel::Auto, "", Off;
    /// The model is told how to search memories and past sessions.
    "searchPastContext" search_past_context: bool = true, "tengu_coral_fern", Off;
    /// Between sessions memories are put in order: after so many hours and sessions, and if set at idle or at a time.
    "dream" dream: Option<Dream> = Some(Dream::default()), "tengu_onyx_plover", Off;
    /// Memories are added to a file for each day instead, and put in order later.
    "dailyLog" daily_log: bool = false, "KAIROS", Off;
    /// Memories that a team shares, where `team.url` is set.
    "teamMemory" team_memory: bool = true, "tengu_herring_clock, TEAMMEM", Off;
    /// A few words about what each agent is doing, every half minute.
    "agentSummaries" agent_summaries: bool = true, "", Off;
    /// Files that will probably be read next are read ahead.
    "prefetch" prefetch: bool = false, "", Off;
}

/// When to dream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Dream {
    /// Hours since the last time.
    #[serde(deserialize_with = "positive_count")]
    #[schemars(range(min = 1))]
    pub min_hours: u32,
    /// Sessions since the last time.
    #[serde(deserialize_with = "positive_count")]
    #[schemars(range(min = 1))]
    pub min_sessions: u32,
    /// Also when nothing has run for so many minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_minutes: Option<u32>,
    /// Also each night at this time, by the clock on the wall: `"03:30"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<TimeOfDay>,
}

impl Default for Dream {
    fn default() -> Self {
        Self { min_hours: 24, min_sessions: 5, idle_minutes: None, at: None }
    }
}

/// When old tool results are cleared, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MicrocompactTime {
    /// Minutes without a request.
    #[serde(deserialize_with = "positive_count")]
    #[schemars(range(min = 1))]
    pub gap_minutes: u32,
    /// Results that stay, the newest.
    #[serde(deserialize_with = "positive_count")]
    #[schemars(range(min = 1))]
    pub keep_recent: u32,
}

impl Default for MicrocompactTime {
    fn default() -> Self {
        Self { gap_minutes: 60, keep_recent: 5 }
    }
}

impl Gate {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        GATES.iter().find(|gate| gate.name == name)
    }

    /// What holds unless somebody says otherwise.
    pub fn default_value(&self) -> Value {
        Features::default().listed().shift_remove(self.name).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Features {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(&Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl JsonSchema for Features {
    fn schema_name() -> Cow<'static, str> {
        "Features".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut properties = Self::properties(generator);
        for gate in GATES {
            if let Some(Value::Object(property)) = properties.get_mut(gate.name) {
                property.insert("description".to_owned(), gate.doc.into());
                property.insert("default".to_owned(), gate.default_value());
            }
        }
        json_schema!({ "type": "object", "properties": properties })
    }
}

#[cfg(test)]
mod tests;
