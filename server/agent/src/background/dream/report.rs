//! The report of a dream: what changed and why, as diffs, what it cost, and how to take it back. In
//! `<memory dir>/.history/dreams/<time>.md`, beside the history it belongs to.

use std::{
    io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use markdown::frontmatter;
use memory::history::{self, By, History};
use workspace::{Beneath, Durable, Private};

use super::{
    super::{DreamChange, DreamReport, JobState},
    run::Came,
};

const FOLDER: &str = "dreams";
/// Reports that are kept; the oldest go.
const KEPT: usize = 30;
const LARGEST: u64 = 4 << 20;
/// `2026-03-01T03-01-00`.
const TIME_LENGTH: usize = 19;

/// What a notification says.
pub(super) fn headline(came: &Came, dry_run: bool) -> String {
    let count = came.memories();
    let memories = if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") };
    match came.status {
        JobState::Completed if came.changes.is_empty() => "Dream: nothing to improve".to_owned(),
        JobState::Completed if count == 0 && dry_run => "A dream would put the index in order".to_owned(),
        JobState::Completed if count == 0 => "Dream put the index in order".to_owned(),
        JobState::Completed if dry_run => format!("A dream would improve {memories}"),
        JobState::Completed | JobState::Running => format!("Dream improved {memories}"),
        JobState::Failed | JobState::Killed => {
            format!("Dream: {}", came.words.lines().next().unwrap_or("it failed"))
        }
    }
}

/// In Markdown, without what only [`find`] reads.
pub(super) fn text(report: &DreamReport, came: &Came, headline: &str) -> String {
    let mut text = format!("# {headline}\n\n");
    let (usage, cost) = (&report.usage, report.cost_usd);
    text.push_str(&format!(
        "{}, because {}. {} input tokens ({} from the cache), {} output tokens, ${cost:.4}.\n",
        report.began.strftime("%Y-%m-%d %H:%M UTC"),
        report.trigger,
        usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        usage.output_tokens,
    ));
    let words = came.words.trim();
    if !words.is_empty() {
        text.push_str(&format!("\n{words}\n"));
    }
    if !report.changes.is_empty() {
        let made = report.changes.iter().any(|change| change.change.is_some());
        text.push_str(if made { "\n## What changed\n" } else { "\n## What it would have changed\n" });
    }
    for DreamChange { change, path, why, diff } in &report.changes {
        let fence = "`".repeat(longest_run(diff).max(2) + 1);
        text.push_str(&format!(
            "\n### {}\n\n{why}\n\n{fence}diff\n{}\n{fence}\n",
            path.display(),
            diff.trim_end()
        ));
        if let Some(change) = change {
            text.push_str(&format!("\nUndo this one: `reverie memory undo {change}`\n"));
        }
    }
    if !came.kept.is_empty() {
        text.push_str("\n## Left alone\n\n");
        for (path, why) in &came.kept {
            text.push_str(&format!("- {path} {why}\n"));
        }
    }
    if report.changes.iter().any(|change| change.change.is_some()) {
        text.push_str(&format!("\nUndo all of it: `reverie dream undo {}`\n", report.dream));
    }
    text
}

pub(super) fn save(directory: &Path, report: &DreamReport) -> io::Result<PathBuf> {
    let folder = Beneath::open(directory)?.create_private(history::FOLDER)?.create_folder(FOLDER)?;
    let names = reports(&folder)?;
    // Two in a second keep their order.
    let time = report.ended.strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let same_second = names.iter().filter_map(|name| Some(place(name)).filter(|(of, _)| *of == time));
    let name = match same_second.map(|(_, number)| number).max() {
        Some(last) => format!("{time}-{}.md", last + 1),
        None => format!("{time}.md"),
    };
    let front = format!(
        "---\ndream: {}\nstatus: {}\ntrigger: {}\nbegan: {}\nended: {}\ninput: {}\noutput: {}\ncache_read: {}\ncache_write: {}\ncost_usd: {}\n---\n\n",
        report.dream,
        status(report.status),
        report.trigger,
        report.began,
        report.ended,
        report.usage.input_tokens,
        report.usage.output_tokens,
        report.usage.cache_read_input_tokens,
        report.usage.cache_creation_input_tokens,
        report.cost_usd,
    );
    folder.write(&name, format!("{front}{}", report.text).as_bytes(), Durable::Now)?;
    for old in names.iter().take((names.len() + 1).saturating_sub(KEPT)) {
        folder.remove(old)?;
    }
    Ok(directory.join(history::FOLDER).join(FOLDER).join(name))
}

/// Of one dream, or of the last.
pub(in super::super) fn find(directory: &Path, dream: Option<&str>) -> io::Result<Option<DreamReport>> {
    let Some(private) = Beneath::open(directory)?.private(history::FOLDER)? else { return Ok(None) };
    let folder = private.folder(FOLDER)?;
    let names = folder.as_ref().map(reports).transpose()?.unwrap_or_default();
    let mut written = names.iter().rev().filter_map(|name| {
        // One that cannot be read must not hide the others.
        let bytes = folder.as_ref()?.read(name, LARGEST).ok()??;
        read(&String::from_utf8_lossy(&bytes), directory.join(history::FOLDER).join(FOLDER).join(name))
    });
    let mut last = written.next();
    if let Some(report) = unreported(directory, last.as_ref().map(|report| report.ended), dream)? {
        return Ok(Some(report));
    }
    let is_it = |report: &DreamReport| dream.is_none_or(|dream| report.dream == dream);
    let Some(mut report) = last.take_if(|last| is_it(last)).or_else(|| written.find(is_it)) else {
        return Ok(None);
    };
    report.changes = changes(directory, &report.dream)?;
    Ok(Some(report))
}

/// A dream that was killed while its changes were made has left them, and no report. `since`: the last one that has.
fn unreported(
    directory: &Path,
    since: Option<Timestamp>,
    dream: Option<&str>,
) -> io::Result<Option<DreamReport>> {
    let all = History::open(directory)?.changes(None, usize::MAX)?;
    let last = all.into_iter().find(|change| change.by == By::Dream && change.group.is_some());
    let last = last.filter(|change| since.is_none_or(|since| change.at > since));
    let Some((group, at)) = last.and_then(|change| Some((change.group?, change.at))) else { return Ok(None) };
    if dream.is_some_and(|dream| dream != group) {
        return Ok(None);
    }
    let headline = "A dream was killed while its changes were made";
    Ok(Some(DreamReport {
        changes: changes(directory, &group)?,
        text: format!("# {headline}\n\nUndo all of it: `reverie dream undo {group}`\n"),
        dream: group,
        status: JobState::Killed,
        dry_run: false,
        trigger: "it left no report".to_owned(),
        began: at,
        ended: at,
        path: None,
        usage: conversation::Usage::default(),
        cost_usd: 0.0,
    }))
}

/// Oldest first.
fn reports(folder: &Private) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = folder.names()?.into_iter().filter(|name| name.ends_with(".md")).collect();
    names.sort_by(|one, other| place(one).cmp(&place(other)));
    Ok(names)
}

/// The second, and which of it: `2026-03-01T03-01-00-2.md` is the second one.
fn place(name: &str) -> (&str, u64) {
    let stem = name.strip_suffix(".md").unwrap_or(name);
    let (time, number) = stem.split_at_checked(TIME_LENGTH).unwrap_or((stem, ""));
    (time, number.strip_prefix('-').and_then(|number| number.parse().ok()).unwrap_or(1))
}

fn read(text: &str, path: PathBuf) -> Option<DreamReport> {
    let document = frontmatter::parse(text);
    let field = |name: &str| document.fields.line(name);
    let number = |name: &str| field(name).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    let time = |name: &str| field(name).and_then(|text| text.parse::<Timestamp>().ok()).unwrap_or_default();
    Some(DreamReport {
        dream: field("dream")?,
        status: match field("status")?.as_str() {
            "completed" => JobState::Completed,
            "killed" => JobState::Killed,
            _ => JobState::Failed,
        },
        dry_run: false,
        trigger: field("trigger").unwrap_or_default(),
        began: time("began"),
        ended: time("ended"),
        path: Some(path),
        text: document.body.trim_start().to_owned(),
        changes: Vec::new(),
        usage: conversation::Usage {
            input_tokens: number("input"),
            output_tokens: number("output"),
            cache_read_input_tokens: number("cache_read"),
            cache_creation_input_tokens: number("cache_write"),
        },
        cost_usd: field("cost_usd").and_then(|text| text.parse().ok()).unwrap_or_default(),
    })
}

/// As the history has them.
fn changes(directory: &Path, dream: &str) -> io::Result<Vec<DreamChange>> {
    let history = History::open(directory)?;
    let all = history.changes(None, usize::MAX)?;
    let own = all.into_iter().rev().filter(|change| change.group.as_deref() == Some(dream));
    let shown = own.map(|change| DreamChange {
        path: directory.join(&change.path),
        diff: history.diff(&change),
        why: change.why,
        change: Some(change.id),
    });
    Ok(shown.collect())
}

fn status(status: JobState) -> &'static str {
    match status {
        JobState::Running => "running",
        JobState::Completed => "completed",
        JobState::Failed => "failed",
        JobState::Killed => "killed",
    }
}

/// Of backticks: what is quoted must not end its quotation.
fn longest_run(text: &str) -> usize {
    text.split(|character| character != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use conversation::Usage;

    use super::*;

    fn report(dream: &str) -> DreamReport {
        DreamReport {
            dream: dream.to_owned(),
            status: JobState::Completed,
            dry_run: false,
            trigger: "you asked for it".to_owned(),
            began: "2026-03-01T03:00:00Z".parse().unwrap(),
            ended: "2026-03-01T03:01:00Z".parse().unwrap(),
            path: None,
            text: "# Dream improved 1 memory\n".to_owned(),
            changes: Vec::new(),
            usage: Usage { input_tokens: 10, output_tokens: 2, ..Usage::default() },
            cost_usd: 0.25,
        }
    }

    #[test]
    fn a_report_is_found_again_and_thirty_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..40 {
            save(folder.path(), &report(&format!("d{number}"))).unwrap();
        }
        let last = find(folder.path(), None).unwrap().unwrap();
        assert_eq!(last.dream, "d39");
        assert_eq!((last.usage.input_tokens, last.cost_usd), (10, 0.25));
        assert_eq!(last.text, "# Dream improved 1 memory\n");
        assert!(find(folder.path(), Some("d0")).unwrap().is_none());
        let kept = std::fs::read_dir(folder.path().join(".history/dreams")).unwrap().count();
        assert_eq!(kept, KEPT);
    }

    #[test]
    fn a_dream_that_was_killed_is_known_by_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        save(folder.path(), &report("before")).unwrap();
        let author =
            history::Author { group: Some("killed".to_owned()), ..history::Author::new(By::Dream, "x") };
        let history = History::open(folder.path()).unwrap();
        history.record("a.md", None, Some(b"half"), &author).unwrap();
        let found = find(folder.path(), None).unwrap().unwrap();
        assert_eq!((found.dream.as_str(), found.changes.len()), ("killed", 1));
        assert_eq!(find(folder.path(), Some("before")).unwrap().unwrap().dream, "before");
        assert_eq!(find(folder.path(), Some("killed")).unwrap().unwrap().status, JobState::Killed);
        // The next one that has a report is the last again.
        let ended = Timestamp::now() + jiff::SignedDuration::from_secs(1);
        save(folder.path(), &DreamReport { ended, ..report("after") }).unwrap();
        assert_eq!(find(folder.path(), None).unwrap().unwrap().dream, "after");
    }

    #[test]
    fn what_is_quoted_does_not_end_its_quotation() {
        let change = DreamChange {
            change: Some("c1".to_owned()),
            path: "/m/a.md".into(),
            why: "merged".to_owned(),
            diff: "+````\n+x\n".to_owned(),
        };
        let came = Came {
            status: JobState::Completed,
            words: "Merged two.".to_owned(),
            changes: vec![change.clone()],
            recorded: Vec::new(),
            kept: vec![("b.md".to_owned(), "was changed meanwhile".to_owned())],
        };
        let made =
            text(&DreamReport { changes: vec![change], ..report("d") }, &came, &headline(&came, false));
        expect_test::expect![[r#"
            # Dream improved 1 memory

            2026-03-01 03:00 UTC, because you asked for it. 10 input tokens (0 from the cache), 2 output tokens, $0.2500.

            Merged two.

            ## What changed

            ### /m/a.md

            merged

            `````diff
            +````
            +x
            `````

            Undo this one: `reverie memory undo c1`

            ## Left alone

            - b.md was changed meanwhile

            Undo all of it: `reverie dream undo d`
        "#]]
        .assert_eq(&made);
    }
}
