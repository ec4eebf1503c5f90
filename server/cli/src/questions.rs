//! What the agent asks of the user: how a question looks, and what an answer means.

use std::path::Path;

use protocol::{
    AskPermissionParams, AskPermissionResult, AskUserParams, AskUserResult, PermissionChoice,
    PermissionPreview,
};
use serde_json::Value;

use crate::{
    terminal::style::{Paint, Style, safe},
    view::headline,
};

/// Nobody reads more than this before saying yes; what is left out is announced.
const PREVIEW_LINES: usize = 400;

/// A question that waits for its answer.
pub struct Question {
    /// The request that the answer belongs to.
    pub id: Value,
    pub about: About,
}

pub enum About {
    Permission(AskPermissionParams),
    User(AskUserParams),
}

impl Question {
    /// Safe for the terminal.
    pub fn text(&self, paint: Paint, folder: &Path) -> String {
        match &self.about {
            About::Permission(params) => permission_text(params, paint, folder),
            About::User(params) => user_text(params, paint),
        }
    }

    /// The result for the server, or what to say when the answer makes no sense. No line: the input has ended.
    pub fn answer(&self, line: Option<&str>) -> Result<Value, &'static str> {
        let result = match &self.about {
            About::Permission(params) => serde_json::to_value(permission_answer(params, line)?),
            About::User(params) => serde_json::to_value(user_answer(params, line)),
        };
        Ok(result.unwrap_or(Value::Null))
    }
}

/// The answer when nobody is there to ask, and how the user can give it beforehand.
pub fn unattended(params: &AskPermissionParams) -> (AskPermissionResult, String) {
    let always = params.options.iter().find(|option| option.id == PermissionChoice::AllowAlways);
    let rule = always.and_then(|option| option.rule.as_deref()).unwrap_or(&params.tool);
    let quoted = rule.replace('\'', r"'\''");
    let edits = match params.tool.as_str() {
        "Write" | "Edit" | "MultiEdit" => ", or all edits with --mode acceptEdits",
        _ => "",
    };
    let hint = format!("nobody is here to ask; allow it with --allow '{quoted}'{edits}");
    let message = Some(format!("{hint} (options of reverie)"));
    (AskPermissionResult { option: PermissionChoice::Deny, message }, hint)
}

fn permission_text(params: &AskPermissionParams, paint: Paint, folder: &Path) -> String {
    // A command is shown whole below.
    let call = match &params.preview {
        Some(PermissionPreview::Command { .. }) => params.tool.clone(),
        Some(PermissionPreview::Diff { .. } | PermissionPreview::Text { .. }) | None => {
            headline(&params.tool, &params.input, folder)
        }
    };
    let mut text = paint.paint(Style::Bold, &safe(&format!("Allow {call}?")));
    text.push_str(&paint.paint(Style::Dim, &safe(&format!(" {}", params.reason))));
    text.push('\n');
    match &params.preview {
        Some(PermissionPreview::Diff { text: diff }) => text.push_str(&paint.diff(&preview(diff))),
        Some(PermissionPreview::Command { text: command }) => {
            text.push_str(&preview(&format!("$ {}", command.replace('\n', "\n  "))));
        }
        Some(PermissionPreview::Text { text: plain }) => text.push_str(&preview(plain)),
        None => {}
    }
    for option in &params.options {
        let key = paint.paint(Style::Bold, &format!("[{}]", key_of(option.id)));
        let more = match option.id {
            PermissionChoice::Deny => "; words after n are told to the model",
            _ => "",
        };
        text.push_str(&format!("  {key} {}{more}\n", safe(&option.label).replace('\n', "␊")));
    }
    text
}

fn user_text(params: &AskUserParams, paint: Paint) -> String {
    let mut text = paint.paint(Style::Bold, &safe(&params.question));
    text.push('\n');
    for (index, option) in params.options.iter().enumerate() {
        let key = paint.paint(Style::Bold, &format!("[{}]", index + 1));
        text.push_str(&format!("  {key} {}\n", safe(option)));
    }
    text
}

/// Whole lines, however long: what hides behind the edge of the screen cannot be judged.
fn preview(text: &str) -> String {
    let text = safe(text);
    let mut shown: String = text.lines().take(PREVIEW_LINES).map(|line| format!("  {line}\n")).collect();
    let rest = text.lines().count().saturating_sub(PREVIEW_LINES);
    if rest > 0 {
        shown.push_str(&format!("  … and {rest} more lines\n"));
    }
    shown
}

fn permission_answer(
    params: &AskPermissionParams,
    line: Option<&str>,
) -> Result<AskPermissionResult, &'static str> {
    let Some(line) = line else {
        return Ok(AskPermissionResult { option: PermissionChoice::Deny, message: None });
    };
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let word = word.trim_end_matches([',', '.', ':', ';']).to_lowercase();
    let choice = match word.as_str() {
        "y" | "yes" => PermissionChoice::AllowOnce,
        "s" | "session" => PermissionChoice::AllowSession,
        "a" | "always" => PermissionChoice::AllowAlways,
        "n" | "no" => PermissionChoice::Deny,
        _ => return Err("y, s, a or n, please"),
    };
    if !params.options.iter().any(|option| option.id == choice) {
        return Err("this is not one of the answers");
    }
    let message = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
    Ok(AskPermissionResult { option: choice, message })
}

/// A number picks an option; anything else is the answer itself, and nothing at all is none.
fn user_answer(params: &AskUserParams, line: Option<&str>) -> AskUserResult {
    let Some(line) = line.map(str::trim).filter(|line| !line.is_empty()) else {
        return AskUserResult::default();
    };
    let number = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let picked = number.and_then(|index| params.options.get(index));
    AskUserResult { answer: Some(picked.map_or(line, String::as_str).to_owned()) }
}

fn key_of(choice: PermissionChoice) -> &'static str {
    match choice {
        PermissionChoice::AllowOnce => "y",
        PermissionChoice::AllowSession => "s",
        PermissionChoice::AllowAlways => "a",
        PermissionChoice::Deny => "n",
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use protocol::PermissionOption;
    use serde_json::json;

    use super::*;

    fn bash(command: &str) -> AskPermissionParams {
        let option = |id, label: &str| PermissionOption {
            id,
            label: label.to_owned(),
            rule: label.strip_prefix("Always allow ").map(str::to_owned),
        };
        AskPermissionParams {
            session_id: "s".to_owned(),
            tool_use_id: "t".to_owned(),
            tool: "Bash".to_owned(),
            input: json!({ "command": command }),
            reason: "it may change something".to_owned(),
            preview: Some(PermissionPreview::Command { text: command.to_owned() }),
            options: vec![
                option(PermissionChoice::AllowOnce, "Allow once"),
                option(PermissionChoice::AllowAlways, "Always allow Bash(make:*)"),
                option(PermissionChoice::Deny, "Deny"),
            ],
        }
    }

    #[test]
    fn a_question_shows_everything_that_decides() {
        let question =
            Question { id: json!(1), about: About::Permission(bash("make\nrm -rf /\x1b[1A\x1b[2K")) };
        expect![[r"
            Allow Bash? it may change something
              $ make
                rm -rf /␛[1A␛[2K
              [y] Allow once
              [a] Always allow Bash(make:*)
              [n] Deny; words after n are told to the model
        "]]
        .assert_eq(&question.text(Paint::never(), Path::new("/")));
    }

    #[test]
    fn letters_and_words_answer() {
        let answer = |line: &str| match permission_answer(&bash("make"), Some(line)) {
            Ok(answer) => format!("{:?} {:?}", answer.option, answer.message),
            Err(again) => again.to_owned(),
        };
        expect!["AllowOnce None"].assert_eq(&answer(" Y "));
        expect!["AllowAlways None"].assert_eq(&answer("always"));
        expect![[r#"Deny Some("use cargo instead")"#]].assert_eq(&answer("n use cargo instead"));
        expect![[r#"Deny Some("use cargo")"#]].assert_eq(&answer("no, use cargo"));
        expect!["this is not one of the answers"].assert_eq(&answer("s"));
        expect!["y, s, a or n, please"].assert_eq(&answer(""));
        assert_eq!(permission_answer(&bash("make"), None).unwrap().option, PermissionChoice::Deny);
    }

    #[test]
    fn without_a_user_the_answer_is_no_and_how_to_say_yes() {
        let (answer, hint) = unattended(&bash("make"));
        assert_eq!(answer.option, PermissionChoice::Deny);
        expect!["nobody is here to ask; allow it with --allow 'Bash(make:*)'"].assert_eq(&hint);
    }

    #[test]
    fn a_question_of_the_agent_takes_a_number_or_words() {
        let params = AskUserParams {
            session_id: "s".to_owned(),
            question: "Which?".to_owned(),
            options: vec!["tabs".to_owned(), "spaces".to_owned()],
        };
        let answer = |line| user_answer(&params, line).answer;
        assert_eq!(answer(Some("2")).as_deref(), Some("spaces"));
        assert_eq!(answer(Some("3")).as_deref(), Some("3"));
        assert_eq!(answer(Some("neither ")).as_deref(), Some("neither"));
        assert_eq!(answer(Some(" ")), None);
        assert_eq!(answer(None), None);
    }
}
