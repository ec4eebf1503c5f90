//! `AskUser`: a question that only the user can answer.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    tool::{ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Asks the user a question and waits for the answer. Use it when a choice is the user's and the answer cannot
/// be found by looking.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    question: String,
    /// Answers to choose from; the user may still answer freely.
    options: Option<Vec<String>>,
}

pub struct AskUser;

impl Typed for AskUser {
    const NAME: &'static str = "AskUser";
    type Input = Input;

    fn check(input: &Input) -> Result<(), ToolFailure> {
        if input.question.trim().is_empty() {
            return Err(ToolFailure("question is empty; ask something".to_owned()));
        }
        Ok(())
    }

    fn access(_input: &Input, _context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Session)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let asking = context.host.ask_user(input.question, input.options.unwrap_or_default());
        let Some(answer) = context.cancel.run_until_cancelled(asking).await else {
            return Err(ToolFailure("cancelled before the user answered".to_owned()));
        };
        answer.map(ToolOutput::text).ok_or_else(|| {
            ToolFailure(
                "nobody can answer now; go on with what seems best, and say what you assumed".to_owned(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn the_answer_is_the_result() {
        let bench = Bench::new().answering("blue");
        bench
            .run(&AskUser, json!({"question": "Which colour?", "options": ["red", "blue"]}))
            .await
            .check(expect!["blue"]);
        bench
            .run(&AskUser, json!({"question": ""}))
            .await
            .check(expect!["FAILED: question is empty; ask something"]);
    }

    #[tokio::test]
    async fn where_nobody_answers_the_model_is_told() {
        Bench::new().run(&AskUser, json!({"question": "Which colour?"})).await.check(expect![
            "FAILED: nobody can answer now; go on with what seems best, and say what you assumed"
        ]);
    }

    #[tokio::test]
    async fn a_cancelled_question_ends_at_once() {
        let bench = Bench::new().never_answering();
        bench.context.cancel.cancel();
        bench
            .run(&AskUser, json!({"question": "Which colour?"}))
            .await
            .check(expect!["FAILED: cancelled before the user answered"]);
    }
}
