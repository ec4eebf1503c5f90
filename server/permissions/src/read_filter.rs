//! Which of the files that a search finds may be shown.
//!
//! A call is decided by the folder it searches; rules about files below it, and credentials that happen to lie
//! there, are kept here. It is asked for every file, so whatever does not depend on the file is found out once.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{OnceLock, PoisonError, RwLock},
};

use globset::{GlobSet, GlobSetBuilder};

use crate::{
    access::Access,
    decide::Policy,
    modes::Mode,
    paths::{Place, clean, follow},
    rules::Reading,
    secrets::{may_hold_secrets, secret, secret_part_by},
};

/// Folders beyond this many are looked up anew for each of their files.
const MAX_FOLDERS: usize = 50_000;

/// For the many files of one search. A link at the end of a path is taken as itself, because searches list links but
/// do not follow them; folders that become links meanwhile are not noticed.
pub struct ReadFilter {
    policy: Policy,
    known: OnceLock<Known>,
    /// What folders really are.
    folders: RwLock<HashMap<PathBuf, Option<PathBuf>>>,
    /// Folders in which no file can be withheld: most of them, so that most files cost one look-up.
    harmless: RwLock<HashMap<PathBuf, bool>>,
}

impl ReadFilter {
    /// Looks at nothing yet.
    pub fn new(policy: Policy) -> Self {
        Self { policy, known: OnceLock::new(), folders: RwLock::default(), harmless: RwLock::default() }
    }

    /// False for what a deny or ask rule covers, and for credentials. A rule about a whole tool was heard when the
    /// call was decided.
    pub fn may_read(&self, path: &Path) -> bool {
        let known = self.known.get_or_init(|| Known::of(&self.policy));
        if path.parent().is_some_and(|folder| self.is_harmless(folder, known)) {
            return true;
        }
        known.may_read(&self.place(path), &self.policy)
    }

    fn is_harmless(&self, folder: &Path, known: &Known) -> bool {
        if !known.restrictions.is_empty() || self.policy.unattended {
            return false;
        }
        let harmless = self.harmless.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(harmless) = harmless.get(folder) {
            return *harmless;
        }
        drop(harmless);
        let written = clean(folder);
        let real = self.real_folder(&written);
        let answer = known.holds_no_secret(&Place::new(written, real));
        let mut harmless = self.harmless.write().unwrap_or_else(PoisonError::into_inner);
        if harmless.len() < MAX_FOLDERS {
            harmless.insert(folder.to_owned(), answer);
        }
        answer
    }

    fn place(&self, path: &Path) -> Place {
        let written = clean(path);
        let real = match (written.parent(), written.file_name()) {
            (Some(folder), Some(name)) => self.real_folder(folder).map(|folder| folder.join(name)),
            _ => follow(&written),
        };
        Place::new(written, real)
    }

    fn real_folder(&self, folder: &Path) -> Option<PathBuf> {
        let folders = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(real) = folders.get(folder) {
            return real.clone();
        }
        drop(folders);
        let real = follow(folder);
        let mut folders = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        if folders.len() < MAX_FOLDERS {
            folders.insert(folder.to_owned(), real.clone());
        }
        real
    }
}

/// What a policy's paths really are.
struct Known {
    home: Place,
    roots: Vec<PathBuf>,
    free_dirs: Vec<PathBuf>,
    /// What deny and ask rules cover, by the folders that they are relative to. `None` where that is too much to
    /// match: then it is all.
    restrictions: Vec<(PathBuf, Option<GlobSet>)>,
}

impl Known {
    fn of(policy: &Policy) -> Self {
        let real = |folders: &[PathBuf]| folders.iter().filter_map(|folder| follow(&clean(folder))).collect();
        let mut globs: BTreeMap<PathBuf, GlobSetBuilder> = BTreeMap::new();
        let rules = policy.rules.deny.iter().chain(&policy.rules.ask);
        for pattern in rules.filter_map(|rule| rule.read_pattern()) {
            for base in pattern.bases(policy, Reading::Restricts) {
                let below = globs.entry(base).or_insert_with(GlobSetBuilder::new);
                for glob in pattern.restricted() {
                    below.add(glob.clone());
                }
            }
        }
        let restrictions = globs.into_iter().map(|(base, globs)| (base, globs.build().ok())).collect();
        Self {
            home: Place::of(&policy.home),
            roots: real(&policy.roots),
            free_dirs: real(&policy.free_write_dirs),
            restrictions,
        }
    }

    fn may_read(&self, place: &Place, policy: &Policy) -> bool {
        let restricted = place.spellings().any(|path| {
            self.restrictions.iter().any(|(base, globs)| {
                path.strip_prefix(base)
                    .is_ok_and(|rest| globs.as_ref().is_none_or(|globs| globs.is_match(rest)))
            })
        });
        !restricted && !self.is_guarded(place, policy)
    }

    /// Whether nothing directly in the folder can be a credential: it is in the workspace, and not on the way to where
    /// a home keeps them.
    fn holds_no_secret(&self, folder: &Place) -> bool {
        let in_workspace = |path: &Path| self.roots.iter().any(|root| path.starts_with(root));
        folder.real.as_deref().is_some_and(in_workspace)
            && folder.spellings().all(|path| !may_hold_secrets(path, &self.home))
    }

    /// Credentials that no rule allows by name.
    fn is_guarded(&self, place: &Place, policy: &Policy) -> bool {
        let inside = |folders: &[PathBuf]| {
            place.real.as_deref().is_some_and(|real| folders.iter().any(|folder| real.starts_with(folder)))
        };
        if policy.mode == Mode::Bypass {
            return false;
        }
        let in_workspace = || {
            let real = place.real.as_deref()?;
            self.roots.iter().filter_map(|root| real.strip_prefix(root).ok()).find_map(secret)
        };
        let secret = secret_part_by(place, inside(&self.roots), &self.home)
            .or_else(|| policy.unattended.then(in_workspace)?);
        let Some(secret) = secret else { return false };
        let access = Access::Read { path: place.written.clone() };
        let mut permits = policy.rules.allow.iter().chain(&policy.session_rules).filter(|rule| {
            rule.spells_out(secret) && rule.matches("Read", &access, Some(place), policy, Reading::Permits)
        });
        !inside(&self.free_dirs) && permits.next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::testing::{Tree, tree};

    /// Without anything kept from file to file.
    fn may_read(path: &Path, policy: &Policy) -> bool {
        Known::of(policy).may_read(&Place::of(path), policy)
    }

    #[track_caller]
    fn check(tree: &Tree, paths: &[&str], expected: Expect) {
        let filter = ReadFilter::new(tree.policy.clone());
        let mut lines = String::new();
        for path in paths {
            let full = PathBuf::from(tree.expand(path));
            let shown = filter.may_read(&full);
            assert_eq!(may_read(&full, &tree.policy), shown, "{path}");
            lines.push_str(&format!("{} {path}\n", if shown { "shown" } else { "     " }));
        }
        expected.assert_eq(&lines);
    }

    #[test]
    fn rules_about_files_hold_below_the_folder_that_is_searched() {
        let tree = tree().rules(&["Read"], &["Read(*.key)"], &["Read(secrets/**)", "Edit(src/**)", "Bash"]);
        check(
            &tree,
            &[
                "@W/src/main.rs",
                "@W/secrets/a",
                "@W/secrets/deep/a",
                "@W/plain/a",
                "@W/src/a.key",
                "@O/a.key",
                "@W/.env",
                "@O/data/list.txt",
            ],
            expect![[r#"
                shown @W/src/main.rs
                      @W/secrets/a
                      @W/secrets/deep/a
                      @W/plain/a
                      @W/src/a.key
                      @O/a.key
                shown @W/.env
                shown @O/data/list.txt
            "#]],
        );
    }

    #[test]
    fn a_rule_about_the_whole_tool_was_heard_before() {
        check(
            &tree().rules(&[], &["Read", "Grep"], &["Glob"]),
            &["@W/src/main.rs"],
            expect![[r#"
                shown @W/src/main.rs
            "#]],
        );
    }

    #[test]
    fn credentials_are_left_out_unless_a_rule_names_them() {
        let paths = ["@H/.ssh/id_rsa", "@R/.env", "@R/notes.txt", "@M/.env", "@O/.aws/config", "@W/.env"];
        check(
            &tree(),
            &paths,
            expect![[r#"
                      @H/.ssh/id_rsa
                      @R/.env
                shown @R/notes.txt
                shown @M/.env
                      @O/.aws/config
                shown @W/.env
            "#]],
        );
        check(
            &tree().rules(&["Read(~/.ssh/**)", "Read"], &[], &[]),
            &paths,
            expect![[r#"
                shown @H/.ssh/id_rsa
                      @R/.env
                shown @R/notes.txt
                shown @M/.env
                      @O/.aws/config
                shown @W/.env
            "#]],
        );
        check(
            &tree().mode(Mode::Bypass).rules(&[], &[], &["Read(.env)"]),
            &paths,
            expect![[r#"
                shown @H/.ssh/id_rsa
                      @R/.env
                shown @R/notes.txt
                      @M/.env
                shown @O/.aws/config
                      @W/.env
            "#]],
        );
    }

    #[test]
    fn where_nobody_can_be_asked_credentials_of_the_workspace_are_left_out_too() {
        check(
            &tree().unattended(),
            &["@W/.env", "@W/src/server.key", "@W/src/main.rs", "@W/.git/config", "@W/dangling", "@M/a.md"],
            expect![[r#"
                      @W/.env
                      @W/src/server.key
                shown @W/src/main.rs
                      @W/.git/config
                shown @W/dangling
                shown @M/a.md
            "#]],
        );
    }

    #[test]
    fn links_are_seen_through() {
        let tree = tree();
        std::os::unix::fs::symlink(tree.expand("@H/.ssh"), tree.expand("@W/keys")).unwrap();
        check(
            &tree,
            &["@W/keys/id_rsa", "@W/keys/new", "@W/dangling", "@W/out/list.txt"],
            expect![[r#"
                      @W/keys/id_rsa
                      @W/keys/new
                shown @W/dangling
                shown @W/out/list.txt
            "#]],
        );
        // The name of a link tells nothing, what it leads to does.
        let link = PathBuf::from(tree.expand("@W/key"));
        std::os::unix::fs::symlink(tree.expand("@H/.ssh/id_rsa"), &link).unwrap();
        assert!(ReadFilter::new(tree.policy.clone()).may_read(&link));
        assert!(!may_read(&link, &tree.policy));
    }
}
