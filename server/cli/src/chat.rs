//! `reverie chat`: a conversation in the terminal, a turn a message.
//!
//! From a keyboard, what is typed while a turn runs joins it; from a pipe, each line waits for the turn before it.

use std::io::{self, IsTerminal};

use protocol::{
    ContextOriginalParams, ContextReportParams, ListModelsParams, MessageKind, MessageRole, method,
};

use crate::{
    arguments::{SessionOptions, Which},
    ask::exit_code,
    client::{Client, Refusal},
    context_report::{self, Changes},
    conversation::{Conversation, Happened, Queued, Shown},
    exit,
    opening::{self, Opened},
    terminal::{lines::Lines, style},
};

const HELP: &str = "\
/new      start another session
/context  what fills the model's window and what changed it; /context 3 shows
          the original behind the third change, /context all lists every one
/help     this text
/quit     leave (also Ctrl-D)
Ctrl-C stops the answer. What is typed meanwhile is read at the next step.
A line that ends in \\ goes on in the next one; pasted lines stay together.";

pub async fn run(options: SessionOptions) -> anyhow::Result<u8> {
    let folder = opening::folder(options.cwd.as_deref())?;
    let client = Client::start(&folder, opening::settings(&options), opening::capabilities()).await?;
    let opened = match opening::open(&client, &options, &folder).await {
        Ok(opened) => opened,
        Err(error) => {
            client.stop().await;
            return Err(error);
        }
    };
    let mut chat = Chat {
        conversation: Conversation::new(client, &opened, folder, Shown::Text)?,
        options,
        // Whoever does not see the questions cannot answer them.
        typed: io::stdin().is_terminal() && io::stderr().is_terminal(),
        code: exit::DONE,
    };
    if chat.typed {
        chat.conversation.keyboard = Some(Lines::of_stdin()?);
        chat.conversation.listens = true;
        chat.greet(&opened).await?;
    } else {
        chat.conversation.script = Some(Lines::of_stdin()?);
        chat.conversation.keyboard = opening::is_attended().then(Lines::of_terminal).flatten();
    }
    let code = chat.talk().await;
    chat.conversation.leave(None).await;
    code
}

struct Chat {
    conversation: Conversation,
    options: SessionOptions,
    /// Whether the messages come from a keyboard.
    typed: bool,
    /// How the last turn ended.
    code: u8,
}

enum Next {
    GoOn,
    Leave,
}

impl Chat {
    async fn talk(&mut self) -> anyhow::Result<u8> {
        let mut leaving = false;
        let mut warned = false;
        self.invite();
        loop {
            match self.conversation.next().await? {
                Happened::Line(line) => {
                    warned = false;
                    match self.message(line.trim()).await {
                        Ok(Next::Leave) => break,
                        Ok(Next::GoOn) => {}
                        // What the server does not do now, it may do after another message.
                        Err(error) if error.is::<Refusal>() => {
                            self.code = exit::FAILED;
                            self.conversation.terminal.warn(&format!("{error:#}"));
                        }
                        Err(error) => return Err(error),
                    }
                    self.invite();
                }
                Happened::TurnEnded(ended) => {
                    self.code = exit_code(ended.stop);
                    if !self.conversation.is_running() {
                        if leaving {
                            break;
                        }
                        self.invite();
                    }
                }
                Happened::EndOfInput => {
                    // The answer that is under way is still of interest.
                    leaving = true;
                    if self.typed {
                        self.conversation.terminal.break_line();
                    }
                    if !self.conversation.is_running() {
                        break;
                    }
                }
                Happened::Interrupted if warned || self.conversation.is_running() => {
                    self.conversation.terminal.break_line();
                    return Ok(exit::CANCELLED);
                }
                Happened::Interrupted => {
                    warned = true;
                    self.conversation.terminal.break_line();
                    self.conversation.terminal.aside("Ctrl-C again leaves, as do /quit and Ctrl-D");
                    self.invite();
                }
                Happened::Noticed => self.invite(),
                Happened::Terminated => return Ok(exit::CANCELLED),
                Happened::OutputClosed => break,
            }
        }
        // A script wants to know how it went; a person has seen it.
        Ok(if self.typed { exit::DONE } else { self.code })
    }

    /// Lets the next message come, and shows that it may.
    fn invite(&mut self) {
        let idle = !self.conversation.is_running();
        if let Some(script) = self.conversation.script.as_mut().filter(|_| idle) {
            script.want();
        }
        if self.typed && idle {
            self.conversation.terminal.ask("\n› ");
        }
    }

    async fn message(&mut self, message: &str) -> anyhow::Result<Next> {
        let (command, arguments) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
        match (command, arguments.trim()) {
            ("", _) => {}
            ("/quit" | "/exit", "") => return Ok(Next::Leave),
            ("/help", "") => {
                self.conversation.terminal.aside(HELP);
                self.conversation.prompt(message).await?;
            }
            ("/new", "") | ("/context", _) if self.conversation.is_running() => {
                self.conversation.terminal.warn("not while a turn runs; Ctrl-C stops it");
            }
            ("/new", "") => {
                self.options.which = Which::New;
                let folder = opening::folder(self.options.cwd.as_deref())?;
                let opened = opening::open(&self.conversation.client, &self.options, &folder).await?;
                self.conversation.switch(&opened);
                self.conversation.terminal.aside(&format!("a new session, {}", opened.id));
            }
            ("/context", arguments) => self.show_context(arguments).await?,
            _ => {
                if self.conversation.prompt(message).await? == Queued::Yes {
                    self.conversation.terminal.aside("queued: it is read at the next step");
                }
            }
        }
        Ok(Next::GoOn)
    }

    async fn greet(&mut self, opened: &Opened) -> anyhow::Result<()> {
        let models = self.conversation.client.call::<method::ModelsList>(&ListModelsParams {}).await?.models;
        let default = models.into_iter().find(|model| model.default).map_or(String::new(), |model| model.id);
        let model = self.options.model.clone().unwrap_or(default);
        let terminal = &mut self.conversation.terminal;
        terminal.aside(&format!("reverie with {model} — /help for commands, Ctrl-D to leave"));
        let asked = |kind, role| kind == MessageKind::Text && role == MessageRole::User;
        if let Some(last) = opened.messages.iter().rfind(|message| asked(message.kind, message.role)) {
            let columns = terminal.aside_columns().unwrap_or_default().saturating_sub(24);
            let line = last.text.lines().next().unwrap_or_default();
            terminal.aside(&format!("you asked last: {}", style::cut(line, columns)));
        }
        Ok(())
    }

    async fn show_context(&mut self, arguments: &str) -> anyhow::Result<()> {
        let session_id = self.conversation.session.clone();
        let params = ContextReportParams { session_id: session_id.clone() };
        let report = self.conversation.client.call::<method::ContextReport>(&params).await?;
        let terminal = &mut self.conversation.terminal;
        let number = match arguments {
            "" | "all" => {
                let changes = if arguments.is_empty() { Changes::Newest } else { Changes::All };
                terminal.sections(&context_report::text(&report, changes));
                return Ok(());
            }
            number => number.parse().ok(),
        };
        let Some(change) = number.and_then(|number| context_report::change(&report, number)) else {
            terminal.warn(&format!("there is no change {arguments}; /context lists them"));
            return Ok(());
        };
        let Some(id) = change.original.clone() else {
            terminal.warn("nothing was taken away by this change");
            return Ok(());
        };
        if id.starts_with('/') {
            terminal.aside(&format!("it is in {id}"));
            return Ok(());
        }
        let params = ContextOriginalParams { session_id, id };
        let original = self.conversation.client.call::<method::ContextOriginal>(&params).await?;
        let terminal = &mut self.conversation.terminal;
        terminal.answer(&original.text);
        terminal.end_answer();
        terminal.aside(&format!("from {}", original.path));
        Ok(())
    }
}
