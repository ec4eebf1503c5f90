//! A change as people read it.

use std::time::Duration;

use similar::TextDiff;

/// Comparing two long and very different texts gives up after this and shows one coarse change.
const TIMEOUT: Duration = Duration::from_millis(200);
/// More than this nobody reads in a list of changes.
const LARGEST: usize = 20_000;
const CONTEXT_LINES: usize = 3;

/// The unified diff; no file is `/dev/null`, as git writes it.
pub(crate) fn unified(path: &str, before: Option<&[u8]>, after: Option<&[u8]>) -> String {
    let name = |side: Option<&[u8]>| if side.is_some() { path } else { "/dev/null" };
    let (old, new) = (
        String::from_utf8_lossy(before.unwrap_or_default()),
        String::from_utf8_lossy(after.unwrap_or_default()),
    );
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_lines(&*old, &*new);
    let text =
        diff.unified_diff().context_radius(CONTEXT_LINES).header(name(before), name(after)).to_string();
    if text.len() <= LARGEST {
        return text;
    }
    let kept = text.get(..text.floor_char_boundary(LARGEST)).unwrap_or_default();
    let whole_lines = kept.rsplit_once('\n').map_or(kept, |(lines, _)| lines);
    format!("{whole_lines}\n… the diff goes on; {} bytes in all\n", text.len())
}
