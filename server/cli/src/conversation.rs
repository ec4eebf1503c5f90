//! A session in the terminal: what comes from the server is shown, questions are asked and answered, signals stop.
//!
//! `ask` and `chat` decide what to do when a turn ends, a line comes or the user wants to leave.

use std::{
    collections::VecDeque,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::bail;
use protocol::{
    AskPermissionParams, CancelSessionParams, MemoryActor, MemoryEventParams, Notification, PromptPart,
    PromptSessionParams, Request, SessionUpdateParams, StopReason, TurnError, Update, Usage, method,
};
use serde_json::{Value, json, value::RawValue};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::{
    client::{Client, Incoming},
    opening::Opened,
    questions::{self, About, Question},
    signals::{Interrupt, Signals},
    terminal::{Terminal, lines::Lines},
    view::View,
};

/// While the server learns from the last turn, before its end.
const REMEMBERING: &str = "remembering; Ctrl-C to skip";

/// How often the status line is looked at.
const TICK: Duration = Duration::from_millis(200);

pub struct Conversation {
    pub client: Client,
    pub terminal: Terminal,
    pub session: String,
    view: View,
    folder: PathBuf,
    shown: Shown,
    /// The turns that have not ended: one that runs, and prompts that were queued behind it.
    running: Vec<String>,
    cancelled: bool,
    questions: VecDeque<Question>,
    /// Where questions are answered; without it, nobody is there.
    pub keyboard: Option<Lines>,
    /// Whether messages come from the keyboard too, so that it is always listened to.
    pub listens: bool,
    /// Where messages come from otherwise, when they are wanted.
    pub script: Option<Lines>,
    signals: Signals,
    ticks: Interval,
    /// The user wants to leave, and not to wait for anything.
    is_hurried: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Text,
    Json,
}

/// What `ask` and `chat` have to decide about.
pub enum Happened {
    TurnEnded(Ended),
    Line(String),
    EndOfInput,
    /// Something was said while nothing ran.
    Noticed,
    /// Ctrl-C while there is nothing to stop, or for the second time.
    Interrupted,
    /// The terminal is gone, or somebody ends this program.
    Terminated,
    /// Nobody reads the answer any more.
    OutputClosed,
}

pub struct Ended {
    pub turn: String,
    pub stop: StopReason,
    pub usage: Usage,
    pub error: Option<TurnError>,
}

impl Conversation {
    pub fn new(client: Client, opened: &Opened, folder: PathBuf, shown: Shown) -> anyhow::Result<Self> {
        let mut terminal = Terminal::new();
        for repair in &opened.repairs {
            terminal.warn(&format!("repaired: {repair}"));
        }
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            client,
            terminal,
            session: opened.id.clone(),
            view: View::new(folder.clone()),
            folder,
            shown,
            running: Vec::new(),
            cancelled: false,
            questions: VecDeque::new(),
            keyboard: None,
            listens: false,
            script: None,
            signals: Signals::new()?,
            ticks,
            is_hurried: false,
        })
    }

    pub fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Starts a turn, or queues the prompt behind the one that runs; says which.
    pub async fn prompt(&mut self, text: &str) -> anyhow::Result<Queued> {
        let params = PromptSessionParams {
            session_id: self.session.clone(),
            prompt: vec![PromptPart::Text { text: text.to_owned() }],
            editor: None,
            work_done_token: None,
        };
        let accepted = self.client.call::<method::SessionPrompt>(&params).await?;
        self.running.push(accepted.turn_id);
        if accepted.queued {
            return Ok(Queued::Yes);
        }
        self.cancelled = false;
        if self.shown == Shown::Text {
            self.view.turn_started(&mut self.terminal, text);
        }
        Ok(Queued::No)
    }

    /// Goes on until there is something to decide.
    pub async fn next(&mut self) -> anyhow::Result<Happened> {
        loop {
            if let Some(keyboard) = self.keyboard.as_mut().filter(|_| self.listens) {
                keyboard.want();
            }
            let happened = tokio::select! {
                incoming = self.client.incoming.recv() => match incoming {
                    None => bail!("the server ended in the middle of the conversation"),
                    Some(Incoming::Request { id, method, params }) => self.asked(id, &method, params)?,
                    Some(Incoming::Notification { method, params }) => self.told(&method, params)?,
                },
                interrupt = self.signals.next() => match interrupt {
                    Interrupt::Terminate => Some(Happened::Terminated),
                    Interrupt::Keyboard => self.interrupted().await?,
                },
                line = next_line(&mut self.keyboard) => self.heard(line),
                line = next_line(&mut self.script) => {
                    // At its end it would tell of nothing else any more.
                    self.script = self.script.take().filter(|_| line.is_some());
                    Some(line.map_or(Happened::EndOfInput, Happened::Line))
                }
                _ = self.ticks.tick(), if self.terminal.status.is_working() && self.questions.is_empty() => {
                    self.terminal.tick();
                    None
                }
            };
            if let Some(happened) = happened {
                self.is_hurried = matches!(happened, Happened::Interrupted | Happened::Terminated);
                return Ok(happened);
            }
            if self.terminal.closed {
                self.is_hurried = true;
                return Ok(Happened::OutputClosed);
            }
        }
    }

    /// Ends the server. What it still learns from the conversation may come to its end, in sight of the user, who may
    /// skip it. `last` is the line that nothing follows.
    pub async fn leave(mut self, last: Option<Value>) {
        let goodbye = self.client.shut_down();
        if !self.is_hurried {
            self.wait_for_what_is_learnt(goodbye).await;
        }
        if let Some(last) = last {
            self.terminal.json(&last);
        }
        self.client.exit().await;
    }

    async fn wait_for_what_is_learnt(&mut self, goodbye: impl Future<Output = ()>) {
        let mut goodbye = std::pin::pin!(goodbye);
        self.terminal.status.work(REMEMBERING, Instant::now());
        loop {
            tokio::select! {
                () = &mut goodbye => break,
                _ = self.signals.next() => {
                    self.terminal.break_line();
                    break;
                }
                _ = self.ticks.tick(), if self.terminal.status.is_working() => self.terminal.tick(),
            }
        }
        // What it has learnt meanwhile.
        while let Ok(incoming) = self.client.incoming.try_recv() {
            if let Incoming::Notification { method, params } = incoming
                && let Err(error) = self.told(&method, params)
            {
                tracing::debug!(%error, "a last word that makes no sense");
            }
        }
        self.terminal.break_status();
    }

    pub async fn cancel(&self) -> anyhow::Result<()> {
        let params = CancelSessionParams { session_id: self.session.clone() };
        self.client.call::<method::SessionCancel>(&params).await?;
        Ok(())
    }

    /// Another session takes the place of this one.
    pub fn switch(&mut self, opened: &Opened) {
        self.session.clone_from(&opened.id);
        self.view = View::new(self.folder.clone());
    }

    fn told(&mut self, method: &str, params: Box<RawValue>) -> anyhow::Result<Option<Happened>> {
        if self.shown == Shown::Json {
            self.terminal.json(&json!({"method": method, "params": params}));
        }
        if method == method::MemoryEvent::NAME && self.shown == Shown::Text {
            let event: MemoryEventParams = serde_json::from_str(params.get())?;
            // What is done without being asked for is told in one line, as a notice.
            let is_asked_for = !matches!(event.by, MemoryActor::Extraction | MemoryActor::Dream);
            if is_asked_for && event.session_id.as_ref() == Some(&self.session) {
                self.view.remembered(&mut self.terminal, &event);
            }
        }
        if method != method::SessionUpdate::NAME {
            return Ok(None);
        }
        let told: SessionUpdateParams = serde_json::from_str(params.get())?;
        if told.session_id != self.session {
            return Ok(None);
        }
        let Update::TurnEnd { stop_reason, usage, error, .. } = &told.update else {
            let interrupts =
                self.listens && !self.is_running() && matches!(told.update, Update::Notice { .. });
            if interrupts {
                self.terminal.break_line();
            }
            if self.shown == Shown::Text {
                self.view.show(&mut self.terminal, &told.update);
            }
            return Ok(interrupts.then_some(Happened::Noticed));
        };
        let turn = told.turn_id.clone().unwrap_or_default();
        self.running.retain(|running| *running != turn);
        if self.shown == Shown::Text {
            // Prompts that joined a turn end with it; that is said once.
            if self.running.is_empty() || error.is_some() {
                self.view.show(&mut self.terminal, &told.update);
            }
            if self.is_running() {
                self.view.turn_started(&mut self.terminal, "");
            }
        }
        let (stop, usage, error) = (*stop_reason, *usage, error.clone());
        Ok(Some(Happened::TurnEnded(Ended { turn, stop, usage, error })))
    }

    fn asked(&mut self, id: Value, method: &str, params: Value) -> anyhow::Result<Option<Happened>> {
        if method == method::PermissionAsk::NAME {
            let params: AskPermissionParams = serde_json::from_value(params)?;
            if self.keyboard.is_none() {
                let (answer, hint) = questions::unattended(&params);
                self.view.refused(&mut self.terminal, &params, &hint);
                self.client.answer(&id, &serde_json::to_value(answer)?);
                return Ok(None);
            }
            self.view.previewed(&params);
            self.questions.push_back(Question { id, about: About::Permission(params) });
        } else if method == method::UserAsk::NAME && self.keyboard.is_some() {
            self.questions.push_back(Question { id, about: About::User(serde_json::from_value(params)?) });
        } else if method == method::PlanAsk::NAME && self.keyboard.is_some() {
            self.questions.push_back(Question { id, about: About::Plan(serde_json::from_value(params)?) });
        } else if method == "window/showMessageRequest" {
            // Nobody is there to choose.
            self.client.answer(&id, &Value::Null);
            return Ok(None);
        } else {
            self.client.refuse(&id, method);
            return Ok(None);
        }
        if self.questions.len() == 1 {
            self.ask_next();
        }
        Ok(None)
    }

    fn ask_next(&mut self) {
        let (Some(question), Some(keyboard)) = (self.questions.front(), &mut self.keyboard) else { return };
        let text = question.text(self.terminal.aside_paint, &self.folder);
        keyboard.forget_typed();
        keyboard.want();
        self.terminal.painted_aside(text.trim_end());
        self.terminal.ask("> ");
    }

    fn heard(&mut self, line: Option<String>) -> Option<Happened> {
        let Some(line) = line else {
            self.keyboard = None;
            for question in self.questions.drain(..) {
                self.client.answer(&question.id, &question.answer(None).unwrap_or(Value::Null));
            }
            return self.listens.then_some(Happened::EndOfInput);
        };
        self.terminal.status.scrolled();
        let Some(question) = self.questions.front() else { return Some(Happened::Line(line)) };
        match question.answer(Some(&line)) {
            Ok(answer) => {
                self.client.answer(&question.id, &answer);
                self.questions.pop_front();
                self.ask_next();
            }
            Err(again) => {
                self.terminal.ask(&format!("{again} > "));
                if let Some(keyboard) = &mut self.keyboard {
                    keyboard.want();
                }
            }
        }
        None
    }

    /// The first Ctrl-C stops the turn.
    async fn interrupted(&mut self) -> anyhow::Result<Option<Happened>> {
        if !self.is_running() || self.cancelled {
            return Ok(Some(Happened::Interrupted));
        }
        self.cancelled = true;
        self.questions.clear();
        self.terminal.break_line();
        self.cancel().await?;
        Ok(None)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    Yes,
    No,
}

async fn next_line(lines: &mut Option<Lines>) -> Option<String> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}
