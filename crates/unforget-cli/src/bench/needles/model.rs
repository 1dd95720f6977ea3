//! Scripted models in this process, which summarise entries without much sense.

use std::sync::Arc;

use serde_json::{Value, json};
use unforget_llm::{Answer, Callback, Cause, Model, Request, Stop, Usage};

/// The writer of summaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum SummaryWriter {
    /// The engine alone, without a model.
    Deterministic,
    /// A model that takes the first and the last sentence of each text.
    Extracting,
    /// Like [`SummaryWriter::Extracting`], with an invented file in every sentence.
    Inventing,
}

impl SummaryWriter {
    pub(in crate::bench) const ALL: [Self; 3] = [Self::Deterministic, Self::Extracting, Self::Inventing];

    pub(in crate::bench) const fn name(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Extracting => "extracting-model",
            Self::Inventing => "inventing-model",
        }
    }

    /// The model; `None` if none is used.
    pub(in crate::bench) fn model(self) -> Option<Arc<dyn Model>> {
        let invents = match self {
            Self::Deterministic => return None,
            Self::Extracting => false,
            Self::Inventing => true,
        };
        let answer = move |request: &Request<'_>| -> Result<Answer, Cause> {
            let text = written(request, invents).to_string();
            Ok(Answer { text, stop: Stop::End, usage: Usage::default(), model: None })
        };
        Some(Arc::new(Callback::new("host:script", self.name(), answer)))
    }
}

/// Most items of a draft, the newest: the room for a summary is small.
const ITEMS: usize = 8;

/// Most characters of an item.
const CHARS: usize = 180;

fn written(request: &Request<'_>, invents: bool) -> Value {
    if request.system.contains("\"drop\"") {
        // It merges nothing, but gives a title.
        let title = if invents { "Work on /srv/invented/title.rs" } else { "" };
        return json!({ "title": title, "merge": [], "drop": [] });
    }
    let passages = passages(request.user);
    let said = |role: &str| {
        let of_role = passages.iter().filter(|passage| passage.role == role);
        let items = of_role.flat_map(|passage| {
            let mut sentences = passage.body.lines().flat_map(|line| line.split_inclusive(". "));
            let first = sentences.next();
            let last = sentences.last();
            first.into_iter().chain(last).map(|sentence| (passage.seq, sentence.trim()))
        });
        let items = items.filter(|(_, sentence)| sentence.chars().count() > 20);
        let items: Vec<Value> = items
            .map(|(seq, sentence)| {
                let more = format!(" It also changed /srv/invented/module_{seq}.rs.");
                let more = if invents { more.as_str() } else { "" };
                let text: String = sentence.chars().take(CHARS).chain(more.chars()).collect();
                json!({ "text": text, "seqs": [seq] })
            })
            .collect();
        items.get(items.len().saturating_sub(ITEMS)..).unwrap_or_default().to_vec()
    };
    let title = passages
        .iter()
        .find(|passage| passage.role == "user")
        .map(|passage| passage.body.lines().next().unwrap_or_default().chars().take(80).collect::<String>());
    json!({ "title": title.unwrap_or_else(|| "Work with tools".to_owned()), "decisions": said("assistant") })
}

struct Passage<'a> {
    seq: u64,
    role: &'a str,
    body: &'a str,
}

/// The entries in a request: `<entry seq="12" … role="user">`, text, `</entry>`.
fn passages(user: &str) -> Vec<Passage<'_>> {
    let mut found = Vec::new();
    for piece in user.split("<entry ").skip(1) {
        let Some((facts, rest)) = piece.split_once(">\n") else { continue };
        let Some((body, _)) = rest.split_once("\n</entry>") else { continue };
        let fact = |name: &str| {
            let value = facts.split_once(&format!("{name}=\""))?.1;
            value.split('"').next()
        };
        let Some(seq) = fact("seq").and_then(|seq| seq.parse().ok()) else { continue };
        found.push(Passage { seq, role: fact("role").unwrap_or_default(), body });
    }
    found
}
