//! Appends records to a transcript until it is killed, and acknowledges each on standard output once it is safe:
//! `append_forever DIRECTORY SESSION`. For tests that kill it.

use std::{
    env,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use conversation::{Block, Body, Flags, Message, Record, SessionId, Stamp, Transcript, load};
use jiff::Timestamp;
use uuid::Uuid;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(directory), Some(session)) = (arguments.next(), arguments.next()) else {
        return Err("usage: append_forever DIRECTORY SESSION".into());
    };
    let session = SessionId::parse(&session).ok_or("the session must be a UUID")?;
    append_forever(Path::new(&directory), session, &mut io::stdout().lock())
}

/// Ends when nobody reads the acknowledgements any more.
pub fn append_forever(
    directory: &Path,
    session: SessionId,
    acknowledge: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error>> {
    let stamp = Stamp {
        session: session.clone(),
        cwd: directory.to_owned(),
        version: "0.0.0".to_owned(),
        git_branch: None,
    };
    let mut parent = None;
    let transcript = match load(directory, &session, None, None) {
        Err(_) => Transcript::create(directory, stamp),
        Ok(loaded) => {
            let transcript = Transcript::open(directory, stamp)?;
            for message in loaded.new_messages {
                transcript.append(&Record::Message(message))?;
            }
            parent = loaded.thread.last().map(|message| message.uuid);
            transcript
        }
    };
    for number in 0_u64.. {
        let uuid = Uuid::new_v4();
        // Most are short; a long write is torn more easily.
        let length = if number % 8 == 7 { 200_000 } else { 40 };
        let text = format!("{number} ") + &"x".repeat(length);
        let message = Message {
            uuid,
            parent,
            timestamp: Timestamp::now(),
            flags: Flags::default(),
            body: Body::User { content: vec![Block::text(text)] },
        };
        transcript.append(&Record::Message(Arc::new(message)))?;
        writeln!(acknowledge, "{uuid}")?;
        acknowledge.flush()?;
        parent = Some(uuid);
    }
    Ok(())
}
