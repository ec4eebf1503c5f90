//! What the agent asks of the user: how a question looks, and what an answer means.

use std::path::Path;

use protocol::{
    AskPermissionParams, AskPermissionResult, AskPlanParams, AskPlanResult, AskUserParams, AskUserResult,
    PermissionChoice, PermissionPreview,
};
use serde_json::Value;

use crate::{
    terminal::style::{Paint, Style, revealed},
    view::headline,
};

/// Nobody reads more than this before saying yes. Both ends are shown: a long text must not hide how it ends.
const FIRST_LINES: usize = 200;
const LAST_LINES: usize = 200;
/// More of them in a row only push what matters off the screen.
const BLANK_LINES: usize = 3;
const BLANKS_IN_A_LINE: usize = 80;

/// A question that waits for its answer.
pub struct Question {
    /// The request that the answer belongs to.
    pub id: Value,
    pub about: About,
}

pub enum About {
    Permission(AskPermissionParams),
    User(AskUserParams),
    Plan(AskPlanParams),
}

impl Question {
    /// Safe for the terminal.
    pub fn text(&self, paint: Paint, folder: &Path) -> String {
        match &self.about {
            About::Permission(params) => permission_text(params, paint, folder),
            About::User(params) => user_text(params, paint),
            About::Plan(params) => plan_text(params, paint),
        }
    }

    /// The result for the server, or what to say when the answer makes no sense. No line: the input has ended.
    pub fn answer(&self, line: Option<&str>) -> Result<Value, &'static str> {
        let result = match &self.about {
            About::Permission(params) => serde_json::to_value(permission_answer(params, line)?),
            About::User(params) => serde_json::to_value(user_answer(params, line)),
            About::Plan(_) => serde_json::to_value(plan_answer(line)?),
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
    // A command or an address is shown whole below.
    let call = match &params.preview {
        Some(PermissionPreview::Command { .. } | PermissionPreview::Text { .. }) => params.tool.clone(),
        Some(PermissionPreview::Diff { .. }) | None => headline(&params.tool, &params.input, folder),
    };
    let mut text = paint.paint(Style::Bold, &revealed(&format!("Allow {call}?")));
    text.push_str(&paint.paint(Style::Dim, &revealed(&format!(" {}", params.reason))));
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
        text.push_str(&format!("  {key} {}{more}\n", revealed(&option.label).replace('\n', "␊")));
    }
    text
}

fn user_text(params: &AskUserParams, paint: Paint) -> String {
    let mut text = paint.paint(Style::Bold, &revealed(&params.question));
    text.push('\n');
    for (index, option) in params.options.iter().enumerate() {
        let key = paint.paint(Style::Bold, &format!("[{}]", index + 1));
        text.push_str(&format!("  {key} {}\n", revealed(option)));
    }
    text
}

fn plan_text(params: &AskPlanParams, paint: Paint) -> String {
    let mut text = paint.paint(Style::Bold, "Carry out this plan?");
    text.push('\n');
    text.push_str(&preview(&params.plan));
    for (key, meaning) in [
        ("y", "Yes; edits are still asked about"),
        ("e", "Yes, and edits in the workspace need no question"),
        ("n", "No; words after n are told to the model"),
    ] {
        text.push_str(&format!("  {} {meaning}\n", paint.paint(Style::Bold, &format!("[{key}]"))));
    }
    text
}

/// Whole lines, however long: what hides behind the edge of the screen cannot be judged.
fn preview(text: &str) -> String {
    let text = revealed(text);
    let all: Vec<&str> = text.lines().collect();
    let is_blank = |line: &str| line.trim().is_empty();
    // What is shown, and how many lines it stands for.
    let mut lines: Vec<(String, usize)> = Vec::new();
    for run in all.chunk_by(|line, next| is_blank(line) && is_blank(next)) {
        if run.len() > BLANK_LINES {
            lines.push((format!("… {} blank lines …", run.len()), run.len()));
        } else {
            lines.extend(run.iter().map(|line| (narrowed(line), 1)));
        }
    }
    let (first, rest) = lines.split_at(FIRST_LINES.min(lines.len()));
    let (hidden, last) = rest.split_at(rest.len().saturating_sub(LAST_LINES));
    let hidden: usize = hidden.iter().map(|(_, count)| count).sum();
    let mut shown: String = first.iter().map(|(line, _)| format!("  {line}\n")).collect();
    if hidden > 0 {
        shown.push_str(&format!("  … {hidden} lines are left out here …\n"));
    }
    shown.extend(last.iter().map(|(line, _)| format!("  {line}\n")));
    shown
}

/// A line whose long gaps are counted instead of shown: they would look like empty lines.
fn narrowed(line: &str) -> String {
    let characters: Vec<char> = line.chars().collect();
    let mut shown = String::with_capacity(line.len());
    for run in characters.chunk_by(|c, next| c.is_whitespace() == next.is_whitespace()) {
        if run.len() > BLANKS_IN_A_LINE && run.iter().all(|c| c.is_whitespace()) {
            shown.push_str(&format!(" <{} blanks> ", run.len()));
        } else {
            shown.extend(run);
        }
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

fn plan_answer(line: Option<&str>) -> Result<AskPlanResult, &'static str> {
    let rejected = |message| AskPlanResult { approved: false, accept_edits: false, message };
    let Some(line) = line.map(str::trim) else { return Ok(rejected(None)) };
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.trim_end_matches([',', '.', ':', ';']).to_lowercase().as_str() {
        "y" | "yes" => Ok(AskPlanResult { approved: true, accept_edits: false, message: None }),
        "e" => Ok(AskPlanResult { approved: true, accept_edits: true, message: None }),
        "n" | "no" => Ok(rejected(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()))),
        _ => Err("y, e or n, please"),
    }
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
    fn a_long_command_hides_neither_its_end_nor_what_follows_a_gap() {
        let lines: String = (1..=500).map(|number| format!("echo {number}\n")).collect();
        let shown = preview(&format!("{lines}rm -rf /"));
        let shown: Vec<&str> = shown.lines().collect();
        assert_eq!(shown.len(), FIRST_LINES + 1 + LAST_LINES);
        assert_eq!(
            shown[199..202],
            ["  echo 200", "  … 101 lines are left out here …", "  echo 302"],
            "{shown:?}"
        );
        assert_eq!(shown.last(), Some(&"  rm -rf /"));

        let gaps = format!("ls{}rm\u{200b}\r\nend{};x", "\n \t".repeat(99) + "\n", " ".repeat(999));
        expect![[r"
            Allow?
              ls
              … 99 blank lines …
              rm<U+200B>␍
              end <999 blanks> ;x
        "]]
        .assert_eq(&format!("Allow?\n{}", preview(&gaps)));
        assert_eq!(preview("a\n\n\n\nb").lines().count(), 5);
    }

    #[test]
    fn an_address_is_shown_whole() {
        let params = AskPermissionParams {
            tool: "WebFetch".to_owned(),
            input: json!({"url": "https://example.com/?q=secret"}),
            preview: Some(PermissionPreview::Text {
                text: "https://example.com/?q=secret\nWanted from it: words".to_owned(),
            }),
            options: Vec::new(),
            ..bash("")
        };
        expect![[r"
            Allow WebFetch? it may change something
              https://example.com/?q=secret
              Wanted from it: words
        "]]
        .assert_eq(&permission_text(&params, Paint::never(), Path::new("/")));
        let searching = AskPermissionParams {
            tool: "WebSearch".to_owned(),
            input: json!({"query": "x"}),
            preview: None,
            ..params
        };
        expect![[r"
            Allow WebSearch x? it may change something
        "]]
        .assert_eq(&permission_text(&searching, Paint::never(), Path::new("/")));
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
    fn a_plan_is_approved_or_sent_back_with_words() {
        let answer = |line| {
            let AskPlanResult { approved, accept_edits, message } = plan_answer(line)?;
            Ok((approved, accept_edits, message))
        };
        assert_eq!(answer(Some("y")), Ok((true, false, None)));
        assert_eq!(answer(Some(" E ")), Ok((true, true, None)));
        assert_eq!(answer(Some("no, test first")), Ok((false, false, Some("test first".to_owned()))));
        assert_eq!(answer(None), Ok((false, false, None)));
        assert_eq!(answer(Some("perhaps")), Err("y, e or n, please"));
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
