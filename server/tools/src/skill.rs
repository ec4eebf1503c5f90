//! `Skill`: the instructions of a skill, when the model wants to use one.
//!
//! Which there are is told at the beginning of a session; finding and reading them is `skills`'.

use std::path::Path;

use conversation::ResultContent;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    tool::{Display, Needs, ToolContext, ToolFailure, ToolOutput, blocking},
    typed::Typed,
};

/// Loads a skill: instructions for one kind of task, written by the user or the project. When a task fits the
/// description of a listed skill, load it before anything else and follow it.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// As listed.
    name: String,
    /// What the skill shall be applied to.
    arguments: Option<String>,
}

pub struct Skill;

impl Typed for Skill {
    const NAME: &'static str = "Skill";
    const NEEDS: Needs = Needs::Skills;
    type Input = Input;

    fn access(_input: &Input, _context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Session)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        blocking(move || load(&input, context.host.skills())).await
    }
}

fn load(input: &Input, skills: Vec<skills::Skill>) -> Result<ToolOutput, ToolFailure> {
    let name = input.name.trim().trim_start_matches('/');
    let Some(skill) = skills.iter().find(|skill| skill.name == name) else {
        return Err(ToolFailure(unknown(name, &skills)));
    };
    if skill.user_only {
        return Err(ToolFailure(format!("only the user may start the skill {name}, by typing /{name}")));
    }
    if skill.untrusted {
        return Err(ToolFailure(format!(
            "the skill {name} comes from a folder that the user has not trusted; it is not loaded"
        )));
    }
    let body =
        skill.body().map_err(|error| ToolFailure(format!("the skill {name} cannot be read: {error}")))?;
    let folder = skill.path.parent().unwrap_or_else(|| Path::new("/"));
    let mut text =
        format!("The skill {name}. Paths in it are relative to its folder, {}.\n\n", folder.display());
    let arguments = input.arguments.as_deref().unwrap_or_default().trim();
    text.push_str(&body.replace("$ARGUMENTS", arguments));
    if !arguments.is_empty() && !body.contains("$ARGUMENTS") {
        text.push_str(&format!("\n\nArguments: {arguments}"));
    }
    Ok(ToolOutput {
        content: ResultContent::Text(text),
        display: Display::Text { text: format!("{name}: {}", skill.description) },
    })
}

fn unknown(name: &str, skills: &[skills::Skill]) -> String {
    let offered = skills.iter().filter(|skill| !skill.user_only && !skill.untrusted);
    let names: Vec<&str> = offered.map(|skill| skill.name.as_str()).collect();
    match names.as_slice() {
        [] => format!("there is no skill {name:?}; there are none at all"),
        names => format!("there is no skill {name:?}; there are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, User};

    fn skill(bench: &Bench, name: &str) -> skills::Skill {
        skills::Skill {
            name: name.to_owned(),
            description: format!("How to {name}"),
            path: bench.path(&format!("{name}/SKILL.md")),
            source: skills::Source::User,
            untrusted: false,
            argument_hint: None,
            user_only: false,
            root: bench.path(""),
        }
    }

    fn bench() -> Bench {
        let bench = Bench::new()
            .with_file("bake/SKILL.md", "---\nname: bake\ndescription: How to bake\n---\n\nSee oven.md.\n")
            .with_file("fix/SKILL.md", "Fix $ARGUMENTS, then test $ARGUMENTS.");
        let skills = vec![
            skill(&bench, "bake"),
            skill(&bench, "fix"),
            skill(&bench, "gone"),
            skills::Skill { user_only: true, ..skill(&bench, "deploy") },
            skills::Skill { untrusted: true, ..skill(&bench, "foreign") },
        ];
        bench.with_user(User::Skilled(skills))
    }

    #[tokio::test]
    async fn a_skill_is_loaded_with_its_folder_and_arguments() {
        let bench = bench();
        bench.run(&Skill, json!({"name": "bake"})).await.check(expect![[r#"
            The skill bake. Paths in it are relative to its folder, CWD/bake.

            See oven.md.
            === shown as text
            bake: How to bake"#]]);
        bench.run(&Skill, json!({"name": "/bake", "arguments": " a cake "})).await.check(expect![[r#"
            The skill bake. Paths in it are relative to its folder, CWD/bake.

            See oven.md.

            Arguments: a cake
            === shown as text
            bake: How to bake"#]]);
        bench.run(&Skill, json!({"name": "fix", "arguments": "it"})).await.check(expect![[r#"
            The skill fix. Paths in it are relative to its folder, CWD/fix.

            Fix it, then test it.
            === shown as text
            fix: How to fix"#]]);
    }

    #[tokio::test]
    async fn what_cannot_be_loaded_says_why() {
        let bench = bench();
        bench
            .run(&Skill, json!({"name": "cook"}))
            .await
            .check(expect![[r#"FAILED: there is no skill "cook"; there are bake, fix, gone"#]]);
        bench
            .run(&Skill, json!({"name": "deploy"}))
            .await
            .check(expect!["FAILED: only the user may start the skill deploy, by typing /deploy"]);
        bench.run(&Skill, json!({"name": "foreign"})).await.check(expect![
            "FAILED: the skill foreign comes from a folder that the user has not trusted; it is not loaded"
        ]);
        assert!(bench.run(&Skill, json!({"name": "gone"})).await.failed());
        Bench::new()
            .run(&Skill, json!({"name": "bake"}))
            .await
            .check(expect![[r#"FAILED: there is no skill "bake"; there are none at all"#]]);
    }
}
