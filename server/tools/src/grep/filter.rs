//! Which files a search looks at, by their names: the `glob` of the input.

use std::path::Path;

use globset::{Candidate, Glob, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{
    search::{Above, Hidden},
    tool::ToolFailure,
};

/// Globs as ripgrep's `--glob` takes them, except that they do not bring back what `.gitignore` excludes.
pub(super) struct NameFilter {
    base: Above,
    /// Where the working folder is another one above.
    cwd: Option<Above>,
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
    hidden: Hidden,
}

impl NameFilter {
    /// Several globs may be given with commas or spaces between them; one that begins with `!` excludes.
    pub(super) fn parse(globs: &str, base: &Path, cwd: &Path) -> Result<Self, ToolFailure> {
        let (mut include, mut exclude) = (Vec::new(), Vec::new());
        for glob in split(globs) {
            match glob.strip_prefix('!') {
                Some(glob) => exclude.push(compile(glob, base)?),
                None => include.push(compile(glob, base)?),
            }
        }
        Ok(Self {
            base: Above::new(base),
            cwd: (base != cwd && base.starts_with(cwd)).then(|| Above::new(cwd)),
            include: set(include)?,
            exclude: set(exclude)?,
            hidden: Hidden::asked_by(globs),
        })
    }

    pub(super) fn asks_for_hidden(&self) -> bool {
        self.hidden == Hidden::Include
    }

    /// For a path below the searched folder.
    ///
    /// A glob with a folder in it may be meant from the searched folder or from the working folder.
    pub(super) fn passes(&self, path: &Path) -> bool {
        if self.include.is_none() && self.exclude.is_none() {
            return true;
        }
        let from_base = Candidate::new(self.base.below(path));
        let from_cwd = self.cwd.as_ref().map(|cwd| Candidate::new(cwd.below(path)));
        let matches = |set: &GlobSet| {
            set.is_match_candidate(&from_base)
                || from_cwd.as_ref().is_some_and(|from_cwd| set.is_match_candidate(from_cwd))
        };
        self.include.as_ref().is_none_or(matches) && !self.exclude.as_ref().is_some_and(matches)
    }
}

/// At commas and spaces outside braces and brackets.
fn split(globs: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = globs.split(|character: char| {
        match character {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    });
    parts.filter(|part| !part.is_empty()).collect()
}

fn compile(glob: &str, base: &Path) -> Result<Glob, ToolFailure> {
    let absolute = base.to_str().and_then(|base| glob.strip_prefix(base));
    let glob = absolute.unwrap_or(glob);
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = match (glob.strip_prefix('/'), glob.trim_end_matches('/').contains('/')) {
        (Some(anchored), _) => anchored.to_owned(),
        (None, true) => glob.to_owned(),
        // Without a folder in it, a glob is about the name alone, wherever the file is.
        (None, false) => format!("**/{glob}"),
    };
    let glob = if glob.ends_with('/') { format!("{glob}**") } else { glob };
    GlobBuilder::new(&glob)
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| ToolFailure(format!("the glob {glob} is not valid: {}", error.kind())))
}

fn set(globs: Vec<Glob>) -> Result<Option<GlobSet>, ToolFailure> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        builder.add(glob);
    }
    let set = builder.build().map_err(|error| ToolFailure(format!("the glob is not valid: {error}")))?;
    Ok(Some(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(globs: &str, passing: &[&str], failing: &[&str]) {
        let Ok(filter) = NameFilter::parse(globs, Path::new("/folder/sub"), Path::new("/folder")) else {
            panic!("not a glob: {globs}");
        };
        for path in passing {
            assert!(filter.passes(&Path::new("/folder/sub").join(path)), "{path} should pass {globs}");
        }
        for path in failing {
            assert!(!filter.passes(&Path::new("/folder/sub").join(path)), "{path} should not pass {globs}");
        }
    }

    #[test]
    fn globs_are_about_names_or_paths() {
        check("", &["a.rs", ".x"], &[]);
        check("*.rs", &["a.rs", "x/y/a.rs"], &["a.rsx", "rs"]);
        check("src/*.rs", &["src/a.rs"], &["a.rs", "x/src/a.rs", "src/x/a.rs"]);
        check("sub/src/*.rs", &["src/a.rs"], &["a.rs"]);
        check("/folder/sub/src/*.rs", &["src/a.rs"], &["a.rs"]);
        check("src/", &["src/a.rs", "src/x/a.rs"], &["x/a.rs"]);
        check("*.{ts,tsx}", &["a.ts", "b.tsx"], &["c.js"]);
        check("*.ts, *.js", &["a.ts", "b.js"], &["c.rs"]);
        check("!*.lock", &["a.rs"], &["Cargo.lock", "x/y.lock"]);
        check("*.rs !tests/**", &["a.rs", "x/tests/a.rs"], &["tests/a.rs", "a.c"]);
    }

    #[test]
    fn a_leading_dot_asks_for_hidden_files() {
        let asks = |globs| {
            NameFilter::parse(globs, Path::new("/"), Path::new("/"))
                .is_ok_and(|filter| filter.asks_for_hidden())
        };
        assert!(asks(".github/**") && asks("**/.env") && asks("{.a,b}") && asks("*.rs,.x"));
        assert!(!asks("*.rs") && !asks("./src/*.rs") && !asks("") && !asks("a.{b,c}"));
    }
}
