//! The database of this machine, or the daemon that owns it.

use std::io::{Seek as _, copy};
use std::ops::Range;

use serde_json::json;
use unforget_core::id::ConversationKey;
use unforget_engine::sayings::TakenSayings;
use unforget_store::Conversation;
use unforget_sync::{EngineIntake, IncomingTranscript, SyncError, TranscriptIntake};

use crate::failure::Failure;
use crate::remote::{SentFile, Writer, encoded, number};

/// Bytes of sayings after which a request is sent.
const SENT_BYTES: usize = 256 << 10;

/// Takes transcripts wherever the database is written.
pub(super) struct WriterIntake<'a>(pub(super) &'a Writer);

impl TranscriptIntake for WriterIntake<'_> {
    fn import(&mut self, transcript: IncomingTranscript<'_>) -> Result<u64, SyncError> {
        let remote = match self.0 {
            Writer::Here(engine) => return EngineIntake(engine).import(transcript),
            Writer::There(remote) => remote,
        };
        let IncomingTranscript { name, input, .. } = transcript;
        let spooled = tempfile::tempfile().and_then(|mut file| {
            copy(input, &mut file)?;
            file.rewind()?;
            Ok(file)
        });
        let file = spooled.map_err(|source| SyncError::File { path: std::env::temp_dir(), source })?;
        let sent = SentFile { file, name: name.to_owned(), modified_ns: 0 };
        let imported = remote.import(sent, &mut |_, _| ()).map_err(refused)?;
        Ok(number(&imported, "added"))
    }

    fn purge(&mut self, conversation: &Conversation, seqs: Range<u64>) -> Result<(), SyncError> {
        match self.0 {
            Writer::Here(engine) => EngineIntake(engine).purge(conversation, seqs),
            Writer::There(remote) => remote.purge(&conversation.key.0, seqs.start, seqs.end).map_err(refused),
        }
    }

    fn say(&mut self, key: &ConversationKey, bodies: &[Vec<u8>]) -> Result<TakenSayings, SyncError> {
        let remote = match self.0 {
            Writer::Here(engine) => return EngineIntake(engine).say(key, bodies),
            Writer::There(remote) => remote,
        };
        let mut taken = TakenSayings::default();
        let mut texts: Vec<&str> = Vec::new();
        let path = format!("conversations/{}/sayings", encoded(&key.0));
        let send = |texts: &mut Vec<&str>, taken: &mut TakenSayings| {
            let body = json!({ "sayings": texts });
            let answer = remote.call("POST", &path, Some(&body)).map_err(refused)?;
            taken.added += number(&answer, "added");
            taken.absent += number(&answer, "absent");
            taken.unfit += number(&answer, "unfit");
            texts.clear();
            Ok::<_, SyncError>(())
        };
        for body in bodies {
            match str::from_utf8(body) {
                Ok(text) => texts.push(text),
                Err(_) => taken.unfit += 1,
            }
            if texts.iter().map(|text| text.len()).sum::<usize>() > SENT_BYTES {
                send(&mut texts, &mut taken)?;
            }
        }
        if !texts.is_empty() {
            send(&mut texts, &mut taken)?;
        }
        Ok(taken)
    }
}

fn refused(failure: Failure) -> SyncError {
    let is_of_everything = matches!(failure.kind, "daemon" | "busy" | "full");
    SyncError::Intake { what: failure.message, is_of_everything }
}
