//! Cutting texts to a length and lists to a size.

/// At most so many bytes; where it was longer, that is said.
pub(super) fn cut(text: &str, bytes: usize) -> String {
    let text = text.trim();
    if text.len() <= bytes {
        return text.to_owned();
    }
    let head = text.get(..text.floor_char_boundary(bytes)).unwrap_or_default().trim_end();
    format!("{head} … [cut: {} bytes in all]", text.len())
}

/// The beginning on one line.
pub(super) fn line(text: &str, bytes: usize) -> String {
    // More than enough words; the rest of a long text need not be looked at.
    let words: Vec<&str> = text.split_whitespace().take(bytes).collect();
    let joined = words.join(" ");
    match joined.get(..joined.floor_char_boundary(bytes)) {
        Some(head) if head.len() < joined.len() => format!("{}…", head.trim_end()),
        _ => joined,
    }
}

/// An item of a list. The further lines are marked, so that none of them looks like a heading.
pub(super) fn item(text: &str) -> String {
    let mut lines = text.trim().lines();
    let mut out = format!("- {}", lines.next().unwrap_or_default());
    for line in lines {
        out.push_str("\n  > ");
        out.push_str(line);
    }
    out
}

/// What of the items fits: the first, and the newest.
pub(in crate::offline) fn fitted(items: &[String], bytes: usize) -> String {
    let size = |item: &String| item.len() + 1;
    if items.iter().map(size).sum::<usize>() <= bytes {
        return items.join("\n");
    }
    let first = items.first().filter(|first| size(first) <= bytes / 3);
    let mut left = bytes.saturating_sub(first.map_or(0, size)).saturating_sub(32);
    let mut newest: Vec<&str> = Vec::new();
    for item in items.iter().skip(usize::from(first.is_some())).rev() {
        let Some(rest) = left.checked_sub(size(item)) else { break };
        left = rest;
        newest.push(item);
    }
    let left_out = items.len() - newest.len() - usize::from(first.is_some());
    let gap = format!("- [{left_out} left out here]");
    let shown = first.map(String::as_str).into_iter().chain([gap.as_str()]).chain(newest.into_iter().rev());
    shown.collect::<Vec<_>>().join("\n")
}
