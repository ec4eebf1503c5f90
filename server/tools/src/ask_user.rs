//! `AskUser`: a question that only the user can answer.

use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    schema,
    tool::{Tool, ToolContext, ToolFailure, ToolOutput},
};

/// Asks the user a question and waits for the answer. Use it when a choice is the user's and the answer cannot
/// be found by looking.
#[derive(Deserialize, JsonSchema)]
struct Input {
    question: String,
    /// Answers to choose from; the user may still answer freely.
    options: Option<Vec<String>>,
}

pub struct AskUser;

const NAME: &str = "AskUser";

impl Tool for AskUser {
    fn name(&self) -> &'static str {
        NAME
    }

    fn description(&self) -> String {
        schema::description::<Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<Input>()
    }

    fn access(&self, input: &Value, _context: &ToolContext) -> Result<Access, ToolFailure> {
        parse(input).map(|_| Access::Session)
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let Input { question, options } = parse(&input)?;
            let asking = context.host.ask_user(question, options.unwrap_or_default());
            let answer = tokio::select! {
                answer = asking => answer,
                () = context.cancel.cancelled() => {
                    return Err(ToolFailure("cancelled before the user answered".to_owned()));
                }
            };
            match answer {
                Some(answer) => Ok(ToolOutput::text(answer)),
                None => Err(ToolFailure(
                    "nobody can answer now; go on with what seems best, and say what you assumed".to_owned(),
                )),
            }
        })
    }
}

fn parse(input: &Value) -> Result<Input, ToolFailure> {
    let input: Input = schema::parse(NAME, input)?;
    if input.question.trim().is_empty() {
        return Err(ToolFailure("question is empty; ask something".to_owned()));
    }
    Ok(input)
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
