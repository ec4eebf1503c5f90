//! `TodoWrite`: the model's list of what it is doing, for itself and for the user.

use permissions::Access;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    todos::{Todo, TodoStatus},
    tool::{ToolContext, ToolFailure, ToolOutput},
    typed::Typed,
};

/// Sets the todo list of this session, which the user sees. Use it for work of three steps or more. Give the
/// whole list each time; keep one task in progress, and mark a task completed as soon as it is done.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// All tasks, in order.
    todos: Vec<TodoInput>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TodoInput {
    /// What to do: "Run the tests".
    content: String,
    status: TodoStatus,
    /// The same while it is being done: "Running the tests".
    active_form: Option<String>,
}

pub struct TodoWrite;

impl Typed for TodoWrite {
    const NAME: &'static str = "TodoWrite";
    type Input = Input;

    fn check(input: &Input) -> Result<(), ToolFailure> {
        match input.todos.iter().position(|todo| todo.content.trim().is_empty()) {
            Some(index) => {
                Err(ToolFailure(format!("todos[{index}].content is empty; say what is to be done")))
            }
            None => Ok(()),
        }
    }

    fn access(_input: &Input, _context: &ToolContext) -> Result<Access, ToolFailure> {
        Ok(Access::Session)
    }

    async fn run(input: Input, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let count = |status| input.todos.iter().filter(|todo| todo.status == status).count();
        let said = format!(
            "The list is set: {} completed, {} in progress, {} pending.",
            count(TodoStatus::Completed),
            count(TodoStatus::InProgress),
            count(TodoStatus::Pending)
        );
        let todos = input.todos.into_iter().map(|todo| Todo {
            content: todo.content,
            status: todo.status,
            active_form: todo.active_form,
        });
        context.todos.set(todos.collect());
        Ok(ToolOutput::text(said))
    }
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
