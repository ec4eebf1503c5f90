//! The terminal: answers go to stdout, everything beside them to stderr, and the two never run into each other.
//!
//! What is said is decided by `view` and by the commands; here is only how it gets out.

pub mod lines;
mod markdown;
mod status;
pub mod style;
mod wrap;

use std::{
    io::{self, IsTerminal, Write},
    time::Instant,
};

use markdown::Markdown;
use status::Status;
use style::{Paint, Style, safe};

/// What a terminal of unknown size is taken to have.
const USUAL_COLUMNS: usize = 80;

/// Says what went wrong, when there is nothing else left to do.
pub fn complain(message: &str) {
    // Nothing can be done about a closed stderr.
    drop(writeln!(io::stderr().lock(), "reverie: {}", safe(message)));
}

pub struct Terminal {
    markdown: Markdown,
    pub status: Status,
    /// The colours of what stands beside the answer.
    pub aside_paint: Paint,
    /// The colours of what was asked for.
    pub answer_paint: Paint,
    answer_on_screen: bool,
    aside_on_screen: bool,
    /// Whether the last thing printed on stdout did not end its line.
    line_open: bool,
    /// What was printed last.
    last: Last,
    /// stdout is gone: nobody reads the answer any more.
    pub closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Answer,
    Aside,
}

impl Terminal {
    pub fn new() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let (aside_paint, answer_paint) = (Paint::on(&stderr), Paint::on(&stdout));
        Self {
            markdown: Markdown::new(answer_paint),
            status: Status::new(stderr.is_terminal() && style::is_capable(), aside_paint),
            aside_paint,
            answer_paint,
            answer_on_screen: stdout.is_terminal(),
            aside_on_screen: stderr.is_terminal(),
            line_open: false,
            last: Last::Nothing,
            closed: false,
        }
    }

    /// More of the model's answer, which is Markdown.
    pub fn answer(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.gap(Last::Answer);
        let text = safe(text);
        if self.answer_on_screen {
            let shown = self.markdown.push(&text, columns());
            self.print(&shown);
        } else {
            self.print(&text);
        }
        self.line_open = !text.ends_with('\n');
    }

    /// Ends what the model has to say for now.
    pub fn end_answer(&mut self) {
        let rest = self.markdown.finish();
        self.end_line(&rest);
    }

    /// Lines beside the answer.
    pub fn aside(&mut self, text: &str) {
        let painted = self.aside_paint.paint(Style::Dim, &safe(text.trim_end_matches('\n')));
        self.painted_aside(&painted);
    }

    /// Something beside the answer that should be noticed.
    pub fn warn(&mut self, text: &str) {
        let painted = self.aside_paint.paint(Style::Yellow, &safe(&format!("! {text}")));
        self.painted_aside(&painted);
    }

    /// Lines beside the answer that bring their own colours; the caller has made them safe.
    pub fn painted_aside(&mut self, text: &str) {
        self.pause_answer();
        self.gap(Last::Aside);
        self.print_aside(&format!("{text}\n"));
    }

    /// Waits for input on this line.
    pub fn ask(&mut self, prompt: &str) {
        self.pause_answer();
        self.print_aside(prompt);
        self.last = Last::Aside;
    }

    /// A fresh line after the terminal has echoed a Ctrl-C.
    pub fn break_line(&mut self) {
        let drawn = self.clear_status();
        if self.line_open {
            self.pause_answer();
        } else if self.aside_on_screen && !drawn {
            self.write_aside("\n");
        }
    }

    /// Nothing goes on any more that the status line could tell.
    pub fn break_status(&mut self) {
        self.status.rest();
        self.clear_status();
    }

    /// A line of what was asked for.
    pub fn line(&mut self, text: &str) {
        self.painted_line(&safe(text));
    }

    /// The same, with its own colours; the caller has made it safe.
    pub fn painted_line(&mut self, text: &str) {
        self.print(&format!("{text}\n"));
        self.last = Last::Answer;
    }

    /// Lines of what was asked for, no wider than the screen; those without an indentation are headings.
    pub fn sections(&mut self, text: &str) {
        let text = safe(text);
        let text = self.answer_columns().map_or_else(|| text.to_string(), |most| wrap::wrapped(&text, most));
        self.gap(Last::Answer);
        for line in text.trim_end().lines() {
            let is_heading = !line.is_empty() && !line.starts_with(' ');
            let line = if is_heading { self.answer_paint.paint(Style::Bold, line) } else { line.to_owned() };
            self.painted_line(&line);
        }
    }

    /// A line of JSON, for programs.
    pub fn json(&mut self, value: &impl serde::Serialize) {
        match serde_json::to_string(value) {
            Ok(line) => self.print(&format!("{line}\n")),
            Err(error) => tracing::error!(%error, "this is no JSON"),
        }
    }

    /// Keeps the status line up to date.
    pub fn tick(&mut self) {
        // Behind an open line of the answer there is no room for it.
        if !(self.line_open && self.answer_on_screen) {
            let drawing = self.status.draw(Instant::now(), columns());
            self.write_aside(&drawing);
        }
    }

    /// The columns that text may take on stdout; `None` where lines can be as long as they like.
    pub fn answer_columns(&self) -> Option<usize> {
        self.answer_on_screen.then(columns)
    }

    /// The columns that text may take beside the answer.
    pub fn aside_columns(&self) -> Option<usize> {
        self.aside_on_screen.then(columns)
    }

    /// Ends the line that the answer is in.
    fn pause_answer(&mut self) {
        let rest = self.markdown.pause();
        self.end_line(&rest);
    }

    fn end_line(&mut self, rest: &str) {
        self.print(rest);
        if self.line_open {
            self.print("\n");
            self.line_open = false;
        }
    }

    /// An empty line between what the model says and what stands beside it, where both meet on the screen.
    fn gap(&mut self, next: Last) {
        let meet = self.answer_on_screen && self.aside_on_screen;
        if meet && self.last != next && self.last != Last::Nothing {
            self.print_aside("\n");
        }
        self.last = next;
    }

    fn print(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.clear_status();
        let mut stdout = io::stdout().lock();
        self.closed |= stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_err();
    }

    fn print_aside(&mut self, text: &str) {
        self.clear_status();
        self.write_aside(text);
    }

    /// Says whether there was one.
    fn clear_status(&mut self) -> bool {
        let clearing = self.status.clear();
        self.write_aside(clearing);
        !clearing.is_empty()
    }

    fn write_aside(&self, text: &str) {
        if !text.is_empty() {
            // Nothing can be done about a closed stderr.
            drop(io::stderr().lock().write_all(text.as_bytes()));
        }
    }
}

fn columns() -> usize {
    let size =
        rustix::termios::tcgetwinsize(io::stderr()).or_else(|_| rustix::termios::tcgetwinsize(io::stdout()));
    size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(USUAL_COLUMNS)
}
