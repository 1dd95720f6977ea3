//! The database of this machine, or the daemon that owns it.

use std::io::{Seek as _, copy};
use std::ops::Range;

use unforget_store::Conversation;
use unforget_sync::{EngineIntake, IncomingTranscript, SyncError, TranscriptIntake};

use crate::failure::Failure;
use crate::remote::{SentFile, Writer, number};

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
}

fn refused(failure: Failure) -> SyncError {
    let is_of_everything = matches!(failure.kind, "daemon" | "busy" | "full");
    SyncError::Intake { what: failure.message, is_of_everything }
}
