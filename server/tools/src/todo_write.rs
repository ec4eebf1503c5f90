//! `TodoWrite`: the model's list of what it is doing, for itself and for the user.

use futures_util::future::{BoxFuture, ready};
use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::{
    schema,
    todos::{Todo, TodoStatus},
    tool::{Tool, ToolContext, ToolFailure, ToolOutput},
};

/// Sets the todo list of this session, which the user sees. Use it for work of three steps or more. Give the
/// whole list each time; keep one task in progress, and mark a task completed as soon as it is done.
#[derive(Deserialize, JsonSchema)]
struct Input {
    /// All tasks, in order.
    todos: Vec<TodoInput>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TodoInput {
    /// What to do: "Run the tests".
    content: String,
    status: TodoStatus,
    /// The same while it is being done: "Running the tests".
    active_form: Option<String>,
}

pub struct TodoWrite;

const NAME: &str = "TodoWrite";

impl Tool for TodoWrite {
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
        Box::pin(ready(parse(&input).map(|todos| set(todos, &context))))
    }
}

fn set(todos: Vec<Todo>, context: &ToolContext) -> ToolOutput {
    let count = |status| todos.iter().filter(|todo| todo.status == status).count();
    let said = format!(
        "The list is set: {} completed, {} in progress, {} pending.",
        count(TodoStatus::Completed),
        count(TodoStatus::InProgress),
        count(TodoStatus::Pending)
    );
    context.todos.set(todos);
    ToolOutput::text(said)
}

fn parse(input: &Value) -> Result<Vec<Todo>, ToolFailure> {
    let input: Input = schema::parse(NAME, input)?;
    let todos = input.todos.into_iter().enumerate().map(|(index, todo)| {
        if todo.content.trim().is_empty() {
            return Err(ToolFailure(format!("todos[{index}].content is empty; say what is to be done")));
        }
        Ok(Todo { content: todo.content, status: todo.status, active_form: todo.active_form })
    });
    todos.collect()
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;
    use crate::testing::Bench;

    #[tokio::test]
    async fn the_list_is_replaced_whole() {
        let bench = Bench::new();
        bench
            .run(
                &TodoWrite,
                json!({"todos": [
                    {"content": "Look", "status": "completed"},
                    {"content": "Mend", "status": "in_progress", "activeForm": "Mending"},
                    {"content": "Test", "status": "pending"},
                ]}),
            )
            .await
            .check(expect!["The list is set: 1 completed, 1 in progress, 1 pending."]);
        expect![[r#"
            [
                Todo {
                    content: "Look",
                    status: Completed,
                    active_form: None,
                },
                Todo {
                    content: "Mend",
                    status: InProgress,
                    active_form: Some(
                        "Mending",
                    ),
                },
                Todo {
                    content: "Test",
                    status: Pending,
                    active_form: None,
                },
            ]
        "#]]
        .assert_debug_eq(&bench.context.todos.get());
        bench
            .run(&TodoWrite, json!({"todos": []}))
            .await
            .check(expect!["The list is set: 0 completed, 0 in progress, 0 pending."]);
        assert!(bench.context.todos.get().is_empty());
    }

    #[tokio::test]
    async fn a_bad_list_leaves_the_old_one() {
        let bench = Bench::new();
        bench.run(&TodoWrite, json!({"todos": [{"content": "Look", "status": "pending"}]})).await;
        bench
            .run(&TodoWrite, json!({"todos": [{"content": "Look", "status": "done"}]}))
            .await
            .check(expect![[r#"FAILED: the input of TodoWrite is not valid: todos[0].status must be one of "pending", "in_progress", "completed", but is "done""#]]);
        bench
            .run(&TodoWrite, json!({"todos": [{"content": " ", "status": "pending"}]}))
            .await
            .check(expect!["FAILED: todos[0].content is empty; say what is to be done"]);
        assert_eq!(bench.context.todos.get().len(), 1);
    }
}
