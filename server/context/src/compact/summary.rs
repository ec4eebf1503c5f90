//! The answer of the model that was asked for a summary: what is kept of it, and whether it is good enough.

/// The nine sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Request,
    Concepts,
    Files,
    Errors,
    Solving,
    UserMessages,
    Pending,
    Current,
    Next,
}

impl Section {
    pub const ALL: [Self; 9] = [
        Self::Request,
        Self::Concepts,
        Self::Files,
        Self::Errors,
        Self::Solving,
        Self::UserMessages,
        Self::Pending,
        Self::Current,
        Self::Next,
    ];

    pub fn number(self) -> usize {
        self as usize + 1
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Request => "Request and Intent",
            Self::Concepts => "Key Concepts",
            Self::Files => "Files and Code",
            Self::Errors => "Errors and Fixes",
            Self::Solving => "Problem Solving",
            Self::UserMessages => "All User Messages",
            Self::Pending => "Pending Tasks",
            Self::Current => "Current Work",
            Self::Next => "Next Step",
        }
    }

    /// Words that a heading has to contain, one of each group, in whatever form models like to put it.
    fn words(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Request => &[&["request"], &["intent"]],
            Self::Concepts => &[&["concept"]],
            Self::Files => &[&["file"], &["code"]],
            Self::Errors => &[&["error"], &["fix"]],
            Self::Solving => &[&["problem"], &["solv"]],
            Self::UserMessages => &[&["user"], &["message"]],
            Self::Pending => &[&["pending", "open"], &["task"]],
            Self::Current => &[&["current"], &["work"]],
            Self::Next => &[&["next"], &["step"]],
        }
    }
}

/// A summary without the thinking that led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    text: String,
    present: Vec<Section>,
}

/// Ask again, or give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSummary {
    #[error("the model answered with nothing")]
    Empty,
    #[error("the model's answer contains no summary")]
    NotASummary,
}

impl Summary {
    /// Takes what the tags enclose, or all behind the analysis where a tag is missing but sections are there.
    pub fn parse(answer: &str) -> Result<Self, NoSummary> {
        if answer.trim().is_empty() {
            return Err(NoSummary::Empty);
        }
        let rest = without_analysis(answer);
        let tagged = rest.split_once("<summary>").map(|(_, inside)| inside);
        let text = tagged.unwrap_or(rest);
        let text = text.rsplit_once("</summary>").map_or(text, |(inside, _)| inside).trim();
        let present = present_sections(text);
        let is_summary = !present.is_empty() || tagged.is_some();
        match is_summary && !text.is_empty() {
            true => Ok(Self { text: text.to_owned(), present }),
            false => Err(NoSummary::NotASummary),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many of the sections are there, as a share.
    pub fn score(&self) -> f64 {
        self.present.len() as f64 / Section::ALL.len() as f64
    }

    /// All but the last must be there: work that is finished has no next step.
    pub fn is_good(&self) -> bool {
        self.missing().iter().all(|section| *section == Section::Next)
    }

    pub fn missing(&self) -> Vec<Section> {
        Section::ALL.into_iter().filter(|section| !self.present.contains(section)).collect()
    }
}

fn without_analysis(answer: &str) -> &str {
    let Some((_, behind)) = answer.split_once("<analysis>") else { return answer };
    match (behind.split_once("</analysis>"), behind.find("<summary>")) {
        (Some((_, rest)), _) => rest,
        // It was never closed: the summary ends it.
        (None, Some(at)) => behind.get(at..).unwrap_or_default(),
        (None, None) => behind,
    }
}

/// By their titles; by their numbers alone where no title is known, as in another language.
fn present_sections(text: &str) -> Vec<Section> {
    let by_title = filled_sections(text, |line, _| line.section_by_title());
    if !by_title.is_empty() {
        return by_title;
    }
    filled_sections(text, |line, before| {
        // A list inside of a section is numbered too; sections come in order.
        let due = before.map_or(1, |section| section.number() + 1);
        Section::ALL.into_iter().find(|section| line.number == Some(due) && section.number() == due)
    })
}

fn filled_sections(
    text: &str,
    begins: impl Fn(&Line<'_>, Option<Section>) -> Option<Section>,
) -> Vec<Section> {
    let mut filled = Vec::new();
    let mut open = None;
    for line in text.lines() {
        let parsed = Line::parse(line);
        let is_content = match begins(&parsed, open) {
            Some(section) => {
                open = Some(section);
                says_something(parsed.behind_title)
            }
            None => says_something(line),
        };
        filled.extend(open.filter(|section| is_content && !filled.contains(section)));
    }
    filled
}

fn says_something(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A line, as a heading would have to be read.
struct Line<'a> {
    number: Option<usize>,
    /// Whether it is set off: as a heading, in bold, or with a number.
    is_marked: bool,
    title: &'a str,
    behind_title: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Self {
        let marks = ['#', '*', '_', ' '];
        let bare = line.trim_start_matches(marks);
        let digits = bare.find(|character: char| !character.is_ascii_digit()).unwrap_or(bare.len());
        let (number, rest) = bare.split_at(digits);
        let number = number.parse().ok().filter(|_| rest.starts_with(['.', ')', ':']));
        let rest = rest.trim_start_matches(['.', ')', ':', '*', '_', ' ']);
        let (title, behind_title) = rest.split_once(':').unwrap_or((rest, ""));
        let is_marked = number.is_some() || line.starts_with(['#', '*']);
        Self { number, is_marked, title: title.trim_end_matches(marks), behind_title }
    }

    fn section_by_title(&self) -> Option<Section> {
        let title = self.title.to_lowercase();
        let is_sentence = title.split_whitespace().count() > 6 || title.ends_with('.');
        if is_sentence || !(self.is_marked || self.behind_title.is_empty()) {
            return None;
        }
        let has = |group: &&[&str]| group.iter().any(|word| title.contains(word));
        let section = Section::ALL.into_iter().find(|section| section.words().iter().all(has))?;
        self.number.is_none_or(|number| number == section.number()).then_some(section)
    }
}
