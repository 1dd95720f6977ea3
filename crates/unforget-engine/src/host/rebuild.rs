//! Prompts of the past: listed, and composed again from their recipes.

use std::borrow::Cow;
use unforget_store::{Page, read_all};

use unforget_core::admit::Certificate;
use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_core::media;
use unforget_core::message::Request;
use unforget_wire::Format;
use unforget_wire::journal;

use super::ask::limited;
use super::bodies::Bodies;
use super::emit::{StoredMessage, emit, with_input};
use super::standing_event::PastPrompt;
use crate::prompt::{Recipe, Session, ThreadRef, sent_digest};
use crate::{Engine, EngineError};

/// A past prompt, composed again.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// Its recipe.
    pub recipe: Recipe,
    /// System instructions.
    pub system: Vec<String>,
    /// The messages as JSON, in order, as the host got them, or as a gateway sent them: with the standing context that it put
    /// back, without its cache marks and without what was recalled for this one call.
    pub messages: Vec<String>,
    /// The certificate of admission.
    pub certificate: Certificate,
    /// Whether the prompt is equal to the one that was sent, byte for byte.
    pub is_same: bool,
}

/// Live input behind a request.
pub(super) struct LiveInput<'a> {
    /// Entries that the request does not show itself.
    pub(super) entries: &'a [Seq],
    /// Newest input, which stands behind them.
    pub(super) newest: Option<Seq>,
    /// The limit on images and documents.
    pub(super) limit: &'a media::Limit,
}

/// The request with live input behind it, as it is emitted for a host.
pub(super) fn with_live_input<'a>(
    request: &'a Request,
    live: &LiveInput<'_>,
    stored: &dyn Fn(Seq) -> Option<StoredMessage>,
) -> Cow<'a, Request> {
    let beside: Vec<_> = live.entries.iter().filter_map(|seq| Some((*seq, stored(*seq)?))).collect();
    if beside.is_empty() {
        return Cow::Borrowed(request);
    }
    let newest = live.newest.and_then(stored);
    let mut request = with_input(request, &beside, newest.as_ref());
    limited(&mut request, live.limit);
    Cow::Owned(request)
}

impl Engine {
    /// Recipes of the prompts of a conversation that are kept, oldest first, with their numbers.
    pub fn recipes(&self, conversation: ConversationId) -> Result<Vec<(u64, Recipe)>, EngineError> {
        let rows = read_all(|page| self.store().recipes(conversation, page))?;
        Ok(rows.into_iter().filter_map(|row| Some((row.number, Recipe::decode(&row.body)?))).collect())
    }

    /// The recipe with this number, and the session that it was composed from.
    pub(crate) fn session_of(
        &self,
        conversation: ConversationId,
        number: u64,
    ) -> Result<(Recipe, Session), EngineError> {
        let missing = |what: String| EngineError::Usage {
            what,
            hint: "unforget prompts lists those that are kept".to_owned(),
        };
        let page = Page { after: number.checked_sub(1), limit: 1 };
        let row = self.store().recipes(conversation, page)?.pop().filter(|row| row.number == number);
        let row = row.ok_or_else(|| missing(format!("there is no prompt r{number}")))?;
        let recipe = Recipe::decode(&row.body).ok_or_else(|| missing(format!("r{number} is damaged")))?;
        let state = self.store().recipe_state(conversation, &row.context)?;
        let state = state.ok_or_else(|| missing(format!("the context of r{number} is gone")))?;
        let lane = ThreadRef { conversation, thread: Thread(0) };
        let session = Session::of_recipe(self, lane, &recipe, &state)?;
        Ok((recipe, session))
    }

    /// Composes a prompt of a live lane again, and compares it with the one that was sent.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if its recipe is not kept, or refers to purged entries or entries off the path.
    ///
    /// Cost: O(entries of the prompt).
    pub fn rebuild(&self, conversation: ConversationId, number: u64) -> Result<Rebuilt, EngineError> {
        let (recipe, mut session) = self.session_of(conversation, number)?;
        let admitted = session.compose_again(&recipe)?;
        let bodies = Bodies::new(self, conversation);
        let stored = |seq: Seq| bodies.get(seq);
        let limit = media::Limit::default();
        let input = LiveInput { entries: &recipe.live, newest: recipe.newest, limit: &limit };
        let request = with_live_input(admitted.request(), &input, &stored);
        let header = self.store().raw(conversation, 0..1)?;
        let form = header.first().and_then(|raw| journal::read_line(&raw.body).form);
        let form = form.as_deref().and_then(Format::by_name).unwrap_or(Format::Unknown);
        let mut messages = emit(&request, session.shape().target(), form, &stored).concat();
        let system = request.system.clone();
        let is_made = sent_digest(system.iter().chain(&messages)) == recipe.digest;
        let head = recipe.head.unwrap_or_default();
        let past = PastPrompt { conversation, number, dialect: recipe.dialect, head };
        let is_whole = self.stand_before(past, &bodies, &mut messages)?;
        bodies.check()?;
        let is_same = is_made && is_whole;
        Ok(Rebuilt { recipe, system, messages, certificate: admitted.certificate().clone(), is_same })
    }
}
