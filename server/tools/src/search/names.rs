//! File names as text: relative where that is shorter, on one line whatever they hold.

use std::{
    ffi::OsStr,
    fmt::Write,
    os::unix::ffi::OsStrExt,
    path::{Component, Path},
};

/// The path relative to `cwd` if it lies inside, else absolute. Control characters and bytes that are not UTF-8
/// are escaped, so that a name can neither break a line nor pass for another.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    let relative = path.strip_prefix(cwd).ok().filter(|rest| rest.components().next().is_some());
    let short = relative.unwrap_or(path);
    // A file named like `~x` or `-x` keeps its name: tools take paths, not arguments.
    escaped(short.as_os_str().as_encoded_bytes())
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control()
                || matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}')
            {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            write!(text, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    text
}

/// A folder that the paths of a walk are below.
pub(crate) struct Above {
    bytes: usize,
}

impl Above {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { bytes: folder.join("").as_os_str().len() }
    }

    /// The rest of a path that is known to be below; by its bytes, because a walk asks for every file.
    pub(crate) fn below<'a>(&self, path: &'a Path) -> &'a Path {
        let rest = path.as_os_str().as_bytes().get(self.bytes..).unwrap_or_default();
        Path::new(OsStr::from_bytes(rest))
    }
}

/// The first components of a pattern that are plain names, and the rest, which has the first wildcard or is the
/// last component.
pub(crate) fn split_literal_prefix(pattern: &str) -> (&str, &str) {
    let meta = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let end = pattern.get(..meta).and_then(|literal| literal.rfind('/')).map_or(0, |slash| slash + 1);
    pattern.split_at_checked(end).unwrap_or(("", pattern))
}

/// How many folders deep a pattern can match; `None` if any.
pub(crate) fn depth(pattern: &str) -> Option<usize> {
    let unbounded = pattern.contains("**") || pattern.contains('{');
    (!unbounded)
        .then(|| Path::new(pattern).components().filter(|part| matches!(part, Component::Normal(_))).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_relative_inside_the_folder_and_never_break_a_line() {
        let cwd = Path::new("/a/b");
        let shown = |name: &[u8]| shown(Path::new(OsStr::from_bytes(name)), cwd);
        assert_eq!(shown(b"/a/b/c/d"), "c/d");
        assert_eq!(shown(b"/a/b"), "/a/b");
        assert_eq!(shown(b"/a/bc"), "/a/bc");
        assert_eq!(shown(b"/a/b/x\ny"), "x\\ny");
        assert_eq!(shown(b"/a/b/x\xffy\xe2\x82"), "x\\xffy\\xe2\\x82");
        assert_eq!(shown("/a/b/ä\u{202e}b".as_bytes()), "ä\\u{202e}b");
    }

    #[test]
    fn what_is_below_a_folder_is_cut_by_length() {
        assert_eq!(Above::new(Path::new("/a/b")).below(Path::new("/a/b/c/d")), Path::new("c/d"));
        assert_eq!(Above::new(Path::new("/")).below(Path::new("/a")), Path::new("a"));
        assert_eq!(Above::new(Path::new("/a/b")).below(Path::new("/a/b")), Path::new(""));
    }

    #[test]
    fn patterns_are_split_before_their_first_wildcard() {
        assert_eq!(split_literal_prefix("src/**/*.rs"), ("src/", "**/*.rs"));
        assert_eq!(split_literal_prefix("/a/b/c.rs"), ("/a/b/", "c.rs"));
        assert_eq!(split_literal_prefix("*.rs"), ("", "*.rs"));
        assert_eq!(split_literal_prefix("../x{a/b,c}/d"), ("../", "x{a/b,c}/d"));
        assert_eq!(split_literal_prefix("ä/ö*"), ("ä/", "ö*"));
    }

    #[test]
    fn only_bounded_patterns_have_a_depth() {
        assert_eq!(depth("*.rs"), Some(1));
        assert_eq!(depth("*/x/?.rs"), Some(3));
        assert_eq!(depth("**/x"), None);
        assert_eq!(depth("{a/b,c}"), None);
    }
}
