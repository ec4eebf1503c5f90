//! From source to commands, on a real shell grammar of which only a little is accepted.
//!
//! The grammar must find no error and nothing but the kinds of node listed here. It says which stretches of the source
//! are words, operators and redirections; what lies between those must be blanks. So the whole source is accounted
//! for, and where one command ends is known twice: from the operators, and from which words the grammar takes for a
//! command's name.

use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser};

use super::word::Word;

/// A line with more commands is refused.
const MOST_COMMANDS: usize = 40;

/// Of a hundred operations each; a usual line needs one or two, a hostile one would take seconds.
const MOST_STEPS: usize = 400;

/// The grammar nests a list once for each `&&`.
const DEEPEST: usize = 100;

#[derive(Debug)]
pub(super) struct Command {
    /// How it follows the command before it.
    pub(super) joint: Joint,
    /// At least one.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    First,
    Pipe,
    And,
    Or,
    /// A semicolon or the end of a line.
    Then,
}

#[derive(Debug)]
pub(super) enum Redirect {
    /// `>/dev/null`, `2>>/dev/null`, `&>/dev/null`: the descriptor and the sign, as written.
    Discard(String),
    /// `2>&1`: as written.
    Descriptor(String),
    /// `< file`.
    Input(Word),
}

pub(super) fn parse(source: &str, home: Option<&str>) -> Result<Vec<Command>, String> {
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
        return Err("the shell's grammar cannot be loaded".to_owned());
    }
    let mut steps = 0;
    let mut progress = |_: &ParseState| {
        steps += 1;
        if steps > MOST_STEPS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut text = |offset: usize, _| source.as_bytes().get(offset..).unwrap_or_default();
    let Some(tree) = parser.parse_with_options(&mut text, None, Some(options)) else {
        return Err("the line is too involved".to_owned());
    };
    let root = tree.root_node();
    if root.has_error() {
        return Err("the line cannot be parsed".to_owned());
    }
    let mut tokens = Vec::new();
    collect(root, source, 0, &mut tokens)?;
    Assembly { source, home, end: 0, joint: Joint::First, commands: Vec::new(), current: None }.run(tokens)
}

/// A stretch of the source that is not blank.
struct Token<'a> {
    kind: Kind<'a>,
    start: usize,
    end: usize,
}

enum Kind<'a> {
    /// The word that the grammar takes for the name of a command.
    Name(&'a str),
    Argument(&'a str),
    Joint(Joint),
    /// The descriptor, the sign and the target.
    Redirect(&'a str, &'a str, &'a str),
}

/// Walks down to the words, operators and redirections, in the order of the source.
fn collect<'a>(
    node: Node<'_>,
    source: &'a str,
    depth: usize,
    tokens: &mut Vec<Token<'a>>,
) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("the line is nested too deeply".to_owned());
    }
    let text = text_of(node, source);
    let (start, end) = (node.start_byte(), node.end_byte());
    let mut push = |kind| tokens.push(Token { kind, start, end });
    match (node.kind(), node.is_named()) {
        ("program" | "list" | "pipeline" | "redirected_statement" | "command", true) => {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                collect(child, source, depth + 1, tokens)?;
            }
        }
        ("command_name", true) => {
            let mut cursor = node.walk();
            for child in node.children(&mut cursor) {
                only_word_nodes(child, depth + 1)?;
            }
            push(Kind::Name(text));
        }
        ("word" | "number" | "string" | "raw_string" | "concatenation", true) => {
            only_word_nodes(node, depth)?;
            push(Kind::Argument(text));
        }
        ("file_redirect", true) => redirect(node, source, depth, tokens)?,
        ("|", false) => push(Kind::Joint(Joint::Pipe)),
        ("&&", false) => push(Kind::Joint(Joint::And)),
        ("||", false) => push(Kind::Joint(Joint::Or)),
        (";", false) => push(Kind::Joint(Joint::Then)),
        (kind, _) => return Err(refused(kind)),
    }
    Ok(())
}

fn redirect<'a>(
    node: Node<'_>,
    source: &'a str,
    depth: usize,
    tokens: &mut Vec<Token<'a>>,
) -> Result<(), String> {
    let (mut descriptor, mut sign, mut target) = ("", None, None);
    let start = node.start_byte();
    let mut cursor = node.walk();
    for child in node.children(&mut cursor) {
        let text = text_of(child, source);
        match (child.kind(), child.is_named()) {
            ("file_descriptor", true) if sign.is_none() => descriptor = text,
            (">" | ">>" | "&>" | ">&" | "<", false) if sign.is_none() => {
                // `2 > x` is an argument and a redirection.
                if start + descriptor.len() != child.start_byte() {
                    return Err("it has a redirection that is written oddly".to_owned());
                }
                sign = Some((text, child.end_byte()));
            }
            ("word" | "number" | "string" | "raw_string" | "concatenation", true) => match (sign, target) {
                (Some((sign, sign_end)), None) => {
                    only_word_nodes(child, depth + 1)?;
                    target = Some(text);
                    let between = source.get(sign_end..child.start_byte()).unwrap_or("?");
                    if !between.chars().all(|character| matches!(character, ' ' | '\t')) {
                        return Err("it has a redirection that is written oddly".to_owned());
                    }
                    let kind = Kind::Redirect(descriptor, sign, text);
                    tokens.push(Token { kind, start, end: child.end_byte() });
                }
                // The grammar takes the arguments behind a redirection for more targets.
                (Some(_), Some(_)) => collect(child, source, depth + 1, tokens)?,
                (None, _) => return Err("it has a redirection that is written oddly".to_owned()),
            },
            (kind, _) => return Err(refused(kind)),
        }
    }
    target.map(|_| ()).ok_or_else(|| "it has a redirection without a target".to_owned())
}

fn only_word_nodes(node: Node<'_>, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err("the line is nested too deeply".to_owned());
    }
    let known = match node.kind() {
        "word" | "number" | "string" | "string_content" | "raw_string" | "concatenation" => true,
        // Of expansions, the decoder accepts one; a dollar alone is a character.
        "simple_expansion" | "variable_name" => true,
        "\"" | "$" => !node.is_named(),
        _ => false,
    };
    if !known {
        return Err(refused(node.kind()));
    }
    let mut cursor = node.walk();
    node.children(&mut cursor).try_for_each(|child| only_word_nodes(child, depth + 1))
}

struct Assembly<'a> {
    source: &'a str,
    home: Option<&'a str>,
    /// Where the last token ended.
    end: usize,
    joint: Joint,
    commands: Vec<Command>,
    current: Option<Command>,
}

impl Assembly<'_> {
    fn run(mut self, tokens: Vec<Token<'_>>) -> Result<Vec<Command>, String> {
        for token in tokens {
            let gap = self.gap(token.start)?;
            if gap.newline {
                self.end_of_line();
            }
            self.token(&token, &gap)?;
            self.end = token.end;
        }
        self.gap(self.source.len())?;
        self.end_of_line();
        match self.joint {
            Joint::First => Err("there is no command in it".to_owned()),
            Joint::Then => Ok(self.commands),
            Joint::Pipe | Joint::And | Joint::Or => Err("a command is missing at its end".to_owned()),
        }
    }

    fn token(&mut self, token: &Token<'_>, gap: &Gap) -> Result<(), String> {
        match token.kind {
            Kind::Name(text) => {
                let word = Word::decode(text, self.home)?;
                let command = self.command();
                if !command.words.is_empty() {
                    return Err("it is not clear where a command begins".to_owned());
                }
                command.words.push(word);
            }
            Kind::Argument(text) => {
                let word = Word::decode(text, self.home)?;
                let command = self.command();
                if command.words.is_empty() || !gap.blank {
                    return Err("it is not clear where a word begins".to_owned());
                }
                command.words.push(word);
            }
            Kind::Redirect(descriptor, sign, target) => {
                // `2>` is a descriptor, `x2>` is not.
                let before = self.source.get(..token.start).unwrap_or_default();
                if !gap.blank && before.ends_with(|last: char| !last.is_ascii_alphabetic()) && token.start > 0
                {
                    return Err("it is not clear where a redirection begins".to_owned());
                }
                if !gap.blank && !descriptor.is_empty() && token.start > 0 {
                    return Err("it is not clear where a redirection begins".to_owned());
                }
                let redirect = self.redirect(descriptor, sign, target)?;
                self.command().redirects.push(redirect);
            }
            Kind::Joint(joint) => match self.current.take() {
                Some(command) if !command.words.is_empty() => {
                    self.commands.push(command);
                    self.joint = joint;
                }
                _ => return Err("a command is missing between two operators".to_owned()),
            },
        }
        if self.commands.len() >= MOST_COMMANDS {
            return Err(format!("it has more than {MOST_COMMANDS} commands"));
        }
        Ok(())
    }

    fn redirect(&self, descriptor: &str, sign: &str, target: &str) -> Result<Redirect, String> {
        match (descriptor, sign, target) {
            ("" | "1" | "2", ">" | ">>", "/dev/null") | ("", "&>", "/dev/null") => {
                Ok(Redirect::Discard(format!("{descriptor}{sign}")))
            }
            ("" | "1" | "2", ">&", "1" | "2") => Ok(Redirect::Descriptor(format!("{descriptor}>&{target}"))),
            ("" | "0", "<", _) => Ok(Redirect::Input(Word::decode(target, self.home)?)),
            _ => {
                Err(format!("it redirects to `{target}`; only /dev/null and stdout or stderr may be written"))
            }
        }
    }

    fn command(&mut self) -> &mut Command {
        let joint = self.joint;
        self.current.get_or_insert_with(|| Command { joint, words: Vec::new(), redirects: Vec::new() })
    }

    /// The end of a line ends a command; behind an operator it means nothing.
    fn end_of_line(&mut self) {
        if let Some(command) = self.current.take() {
            self.commands.push(command);
            self.joint = Joint::Then;
        }
    }

    /// What lies between the last token and `start`: blanks, ends of lines, and lines continued by a backslash.
    fn gap(&self, start: usize) -> Result<Gap, String> {
        let Some(text) = self.source.get(self.end..start) else {
            return Err("the grammar's words overlap".to_owned());
        };
        let mut gap = Gap { blank: false, newline: false };
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                ' ' | '\t' => gap.blank = true,
                '\n' => gap.newline = true,
                '\\' if characters.next() == Some('\n') => {}
                _ => return Err("it has something between its words".to_owned()),
            }
        }
        Ok(gap)
    }
}

struct Gap {
    blank: bool,
    newline: bool,
}

fn text_of<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The grammar's names for what is not accepted, in words.
fn refused(kind: &str) -> String {
    let what = match kind {
        "command_substitution" | "process_substitution" => "the output of another command",
        "simple_expansion" | "expansion" | "arithmetic_expansion" => "an expansion",
        "variable_assignment" | "variable_assignments" => "an assignment",
        "heredoc_redirect" | "herestring_redirect" | "heredoc_body" => "a here-document",
        "function_definition" | "declaration_command" | "unset_command" => "a definition",
        "subshell" | "compound_statement" => "a group of commands",
        "if_statement" | "for_statement" | "c_style_for_statement" | "while_statement" | "case_statement" => {
            "a control structure"
        }
        "test_command" | "negated_command" => "a test",
        "ansi_c_string" | "translated_string" => "a quote with escapes",
        "brace_expression" => "braces, which the shell expands",
        "comment" => "a comment",
        "&" => "a command in the background",
        "ERROR" => return "the line cannot be parsed".to_owned(),
        other => return format!("it has more than plain commands (`{other}`)"),
    };
    format!("it has {what}")
}
