//! A fork of a conversation: the same request, byte for byte, and a directive behind it. The directive begins with
//! a line by which a fork is known, so that forks do not fork or compact themselves.

use conversation::{Block, RequestMessage, Role};

/// How every marker begins.
const MARKER: &str = "<reverie-fork kind=\"";

/// The first line of a request for a summary that stands for the conversation from then on.
pub const COMPACT: &str = "<reverie-fork kind=\"compact\">";
/// Of a request for the summary of a span.
pub const COLLAPSE: &str = "<reverie-fork kind=\"collapse\">";

/// Whether the request is a fork's.
pub fn is_forked(messages: &[RequestMessage]) -> bool {
    let of_user = messages.iter().filter(|message| message.role == Role::User);
    of_user.flat_map(|message| &message.content).any(|block| match block {
        Block::Text { text } => text.starts_with(MARKER),
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
        for marker in [COMPACT, COLLAPSE] {
            assert!(is_forked(&request(Role::User, &format!("{marker}\nSummarise."))));
        }
        assert!(!is_forked(&request(Role::User, "Summarise.")));
    }

    #[test]
    fn talk_about_the_marker_makes_no_fork() {
        assert!(!is_forked(&request(Role::User, &format!("What does `{COMPACT}` mean?"))));
        assert!(!is_forked(&request(Role::Assistant, COMPACT)));
    }
}
