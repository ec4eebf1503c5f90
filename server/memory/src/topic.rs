//! One memory: a Markdown file with a few fields in front. Broken frontmatter never breaks anything.

use markdown::frontmatter;

/// Frontmatter that is longer is none: a scan reads no further.
pub const FRONTMATTER_LINES: usize = 30;

/// What a memory is about; anything else in `type` counts as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Who the user is: role, goals, knowledge, preferences.
    User,
    /// How the user wants the work done: corrections and confirmations.
    Feedback,
    /// Who does what, why, until when.
    Project,
    /// Where things live in other systems.
    Reference,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::User, Self::Feedback, Self::Project, Self::Reference];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Feedback => "feedback",
            Self::Project => "project",
            Self::Reference => "reference",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text.trim()))
    }
}

/// What a memory file says of itself, and the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topic<'a> {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<Kind>,
    /// The session and message that taught it, as `<session>/<message>`.
    pub source: Option<String>,
    /// Without the frontmatter.
    pub body: &'a str,
    pub has_frontmatter: bool,
    /// Why the frontmatter was not read, though there is one.
    pub problem: Option<String>,
}

impl<'a> Topic<'a> {
    pub fn parse(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Some(front) = front_lines(text) else { return Self { body: text, ..Self::default() } };
        let document = frontmatter::parse(front);
        Self {
            name: document.fields.line("name"),
            description: document.fields.line("description"),
            kind: document.fields.line("type").and_then(|kind| Kind::parse(&kind)),
            source: document.fields.line("source"),
            body: text.get(front.len()..).unwrap_or_default(),
            has_frontmatter: true,
            problem: document.problem,
        }
    }
}

/// The text with when and where it was learnt in its frontmatter, unless that says so already. A text without
/// frontmatter stays as it is.
pub fn with_origin(text: &str, created: jiff::civil::Date, source: Option<&str>) -> String {
    with_fields(text, Some(&created.to_string()), source)
}

/// Likewise for a text that takes the place of another: it was learnt when that was, and where, unless `source`
/// has taught it since.
pub fn with_origin_of(text: &str, before: &str, source: Option<&str>) -> String {
    let Some(front) = front_lines(before) else { return text.to_owned() };
    let fields = frontmatter::parse(front).fields;
    let known = fields.line("source");
    with_fields(
        text,
        fields.line("created").as_deref(),
        known.as_deref().map(|known| source.unwrap_or(known)),
    )
}

fn with_fields(text: &str, created: Option<&str>, source: Option<&str>) -> String {
    let Some(front) = front_lines(text) else { return text.to_owned() };
    let fields = frontmatter::parse(front).fields;
    let mut origin = String::new();
    if let Some(created) = created.filter(|_| fields.line("created").is_none()) {
        origin.push_str(&format!("created: {created}\n"));
    }
    if let Some(source) = source.filter(|_| fields.line("source").is_none()) {
        origin.push_str(&format!("source: {source}\n"));
    }
    let fence = front.trim_end().len() - "---".len();
    match (text.get(..fence), text.get(fence..)) {
        (Some(fields), Some(rest)) => format!("{fields}{origin}{rest}"),
        _ => text.to_owned(),
    }
}

/// The frontmatter with both its fences, if it ends in time.
fn front_lines(text: &str) -> Option<&str> {
    let mut end = 0;
    for (number, line) in text.split_inclusive('\n').take(FRONTMATTER_LINES).enumerate() {
        end += line.len();
        match (number, line.trim_end() == "---") {
            (0, false) => return None,
            (0, true) | (_, false) => {}
            (_, true) => return text.get(..end),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_says_what_it_is() {
        let text = "---\nname: Deploys\ndescription: Use when: shipping\ntype: Project\nsource: s/m\n---\n\nFridays only.\n";
        let topic = Topic::parse(text);
        assert_eq!(topic.name.as_deref(), Some("Deploys"));
        assert_eq!(topic.description.as_deref(), Some("Use when: shipping"));
        assert_eq!(topic.kind, Some(Kind::Project));
        assert_eq!(topic.source.as_deref(), Some("s/m"));
        assert_eq!(topic.body.trim(), "Fridays only.");
    }

    #[test]
    fn where_it_was_learnt_is_added_once() {
        let day = jiff::civil::date(2026, 3, 1);
        let text = "---\nname: x\ntype: user\n---\n\nbody\n";
        let with = with_origin(text, day, Some("s/m"));
        assert_eq!(with, "---\nname: x\ntype: user\ncreated: 2026-03-01\nsource: s/m\n---\n\nbody\n");
        assert_eq!(with_origin(&with, jiff::civil::date(2027, 1, 1), Some("other")), with);
        assert_eq!(with_origin("no fields\n", day, Some("s/m")), "no fields\n");
    }

    #[test]
    fn what_is_written_anew_keeps_where_it_was_learnt_unless_that_is_newer() {
        let before = "---\nname: x\ncreated: 2026-03-01\nsource: s/m\n---\n\nbody\n";
        let after = "---\nname: y\n---\n\nother\n";
        let with =
            |source: &str| format!("---\nname: y\ncreated: 2026-03-01\nsource: {source}\n---\n\nother\n");
        assert_eq!(with_origin_of(after, before, None), with("s/m"));
        assert_eq!(with_origin_of(after, before, Some("t/n")), with("t/n"));
        assert_eq!(with_origin_of(after, "no fields\n", Some("t/n")), after, "nobody knows when that was");
    }

    #[test]
    fn an_unknown_type_counts_as_none_and_broken_frontmatter_breaks_nothing() {
        assert_eq!(Topic::parse("---\ntype: banana\n---\nx").kind, None);
        let broken = Topic::parse("---\nname: [\ndescription: \"open\n---\nstill here\n");
        assert_eq!(broken.body, "still here\n");
        let bomb = format!("---\nname: x\na: {}\n---\nbody", "[".repeat(5_000));
        assert_eq!(Topic::parse(&bomb).body, "body");
        assert_eq!(Topic::parse("no frontmatter").body, "no frontmatter");
    }

    #[test]
    fn frontmatter_ends_within_thirty_lines_or_is_none() {
        let with = |fields: usize| format!("---\nname: x\n{}---\nbody", "k: v\n".repeat(fields));
        // Two fences, the name, and 27 fields are thirty lines.
        assert_eq!(Topic::parse(&with(27)).name.as_deref(), Some("x"));
        let beyond = Topic::parse(&with(28)).has_frontmatter;
        assert!(!beyond);
    }
}
