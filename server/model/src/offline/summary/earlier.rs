//! A summary that stands in the conversation already. What it says must not get lost in the next one.

use super::sections::{self, TITLES};

pub(super) struct Earlier<'a> {
    /// By the number of the section, from 0; empty where there is none.
    pub(super) sections: [Vec<&'a str>; 9],
    /// Of a summary in another form: what it says.
    pub(super) plain: Option<&'a str>,
}

/// Fewer headings are a text that happens to have some.
const FEWEST_HEADINGS: usize = 5;

/// `None`: the text is no summary.
pub(super) fn read(text: &str) -> Option<Earlier<'_>> {
    if let Some((_, inside)) =
        text.trim_start().strip_prefix("<collapsed-messages").and_then(|rest| rest.split_once('>'))
    {
        let plain = inside.split("</collapsed-messages>").next();
        return Some(Earlier { sections: Default::default(), plain });
    }
    let mut sections: [Vec<&str>; 9] = Default::default();
    let mut current = None;
    let mut headings = 0;
    for line in text.lines() {
        if let Some(number) = heading(line) {
            headings += 1;
            current = Some(number);
        } else if let Some(section) = current.and_then(|number: usize| sections.get_mut(number)) {
            section.push(line);
        }
    }
    if headings >= FEWEST_HEADINGS {
        return Some(Earlier { sections, plain: None });
    }
    // The session's notes, which have other sections.
    let (_, inside) =
        text.trim_start().split_once("<conversation-summary>\n").filter(|(before, _)| before.is_empty())?;
    let plain = inside.split("</conversation-summary>").next();
    Some(Earlier { sections: Default::default(), plain })
}

/// `3. Files and Code`, also as Markdown likes it; other models' titles have more words.
fn heading(line: &str) -> Option<usize> {
    let marks = ['#', '*', ' '];
    let (number, title) = line.trim_matches(marks).split_once(['.', ')'])?;
    let number = number.parse::<usize>().ok()?.checked_sub(1)?;
    let title = title.to_lowercase();
    let known = TITLES.get(number)?.to_lowercase();
    let important = |word: &&str| word.len() > 3;
    known.split(' ').filter(important).all(|word| title.contains(word)).then_some(number)
}

impl Earlier<'_> {
    /// The items of a section, without the words that every summary has.
    pub(super) fn items(&self, section: usize) -> Vec<String> {
        items(self.lines(section))
    }

    /// Those up to the first blank line: behind the last section stands what is not a part of it.
    pub(super) fn first_items(&self, section: usize) -> Vec<String> {
        let lines = self.lines(section).skip_while(|line| line.trim().is_empty());
        items(lines.take_while(|line| !line.trim().is_empty()))
    }

    /// What it is about, in short.
    pub(super) fn told(&self) -> String {
        self.plain.map_or_else(|| self.items(0).join(" "), |plain| plain.trim().to_owned())
    }

    fn lines(&self, section: usize) -> impl Iterator<Item = &str> {
        self.sections.get(section).into_iter().flatten().copied()
    }
}

fn items<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty() && !sections::is_frame(line)) {
        match items.last_mut() {
            // What is indented belongs to the line before.
            Some(item) if line.starts_with("  ") => {
                item.push('\n');
                item.push_str(line);
            }
            _ => items.push(line.to_owned()),
        }
    }
    items
}
