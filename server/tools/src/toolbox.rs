//! The tools of one session: ours, and those that others bring.

use std::{collections::BTreeSet, sync::Arc};

use crate::{list, tool::Tool};

/// Cheap to clone. The order is the one in which the model reads them.
#[derive(Clone)]
pub struct Toolbox(Arc<[Arc<dyn Tool>]>);

impl Toolbox {
    pub fn builtin() -> Self {
        Self(list::builtin().into())
    }

    /// With these after those it has. Where two have a name, the first keeps it: nobody can replace a tool of ours.
    pub fn with(&self, more: Vec<Arc<dyn Tool>>) -> Self {
        let mut names = BTreeSet::new();
        let all = self.0.iter().cloned().chain(more);
        Self(all.filter(|tool| names.insert(tool.name().to_owned())).collect())
    }

    /// Only those whose name passes.
    pub fn only(&self, passes: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|tool| passes(tool.name())).cloned().collect())
    }

    pub fn find(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.0.iter().find(|tool| tool.name() == name).cloned()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use permissions::Access;
    use serde_json::{Value, json};

    use super::*;
    use crate::tool::{ToolContext, ToolFailure, ToolOutput};

    struct Foreign(&'static str);

    impl Tool for Foreign {
        fn name(&self) -> &str {
            self.0
        }

        fn description(&self) -> String {
            "from elsewhere".to_owned()
        }

        fn input_schema(&self) -> Value {
            json!({"type": "object"})
        }

        fn access(&self, _input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
            Ok(Access::Session)
        }

        fn run(
            &self,
            _input: Value,
            _context: ToolContext,
        ) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
            Box::pin(async { Ok(ToolOutput::text("done")) })
        }
    }

    #[test]
    fn others_come_after_ours_and_replace_none() {
        let ours = Toolbox::builtin();
        let all = ours.with(vec![
            Arc::new(Foreign("mcp__a__b")),
            Arc::new(Foreign("Read")),
            Arc::new(Foreign("mcp__a__b")),
        ]);
        let names: Vec<&str> = all.iter().map(|tool| tool.name()).collect();
        let (last, first) = names.split_last().unwrap();
        assert_eq!(*last, "mcp__a__b");
        assert_eq!(first, ours.iter().map(|tool| tool.name()).collect::<Vec<_>>());
        assert_ne!(all.find("Read").unwrap().description(), "from elsewhere");
        assert!(all.find("mcp__a__b").is_some() && ours.find("mcp__a__b").is_none());
    }

    #[test]
    fn a_part_keeps_the_order() {
        let part = Toolbox::builtin().only(|name| matches!(name, "Grep" | "Read"));
        assert_eq!(part.iter().map(|tool| tool.name()).collect::<Vec<_>>(), ["Read", "Grep"]);
    }
}
