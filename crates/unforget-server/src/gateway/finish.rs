//! What is stored of an answer, and learnt from it.

use std::path::Path;
use std::sync::PoisonError;
use std::{fs, io};

use unforget_core::id::Seq;
use unforget_core::recover::Refused;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{Answered, Array, LaneKey};
use unforget_wire::exchange;
use unforget_wire::refusal::Refusal;
use unforget_wire::{Dialect, Format};

use super::Gateway;
use super::ask::{Begun, Sending, form};
use super::fault::Problem;
use super::figures;
use super::reading::{Reading, interrupted};

use super::spool::Label;

/// Lanes of which it is remembered what their provider counted.
const LANES: usize = 4_096;

/// What a provider counted of a call that was sent as it was.
pub(super) struct Measured {
    array: Array,
    /// Of its messages alone.
    tokens: u64,
}

impl Measured {
    /// Tokens of an array of the same lane: measured as far as it is the same, ours for the rest.
    pub(super) fn of(&self, array: &Array) -> Tokens {
        let same = array.common(&self.array);
        if same < self.array.len() {
            return array.tokens();
        }
        let rest = array.tokens_from(same);
        let whole = Tokens { expected: self.tokens + rest.expected, upper: self.tokens + rest.upper };
        // Ours is a bound too: the lower one holds.
        if whole.upper < array.tokens().upper { whole } else { array.tokens() }
    }
}

impl Gateway {
    /// Stores an answer and what it taught.
    ///
    /// * `rounds` - what the model looked up by itself, as JSON.
    pub(super) fn finish(
        &self,
        begun: &Begun,
        told: &exchange::Answered,
        rounds: Option<&str>,
    ) -> Result<(), Problem> {
        let who = &begun.who;
        let answered = Answered {
            asked_at: begun.asked_at,
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(told),
        };
        self.host.take_answer(&who.lane.lane, who.caller.form, &answered)?;
        if let Some(recalled) = &begun.recalled {
            self.host.note_recalled(&who.lane.lane, who.caller.form, recalled)?;
        }
        if let Some(rounds) = rounds {
            self.host.note_rounds(&who.lane.lane, who.caller.form, rounds)?;
        }
        self.host.remember(&who.caller.asking(), &who.lane, &begun.array, told.id.as_deref())?;
        if let Some(usage) = told.usage {
            for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)]
            {
                figures::tokens(kind, count);
            }
        }
        if let Some(input) = told.usage.map(|usage| usage.input).filter(|input| *input > 0) {
            self.count(begun, input)?;
        }
        Ok(())
    }

    /// Takes a provider's count.
    fn count(&self, begun: &Begun, input: u64) -> Result<(), Problem> {
        let lane = &begun.who.lane.lane;
        if begun.sending != Sending::AsIs {
            if let Some(cut) = self.host.answered_at(lane, begun.who.caller.form, begun.asked_at, input)? {
                tracing::warn!(
                    lane = lane.0,
                    reported = cut.reported,
                    "the provider seems to have cut the prompt"
                );
            }
            return Ok(());
        }
        let mut measured = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        if measured.len() >= LANES {
            measured.clear();
        }
        let tokens = input.saturating_sub(begun.fixed().expected.min(input / 2));
        measured.insert(lane.clone(), Measured { array: begun.array.clone(), tokens });
        Ok(())
    }

    /// Takes a limit that a provider told.
    pub(super) fn learn(&self, begun: &Begun, refusal: &Refusal) {
        let Refused::Overflow { unit, limit: Some(limit), .. } = refusal.refused() else { return };
        if !matches!(unit, unforget_core::recover::Unit::Input | unforget_core::recover::Unit::InputAndOutput)
        {
            return;
        }
        let Some(model) = &begun.model else { return };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.insert(model.clone(), limit);
    }

    /// Stores what an earlier process left.
    pub(super) fn recover(&self) -> io::Result<()> {
        for left in self.spool.left()? {
            match left {
                Err(path) => tracing::warn!(path = %path.display(), "this is no answer of ours; it stays"),
                Ok((label, bytes, path)) => {
                    if let Err(error) = self.recover_one(&label, &bytes, &path) {
                        // One answer must not keep all others from being served. Its file stays for the next start.
                        tracing::error!(path = %path.display(), %error, "an answer cannot be stored; it stays");
                    }
                }
            }
        }
        Ok(())
    }

    fn recover_one(&self, label: &Label, bytes: &[u8], path: &Path) -> io::Result<()> {
        let form = Format::by_name(&label.form).filter(|known| dialect(*known).is_some());
        let Some((form, dialect)) = form.and_then(|form| Some((form, dialect(form)?))) else {
            tracing::warn!(path = %path.display(), "an answer of a form that this version does not know; it stays");
            return Ok(());
        };
        let mut answer = Reading::new(dialect, label.is_streamed, label.encoding.as_deref());
        answer.push(bytes);
        let told = answer.finish();
        let answered = Answered {
            asked_at: label.asked_at.map(Seq),
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(&told),
        };
        self.host.take_answer(&LaneKey(label.lane.clone()), form, &answered).map_err(io::Error::other)?;
        if let (Some(line), Some(id)) = (label.line, &told.id) {
            self.host.remember_answer(&label.tenant, Seq(line), id).map_err(io::Error::other)?;
        }
        fs::remove_file(path)
    }
}

/// The dialect whose messages have a form.
fn dialect(known: Format) -> Option<Dialect> {
    let all = [Dialect::Anthropic, Dialect::OpenAiChat, Dialect::OpenAiResponses];
    all.into_iter().find(|dialect| form(*dialect) == known)
}
