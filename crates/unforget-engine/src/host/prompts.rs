//! The open prompts of a lane.

use unforget_core::id::{ConversationId, Thread, Timestamp};
use unforget_core::loop_view::{LoopView, Mark, Stale};
use unforget_core::policy::{Policy, rounded_budget, serves_budget};
use unforget_store::{ContextRow, PinRow, RaisedRow, SaidRows};

use super::bodies::Bodies;
use super::learning::Learning;
use super::stored_learning::StoredShapeCount;
use super::types::{Ask, Assembled, Compacted};
use crate::Engine;
use crate::journal::{HostError, Journal, STATE, WrittenLine};
use crate::prompt::{ModelForm, PromptWeight, Session, Shape, ThreadRef, Until};

/// Maximum number of open prompts in memory.
const SESSIONS_MAX: usize = 4;

/// Key of the prompt shapes under [`STATE`].
const SHAPES: u64 = 1;

/// Maximum number of shapes that are remembered.
const SHAPES_MAX: usize = 16;

/// The open prompts of a lane. All of it can be made from the store again.
pub(super) struct Prompts {
    /// Keys and windows of the shapes in which prompts were made, the newest last; `None` before they are read.
    shapes: Option<Vec<(u64, u64)>>,
    /// Prompts by shape, the one used last in front.
    sessions: Vec<Session>,
    /// Whether the last prompt had live input between its messages and the newest.
    pub(super) is_between: bool,
    /// The last prompt, while it is valid.
    view: LoopView<Assembled>,
    /// What people said, as the call in progress knows it.
    said: Option<SaidRows>,
    /// Pins of the last prompt.
    pins: Vec<PinRow>,
    /// What people had put back when the last prompt was made.
    raised: Vec<RaisedRow>,
    /// Messages of the last prompt.
    bodies: Bodies,
}

/// The parts of a prompt that is being made.
pub(super) struct PromptParts<'a> {
    /// The prompt.
    pub(super) session: &'a mut Session,
    /// Messages of the last prompt.
    pub(super) bodies: &'a Bodies,
    /// See [`Prompts`].
    pub(super) is_between: &'a mut bool,
}

/// Keys and windows of the shapes in which prompts of a conversation were made.
pub(super) fn stored_shapes(
    engine: &Engine,
    conversation: ConversationId,
) -> Result<Vec<(u64, u64)>, HostError> {
    let row = engine.store().context(conversation, STATE, SHAPES)?;
    // Without them the next prompt gets a shape of its own; nothing else is lost.
    Ok(row.and_then(|row| serde_json::from_slice(&row.state).ok()).unwrap_or_default())
}

impl Prompts {
    /// No prompt is open.
    pub(super) fn new(journal: &Journal) -> Self {
        Self {
            shapes: None,
            sessions: Vec::new(),
            is_between: false,
            view: LoopView::default(),
            said: None,
            pins: Vec::new(),
            raised: Vec::new(),
            bodies: Bodies::new(journal.engine(), journal.conversation()),
        }
    }

    /// Shows written lines to the open prompts.
    pub(super) fn show(&mut self, lines: &[WrittenLine]) -> Result<(), HostError> {
        if !self.is_closed() {
            for line in lines {
                self.bodies.add(line);
            }
        }
        for session in &mut self.sessions {
            for WrittenLine { row, entry, .. } in lines {
                if let Err(error) = session.push(row.seq, row.parent, entry, row.tokens.expected) {
                    // The store is right; the prompts are made from it again.
                    self.close_all();
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// Closes all open prompts.
    pub(super) fn close_all(&mut self) {
        self.sessions.clear();
        self.view.fail();
    }

    /// The last prompt is not valid any more.
    pub(super) fn drop_view(&mut self) {
        self.view.fail();
    }

    /// Takes what people said, as it was read when the lane was compared with the store. `None` if it was not read.
    pub(super) fn hear(&mut self, said: Option<SaidRows>) {
        self.said = said;
    }

    /// What people said, as the call in progress knows it.
    ///
    /// Cost: a read of four small tables, unless it was read in this call.
    pub(super) fn said(&mut self, journal: &Journal) -> Result<&SaidRows, HostError> {
        let said = match self.said.take() {
            Some(said) => said,
            None => journal.engine().store().said(journal.conversation())?,
        };
        Ok(self.said.insert(said))
    }

    /// Lets the prompt that was opened last work, with what the call knows of people's words. What it pins itself is known to
    /// the call then.
    pub(super) fn work<T>(
        &mut self,
        act: impl FnOnce(PromptParts<'_>) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        let told = self.said.take();
        let is_told = told.is_some();
        let parts = self.parts()?;
        if let Some(said) = told {
            parts.session.tell(said);
        }
        let done = act(parts);
        self.said = self.sessions.first().filter(|_| is_told).map(|session| session.said().clone());
        done
    }

    /// Drops the last prompt if people changed pins or put entries back since.
    pub(super) fn check_decisions(&mut self, journal: &Journal) -> Result<(), HostError> {
        let SaidRows { pins, raised, .. } = self.said(journal)?.clone();
        if pins != self.pins || raised != self.raised {
            (self.pins, self.raised) = (pins, raised);
            self.view.fail();
        }
        Ok(())
    }

    /// The last prompt, if it was made from the same history for the same question.
    pub(super) fn last(&mut self, mark: &Mark) -> Result<Assembled, Stale> {
        let view = self.view.serve(mark)?;
        Ok(Assembled {
            remade: None,
            broken: None,
            receipt: None,
            recipe: None,
            followed: Vec::new(),
            ..view.clone()
        })
    }

    /// Keeps a prompt as the last one.
    pub(super) fn keep(&mut self, mark: Mark, made: Assembled) {
        self.view.keep(mark, made);
    }

    /// The parts of the prompt that was opened last.
    pub(super) fn parts(&mut self) -> Result<PromptParts<'_>, HostError> {
        let Some(session) = self.sessions.first_mut() else {
            return Err(HostError::Refused { what: "no prompt is open".to_owned() });
        };
        Ok(PromptParts { session, bodies: &self.bodies, is_between: &mut self.is_between })
    }

    /// Opens the prompt for a question, unless it is open.
    pub(super) fn open(
        &mut self,
        journal: &Journal,
        learning: &Learning,
        shape: Shape,
        now: Timestamp,
    ) -> Result<(), HostError> {
        let open = self.sessions.iter().position(|session| session.shape().key() == shape.key());
        let mut session = if let Some(at) = open {
            self.sessions.remove(at)
        } else {
            let lane = ThreadRef { conversation: journal.conversation(), thread: Thread(0) };
            let mut session = Session::open(journal.engine(), lane, shape, Until::Now, &mut |_, _| {})?;
            if let Some(stored) = learning.prompt_count(shape.key()) {
                session.restore_count(stored)?;
            }
            session
        };
        session.at(now);
        self.sessions.insert(0, session);
        self.sessions.truncate(SESSIONS_MAX);
        Ok(())
    }

    /// Opens the prompt of a shape before the first entry of the journal.
    pub(super) fn open_at_start(&mut self, journal: &Journal, shape: Shape) -> Result<(), HostError> {
        let lane = ThreadRef { conversation: journal.conversation(), thread: Thread(0) };
        self.sessions.insert(0, Session::at_start(journal.engine(), lane, shape)?);
        Ok(())
    }

    /// The prompt that was opened last.
    pub(super) fn session(&mut self) -> Option<&mut Session> {
        self.sessions.first_mut()
    }

    /// The shape of the prompt for a question. Budgets of neighbouring calls differ a little: a prompt keeps its shape
    /// while the budget fits, across processes too.
    pub(super) fn shape(&mut self, journal: &Journal, ask: &Ask, budget: u64) -> Result<Shape, HostError> {
        let form = ModelForm::of(ask.model.as_deref(), ask.dialect);
        let shape = |window| Shape::with_policy(Policy::with_reserve(window, 0), form);
        let known = self.shapes(journal)?.iter().filter(|(key, window)| *key == shape(*window).key());
        let fitting = known.map(|(_, window)| *window).filter(|window| serves_budget(*window, budget)).max();
        let new = shape(fitting.unwrap_or_else(|| rounded_budget(budget)));
        self.add_shape(journal, new.key(), new.policy.window)?;
        Ok(new)
    }

    fn shapes(&mut self, journal: &Journal) -> Result<&[(u64, u64)], HostError> {
        if self.shapes.is_none() {
            self.shapes = Some(stored_shapes(journal.engine(), journal.conversation())?);
        }
        Ok(self.shapes.as_deref().unwrap_or_default())
    }

    /// Remembers a shape across restarts.
    pub(super) fn add_shape(&mut self, journal: &Journal, key: u64, window: u64) -> Result<(), HostError> {
        let mut shapes = self.shapes(journal)?.to_vec();
        if shapes.contains(&(key, window)) {
            return Ok(());
        }
        shapes.push((key, window));
        shapes.drain(..shapes.len().saturating_sub(SHAPES_MAX));
        // Numbers always serialise.
        let state = serde_json::to_vec(&shapes).unwrap_or_default();
        let row = ContextRow { thread: STATE, budget: SHAPES, state };
        journal.engine().store().put_summaries(journal.conversation(), &[], Some(&row))?;
        self.shapes = Some(shapes);
        Ok(())
    }

    /// Makes the prompt that was opened last smaller.
    ///
    /// * `is_forced` - compact everything that is old enough, whatever the pressure.
    pub(super) fn compact(&mut self, is_forced: bool) -> Result<Compacted, HostError> {
        let (before, after) = self.work(|PromptParts { session, .. }| {
            session.look_at_said()?;
            let before = session.measure().expected;
            if is_forced {
                session.compact()?;
            } else {
                session.compact_if_due()?;
            }
            Ok((before, session.measure().expected))
        })?;
        if after != before {
            self.view.fail();
        }
        Ok(Compacted { shrank: after < before, before, after })
    }

    /// Expected tokens behind the summaries of the prompt used last; `None` if no prompt is open.
    pub(super) fn raw_tail(&self) -> Option<u64> {
        self.sessions.first().map(|session| session.group_sizes().sum())
    }

    /// Tells the prompt used last the provider's count of it.
    pub(super) fn reported(&mut self, weighed: &PromptWeight, input: u64) -> Result<(), HostError> {
        let Some(session) = self.sessions.first_mut() else { return Ok(()) };
        Ok(session.reported(weighed, input)?)
    }

    /// The newest counts of the open prompts.
    pub(super) fn counts(&mut self) -> Result<Vec<StoredShapeCount>, HostError> {
        let mut counts = Vec::new();
        for session in &mut self.sessions {
            let shape = session.shape().key();
            counts.extend(session.count_to_store()?.map(|count| StoredShapeCount { shape, count }));
        }
        Ok(counts)
    }

    /// Whether no prompt is open.
    pub(super) const fn is_closed(&self) -> bool {
        self.sessions.is_empty()
    }

    /// Whether the last prompt had pins.
    pub(super) const fn has_pins(&self) -> bool {
        !self.pins.is_empty()
    }
}
