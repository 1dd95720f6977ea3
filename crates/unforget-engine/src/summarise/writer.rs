//! The author of a summary, and the previous summary that models read before writing.

use unforget_core::id::{ConversationId, Seq};
use unforget_store::{JobState, SummaryKey, SummaryRow};

use crate::Engine;
use crate::error::EngineError;

/// Number of entries between two summaries that are examined, because hidden entries may stand there.
const BETWEEN: u64 = 4_096;

/// Prefix of the author of a rewrite, followed by the model's name.
pub(crate) const BY_MODEL: &str = "model/1 ";

/// The author of the stored text of a summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The model with this name. Prompts show its text from their next break on.
    Model(String),
    /// No model, because none was asked for.
    Deterministic,
    /// No model yet: the deterministic text stands in until a model has written the summary.
    Fallback {
        /// State of the job.
        state: JobState,
        /// Outcome of the last attempt; empty before the first one.
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
    /// The author of a summary.
    pub fn writer(&self, conversation: ConversationId, key: &SummaryKey) -> Result<Writer, EngineError> {
        if let Some(row) = self.store().rewrite(conversation, key)? {
            let name = row.writer.strip_prefix(BY_MODEL).unwrap_or(&row.writer);
            return Ok(Writer::Model(name.to_owned()));
        }
        let job = self.store().job(conversation, key)?;
        Ok(job.map_or(Writer::Deterministic, |job| Writer::Fallback { state: job.state, why: job.why }))
    }

    /// The summary directly before this one on its path, in a model's words if there are any.
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

    /// Whether an entry follows an earlier one on its path.
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
