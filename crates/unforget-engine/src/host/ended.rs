//! The end of a client's call: its answer, what its provider counted, and what the lane learned from it, in one write.

use unforget_core::counts::SuspectedTruncation;
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::lane::HostLane;
use super::recover::Counted;
use super::standing_event::{self, StandingEvent};
use super::{Array, DeliveredAnswer, Host, HostError, LaneKey, Recalled};

/// A call that its provider answered.
#[derive(Clone, Copy, Debug)]
pub struct EndedCall<'a> {
    /// The answer.
    pub answered: &'a DeliveredAnswer,
    /// The provider's count, if there is one.
    pub counted: Option<&'a Counted<'a>>,
    /// The text that the call was sent with from its lane's history. Its entries are kept, not its words.
    pub recalled: Option<&'a Recalled>,
    /// Standing context put before the prompt, if it differs from what is noted.
    pub standing: Option<&'a StandingEvent>,
    /// Lookups of the model within the call, as JSON. They are not part of the path.
    pub rounds: Option<&'a str>,
}

impl Host {
    /// Takes the answer of a call like [`Host::take_answer`], and learns from its count like [`Host::counted`]. What the lane
    /// learned is stored with the answer.
    pub fn ended(
        &self,
        key: &LaneKey,
        form: Format,
        call: &EndedCall<'_>,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        let messages = call.answered.messages.iter().map(Vec::as_slice);
        let array = Array::read(form, messages, &Array::default())?;
        self.with_again(key, form, |lane, now| {
            // Whatever comes of the count, the answer is stored.
            let counted = call.counted.map_or(Ok(None), |counted| {
                let alarm = lane.counted(counted, now)?;
                lane.note_counts()?;
                Ok(alarm)
            });
            lane.record_with_states(|journal| journal.take_answer(call.answered, &array.messages, now))?;
            if let Some(recalled) = call.recalled {
                let entries: Vec<u64> = recalled.entries.iter().map(|seq| seq.0).collect();
                note(lane, "recalled", &serde_json::json!({ "entries": entries }).to_string(), now.0)?;
            }
            if let Some(standing) = call.standing {
                note(lane, standing_event::EVENT, &standing.detail(), now.0)?;
            }
            if let Some(rounds) = call.rounds {
                note(lane, "recall-rounds", rounds, now.0)?;
            }
            counted
        })
    }
}

/// Writes the line of an event.
///
/// * `detail` - JSON.
fn note(lane: &mut HostLane, event: &str, detail: &str, at: i64) -> Result<(), HostError> {
    lane.write_event(journal::event(event, Some(detail), &After::Newest, at))
}
