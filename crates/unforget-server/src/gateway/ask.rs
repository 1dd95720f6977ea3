//! A call on its way to the model: whose it is, what is stored of it, what is sent.
//!
//! Everything here is synchronous and may wait for the disk: it runs on the threads for that.

use std::borrow::Cow;

use axum::body::Bytes;
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::recover::{self, Recovery, Refused, Sent};
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{Array, Ask, Asking, Assembled, Brings, Recalled, Recognised, Recovered};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::exchange::{Call, Shape, annotations};
use unforget_wire::{Dialect, Format};

use super::fault::Problem;
use super::{Gateway, Recall};

/// What a client sent, as far as it matters here.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) dialect: Dialect,
    pub(super) tenant: String,
    /// The conversation, if the client names it to us.
    pub(super) named: Option<String>,
    /// The client's session, if it names one in a header.
    pub(super) session: Option<String>,
    /// Digest of the client's key: other keys are other callers.
    pub(super) caller: String,
    /// The body, uncompressed.
    pub(super) body: Bytes,
}

impl Received {
    /// Calls that are taken one after the other have the same order: see [`Caller::order`].
    ///
    /// Cost: one pass over the body if the client names no session in a header.
    pub(super) fn order(&self) -> Result<Digest, Problem> {
        if let Some(session) = self.named.as_ref().or(self.session.as_ref()) {
            return Ok(order(&self.tenant, "", session));
        }
        let call = Call::read(self.dialect, &self.body)?;
        let first = call.history().next();
        Ok(Caller::of(self, &call).order(first.as_deref().unwrap_or_default()))
    }
}

fn order(tenant: &str, user: &str, by: &str) -> Digest {
    Digest::of(format!("{tenant}\n{user}\n{by}").as_bytes())
}

/// How a call is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// As the client sent it.
    AsIs,
    /// With this body.
    Made(Bytes),
}

/// A call that is stored and ready to be sent.
pub(super) struct Begun {
    pub(super) dialect: Dialect,
    pub(super) who: Who,
    pub(super) array: Array,
    /// The newest entry of the path: the answer comes after it.
    pub(super) asked_at: Option<Seq>,
    pub(super) sending: Sending,
    /// `as-sent`, or what admission says.
    pub(super) authority: &'static str,
    /// Tokens of all that is sent.
    pub(super) tokens: Tokens,
    pub(super) model: Option<String>,
    /// What was looked up for it.
    pub(super) recalled: Option<Recalled>,
    budget: Budget,
}

/// Whose call it is.
#[derive(Clone, Debug)]
pub(super) struct Who {
    pub(super) lane: Recognised,
    pub(super) caller: Caller,
}

/// What a call says about who makes it.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) form: Format,
    pub(super) tenant: String,
    session: Option<String>,
    is_named: bool,
    user: String,
    kind: String,
}

impl Caller {
    fn of(received: &Received, call: &Call<'_>) -> Self {
        let hints = &call.hints;
        let session = received.named.as_ref().or(received.session.as_ref());
        let session = session.or(hints.session_id.as_ref()).or(hints.conversation.as_ref()).cloned();
        let loose = [&hints.user_id, &hints.prompt_cache_key, &hints.safety_identifier, &hints.user];
        let loose = loose.into_iter().flatten().next().map(String::as_str).unwrap_or_default();
        let is_provider_named = received.session.is_none() && hints.conversation.is_some();
        Self {
            form: form(received.dialect),
            tenant: received.tenant.clone(),
            is_named: received.named.is_some() || is_provider_named,
            user: if session.is_some() { String::new() } else { format!("{}\n{loose}", received.caller) },
            session,
            kind: kind(call),
        }
    }

    /// Calls with the same order may be of one lane.
    ///
    /// * `first` - the first message.
    fn order(&self, first: &str) -> Digest {
        let by = self.session.as_deref().unwrap_or(first);
        order(&self.tenant, &self.user, by)
    }

    pub(super) fn asking(&self) -> Asking<'_> {
        Asking {
            tenant: &self.tenant,
            session: self.session.as_deref(),
            is_named: self.is_named,
            user: Some(&self.user),
            kind: &self.kind,
            form: self.form,
        }
    }
}

/// The room of a call, in tokens.
#[derive(Clone, Copy, Debug)]
struct Budget {
    window: u64,
    /// Kept for the answer.
    output: u64,
    /// Instructions and tools.
    fixed: Tokens,
}

impl Budget {
    /// What the messages may have.
    const fn messages(&self) -> u64 {
        self.window.saturating_sub(self.output).saturating_sub(self.fixed.upper)
    }
}

/// Part of a window that is kept for an answer whose length the client does not say.
const RESERVE: u64 = 8;

/// Tokens of a block of recalled text, with what is around it.
const SLOT: u64 = 1_000;

/// Of these, what is around it.
const SLOT_FRAME: u64 = 64;

/// Most tokens that are kept so.
const RESERVE_MAX: u64 = 8_192;

/// Tokens of a window that are kept for the answer.
///
/// Newer models of Anthropic's end an answer where the window ends, whatever they were allowed, and Claude Code 2.1.330 allows
/// 128,000 of 200,000: that is no plan, and kept it would halve the conversation. A model that refuses gets a smaller prompt.
fn kept(dialect: Dialect, told: Option<u64>, window: u64) -> u64 {
    let told = told.filter(|told| dialect != Dialect::Anthropic || *told <= window / 2);
    told.unwrap_or_else(|| (window / RESERVE).min(RESERVE_MAX))
}

/// The form of a dialect's messages.
pub(super) const fn form(dialect: Dialect) -> Format {
    match dialect {
        Dialect::Anthropic => Format::AnthropicMessages,
        Dialect::OpenAiResponses => Format::OpenAiResponses,
        _ => Format::OpenAiChat,
    }
}

impl Gateway {
    /// Recognises and stores a call, and decides what is sent.
    pub(super) fn begin(&self, received: &Received) -> Result<Begun, Problem> {
        let call = Call::read(received.dialect, &received.body)?;
        let form = form(received.dialect);
        let bodies: Vec<_> = call.history().collect();
        let caller = Caller::of(received, &call);
        let (who, array, receipt) = {
            // Calls that may be of one lane are taken one after the other: two at once would begin it twice.
            let _alone = self.orders.lock(&caller.order(bodies.first().map_or("", AsRef::as_ref)));
            let (who, array) = self.recognise(caller, &call, &bodies)?;
            let brings = self.brings(&who, &call)?.unwrap_or(Brings::All);
            let request = call.without_messages();
            let receipt = self.host.take(&who.lane.lane, form, (brings, &array), Some(&request))?;
            (who, array, receipt)
        };
        let budget = self.budget(&call);
        let mut begun = Begun {
            dialect: received.dialect,
            asked_at: receipt.head,
            sending: Sending::AsIs,
            authority: "as-sent",
            tokens: array.tokens() + budget.fixed,
            model: call.model.clone(),
            recalled: None,
            budget,
            who,
            array,
        };
        let whole = self.whole(&begun, &call)?;
        begun.tokens = whole + budget.fixed;
        let is_too_large = whole.upper > budget.messages() && !begun.array.is_empty();
        // What the provider has and we do not can only be sent by its name.
        if let Some(brings) = self.brings(&begun.who, &call)?.filter(|_| is_too_large) {
            let at = (brings, &begun.array, begun.asked_at);
            let slot = if self.settings.recall == Recall::Slot { SLOT } else { 0 };
            let ask = begun.ask(received.dialect);
            let ask = Ask { budget: ask.budget.saturating_sub(slot), ..ask };
            let (assembled, head) = self.host.assemble_at(&begun.who.lane.lane, form, at, &ask)?;
            begun.asked_at = head;
            if slot > 0 {
                begun.recalled = self.recalled(&begun, &assembled)?;
            }
            begun.take(&assembled, &call, &bodies);
        }
        for left in self.arrays.keep(&begun.who.lane.lane, &begun.array) {
            self.host.close(&left);
        }
        Ok(begun)
    }

    /// The lane of a call, and its messages.
    fn recognise(
        &self,
        caller: Caller,
        call: &Call<'_>,
        bodies: &[Cow<'_, str>],
    ) -> Result<(Who, Array), Problem> {
        let read =
            |before: &Array| Array::read(caller.form, bodies.iter().map(|body| body.as_bytes()), before);
        if let Some(answer) = &call.hints.previous_response_id
            && let Some(lane) = self.host.answered_in(&caller.tenant, answer)?
        {
            let array = read(&Array::default())?;
            return Ok((Who { lane, caller }, array));
        }
        let first = bodies.first().map_or("", AsRef::as_ref);
        let array = read(&self.arrays.like(first.as_bytes()))?;
        let lane = self.host.recognise(&caller.asking(), &array)?;
        Ok((Who { lane, caller }, array))
    }

    /// What of the path a call brings; `None` if it goes on from an answer that only the provider has.
    fn brings<'a>(&self, who: &Who, call: &'a Call<'_>) -> Result<Option<Brings<'a>>, Problem> {
        Ok(match (&call.hints.previous_response_id, &call.hints.conversation) {
            (Some(answer), _) => {
                let is_ours = self.host.answered_in(&who.caller.tenant, answer)?.is_some();
                is_ours.then_some(Brings::Rest(Some(answer)))
            }
            (None, Some(_)) => Some(Brings::Rest(None)),
            (None, None) => Some(Brings::All),
        })
    }

    fn budget(&self, call: &Call<'_>) -> Budget {
        let window = self.window(call.model.as_deref());
        let output = kept(call.dialect, call.output, window);
        // What leaves no room for a prompt is a limit of the client's, and not a wish.
        let output = if output > window - window / 4 { window / 4 } else { output };
        let ruler = ModelRuler::of(call.model.as_deref(), call.dialect);
        let mut fixed = Tokens::default();
        call.fixed_text(&mut |text| fixed += ruler.count(text));
        Budget { window, output, fixed }
    }

    /// Tokens of everything that a call as it is makes the model read, but instructions and tools.
    fn whole(&self, begun: &Begun, call: &Call<'_>) -> Result<Tokens, Problem> {
        let is_partial = call.hints.previous_response_id.is_some() || call.hints.conversation.is_some();
        if !is_partial {
            return Ok(self.measured(begun));
        }
        let debt = self.host.status(&begun.who.lane.lane, begun.who.caller.form)?.debt;
        Ok(Tokens { expected: debt.stored, upper: debt.stored + debt.stored / 4 })
    }

    /// What the prompt left out and the newest question asks for.
    fn recalled(&self, begun: &Begun, assembled: &Assembled) -> Result<Option<Recalled>, Problem> {
        let Some(question) = begun.array.question() else { return Ok(None) };
        let dialect = begun.dialect;
        let ruler = ModelRuler::of(begun.model.as_deref(), dialect);
        let room = SLOT - SLOT_FRAME;
        let (lane, shown) = (&begun.who.lane.lane, &assembled.messages);
        Ok(self.host.recalled(lane, &question, room, ruler, shown)?)
    }

    /// A smaller body for a call that the provider refused; `None` if nothing smaller makes sense.
    pub(super) fn smaller(
        &self,
        received: &Received,
        begun: &mut Begun,
        refused: Refused,
        attempt: u8,
    ) -> Result<bool, Problem> {
        let call = Call::read(received.dialect, &received.body)?;
        let bodies: Vec<_> = call.history().collect();
        let (lane, form) = (begun.who.lane.lane.clone(), begun.who.caller.form);
        let Some(brings) = self.brings(&begun.who, &call)? else { return Ok(false) };
        let assembled = if begun.sending == Sending::AsIs {
            let sent = Sent {
                input: begun.tokens.expected,
                output: begun.budget.output,
                window: begun.budget.window,
                bytes: received.body.len() as u64,
                media: 0,
                digest: Digest::of(&received.body),
            };
            let Recovery::Retry(retry) = recover::plan(attempt, refused, &sent) else { return Ok(false) };
            let room = retry.input.saturating_sub(begun.budget.fixed.expected);
            let ask = Ask { budget: room.min(begun.budget.messages()), ..begun.ask(received.dialect) };
            let at = (brings, &begun.array, begun.asked_at);
            let (assembled, head) = self.host.assemble_at(&lane, form, at, &ask)?;
            begun.asked_at = head;
            assembled
        } else {
            match self.host.refused_at(&lane, form, begun.asked_at, refused)? {
                Some(Recovered::Retry { assembled, .. }) => *assembled,
                Some(Recovered::Surface(_)) | None => return Ok(false),
            }
        };
        begun.take(&assembled, &call, &bodies);
        Ok(true)
    }
}

impl Begun {
    /// Tokens of instructions and tools.
    pub(super) const fn fixed(&self) -> Tokens {
        self.budget.fixed
    }

    fn ask(&self, dialect: Dialect) -> Ask {
        Ask {
            output: self.budget.output,
            model: self.model.clone(),
            ..Ask::new(self.budget.messages(), dialect)
        }
    }

    /// Takes a prompt as what is sent, in the client's own request.
    fn take(&mut self, assembled: &Assembled, call: &Call<'_>, bodies: &[Cow<'_, str>]) {
        let client: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
        let mut messages = assembled.messages.clone();
        self.tokens = assembled.tokens + self.budget.fixed;
        if call.dialect == Dialect::Anthropic {
            messages = annotations::place(&client, &messages, &|_| None, call.marks);
        }
        let system = assembled.system.iter().map(|text| {
            let text = serde_json::Value::from(text.as_str());
            format!(r#"{{"role":"system","content":{text}}}"#)
        });
        if call.dialect != Dialect::Anthropic {
            messages.splice(0..0, system);
        }
        if let Some(recalled) = &self.recalled {
            recall(&mut messages, &recalled.text, call.dialect);
            self.tokens += Tokens::exact(SLOT);
        }
        let mut edits = call.message_edits(&messages);
        // All of the history is sent: what the provider has of it would come twice.
        for name in ["previous_response_id", "conversation"] {
            edits.extend(call.field_edits(name, None));
        }
        self.sending = Sending::Made(call.with_edits(&edits).into());
        self.authority = assembled.certificate.authority.name();
    }
}

/// Puts recalled text before the newest question: in its message where roles have to alternate, else as one of its own.
fn recall(messages: &mut Vec<String>, text: &str, dialect: Dialect) {
    let at = messages.iter().rposition(|message| is_question(message));
    let question = at.and_then(|at| messages.get(at)).and_then(|message| serde_json::from_str(message).ok());
    match (at, question) {
        (Some(at), Some(serde_json::Value::Object(mut question))) if dialect == Dialect::Anthropic => {
            let block = |text: &str| serde_json::json!({"type": "text", "text": text});
            let said = match question.get_mut("content").map(serde_json::Value::take) {
                Some(serde_json::Value::Array(blocks)) => blocks,
                Some(serde_json::Value::String(said)) => vec![block(&said)],
                _ => Vec::new(),
            };
            let blocks: Vec<_> = std::iter::once(block(text)).chain(said).collect();
            question.insert("content".to_owned(), blocks.into());
            if let Some(message) = messages.get_mut(at) {
                *message = serde_json::Value::Object(question).to_string();
            }
        }
        (Some(at), _) if dialect != Dialect::Anthropic => {
            let text = serde_json::Value::from(text);
            messages.insert(at, format!(r#"{{"role":"user","content":{text}}}"#));
        }
        // A prompt without a question has no place for it.
        _ => {}
    }
}

/// Whether a message of a prompt is a person's words, and no result of a tool.
fn is_question(message: &str) -> bool {
    let Ok(message) = serde_json::from_str::<serde_json::Value>(message) else { return false };
    let is =
        |value: &serde_json::Value, key: &str, word: &str| value.get(key).is_some_and(|value| value == word);
    let blocks = message.get("content").and_then(serde_json::Value::as_array);
    let is_result = blocks.is_some_and(|blocks| blocks.iter().any(|block| is(block, "type", "tool_result")));
    is(&message, "role", "user") && !is_result
}

/// What a call is for, as far as its instructions and tools tell.
fn kind(call: &Call<'_>) -> String {
    let digest = match (&call.tools, call.shape) {
        (Some(tools), _) => *tools,
        (None, Shape::Absent) => Digest::of(b""),
        (None, _) => {
            let bytes: Vec<u8> = call.system.iter().flat_map(|digest| digest.0).collect();
            Digest::of(&bytes)
        }
    };
    digest.hex().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_for_the_answer_table() {
        let table = [
            (Dialect::Anthropic, Some(8_000), 64_000, 8_000, "as told"),
            (Dialect::Anthropic, Some(128_000), 200_000, RESERVE_MAX, "Claude Code allows more than half"),
            (Dialect::OpenAiChat, Some(128_000), 200_000, 128_000, "others refuse what might not fit"),
            (Dialect::OpenAiResponses, None, 400_000, RESERVE_MAX, "nothing told"),
            (Dialect::Anthropic, None, 8_000, 1_000, "a small window"),
        ];
        for (dialect, told, window, want, why) in table {
            assert_eq!(kept(dialect, told, window), want, "{why}");
        }
    }
}
