//! The line that says what is going on while nothing is printed: "… thinking 3 s". Only on a terminal.

use std::time::{Duration, Instant};

use super::style::{Paint, Style, cut, safe, width};

/// Whatever takes less needs no explanation.
const PATIENCE: Duration = Duration::from_millis(400);

pub struct Status {
    is_shown: bool,
    paint: Paint,
    work: Option<Work>,
    drawn: String,
}

struct Work {
    label: String,
    since: Instant,
    /// The last thing a command said.
    detail: String,
}

impl Status {
    /// For a terminal that can move its cursor; elsewhere it stays empty.
    pub fn new(is_shown: bool, paint: Paint) -> Self {
        Self { is_shown, paint, work: None, drawn: String::new() }
    }

    pub fn is_shown(&self) -> bool {
        self.is_shown
    }

    pub fn is_working(&self) -> bool {
        self.is_shown && self.work.is_some()
    }

    /// From now on this is going on. The clock runs on if it is the same as before.
    pub fn work(&mut self, label: &str, now: Instant) {
        if self.work.as_ref().is_none_or(|work| work.label != label) {
            self.work = Some(Work { label: label.to_owned(), since: now, detail: String::new() });
        }
    }

    pub fn detail(&mut self, text: &str) {
        if let (Some(work), Some(line)) = (&mut self.work, text.lines().rfind(|line| !line.trim().is_empty()))
        {
            work.detail = line.trim().to_owned();
        }
    }

    pub fn rest(&mut self) {
        self.work = None;
    }

    /// What to print for the line to be up to date.
    pub fn draw(&mut self, now: Instant, columns: usize) -> String {
        let Some(work) = self.work.as_ref().filter(|work| self.is_shown && now - work.since >= PATIENCE)
        else {
            return String::new();
        };
        let seconds = (now - work.since).as_secs();
        let mut line = match seconds {
            0 => format!("… {}", work.label),
            seconds => format!("… {} {seconds} s", work.label),
        };
        if !work.detail.is_empty() {
            line.push_str(" │ ");
            line.push_str(&work.detail);
        }
        // One column stays free: a cursor behind the last one wraps.
        let line = cut(&safe(&line).replace('\t', " "), columns.saturating_sub(2)).into_owned();
        if line == self.drawn {
            return String::new();
        }
        let painted = self.paint.paint(Style::Dim, &line);
        // What the user has typed behind the line stays there as long as the line keeps its length.
        let drawing = if width(&line) == width(&self.drawn) {
            format!("\x1b7\r{painted}\x1b8")
        } else {
            format!("\r\x1b[K{painted} ")
        };
        self.drawn = line;
        drawing
    }

    /// What to print for the line to be gone.
    pub fn clear(&mut self) -> &'static str {
        if self.drawn.is_empty() {
            return "";
        }
        self.drawn.clear();
        "\r\x1b[K"
    }

    /// The user has ended the line, so there is nothing to clear.
    pub fn scrolled(&mut self) {
        self.drawn.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_takes_long_and_how_long() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut status = Status::new(true, Paint::never());
        status.work("thinking", start);
        assert_eq!(status.draw(at(300), 80), "");
        assert_eq!(status.draw(at(500), 80), "\r\x1b[K… thinking ");
        assert_eq!(status.draw(at(900), 80), "");
        assert_eq!(status.draw(at(1_100), 80), "\r\x1b[K… thinking 1 s ");
        assert_eq!(status.draw(at(2_100), 80), "\x1b7\r… thinking 2 s\x1b8");
        status.work("thinking", at(2_200));
        assert_eq!(status.draw(at(3_000), 80), "\x1b7\r… thinking 3 s\x1b8");
        assert_eq!(status.clear(), "\r\x1b[K");
        assert_eq!(status.clear(), "");
    }

    #[test]
    fn a_command_shows_its_last_words_within_the_width() {
        let start = Instant::now();
        let mut status = Status::new(true, Paint::never());
        status.work("Bash make", start);
        status.detail("first\n\x1b[32m  a rather long second line\n\n");
        let later = start + Duration::from_secs(5);
        assert_eq!(status.draw(later, 30), "\r\x1b[K… Bash make 5 s │ ␛[32m  a … ");
        status.rest();
        assert_eq!(status.draw(later, 30), "");
    }

    #[test]
    fn nothing_is_drawn_where_no_terminal_is() {
        let start = Instant::now();
        let mut status = Status::new(false, Paint::never());
        status.work("thinking", start);
        assert_eq!(status.draw(start + Duration::from_secs(9), 80), "");
        assert!(!status.is_working());
    }
}
