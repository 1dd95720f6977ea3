//! Who wrote a summary, and what models read before they write one.

use unforget_core::id::{ConversationId, Seq};
use unforget_store::{JobState, SummaryKey, SummaryRow};

use crate::Engine;
use crate::error::EngineError;

/// Entries between two summaries that are looked through: hidden ones stand there.
const BETWEEN: u64 = 4_096;

/// What the writer of a rewrite begins with, before the model's name.
pub(crate) const BY_MODEL: &str = "model/1 ";

/// Who wrote what is stored of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The model of this name. A prompt shows it from its next break on.
    Model(String),
    /// No model: none was asked for.
    Deterministic,
    /// No model, although one was asked for: it stands in until a model has written it.
    Fallback {
        /// Where the job stands.
        state: JobState,
        /// How the last attempt ended; empty before the first.
        why: String,
    },
}

impl Writer {
    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Model(_) => "model",
            Self::Deterministic => "deterministic",
            Self::Fallback { .. } => "fallback",
        }
    }
}

impl Engine {
    /// Says who wrote a summary.
    pub fn writer(&self, conversation: ConversationId, key: &SummaryKey) -> Result<Writer, EngineError> {
        if let Some(row) = self.store().rewrite(conversation, key)? {
            let name = row.writer.strip_prefix(BY_MODEL).unwrap_or(&row.writer);
            return Ok(Writer::Model(name.to_owned()));
        }
        let job = self.store().job(conversation, key)?;
        Ok(job.map_or(Writer::Deterministic, |job| Writer::Fallback { state: job.state, why: job.why }))
    }

    /// The summary of what came right before this one on its path, as a model wrote it if one did.
    pub(super) fn summary_before(
        &self,
        conversation: ConversationId,
        row: &SummaryRow,
    ) -> Result<Option<SummaryRow>, EngineError> {
        let store = self.store();
        let Some(before) = store.summary_before(conversation, &row.key, row.span.0)? else { return Ok(None) };
        let (last, first) = (before.span.1, row.span.0);
        if first.0 - last.0 > BETWEEN || !self.follows(conversation, first, last)? {
            return Ok(None);
        }
        let rewrite = store.rewrite(conversation, &before.key)?;
        Ok(Some(rewrite.unwrap_or(before)))
    }

    /// Whether an entry comes behind an earlier one on its path.
    fn follows(&self, conversation: ConversationId, seq: Seq, earlier: Seq) -> Result<bool, EngineError> {
        let rows = self.store().rows(conversation, earlier.0..seq.0 + 1)?;
        let mut at = Some(seq);
        for row in rows.iter().rev() {
            if Some(row.seq) == at && row.seq > earlier {
                at = row.parent;
            }
        }
        Ok(at == Some(earlier))
    }
}
