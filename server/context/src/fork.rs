//! A fork of a conversation: the same request, byte for byte, and a directive behind it. The directive begins with
//! a line by which a fork is known, so that forks do not fork or compact themselves.

use conversation::{Block, RequestMessage, Role};

/// The first line of every directive.
pub const MARKER: &str = "[reverie: this is a fork of the conversation, for one task only]";

/// Whether the request is a fork's.
pub fn is_forked(messages: &[RequestMessage]) -> bool {
    let of_user = messages.iter().filter(|message| message.role == Role::User);
    of_user.flat_map(|message| &message.content).any(|block| match block {
        Block::Text { text } => text.lines().next() == Some(MARKER),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(role: Role, text: &str) -> Vec<RequestMessage> {
        vec![RequestMessage { role, content: vec![Block::text("before"), Block::text(text)] }]
    }

    #[test]
    fn a_fork_is_known_by_the_first_line_of_its_directive() {
        assert!(is_forked(&request(Role::User, &format!("{MARKER}\nSummarise."))));
        assert!(!is_forked(&request(Role::User, "Summarise.")));
    }

    #[test]
    fn talk_about_the_marker_makes_no_fork() {
        assert!(!is_forked(&request(Role::User, &format!("What does `{MARKER}` mean?"))));
        assert!(!is_forked(&request(Role::Assistant, MARKER)));
    }
}
