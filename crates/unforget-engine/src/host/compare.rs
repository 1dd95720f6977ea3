//! Comparison of past prompts, and the representation of an entry in them.

use std::cmp::Reverse;

use unforget_core::id::{ConversationId, Seq};
use unforget_core::pin::PinId;
use unforget_store::{Conversation, read_all};

use crate::internal::is_internal;
use crate::prompt::{How, Part, Recipe, Session};
use crate::recall::Address;
use crate::summarise::Writer;
use crate::{Engine, EngineError};

/// Entries that two prompts represent in different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// In the first prompt.
    pub was: Part,
    /// How the second represents the first of these entries; `None` if they are not on its path.
    pub is: Option<Part>,
}

/// The differences between two prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The two recipes.
    pub recipes: (Recipe, Recipe),
    /// Entries that changed their form.
    pub changed: Vec<Changed>,
    /// Parts of newer entries.
    pub added: Vec<Part>,
    /// Pins that were added and removed.
    pub pins: (Vec<PinId>, Vec<PinId>),
    /// Prompts between the two that changed the beginning of the previous prompt, with the reason.
    pub breaks: Vec<(u64, Recipe)>,
}

/// Representation of an entry in a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Represented {
    /// The part that stands for the entry; `None` if the entry is hidden or off the path.
    pub part: Option<Part>,
    /// The writer of the summary that stands for the entry, if a summary does.
    pub writer: Option<Writer>,
    /// Active pins with words of the entry.
    pub pins: Vec<PinId>,
    /// The kept prompts with this representation; `None` if the prompt is not kept.
    pub kept: Option<Kept>,
}

/// The kept prompts of a live host that represent an entry in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Number of the newest prompt.
    pub number: u64,
    /// The oldest.
    pub since: (u64, Recipe),
}

impl Engine {
    /// Compares two prompts of a live lane, and lists the breaks between them.
    ///
    /// # Errors
    /// As [`Engine::rebuild`]; [`EngineError::Usage`] if they are not in this order.
    pub fn difference(
        &self,
        conversation: ConversationId,
        from: u64,
        to: u64,
    ) -> Result<Difference, EngineError> {
        if from >= to {
            let what = format!("r{from} does not come before r{to}");
            return Err(EngineError::Usage { what, hint: "name the earlier prompt first".to_owned() });
        }
        let (before, first) = self.parts_of(conversation, from)?;
        let (after, second) = self.parts_of(conversation, to)?;
        let newest = before.head.unwrap_or_default();
        let standing = |seq: Seq| part_of(&second, seq).cloned();
        let changed = first.iter().filter_map(|was| {
            let is = standing(was.span.0);
            let is_same = is.as_ref().is_some_and(|is| is.how == was.how && is.span.0 == was.span.0);
            (!is_same).then(|| Changed { was: was.clone(), is })
        });
        let changed = changed.collect();
        let added = second.iter().filter(|part| part.span.1 > newest).cloned().collect();
        let less =
            |a: &Recipe, b: &Recipe| a.pins.iter().filter(|pin| !b.pins.contains(pin)).copied().collect();
        let pins = (less(&after, &before), less(&before, &after));
        let between = self.recipes(conversation)?.into_iter();
        let breaks = between.filter(|(n, recipe)| *n > from && *n <= to && recipe.broken.is_some()).collect();
        Ok(Difference { recipes: (before, after), changed, added, pins, breaks })
    }

    /// The representation of an entry in the newest prompt of a live lane, and the oldest kept prompt with the same
    /// representation. `None` if no prompt of the conversation is kept.
    ///
    /// Cost: O(entries of a prompt) per break since then.
    pub fn represented(
        &self,
        conversation: ConversationId,
        seq: Seq,
    ) -> Result<Option<Represented>, EngineError> {
        let recipes = self.recipes(conversation)?;
        let Some((number, newest)) = recipes.last().cloned() else { return Ok(None) };
        let how = |parts: &[Part]| part_of(parts, seq).map(|part| part.how.clone());
        let (_, parts) = self.parts_of(conversation, number)?;
        let now = how(&parts);
        let mut since = (number, newest);
        // Representations change at breaks only, so only the prompts at breaks are compared.
        for (number, recipe) in recipes.into_iter().rev() {
            let is_epoch = recipe.epoch == since.1.epoch && recipe.rung == since.1.rung;
            let is_there = recipe.head.is_some_and(|head| head >= seq);
            if !is_there || (!is_epoch && how(&self.parts_of(conversation, number)?.1) != now) {
                break;
            }
            since = (number, recipe);
        }
        self.represented_by(conversation, seq, &parts, Some(Kept { number, since })).map(Some)
    }

    /// The representation of an entry in the prompt that a session of the conversation makes now.
    ///
    /// # Errors
    /// As [`Session::prompt`].
    pub fn represented_now(
        &self,
        conversation: ConversationId,
        seq: Seq,
        session: &mut Session,
    ) -> Result<Represented, EngineError> {
        let rung = session.prompt()?.admitted.certificate().rung;
        let window = session.shape().policy.window;
        let parts = session.parts(window, rung);
        self.represented_by(conversation, seq, &parts, None)
    }

    /// The parts of the newest of these prompts, oldest entry first; none without a prompt.
    ///
    /// * `recipes` - as [`Engine::recipes`] gives them.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if it refers to purged entries or entries off the path.
    ///
    /// Cost: O(entries of the prompt).
    pub fn newest_parts(
        &self,
        conversation: ConversationId,
        recipes: &[(u64, Recipe)],
    ) -> Result<Vec<Part>, EngineError> {
        let Some((number, _)) = recipes.last() else { return Ok(Vec::new()) };
        Ok(self.parts_of(conversation, *number)?.1)
    }

    /// The `most` conversations with the newest entries, newest first, without internal ones.
    ///
    /// Cost: O(all conversations).
    pub fn recent(&self, most: usize) -> Result<Vec<Conversation>, EngineError> {
        let mut all = read_all(|page| self.store().conversations(page))?;
        all.retain(|one| !is_internal(&one.key));
        all.sort_by_key(|one| Reverse(one.time.map(|(_, last)| last)));
        all.truncate(most);
        Ok(all)
    }

    fn represented_by(
        &self,
        conversation: ConversationId,
        seq: Seq,
        parts: &[Part],
        kept: Option<Kept>,
    ) -> Result<Represented, EngineError> {
        let part = part_of(parts, seq).cloned();
        let pins = self.pins(conversation)?;
        let pins = pins.active().iter().filter(|pin| pin.source == Some(seq)).map(|pin| pin.id).collect();
        let writer = match part.as_ref().map(|part| &part.how) {
            Some(How::Summary { name, .. }) => match self.address(Some(conversation), name)? {
                Address::Summary { row, .. } => Some(self.writer(conversation, &row.key)?),
                Address::Entries { .. } => None,
            },
            _ => None,
        };
        Ok(Represented { part, writer, pins, kept })
    }

    /// A kept prompt's recipe and its parts, oldest entry first.
    ///
    /// # Errors
    /// [`EngineError::Usage`] if it is not kept, or refers to purged entries or entries off the path.
    ///
    /// Cost: O(entries of the prompt).
    pub fn parts_of(
        &self,
        conversation: ConversationId,
        number: u64,
    ) -> Result<(Recipe, Vec<Part>), EngineError> {
        let (recipe, session) = self.session_of(conversation, number)?;
        let parts = session.parts(recipe.window_now, recipe.rung);
        Ok((recipe, parts))
    }
}

/// The part that stands for an entry. A carried message stands for itself, though a summary covers it too.
fn part_of(parts: &[Part], seq: Seq) -> Option<&Part> {
    let holds = |part: &&Part| (part.span.0..=part.span.1).contains(&seq);
    let is_summary = |part: &Part| matches!(part.how, How::Summary { .. });
    parts.iter().filter(holds).min_by_key(|part| is_summary(part))
}
