//! Carries out calls.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unforget_core::id::ConversationKey;
use unforget_core::recover;
use unforget_core::tokens::Tokens;
use unforget_engine::host::{self, Ask, HostError, LiveArray, Page, Turn};
use unforget_wire::{Format, refusal};

use super::array::deliver;
use super::held::Given;
use super::protocol::{
    AbortTurnParams, AfterTurnParams, Answered, AnsweredParams, Array, AssembleParams, Assembled, Base,
    CallDone, CatchUpParams, Classified, ClassifyParams, Code, Committed, CompactParams, Compacted,
    Delivered, EventParams, Failure, Form, InitializeParams, Initialized, LaneStatus, Maintained, Message,
    PROTOCOL, PromptReport, Recovered, RefusedParams, Retry, ServerStatus, Target, Truncation, TurnParams,
    VERBS,
};
use super::server::{Lane, Running, Server};
use super::{file, pins, raised, recall};

/// Smallest usable window of a host's model: instructions, some entries and an answer must fit.
const WINDOW_MIN: u64 = 4_096;

/// The start of a prompt's answer, up to its first message.
const MESSAGES: &str = r#"{"messages":["#;

/// An answer: a JSON object.
pub(super) type Answer = Result<String, Failure>;

impl Server {
    /// Carries a call out.
    pub(super) fn carry_out(&self, method: &str, call: &Running<'_>) -> Answer {
        match method {
            "initialize" => self.initialize(call),
            "open" => self.open(call),
            "catchUp" => self.catch_up(call),
            "beginTurn" => self.begin_turn(call),
            "commitTurn" => self.commit_turn(call),
            "abortTurn" => self.abort_turn(call),
            "afterTurn" => self.after_turn(call),
            "assemble" => self.assemble(call),
            "refused" => self.refused(call),
            "answered" => self.answered(call),
            "compact" => self.compact(call),
            "maintain" => self.maintain(call),
            "event" => self.event(call),
            "status" => self.status(call),
            "search" => recall::search(self, call),
            "grep" => recall::grep(self, call),
            "describe" => recall::describe(self, call),
            "expand" => recall::expand(self, call),
            "answer" => recall::answer_question(self, call),
            "pin" => pins::pin(self, call),
            "unpin" => pins::unpin(self, call),
            "pins" => pins::pins(self, call),
            "raise" => raised::raise(self, call),
            "lower" => raised::lower(self, call),
            "raised" => raised::raised(self, call),
            "classify" => classify(call),
            "close" => self.close_lane(call),
            _ => Err(Failure::new(
                Code::Method,
                format!("{method} cannot be called here"),
                "see docs/protocol.md for the methods",
            )),
        }
    }

    fn initialize(&self, call: &Running<'_>) -> Answer {
        let params: InitializeParams = params(call)?;
        if let Some(other) = params.protocol.filter(|protocol| *protocol != PROTOCOL) {
            let what = format!("this server does not speak version {other} of the protocol");
            return Err(Failure::new(Code::Protocol, what, format!("use version {PROTOCOL}")));
        }
        if let Some(window) = params.model.as_ref().and_then(|model| model.window).filter(|w| *w < WINDOW_MIN)
        {
            let what = format!(
                "the model's window of {window} tokens is too small: at least {WINDOW_MIN} are needed"
            );
            return Err(Failure::params(what));
        }
        let asks_model = self.own.offer(call.peer, params.model);
        if asks_model {
            self.host.engine().want_models(true);
        }
        answer(&Initialized {
            asks_model,
            protocol: PROTOCOL,
            server: concat!("unforget ", env!("CARGO_PKG_VERSION")).to_owned(),
            verbs: VERBS.iter().map(|(verb, _)| *verb).collect(),
            forms: Form::ALL.to_vec(),
            dialects: Target::ALL.to_vec(),
            frame_bytes_max: self.limits.frame_bytes as u64,
            queued_max: self.limits.queued as u64,
            queued_bytes_max: self.limits.queued_bytes as u64,
        })
    }

    fn open(&self, call: &Running<'_>) -> Answer {
        let lane = self.lane(call)?;
        let status = self.told(&lane, || self.host.open(&lane.key, lane.form.format()))?;
        answer(&LaneStatus::from(status))
    }

    fn catch_up(&self, call: &Running<'_>) -> Answer {
        let params: CatchUpParams<'_> = params(call)?;
        let lane = self.lane(call)?;
        let form = lane.form.format();
        match (params.messages, params.array, params.file) {
            (messages, None, None) => {
                let messages = all(&messages.unwrap_or_default())?;
                let page = Page { messages, cursor: params.cursor, is_reset: params.is_reset };
                let receipt = self.told(&lane, || self.host.catch_up(&lane.key, form, page))?;
                answer(&Delivered::from(receipt))
            }
            (None, Some(array), None) => {
                self.array(&lane, &array, |messages| self.host.sync(&lane.key, form, messages))
            }
            (None, None, Some(path)) => {
                let (messages, read) = file::read(path.as_ref(), form)?;
                let receipt = self.told(&lane, || self.host.sync(&lane.key, form, messages))?;
                answer(&Delivered { file: Some(read), ..Delivered::from(receipt) })
            }
            _ => Err(Failure::params("give only one of `messages`, `array` and `file`")),
        }
    }

    fn begin_turn(&self, call: &Running<'_>) -> Answer {
        let params: TurnParams<'_> = params(call)?;
        let lane = self.lane(call)?;
        let turn = Turn { key: params.turn, messages: all(&params.messages)? };
        let receipt = self.told(&lane, || self.host.begin_turn(&lane.key, lane.form.format(), turn))?;
        answer(&Delivered::from(receipt))
    }

    fn commit_turn(&self, call: &Running<'_>) -> Answer {
        let params: TurnParams<'_> = params(call)?;
        let lane = self.lane(call)?;
        let turn = Turn { key: params.turn, messages: all(&params.messages)? };
        let done = self.told(&lane, || self.host.commit_turn(&lane.key, lane.form.format(), turn))?;
        let status = if done.is_duplicate { "duplicate" } else { "committed" };
        answer(&Committed { status, receipt: done.receipt.into() })
    }

    fn abort_turn(&self, call: &Running<'_>) -> Answer {
        let params: AbortTurnParams = params(call)?;
        let lane = self.lane(call)?;
        let form = lane.form.format();
        let receipt =
            self.told(&lane, || self.host.abort_turn(&lane.key, form, &params.turn, &params.reason))?;
        answer(&Delivered::from(receipt))
    }

    fn after_turn(&self, call: &Running<'_>) -> Answer {
        let params: AfterTurnParams<'_> = params(call)?;
        let lane = self.lane(call)?;
        let before = usize::try_from(params.before).unwrap_or(usize::MAX);
        let form = lane.form.format();
        self.array(&lane, &params.array, |messages| self.host.after_turn(&lane.key, form, messages, before))
    }

    /// Delivers an array and remembers it.
    fn array(
        &self,
        lane: &Lane<'_>,
        array: &Array<'_>,
        act: impl FnOnce(Vec<host::Delivered>) -> Result<host::Receipt, HostError>,
    ) -> Answer {
        let whole = self.arrays.whole(lane.name, array.base.as_ref(), &array.messages)?;
        let base = whole.base;
        let (kept, messages) = whole.part();
        let receipt = self.told(lane, || act(messages)).map_err(|failure| beyond_base(failure, base))?;
        let base = self.arrays.remember(lane.name, kept);
        answer(&Delivered { array: Some(base), ..Delivered::from(receipt) })
    }

    fn assemble(&self, call: &Running<'_>) -> Answer {
        let params: AssembleParams<'_> = params(call)?;
        let lane = self.lane(call)?;
        let (mut kept, mut live, mut base) = (None, None, 0);
        if let Some(given) = &params.live {
            let whole = self.arrays.whole(lane.name, given.base.as_ref(), &given.messages)?;
            base = whole.base;
            let (known, messages) = whole.part();
            (kept, live) = (Some(known), Some(LiveArray { is_whole: given.is_whole, messages }));
        }
        let ask = Ask {
            live,
            budget: params.budget,
            // Hosts do not report the content that they send beside the messages.
            beside: Tokens::default(),
            output: params.output,
            prompt: params.prompt,
            model: params.model,
            dialect: params.dialect.dialect(),
            is_first: params.is_first,
            texts_beside: Vec::new(),
        };
        let made = self.told(&lane, || self.host.assemble(&lane.key, lane.form.format(), &ask));
        let made = made.map_err(|failure| beyond_base(failure, base))?;
        unforget_gateway::pinned::note(lane.name, &made);
        let array = kept.map(|kept| self.arrays.remember(lane.name, kept));
        let given = params.holds.map(|holds| self.prompts.give(lane.name, &holds, &made.messages));
        assembled(made, array, given)
    }

    fn refused(&self, call: &Running<'_>) -> Answer {
        let params: RefusedParams = params(call)?;
        let refusal = refusal_of(&params.said);
        let lane = self.lane(call)?;
        let Some(found) = &refusal else {
            return Err(Failure::params(
                "the provider's reply is no refusal; call classify to see its meaning",
            ));
        };
        let (form, refused) = (lane.form.format(), found.refused());
        let done = self.told(&lane, || self.host.refused(&lane.key, form, refused, params.behind))?;
        let (retry, reason) = match done {
            host::Recovered::Retry { assembled: prompt, output, why } => (
                Some(Retry { prompt: raw(assembled(*prompt, None, None)?)?, output, why: why_name(why) }),
                None,
            ),
            host::Recovered::Surface(reason) => (None, Some(reason_name(reason))),
        };
        answer(&Recovered { refusal: refusal.into(), retry, reason })
    }

    fn answered(&self, call: &Running<'_>) -> Answer {
        let params: AnsweredParams = params(call)?;
        let lane = self.lane(call)?;
        let cut = self.host.answered(&lane.key, lane.form.format(), params.input_tokens)?;
        answer(&Answered {
            suspected_truncation: cut.map(|cut| Truncation { reported_tokens: cut.reported }),
        })
    }

    fn compact(&self, call: &Running<'_>) -> Answer {
        let params: CompactParams = params(call)?;
        let lane = self.lane(call)?;
        // The turn's own budget is what shrinks, never a larger one.
        let ask = Ask::new(params.budget, params.dialect.dialect());
        let ask = Ask { model: params.model, is_first: false, ..ask };
        let form = lane.form.format();
        let done = self.told(&lane, || self.host.compact(&lane.key, form, &ask, params.force))?;
        let reason = if params.force { "nothing to compact" } else { "already under target" };
        answer(&Compacted {
            is_compacted: done.shrank,
            tokens_before: done.before,
            tokens_after: done.after,
            reason: (!done.shrank).then_some(reason),
            instructions: params.instructions.filter(|text| !text.trim().is_empty()).map(|_| "unused"),
        })
    }

    fn maintain(&self, call: &Running<'_>) -> Answer {
        let mut is_indexed = false;
        if call.lane.is_some() {
            let lane = self.lane(call)?;
            if let Some(conversation) = self.host.engine().store().find(&conversation_key(lane.name))? {
                self.host.engine().maintain_index(conversation.id)?;
                is_indexed = true;
            }
        }
        self.host.maintain()?;
        answer(&Maintained { is_indexed })
    }

    fn event(&self, call: &Running<'_>) -> Answer {
        let params: EventParams = params(call)?;
        let lane = self.lane(call)?;
        let event = params.event.into();
        let receipt = self.told(&lane, || self.host.event(&lane.key, lane.form.format(), &event))?;
        answer(&Delivered::from(receipt))
    }

    fn status(&self, call: &Running<'_>) -> Answer {
        if call.lane.is_none() {
            let (queued, running) = self.queue.counts();
            let (lanes, queued_bytes) = (self.lanes_open(), self.held_bytes());
            return answer(&ServerStatus { protocol: PROTOCOL, lanes, queued, queued_bytes, running });
        }
        let lane = self.lane(call)?;
        answer(&LaneStatus::from(self.host.status(&lane.key, lane.form.format())?))
    }

    fn close_lane(&self, call: &Running<'_>) -> Answer {
        let Some(lane) = call.lane else { return Err(Failure::params("the method needs a `lane`")) };
        self.close(lane);
        answer(&CallDone { done: true })
    }

    /// Runs an action that may write. An engine error says whether it did.
    fn told<T>(&self, lane: &Lane<'_>, act: impl FnOnce() -> Result<T, HostError>) -> Result<T, Failure> {
        let entries = || {
            let found = self.host.engine().store().find(&conversation_key(lane.name));
            found.map(|conversation| conversation.map_or(0, |conversation| conversation.entries))
        };
        let before = entries()?;
        act().map_err(|error| {
            let is_from_below = matches!(error, HostError::Engine(_));
            let mut failure = Failure::from(error);
            if is_from_below {
                failure.data.stored = entries().ok().map(|after| after != before);
            }
            failure
        })
    }
}

/// Key of a lane's conversation in the store.
pub(super) fn conversation_key(lane: &Arc<str>) -> ConversationKey {
    ConversationKey(format!("{}:{lane}", Format::Journal.name()))
}

/// The parameters of a call.
pub(super) fn params<'a, T: Deserialize<'a>>(call: &Running<'a>) -> Result<T, Failure> {
    serde_json::from_str(call.params).map_err(|error| Failure::params(error.to_string()))
}

/// An answer as JSON.
pub(super) fn answer(value: &impl Serialize) -> Answer {
    serde_json::to_string(value).map_err(|error| defect(&error))
}

pub(super) fn defect(error: &serde_json::Error) -> Failure {
    let mut failure = Failure::new(
        Code::Internal,
        format!("the answer cannot be written as JSON: {error}"),
        "please report this defect of unforget",
    );
    failure.data.stored = None;
    failure
}

fn all(messages: &[Message<'_>]) -> Result<Vec<host::Delivered>, Failure> {
    messages.iter().enumerate().map(|(index, message)| deliver(message, index)).collect()
}

/// A call with a base cannot supply bodies of the base.
fn beyond_base(failure: Failure, base: usize) -> Failure {
    if failure.data.need.iter().any(|index| *index < base) {
        let hint = "send the array without a base; digests are enough";
        return Failure::new(Code::NeedWhole, "messages of the base are not stored any more", hint);
    }
    failure
}

/// Writes the answer for a prompt, without the messages that the host already has. Messages are inserted verbatim: they
/// are JSON, and may be a megabyte.
fn assembled(made: host::Assembled, array: Option<Base>, given: Option<Given>) -> Answer {
    let same = given.as_ref().map_or(0, |given| given.same);
    let text = answer(&Assembled {
        messages: Vec::new(),
        system: made.system,
        tokens: made.tokens.into(),
        authority: made.certificate.authority.name(),
        certificate: (&made.certificate).into(),
        report: PromptReport {
            remade: made.remade.map(unforget_core::loop_view::Stale::name),
            broken: made.broken.map(|broken| broken.cause.name()),
            delivery: made.receipt.map(Into::into),
        },
        debt: made.debt.into(),
        array,
        same: given.as_ref().map(|given| given.same as u64),
        given: given.map(|given| given.base),
    })?;
    let (Some(head), Some(rest)) = (text.get(..MESSAGES.len()), text.get(MESSAGES.len()..)) else {
        return Ok(text);
    };
    let messages = made.messages.get(same..).unwrap_or_default();
    let length = messages.iter().map(|message| message.len() + 1).sum::<usize>() + text.len();
    let mut whole = String::with_capacity(length);
    whole.push_str(head);
    for (at, message) in messages.iter().enumerate() {
        if at > 0 {
            whole.push(',');
        }
        whole.push_str(message);
    }
    whole.push_str(rest);
    Ok(whole)
}

fn raw(text: String) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(text).map_err(|error| defect(&error))
}

const fn why_name(why: recover::Why) -> &'static str {
    match why {
        recover::Why::Told => "told",
        recover::Why::Guessed => "guessed",
        recover::Why::Suspected => "suspected",
        recover::Why::Media => "media",
    }
}

const fn reason_name(reason: recover::Reason) -> &'static str {
    match reason {
        recover::Reason::NotSize => "not-size",
        recover::Reason::Tried => "tried",
        recover::Reason::NothingLeft => "nothing-left",
    }
}

fn classify(call: &Running<'_>) -> Answer {
    answer(&Classified::from(refusal_of(&params(call)?)))
}

fn refusal_of(params: &ClassifyParams) -> Option<refusal::Refusal> {
    refusal::classify(&refusal::Reply {
        status: params.status,
        headers: refusal::Headers {
            retry_after: params.headers.retry_after.as_deref(),
            retry_after_ms: params.headers.retry_after_ms.as_deref(),
            error_type: params.headers.x_amzn_errortype.as_deref(),
        },
        body: params.body.as_bytes(),
        provider: params.provider.as_deref().map(refusal::Provider::named),
    })
}
