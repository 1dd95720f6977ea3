//! A question answered by a model from what recall finds, within a grant.
//!
//! The model reads passages and may ask for more of them; it gets no tools, and an answer never asks for another. What
//! it cites is checked against what it was shown. Its grant is a row of the store: what is read under it is counted
//! there before it leaves, it can be revoked there, and one that a crash leaves behind is over by itself. Without a model, or when its answer is no good, the passages are the
//! answer.

use std::collections::BTreeSet;
use std::time::Duration;

use unforget_core::entry::Role;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Timestamp};
use unforget_core::tokens::Ruler;
use unforget_llm::{Call, Cancel, Request, Stop, Urgency};
use unforget_store::{GrantRow, Reading as Used};
use unforget_text::{fence_passage, redact};

use super::search::{SearchAnswer, SearchQuery};
use crate::summarise::Summarisers;
use crate::{Engine, EngineError};

/// What a model is told.
const SYSTEM: &str = include_str!("answer.txt");

/// Requests for more that are carried out of one reply.
const REQUESTS_MAX: usize = 4;

/// Entries on either side of one that is looked around.
const AROUND: u64 = 3;

/// Grants that are kept.
const GRANTS_KEPT: u64 = 1_000;

/// Tokens of what stands around passages and question.
const REST_TOKENS: u64 = 256;

/// Fewest tokens that further reading is worth.
const READ_MIN: u64 = 128;

/// What may be read for an answer, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Only this conversation.
    pub scope: Option<ConversationId>,
    /// Tokens of passages in all.
    pub tokens: u64,
    /// Times that the model may ask for more.
    pub depth: u32,
    /// Tokens of the answer.
    pub output_tokens_max: u64,
    /// Time for all of it.
    pub within: Duration,
}

impl Default for Grant {
    fn default() -> Self {
        Self {
            scope: None,
            tokens: 6_000,
            depth: 2,
            output_tokens_max: 1_000,
            within: Duration::from_mins(2),
        }
    }
}

/// A passage that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Its number in the answer, from 1.
    pub number: u32,
    /// Name that expands to it: `e:KEY:SEQ`.
    pub name: String,
    /// Key of its conversation.
    pub conversation: ConversationKey,
    /// The entry.
    pub seq: Seq,
    /// The host's id of it.
    pub host_id: Option<String>,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Who speaks.
    pub role: Role,
    /// What was read of it.
    pub text: String,
    /// Tokens of `text`.
    pub tokens: u64,
    /// Whether the answer cites it.
    pub is_cited: bool,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// A model answered, and cites what it read.
    Answered,
    /// A model answered and cites nothing that it read: take it as a guess.
    Uncited,
    /// There is no model: the evidence is the answer.
    NoModel,
    /// Nothing was found.
    NothingFound,
    /// The evidence, and what there is of a text, are all there is: why.
    Partial(String),
}

impl Ended {
    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Uncited => "uncited",
            Self::NoModel => "no-model",
            Self::NothingFound => "nothing-found",
            Self::Partial(_) => "partial",
        }
    }
}

/// An answer with its receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What the model says; `[n]` is [`Evidence::number`]. `None` if no model said anything.
    pub text: Option<String>,
    /// How it ended.
    pub ended: Ended,
    /// What was read, in the order of reading.
    pub evidence: Vec<Evidence>,
    /// Numbers that the model cited though there is no such passage.
    pub invented: Vec<u32>,
    /// Entries that were searched, and in the store.
    pub searched: (u64, u64),
    /// What the lack of results means; empty if there are results.
    pub negative: String,
    /// Calls of models that were made.
    pub calls: u32,
    /// Number of the grant that it was made under; `None` without a model.
    pub grant: Option<u64>,
}

/// Models to ask.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// The models.
    pub models: &'a Summarisers,
    /// Takes the answer back.
    pub cancel: &'a Cancel,
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

impl Engine {
    /// Answers a question from what is stored.
    ///
    /// * `reader` - the model; `None` gives the evidence alone.
    ///
    /// Cost: that of [`Engine::search`] and [`Engine::expand`], and at most `depth + 1` questions to the model, each with
    /// one durable write of the grant. No transaction is open while a model thinks.
    ///
    /// # Errors
    /// Those of [`Engine::search`], and of the store. A model that fails is no error: see [`Ended::Partial`].
    pub fn answer(
        &self,
        question: &str,
        grant: &Grant,
        now: Option<Timestamp>,
        reader: Option<Reader<'_>>,
    ) -> Result<Answered, EngineError> {
        let mut reading = Reading {
            engine: self,
            grant,
            now,
            seen: BTreeSet::new(),
            left: reader.map_or(grant.tokens, |reader| room(question, grant, reader.models)),
            counted: 0,
            evidence: Vec::new(),
        };
        // Half of the room is kept for what the model asks for.
        let room = if reader.is_some() && grant.depth > 0 { reading.left / 2 } else { reading.left };
        let first = reading.search(question, room)?;
        let mut answered = Answered {
            text: None,
            ended: Ended::NothingFound,
            evidence: Vec::new(),
            invented: Vec::new(),
            searched: (first.searched, first.total),
            negative: first.evidence,
            calls: 0,
            grant: None,
        };
        if !reading.evidence.is_empty() {
            answered.ended = Ended::NoModel;
            if let Some(reader) = reader {
                reading.within_grant(question, reader, &mut answered)?;
            }
        }
        answered.evidence = reading.evidence;
        Ok(answered)
    }
}

/// Tokens of passages that a model's window has room for beside the rest, at most those of the grant.
fn room(question: &str, grant: &Grant, models: &Summarisers) -> u64 {
    let rest = models.count(SYSTEM) + models.count(question) + grant.output_tokens_max + REST_TOKENS;
    // A third is for what stands around passages, and for other ways to count.
    grant.tokens.min(models.window().saturating_sub(rest) / 3 * 2)
}

/// Passages that are being gathered.
struct Reading<'a> {
    engine: &'a Engine,
    grant: &'a Grant,
    now: Option<Timestamp>,
    seen: BTreeSet<(ConversationKey, Seq)>,
    /// Tokens that may still be read.
    left: u64,
    /// Passages that the grant has counted.
    counted: usize,
    evidence: Vec<Evidence>,
}

impl Reading<'_> {
    /// Asks the model under a grant, which ends with it.
    fn within_grant(
        &mut self,
        question: &str,
        reader: Reader<'_>,
        answered: &mut Answered,
    ) -> Result<(), EngineError> {
        let (store, clock) = (self.engine.store(), reader.models.clock());
        let made = clock.time();
        let within = i64::try_from(self.grant.within.as_millis()).unwrap_or(i64::MAX);
        let most = Used { tokens: self.grant.tokens, calls: u64::from(self.grant.depth) + 1 };
        let row = GrantRow {
            number: 0,
            scope: self.grant.scope,
            most,
            used: Used::default(),
            made,
            until: Timestamp(made.0.saturating_add(within)),
            ended: None,
        };
        let number = store.put_grant(&row, GRANTS_KEPT)?;
        answered.grant = Some(number);
        let done = self.ask(question, (reader, number), answered);
        let how = if done.is_ok() { answered.ended.name() } else { "failed" };
        store.end_grant(number, how, clock.time())?;
        done
    }

    /// Counts what is about to be read by a model. False if the grant does not allow it any more.
    fn count(&mut self, number: u64, now: Timestamp) -> Result<bool, EngineError> {
        let new = self.evidence.get(self.counted..).unwrap_or_default();
        let more = Used { tokens: new.iter().map(|one| one.tokens).sum(), calls: 1 };
        self.counted = self.evidence.len();
        Ok(self.engine.store().use_grant(number, more, now)?)
    }

    /// Asks the model until it answers, or may ask for no more.
    fn ask(
        &mut self,
        question: &str,
        (reader, number): (Reader<'_>, u64),
        answered: &mut Answered,
    ) -> Result<(), EngineError> {
        let (models, clock) = (reader.models, reader.models.clock());
        let start = clock.elapsed();
        for step in 0..=self.grant.depth {
            let is_last = step == self.grant.depth || self.left < READ_MIN;
            let spent = clock.elapsed().saturating_sub(start);
            let within = self.grant.within.saturating_sub(spent);
            if within.is_zero() || reader.cancel.is_cancelled() {
                answered.ended = Ended::Partial("the time was over".to_owned());
                return Ok(());
            }
            if !self.count(number, clock.time())? {
                answered.ended = Ended::Partial("the grant is over, or was revoked".to_owned());
                return Ok(());
            }
            let user = self.request(question, is_last);
            if !models.fits(&[SYSTEM, &user], self.grant.output_tokens_max) {
                answered.ended = Ended::Partial("the passages are above the model's window".to_owned());
                return Ok(());
            }
            let output_tokens_max = self.grant.output_tokens_max;
            let request =
                Request { system: SYSTEM, user: &user, output_tokens_max, within, temperature: None };
            let call = Call { request, from: 0, urgency: Urgency::Manual, cancel: reader.cancel };
            let outcome = models.call(self.engine, &call)?;
            answered.calls += outcome.attempts.iter().filter(|attempt| attempt.was_made()).count() as u32;
            let (answer, _) = match outcome.result {
                Ok(answer) => answer,
                Err(fault) => {
                    answered.ended = Ended::Partial(fault.to_string());
                    return Ok(());
                }
            };
            if !is_last && self.carry_out(&answer.text)? {
                continue;
            }
            self.finish(&answer.text, &answer.stop, answered);
            return Ok(());
        }
        Ok(())
    }

    /// The question and the passages, as one text.
    fn request(&self, question: &str, is_last: bool) -> String {
        let mut text = String::new();
        for one in &self.evidence {
            let (number, time) =
                (one.number.to_string(), one.time.map(unforget_text::time_text).unwrap_or_default());
            let facts = [
                ("number", number.as_str()),
                ("role", one.role.name()),
                ("time", &time),
                ("from", &one.conversation.0),
            ];
            text += &fence_passage("entry", &facts, &redact(&one.text));
            text.push('\n');
        }
        text += "\nQuestion: ";
        text += &redact(question);
        if is_last {
            text += "\n\nAnswer now; no more passages can be asked for.";
        }
        text
    }

    /// Reads what the model asks for. Returns whether there is anything new to read.
    fn carry_out(&mut self, reply: &str) -> Result<bool, EngineError> {
        let before = self.evidence.len();
        for request in requests(reply).into_iter().take(REQUESTS_MAX) {
            match request {
                More::Search(words) => {
                    // What is no question for search is nothing to read.
                    match self.search(&words, self.left) {
                        Ok(_) | Err(EngineError::Usage { .. }) => {}
                        Err(error) => return Err(error),
                    }
                }
                More::Around(number) => self.around(number)?,
            }
        }
        Ok(self.evidence.len() > before)
    }

    fn search(&mut self, words: &str, tokens: u64) -> Result<SearchAnswer, EngineError> {
        let query = SearchQuery {
            text: words.to_owned(),
            conversation: self.grant.scope,
            budget_tokens: Some(tokens.min(self.left)),
            now: self.now,
            ..SearchQuery::default()
        };
        let found = self.engine.search(&query)?;
        for hit in &found.results {
            self.add(Evidence {
                number: 0,
                name: format!("e:{}:{}", hit.conversation.0, hit.seq.0),
                conversation: hit.conversation.clone(),
                seq: hit.seq,
                host_id: hit.host_id.clone(),
                time: hit.time,
                role: hit.role,
                text: hit.text.clone(),
                tokens: hit.tokens,
                is_cited: false,
            });
        }
        Ok(found)
    }

    /// Reads what stands around a passage.
    fn around(&mut self, number: u32) -> Result<(), EngineError> {
        let Some(one) = self.evidence.iter().find(|one| one.number == number).cloned() else { return Ok(()) };
        let (first, last) = (one.seq.0.saturating_sub(AROUND), one.seq.0 + AROUND);
        let name = format!("e:{}:{first}-{last}", one.conversation.0);
        let page = self.engine.expand(None, &name, self.left, None)?;
        for item in page.items.into_iter().filter(|item| !item.text.is_empty()) {
            self.add(Evidence {
                number: 0,
                name: format!("e:{}:{}", one.conversation.0, item.seq.0),
                conversation: one.conversation.clone(),
                seq: item.seq,
                host_id: item.host_id,
                time: item.time,
                role: item.role,
                tokens: ClassEstimate.count(&item.text).expected,
                text: item.text,
                is_cited: false,
            });
        }
        Ok(())
    }

    /// Takes a passage that was not read and fits.
    fn add(&mut self, one: Evidence) {
        if one.tokens <= self.left && self.seen.insert((one.conversation.clone(), one.seq)) {
            self.left -= one.tokens;
            let number = self.evidence.len() as u32 + 1;
            self.evidence.push(Evidence { number, ..one });
        }
    }

    fn finish(&mut self, reply: &str, stop: &Stop, answered: &mut Answered) {
        let text = redact(reply.trim()).into_owned();
        let cited = citations(&text);
        for one in &mut self.evidence {
            one.is_cited = cited.contains(&one.number);
        }
        let known = self.evidence.len() as u32;
        answered.invented = cited.iter().copied().filter(|number| *number == 0 || *number > known).collect();
        answered.ended = match stop {
            _ if text.is_empty() => Ended::Partial(format!("the model said nothing ({})", stop.name())),
            Stop::End if !requests(&text).is_empty() => {
                Ended::Partial("the model asked for more than the grant allows".to_owned())
            }
            Stop::End if self.evidence.iter().any(|one| one.is_cited) => Ended::Answered,
            Stop::End => Ended::Uncited,
            stop => Ended::Partial(format!("the answer is not whole ({})", stop.name())),
        };
        answered.text = (!text.is_empty()).then_some(text);
    }
}

/// More to read, as a model asks for it.
#[derive(Debug, PartialEq, Eq)]
enum More {
    Search(String),
    Around(u32),
}

/// What a reply asks for; empty if it is an answer.
fn requests(reply: &str) -> Vec<More> {
    let one = |line: &str| {
        let line = line.trim().trim_start_matches(['-', '*', ' ']);
        if let Some(words) = line.strip_prefix("SEARCH:") {
            return Some(More::Search(words.trim().to_owned()));
        }
        let number = line.strip_prefix("AROUND:")?.trim().trim_matches(['[', ']', '.']);
        number.parse().ok().map(More::Around)
    };
    let lines: Vec<&str> = reply.lines().filter(|line| !line.trim().is_empty()).collect();
    let asked: Vec<More> = lines.iter().filter_map(|line| one(line)).collect();
    // An answer that quotes such a line is an answer.
    if asked.len() == lines.len() { asked } else { Vec::new() }
}

/// Numbers in square brackets, ascending.
fn citations(text: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for part in text.split('[').skip(1) {
        let Some((inside, _)) = part.split_once(']') else { continue };
        let numbers: Option<Vec<u32>> = inside.split(',').map(|number| number.trim().parse().ok()).collect();
        found.extend(numbers.into_iter().flatten());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_table() {
        let table = [
            ("SEARCH: the port", vec![More::Search("the port".to_owned())], "one"),
            ("- SEARCH: a\n\nAROUND: [3]", vec![More::Search("a".to_owned()), More::Around(3)], "a list"),
            ("It is 80 [1].\nSEARCH: more", vec![], "an answer that goes on"),
            ("AROUND: three", vec![], "no number"),
            ("", vec![], "nothing"),
        ];
        for (reply, want, why) in table {
            assert_eq!(requests(reply), want, "{why}");
        }
    }

    #[test]
    fn citations_table() {
        let table: [(&str, &[u32], &str); 6] = [
            ("80 [1]", &[1], "one"),
            ("[2][1], [2, 3]", &[1, 2, 3], "several"),
            ("a[i] = x[0]", &[0], "an index of code is a number that no passage has"),
            ("[not closed 3", &[], "not closed"),
            ("[1 and 2]", &[], "words"),
            ("[99999999999]", &[], "too large"),
        ];
        for (text, want, why) in table {
            assert_eq!(citations(text).into_iter().collect::<Vec<_>>(), want, "{why}");
        }
    }
}
