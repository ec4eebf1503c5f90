//! The session's todo list: what `TodoWrite` sets and the agent shows.
//!
//! Holds the newest list only; its history is in the transcript, as calls of the tool.

use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
    /// How the task reads while it is being done: "Running the tests".
    pub active_form: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

impl TodoStatus {
    /// The word that models write and editors receive.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// One per session.
#[derive(Debug, Default)]
pub struct Todos {
    list: Mutex<Vec<Todo>>,
}

impl Todos {
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    pub fn get(&self) -> Vec<Todo> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, todos: Vec<Todo>) {
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = todos;
    }
}
