//! Whose work it is: the commands that run, and what was seen while they did.
//!
//! What changed while a single command ran is its own. What changed while several did cannot be told apart: each gets
//! all of it, as uncertain. Only looks tell when something changed, so a command counts from the look before it to the
//! first whole one after it.

use std::collections::BTreeMap;

use crate::entry::Observed;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Number(u64);

#[derive(Debug, Default)]
pub(super) struct Commands {
    running: BTreeMap<Number, Held>,
    begun: u64,
    /// How many went without a look of their own: what they did is still to be seen.
    parted: usize,
    /// What several did may still be to be seen, as the look after them was cut off.
    blurred: bool,
}

/// What a command was seen to do and nobody has been told yet.
#[derive(Debug, Default)]
struct Held {
    observed: Observed,
    /// It has been observed and went on, so others had time to work beside it.
    went_on: bool,
}

/// How many had parted when a look began. Those that part during it may have worked behind its back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parted(usize);

impl Commands {
    pub fn any(&self) -> bool {
        !self.running.is_empty()
    }

    /// Right after a look, before anybody else has one.
    pub fn begin(&mut self) -> Number {
        self.begun += 1;
        let number = Number(self.begun);
        self.running.insert(number, Held::default());
        number
    }

    pub fn parted(&self) -> Parted {
        Parted(self.parted)
    }

    /// What a look saw is nobody's.
    pub fn forget(&mut self) {
        self.parted = 0;
        self.blurred = false;
    }

    /// What a look saw goes to those that run.
    pub fn credit(&mut self, mut observed: Observed, Parted(earlier): Parted) {
        let several = self.running.len() + self.parted > 1 || self.blurred;
        self.parted = self.parted.saturating_sub(earlier);
        self.blurred = several && observed.cut;
        observed.uncertain = several && observed.has_seen();
        let mut held = self.running.values_mut();
        let Some(last) = held.next_back() else { return };
        for held in held {
            held.observed.append(observed.clone());
        }
        last.observed.append(observed);
    }

    /// What is held of one that goes on.
    pub fn tell(&mut self, number: Number) -> Observed {
        let Some(held) = self.running.get_mut(&number) else { return Observed::default() };
        held.went_on = true;
        uncertain(std::mem::take(&mut held.observed))
    }

    /// What is held of one that has ended, of which nothing is left to be seen.
    pub fn end(&mut self, number: Number) -> Observed {
        match self.running.remove(&number) {
            Some(Held { observed, went_on: true }) => uncertain(observed),
            Some(Held { observed, went_on: false }) => observed,
            None => Observed::default(),
        }
    }

    /// It is not known whether it has ended, and nobody asks.
    pub fn part(&mut self, number: Number) {
        if self.running.remove(&number).is_some() {
            self.parted += 1;
        }
    }
}

fn uncertain(observed: Observed) -> Observed {
    Observed { uncertain: observed.has_seen(), ..observed }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::entry::Change;

    fn seen(path: &str) -> Observed {
        let change = Change { path: Path::new(path).to_owned(), before: None, after: None };
        Observed { changes: vec![change], ..Observed::default() }
    }

    fn shown(observed: &Observed) -> String {
        let paths = observed.changes.iter().map(|change| change.path.display().to_string());
        format!("{}{}", paths.collect::<Vec<_>>().join(" "), if observed.uncertain { " ?" } else { "" })
    }

    fn credit(commands: &mut Commands, observed: Observed) {
        let parted = commands.parted();
        commands.credit(observed, parted);
    }

    #[test]
    fn one_alone_has_all_and_several_share() {
        let mut commands = Commands::default();
        let one = commands.begin();
        credit(&mut commands, seen("a"));
        assert_eq!(shown(&commands.end(one)), "a");
        let (one, other) = (commands.begin(), commands.begin());
        credit(&mut commands, seen("b"));
        assert_eq!(shown(&commands.end(one)), "b ?");
        credit(&mut commands, seen("c"));
        assert_eq!(shown(&commands.end(other)), "b c ?");
        assert!(!commands.any());
    }

    #[test]
    fn beside_another_that_changes_nothing_all_is_certain() {
        let mut commands = Commands::default();
        let (one, other) = (commands.begin(), commands.begin());
        credit(&mut commands, Observed::default());
        assert_eq!(commands.end(other), Observed::default());
        credit(&mut commands, seen("a"));
        assert_eq!(shown(&commands.end(one)), "a");
    }

    #[test]
    fn one_that_goes_on_is_never_certain_again() {
        let mut commands = Commands::default();
        let one = commands.begin();
        assert_eq!(commands.tell(one), Observed::default());
        credit(&mut commands, seen("a"));
        assert_eq!(shown(&commands.tell(one)), "a ?");
        credit(&mut commands, seen("b"));
        assert_eq!(shown(&commands.end(one)), "b ?");
    }

    #[test]
    fn one_that_parted_counts_until_a_look_that_began_later() {
        let mut commands = Commands::default();
        let (one, other) = (commands.begin(), commands.begin());
        let parted = commands.parted();
        commands.part(other);
        commands.credit(seen("a"), parted);
        assert_eq!(shown(&commands.tell(one)), "a ?");
        let third = commands.begin();
        credit(&mut commands, seen("b"));
        assert_eq!(shown(&commands.end(one)), "b ?");
        assert_eq!(shown(&commands.end(third)), "b ?");

        let fourth = commands.begin();
        credit(&mut commands, seen("c"));
        assert_eq!(shown(&commands.end(fourth)), "c");
    }

    #[test]
    fn a_look_that_was_cut_off_settles_nothing() {
        let mut commands = Commands::default();
        let (one, other) = (commands.begin(), commands.begin());
        credit(&mut commands, Observed { cut: true, ..Observed::default() });
        assert_eq!(commands.end(other), Observed { cut: true, ..Observed::default() });
        credit(&mut commands, seen("a"));
        credit(&mut commands, Observed::default());
        assert_eq!(shown(&commands.end(one)), "a ?");
        let next = commands.begin();
        credit(&mut commands, seen("b"));
        assert_eq!(shown(&commands.end(next)), "b");
    }

    #[test]
    fn what_is_forgotten_is_nobodys() {
        let mut commands = Commands::default();
        let one = commands.begin();
        commands.part(one);
        commands.part(one);
        credit(&mut commands, seen("a"));
        let other = commands.begin();
        commands.part(other);
        commands.forget();
        let third = commands.begin();
        credit(&mut commands, seen("b"));
        assert_eq!(shown(&commands.end(third)), "b");
        assert_eq!(commands.end(third), Observed::default());
        assert_eq!(commands.tell(third), Observed::default());
    }
}
