//! What a prompt does not show word for word, and how to get it back.

use serde::Serialize;
use unforget_core::left::LeftWhy;
use unforget_engine::calls::{CallHistory, CallPoint};
use unforget_engine::left::{LeftGroup, LeftReach, LeftRead, LeftThing};
use unforget_text::ToldKind;
use utoipa::ToSchema;

use super::iso;

/// Why entries are not shown word for word.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotShownWhyJson {
    /// `summarised` since a break, `summarised-before` (at this break or an earlier one, of which nothing is kept), `shortened` since a
    /// break, `cut` without one, `no-room` in this call.
    pub why: &'static str,
    /// The reason, for people.
    pub words: String,
    /// Number of the break, from 1; null for `cut` and `no-room`.
    #[serde(rename = "break")]
    pub broke: Option<u32>,
    /// The first call after the break; null if it is not kept.
    pub call: Option<String>,
    /// Time of that call.
    pub time: Option<String>,
    /// Tokens that were billed again there; null if it is not known.
    pub rebilled: Option<u64>,
    /// Number of entries, with those that are not for models.
    pub entries: u64,
    /// Ids of the entries, for `expand`.
    pub spans: Vec<String>,
}

/// A thing whose entry does not stand in the prompt word for word.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotShownThingJson {
    /// `request`, `rule`, `decision`, `command`, `number` or `path`.
    pub kind: &'static str,
    /// Its words on one line, at most 240 characters.
    pub text: String,
    /// Id of the entry that tells it.
    pub entry: String,
    /// Whether its words still stand in the prompt, in a summary or elsewhere.
    pub in_prompt: bool,
    /// Whether its words can be got back.
    pub reachable: bool,
    /// The command that gives them.
    pub how: String,
    /// The command that puts the entry back into prompts.
    pub put_back: String,
    /// Why the entry is not shown: the name in `why`; null where two prompts are compared.
    pub why: Option<&'static str>,
    /// The break of the reason.
    #[serde(rename = "break")]
    pub broke: Option<u32>,
}

/// A line of a summary that is no longer shown.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct GoneLineJson {
    /// Its words, at most 240 characters.
    pub text: String,
    /// The command that gives the entries that it was about.
    pub how: String,
}

/// A purged entry.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotShownPurgedJson {
    /// Id of the entry.
    pub entry: String,
    /// Always false.
    pub reachable: bool,
    /// The reason.
    pub why: &'static str,
}

/// Things of a kind.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotShownCountJson {
    /// The kind.
    pub kind: &'static str,
    /// Things.
    pub things: u64,
    /// Those whose words still stand in the prompt.
    pub in_prompt: u64,
    /// Those that are listed.
    pub listed: u64,
}

/// The output of `left`.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct NotShownJson {
    /// Key of the conversation.
    pub conversation: String,
    /// `sent`, or `played` for a window.
    pub calls: &'static str,
    /// Window of the call, in tokens.
    pub window: u64,
    /// The call: `120`, or `r12` for a prompt that was sent.
    pub call: String,
    /// The call that it is compared with, at a break; null if all is told that the call does not show.
    pub before: Option<String>,
    /// Turn of the call; null for a sent prompt.
    pub turn: Option<u64>,
    /// Time of the call.
    pub time: Option<String>,
    /// Newest entry before the call.
    pub head: Option<u64>,
    /// Expected tokens of its prompt; 0 if no request fits.
    pub tokens: u64,
    /// Tokens that the smallest request needs, if none fits: then nothing more is told.
    pub needs: Option<u64>,
    /// Whether these are the bytes that were sent; null for a played call.
    pub same: Option<bool>,
    /// Why the prompt broke at this call; null if it did not.
    pub cause: Option<&'static str>,
    /// Entries that it does not show word for word; of a break, those that stopped.
    pub entries: u64,
    /// Of these, the entries that were not looked through.
    pub unread: u64,
    /// The reasons, the newest break first; empty at a break.
    pub why: Vec<NotShownWhyJson>,
    /// Things by kind.
    pub counts: Vec<NotShownCountJson>,
    /// Things, by kind, the newest first, at most as many of a kind as were asked for.
    pub things: Vec<NotShownThingJson>,
    /// At a break: lines of the summaries before that no summary says any more.
    pub lines: Vec<GoneLineJson>,
    /// Entries that cannot be got back.
    pub unreachable: Vec<NotShownPurgedJson>,
}

/// What of an answer is listed.
#[derive(Clone, Debug)]
pub struct NotShownFilter {
    /// The kinds; all if there is none.
    pub kinds: Vec<ToldKind>,
    /// Most things of a kind.
    pub limit: usize,
    /// Whether things are listed whose words still stand in the prompt.
    pub with_standing: bool,
}

impl NotShownJson {
    /// * `key` - of the conversation.
    pub fn new(key: &str, calls: &CallHistory, read: &LeftRead, wanted: &NotShownFilter) -> Self {
        let point = calls.points.get(read.at);
        let answer = read.answer.clone().unwrap_or_default();
        let kinds =
            ToldKind::ALL.into_iter().filter(|kind| wanted.kinds.is_empty() || wanted.kinds.contains(kind));
        let (mut things, mut counts) = (Vec::new(), Vec::new());
        for kind in kinds {
            let of_kind: Vec<_> = answer.of_kind(kind).collect();
            let is_listed = |thing: &&&LeftThing| wanted.with_standing || thing.reach != LeftReach::Prompt;
            let listed: Vec<_> = of_kind.iter().filter(is_listed).take(wanted.limit).collect();
            counts.push(NotShownCountJson {
                kind: kind.name(),
                things: of_kind.len() as u64,
                in_prompt: of_kind.iter().filter(|thing| thing.reach == LeftReach::Prompt).count() as u64,
                listed: listed.len() as u64,
            });
            things.extend(listed.into_iter().map(|thing| thing_json(key, thing)));
        }
        let why = answer.groups.iter().map(|group| why_json(key, calls, group));
        let lines = answer.lines.iter().map(|line| GoneLineJson {
            text: line.text.clone(),
            how: format!("unforget expand {}", quoted(&span_id(key, line.span.0.0, line.span.1.0))),
        });
        let purged = answer.purged.iter().map(|seq| NotShownPurgedJson {
            entry: span_id(key, seq.0, seq.0),
            reachable: false,
            why: "its words were purged",
        });
        Self {
            conversation: key.to_owned(),
            calls: if calls.is_sent { "sent" } else { "played" },
            window: point.and_then(|point| point.window).unwrap_or(calls.window),
            call: calls.label(read.at).to_owned(),
            before: read.before.map(|at| calls.label(at).to_owned()),
            turn: point.map(|point| point.turn).filter(|_| !calls.is_sent),
            time: point.and_then(|point| point.time).and_then(iso),
            head: point.and_then(|point| point.head).map(|seq| seq.0),
            tokens: point.map_or(0, |point| point.total),
            needs: point.and_then(|point| point.refused),
            same: read.is_same,
            cause: point
                .filter(|point| point.is_break())
                .and_then(|point| point.broken)
                .map(|broken| broken.cause.name()),
            entries: answer.entries,
            unread: answer.unread,
            why: why.collect(),
            counts,
            things,
            lines: lines.collect(),
            unreachable: purged.collect(),
        }
    }

    /// Whether everything stands in the prompt word for word.
    pub const fn is_nothing(&self) -> bool {
        self.entries == 0 && self.why.is_empty() && self.lines.is_empty()
    }
}

fn why_json(key: &str, calls: &CallHistory, group: &LeftGroup) -> NotShownWhyJson {
    let point = group.call.and_then(|at| calls.points.get(at));
    NotShownWhyJson {
        why: group.why.name(),
        words: words(group.why, point),
        broke: group.why.number(),
        call: point.map(|point| point.label.clone()),
        time: point.and_then(|point| point.time).and_then(iso),
        rebilled: point.and_then(|point| point.broken).map(|broken| broken.rebilled),
        entries: group.entries,
        spans: group.spans.iter().map(|(first, last)| span_id(key, first.0, last.0)).collect(),
    }
}

/// The reason in a sentence.
fn words(why: LeftWhy, point: Option<&CallPoint>) -> String {
    let place = |number: u32| match point {
        Some(point) => format!("break {number}, at call {}", point.label),
        None => format!("break {number}"),
    };
    match why {
        LeftWhy::Summarised(number) => format!("summaries stand for them since {}", place(number)),
        LeftWhy::SummarisedBefore(0) => {
            "summaries stand for them since before the calls that are kept".to_owned()
        }
        LeftWhy::SummarisedBefore(number) => {
            format!("summaries stand for them since break {number} or an earlier one")
        }
        LeftWhy::Shortened(number) => format!("their long texts and results are cut since {}", place(number)),
        LeftWhy::Cut => "their long texts and results are cut".to_owned(),
        LeftWhy::NoRoom => "this call had no room for them".to_owned(),
    }
}

fn thing_json(key: &str, thing: &LeftThing) -> NotShownThingJson {
    let entry = span_id(key, thing.seq.0, thing.seq.0);
    NotShownThingJson {
        kind: thing.kind.name(),
        text: thing.text.clone(),
        in_prompt: thing.reach == LeftReach::Prompt,
        reachable: true,
        how: format!("unforget expand {}", quoted(&entry)),
        put_back: format!("unforget uncompact {} --entries {}", quoted(key), thing.seq),
        entry,
        why: thing.why.map(LeftWhy::name),
        broke: thing.why.and_then(LeftWhy::number),
    }
}

/// The id of neighbouring entries.
fn span_id(key: &str, first: u64, last: u64) -> String {
    if first == last { format!("e:{key}:{first}") } else { format!("e:{key}:{first}-{last}") }
}

/// A word quoted for a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
