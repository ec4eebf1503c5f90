//! What all sessions of a server share, and the settings as they are right now.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use model::Models;
use serde_json::Value;
use settings::{Environment, Settings, Sources};
use workspace::Workspace;

use crate::{frontend::Frontend, types::Dependencies};

pub(crate) struct Shared {
    pub environment: Environment,
    pub workspace: Workspace,
    pub frontend: Arc<dyn Frontend>,
    command_line_settings: Option<Value>,
    editor_settings: Mutex<Option<Value>>,
    /// The providers of the settings they were made from: HTTP connections outlive a turn.
    models: Mutex<Option<(Settings, Arc<Models>)>>,
}

impl Shared {
    pub fn new(dependencies: Dependencies) -> Self {
        let Dependencies { environment, workspace, frontend, command_line_settings } = dependencies;
        Self {
            environment,
            workspace,
            frontend,
            command_line_settings,
            editor_settings: Mutex::new(None),
            models: Mutex::new(None),
        }
    }

    pub fn set_editor_settings(&self, configuration: Value) {
        *self.editor_settings.lock().unwrap_or_else(PoisonError::into_inner) = Some(configuration);
    }

    /// The model that the command line asks for: it holds for resumed sessions too.
    pub fn command_line_model(&self) -> Option<String> {
        self.command_line_settings.as_ref()?.get("model")?.as_str().map(str::to_owned)
    }

    /// The settings for a folder, read anew: a few small files, so that a change applies with the next turn.
    pub fn settings(&self, folder: &Path) -> settings::Loaded {
        let editor = self.editor_settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Settings::load(&Sources {
            environment: &self.environment,
            folder: Some(folder),
            editor: editor.as_ref(),
            command_line: self.command_line_settings.as_ref(),
        })
    }

    pub fn models(&self, settings: &Settings) -> Arc<Models> {
        let mut kept = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_from, models)) = kept.as_ref()
            && made_from == settings
        {
            return Arc::clone(models);
        }
        let models = Arc::new(Models::new(&self.environment, settings));
        *kept = Some((settings.clone(), Arc::clone(&models)));
        models
    }
}
