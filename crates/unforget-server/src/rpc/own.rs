//! The host's own model, asked over the connection that offered it.
//!
//! A host that offers its model with `initialize` receives calls: a line with `method` and an `id` of ours, to be
//! answered by a line with that `id`. Questions wait on threads of their own, never on those that carry out calls.
//!
//! | behaviour of the host | meaning |
//! |---|---|
//! | never answers | a timeout, counted by the account's breaker |
//! | disconnects | a broken connection |
//! | answers with an unknown id, twice, or over another connection | an error line, nothing else |
//! | answers in a wrong form or at excessive length | not understood, too large |

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use unforget_engine::summarise::{Account, Answer, Cause, Fault, Model, Request, Usage};

use super::connection::Peer;
use super::protocol::{ModelAnswer, ModelQuestion, ModelRefusal, Offer};

/// Most bytes of an answer's text.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The account of all hosts' models, for breakers.
const PROVIDER: &str = "host";

/// The models offered by hosts, as one: the most recent offer is asked.
pub(super) struct OwnModel {
    account: Account,
    state: Mutex<OwnModelState>,
}

#[derive(Default)]
struct OwnModelState {
    offers: Vec<(Weak<Peer>, Offer)>,
    is_wanted: bool,
    /// Number of questions so far.
    asked: u64,
    /// Unanswered questions, by id.
    open: HashMap<Box<str>, OpenQuestion>,
}

struct OpenQuestion {
    peer: Weak<Peer>,
    answer: SyncSender<Result<Answer, (Cause, String)>>,
}

impl OwnModelState {
    /// The newest valid offer.
    fn newest(&self) -> Option<(Arc<Peer>, Offer)> {
        let mut offers = self.offers.iter().rev().filter(|_| self.is_wanted);
        offers.find_map(|(peer, offer)| Some((peer.upgrade()?, offer.clone())))
    }
}

impl OwnModel {
    pub(super) fn new() -> Arc<Self> {
        let account = Account { provider: PROVIDER.to_owned(), credential: "none".to_owned() };
        Arc::new(Self { account, state: Mutex::default() })
    }

    /// Sets whether hosts' models are asked at all.
    pub(super) fn want(&self, wanted: bool) {
        self.state().is_wanted = wanted;
    }

    /// Takes a host's offer of its model, or its withdrawal. Returns whether the model may be asked.
    pub(super) fn offer(&self, peer: &Arc<Peer>, offer: Option<Offer>) -> bool {
        let mut state = self.state();
        state.offers.retain(|(other, _)| !is_same(other, peer) && other.strong_count() > 0);
        let has_offered = offer.is_some();
        state.offers.extend(offer.map(|offer| (Arc::downgrade(peer), offer)));
        has_offered && state.is_wanted
    }

    /// Handles the end of a connection: no more questions, and its open ones stay unanswered.
    pub(super) fn forget(&self, peer: &Arc<Peer>) {
        let mut state = self.state();
        state.offers.retain(|(other, _)| !is_same(other, peer));
        state.open.retain(|_, open| !is_same(&open.peer, peer));
    }

    /// Stops asking and waiting.
    pub(super) fn close(&self) {
        let mut state = self.state();
        (state.offers, state.open) = (Vec::new(), HashMap::new());
        state.is_wanted = false;
    }

    /// Whether a connection has an open question.
    pub(super) fn is_asking(&self, peer: &Arc<Peer>) -> bool {
        self.state().open.values().any(|open| is_same(&open.peer, peer))
    }

    /// Takes an answer. Returns false if this connection was not asked under this id, or has answered already.
    ///
    /// * `id` - verbatim.
    pub(super) fn answered(&self, peer: &Arc<Peer>, id: &str, answer: Result<&str, &str>) -> bool {
        let mut state = self.state();
        if !state.open.get(id).is_some_and(|open| is_same(&open.peer, peer)) {
            return false;
        }
        let Some(open) = state.open.remove(id) else { return false };
        drop(state);
        let said = match answer {
            Ok(result) => read(result),
            Err(error) => Err(refusal(error)),
        };
        // The asking thread may have stopped waiting.
        open.answer.try_send(said).ok();
        true
    }

    /// Opens a question to the most recent offer.
    fn open(&self, answer: SyncSender<Result<Answer, (Cause, String)>>) -> Option<(Arc<Peer>, Box<str>)> {
        let mut state = self.state();
        let (peer, _) = state.newest()?;
        state.asked += 1;
        let id: Box<str> = format!("\"u{}\"", state.asked).into();
        state.open.insert(id.clone(), OpenQuestion { peer: Arc::downgrade(&peer), answer });
        Some((peer, id))
    }

    fn ask(&self, request: &Request<'_>) -> Result<Answer, (Cause, String)> {
        let nothing = String::new;
        let (sender, receiver) = mpsc::sync_channel(1);
        let Some((peer, id)) = self.open(sender) else { return Err((Cause::Absent, nothing())) };
        let question = ModelQuestion {
            system: request.system,
            user: request.user,
            output_tokens_max: request.output_tokens_max,
            within_ms: u64::try_from(request.within.as_millis()).unwrap_or(u64::MAX),
        };
        let is_sent = peer.ask(&id, "complete", &question);
        // Its references to the peer end with it.
        drop(peer);
        let said =
            if is_sent { receiver.recv_timeout(request.within) } else { Err(RecvTimeoutError::Disconnected) };
        self.state().open.remove(&id);
        match said {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => Err((Cause::Timeout, nothing())),
            Err(RecvTimeoutError::Disconnected) => Err((Cause::Broken, nothing())),
        }
    }

    fn state(&self) -> MutexGuard<'_, OwnModelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for OwnModel {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &str {
        PROVIDER
    }

    fn is_there(&self) -> bool {
        self.state().newest().is_some()
    }

    fn window(&self) -> Option<u64> {
        self.state().newest()?.1.window
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        self.ask(request).map_err(|(cause, said)| Fault::told(cause, &self.account, PROVIDER, &said))
    }
}

fn is_same(weak: &Weak<Peer>, peer: &Arc<Peer>) -> bool {
    std::ptr::eq(weak.as_ptr(), Arc::as_ptr(peer))
}

/// Parses the answer of a host's model.
fn read(result: &str) -> Result<Answer, (Cause, String)> {
    let asked: ModelAnswer = serde_json::from_str(result).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        (Cause::BadAnswer { place }, String::new())
    })?;
    if asked.text.len() > TEXT_BYTES_MAX {
        return Err((Cause::AnswerTooLarge { bytes_max: TEXT_BYTES_MAX as u64 }, String::new()));
    }
    let usage = asked.usage.unwrap_or_default();
    let usage = Usage { input: usage.input_tokens, output: usage.output_tokens, cached: None };
    Ok(Answer::of(&asked.text, asked.stop.as_deref(), usage, asked.model))
}

/// Parses the refusal of a host's model.
fn refusal(error: &str) -> (Cause, String) {
    let refused: ModelRefusal = serde_json::from_str(error).unwrap_or_default();
    let data = refused.data.unwrap_or_default();
    let wait = data.retry_after_ms.map(Duration::from_millis);
    (Cause::told(data.kind.as_deref().unwrap_or_default(), wait), refused.message.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn answers_table() {
        let huge = format!(r#"{{"text":"{}"}}"#, "x".repeat(TEXT_BYTES_MAX + 1));
        let table = [
            (r#"{"text":"yes"}"#, Ok(("yes", "end")), "as little as can be"),
            (
                r#"{"text":"<think>hm</think>yes","stop":"max-tokens","new":1}"#,
                Ok(("yes", "max-tokens")),
                "more",
            ),
            (r#"{"text":"","stop":"odd"}"#, Ok(("", "unknown")), "a word that nobody knows"),
            (r#"{"text":7}"#, Err("bad-answer"), "no text"),
            ("[]", Err("bad-answer"), "something else"),
            (&huge, Err("answer-too-large"), "too much"),
        ];
        for (result, want, why) in table {
            let read = read(result);
            let got = read.as_ref().map(|answer| (answer.text.as_str(), answer.stop.name()));
            assert_eq!(got.map_err(|(cause, _)| cause.name()), want, "{why}");
        }
    }

    #[test]
    fn refusals_table() {
        let table = [
            (
                r#"{"code":1,"message":"slow","data":{"kind":"rate-limited","retryAfterMs":9}}"#,
                "rate-limited",
            ),
            (r#"{"code":1,"message":"no","data":{"kind":"auth"}}"#, "auth"),
            (r#"{"code":-32601,"message":"what?"}"#, "unknown"),
            ("7", "unknown"),
        ];
        for (error, want) in table {
            assert_eq!(refusal(error).0.name(), want, "{error}");
        }
        assert_eq!(refusal(table[0].0).0.retry_after(), Some(Duration::from_millis(9)));
    }
}
