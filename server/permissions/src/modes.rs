//! How freely a session may act when no rule speaks.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Reads inside the workspace are free, the rest is asked.
    #[default]
    Default,
    /// As the default, and edits inside the workspace are free.
    AcceptEdits,
    /// Nothing changes until the user approves the plan.
    Plan,
    /// Nothing is asked but what a rule asks or denies.
    Bypass,
}

impl Mode {
    /// The word of the setting `defaultMode` and of the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::Bypass => "bypassPermissions",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "default" => Some(Self::Default),
            "acceptEdits" => Some(Self::AcceptEdits),
            "plan" => Some(Self::Plan),
            "bypassPermissions" | "bypass" => Some(Self::Bypass),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_read_back_as_they_are_written() {
        for mode in [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::Bypass] {
            assert_eq!(Mode::parse(mode.as_str()), Some(mode));
        }
        assert_eq!(Mode::parse("bypass"), Some(Mode::Bypass));
        assert_eq!(Mode::parse("yolo"), None);
    }
}
