//! `ExitPlanMode`: shows the plan and waits until the user approves or rejects it.
//!
//! That the mode then changes is the agent's doing.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    host::PlanAnswer,
    tool::{ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// In plan mode: shows the user your plan and asks to go ahead. Call it when you know what to change and how, not
/// for questions (AskUser) or for tasks that change nothing.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The whole plan, short, in Markdown.
    plan: String,
}

pub struct ExitPlanMode;

impl Typed for ExitPlanMode {
    const NAME: &'static str = "ExitPlanMode";
    type Input = Input;

    fn check(input: &Input) -> Result<(), ToolFailure> {
        if input.plan.trim().is_empty() {
            return Err(ToolFailure("plan is empty; say what you will do".to_owned()));
        }
        Ok(())
    }

    fn access(_input: &Input, _context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Session)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let asking = context.host.ask_plan(input.plan);
        let Some(answer) = context.cancel.run_until_cancelled(asking).await else {
            return Err(ToolFailure("cancelled before the user answered".to_owned()));
        };
        let words = match answer {
            PlanAnswer::Approved { accept_edits: true } => {
                "The user approved the plan, and edits need no further question. Carry it out.".to_owned()
            }
            PlanAnswer::Approved { accept_edits: false } => {
                "The user approved the plan. Carry it out.".to_owned()
            }
            PlanAnswer::Rejected { message } => {
                let words = match message.as_deref().map(str::trim) {
                    None | Some("") => "the user rejected the plan; ask what should be different".to_owned(),
                    Some(message) => format!("the user rejected the plan and says: {message}"),
                };
                return Err(ToolFailure(format!("{words}. Plan mode goes on: change nothing yet")));
            }
            PlanAnswer::Nobody => {
                return Err(ToolFailure(
                    "nobody can approve the plan now; plan mode goes on: give the plan as your answer and end the turn"
                        .to_owned(),
                ));
            }
        };
        Ok(ToolOutput::text(words))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use serde_json::json;

    use super::*;
    use crate::testing::{Bench, User};

    async fn check(answer: PlanAnswer, expected: Expect) {
        let bench = Bench::new().with_user(User::Plan(answer));
        bench.run(&ExitPlanMode, json!({"plan": "# Do it"})).await.check(expected);
    }

    #[tokio::test]
    async fn the_answer_is_told() {
        check(
            PlanAnswer::Approved { accept_edits: false },
            expect!["The user approved the plan. Carry it out."],
        )
        .await;
        check(
            PlanAnswer::Approved { accept_edits: true },
            expect!["The user approved the plan, and edits need no further question. Carry it out."],
        )
        .await;
        check(
            PlanAnswer::Rejected { message: Some(" smaller steps\n".to_owned()) },
            expect!["FAILED: the user rejected the plan and says: smaller steps. Plan mode goes on: change nothing yet"],
        )
        .await;
        check(
            PlanAnswer::Rejected { message: None },
            expect!["FAILED: the user rejected the plan; ask what should be different. Plan mode goes on: change nothing yet"],
        )
        .await;
        check(
            PlanAnswer::Nobody,
            expect!["FAILED: nobody can approve the plan now; plan mode goes on: give the plan as your answer and end the turn"],
        )
        .await;
    }

    #[tokio::test]
    async fn an_empty_plan_is_not_shown() {
        Bench::new()
            .run(&ExitPlanMode, json!({"plan": " "}))
            .await
            .check(expect!["FAILED: plan is empty; say what you will do"]);
    }

    #[tokio::test]
    async fn a_cancelled_question_ends_at_once() {
        let bench = Bench::new().never_answering();
        bench.context.cancel.cancel();
        bench
            .run(&ExitPlanMode, json!({"plan": "x"}))
            .await
            .check(expect!["FAILED: cancelled before the user answered"]);
    }
}
