//! Answers of [`crate::json`] in the spelling of this protocol: camelCase, and a few names of its own.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::verbs::{Answer, defect};
use crate::json::{AnswerJson, DescriptionJson, GrepJson, PageJson, PinsJson, RaisedSpansJson, SearchJson};

/// An answer that other protocols give too.
pub(super) trait SharedAnswer: Serialize {
    /// Names that camelCase does not explain: the shared one, and that of this protocol. The schemas in `json` have
    /// the latter.
    const RENAMED: &'static [(&'static str, &'static str)];

    /// Changes the fields that have another shape in this protocol.
    fn reshape(_fields: &mut Map<String, Value>) {}
}

impl SharedAnswer for SearchJson<'_> {
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("id", "name"), ("complete", "isComplete"), ("earlier", "isEarlier"), ("whole", "isWhole")];
}

impl SharedAnswer for GrepJson<'_> {
    const RENAMED: &'static [(&'static str, &'static str)] =
        &[("id", "name"), ("results", "matches"), ("earlier", "isEarlier"), ("match", "matched")];
}

impl SharedAnswer for DescriptionJson<'_> {
    const RENAMED: &'static [(&'static str, &'static str)] = &[("id", "name")];

    fn reshape(fields: &mut Map<String, Value>) {
        let Some(Value::Object(roles)) = fields.get_mut("roles").map(Value::take) else { return };
        let counts = roles.into_iter().map(|(role, entries)| json!({ "role": role, "entries": entries }));
        fields.insert("roles".to_owned(), counts.collect());
    }
}

impl SharedAnswer for PageJson<'_> {
    const RENAMED: &'static [(&'static str, &'static str)] = &[("id", "name"), ("purged", "isPurged")];
}

impl SharedAnswer for AnswerJson {
    const RENAMED: &'static [(&'static str, &'static str)] = &[("id", "name"), ("cited", "isCited")];
}

impl SharedAnswer for PinsJson {
    const RENAMED: &'static [(&'static str, &'static str)] = &[("seq", "entry")];
}

impl SharedAnswer for RaisedSpansJson {
    const RENAMED: &'static [(&'static str, &'static str)] = &[];
}

/// An answer as JSON.
///
/// Cost: a copy of its texts.
pub(super) fn spelled<A: SharedAnswer>(shared: &A) -> Answer {
    let mut value = serde_json::to_value(shared).map_err(|error| defect(&error))?;
    if let Value::Object(fields) = &mut value {
        A::reshape(fields);
    }
    Ok(renamed(value, A::RENAMED).to_string())
}

fn renamed(value: Value, names: &[(&str, &str)]) -> Value {
    match value {
        Value::Object(fields) => {
            let spelled =
                fields.into_iter().map(|(name, value)| (spelling(&name, names), renamed(value, names)));
            Value::Object(spelled.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| renamed(item, names)).collect(),
        other => other,
    }
}

/// A field's name in this protocol.
fn spelling(name: &str, names: &[(&str, &str)]) -> String {
    if let Some((_, own)) = names.iter().find(|(shared, _)| *shared == name) {
        return (*own).to_owned();
    }
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use schemars::{JsonSchema, schema_for};
    use unforget_core::digest::Digest;
    use unforget_core::entry::Role;
    use unforget_core::id::{ConversationKey, Seq, Timestamp};
    use unforget_core::pin::{Pin, PinFile, PinId, PinState};
    use unforget_engine::recall::{
        AnswerLine, Answered, Clue, ClueKind, Clues, Description, Ended, EntryCopy, EntryPage, Evidence,
        GrepAnswer, GrepMatch, Hit, HitCopy, Item, Named, SearchAnswer,
    };
    use unforget_engine::summarise::Writer;
    use unforget_engine::{Proposed, RaisedWeight};
    use unforget_store::{PinFileRow, PinRow, RaisedRow};
    use unforget_text::ProposalKind;
    use unforget_text::QuoteKind;

    use super::*;
    use crate::json::PinJson;

    /// Checks that an answer has the fields of its schema, all of them and no others.
    fn check<A: SharedAnswer + JsonSchema>(answer: &A) {
        let schema = schema_for!(A).to_value();
        let value = serde_json::from_str(&spelled(answer).unwrap()).unwrap();
        same_fields(&value, &schema, &schema["$defs"]);
    }

    fn same_fields(value: &Value, schema: &Value, defs: &Value) {
        if let Some(reference) = schema["$ref"].as_str() {
            return same_fields(value, &defs[reference.trim_start_matches("#/$defs/")], defs);
        }
        if let Some(either) = schema["anyOf"].as_array() {
            let of = either.iter().find(|one| one["type"] != "null").unwrap();
            if !value.is_null() {
                same_fields(value, of, defs);
            }
            return;
        }
        match value {
            Value::Object(fields) => {
                let mut wanted: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
                let mut found: Vec<_> = fields.keys().collect();
                wanted.sort_unstable();
                found.sort_unstable();
                assert_eq!(found, wanted, "{schema}");
                for (name, field) in fields {
                    same_fields(field, &schema["properties"][name], defs);
                }
            }
            Value::Array(items) => {
                assert!(!items.is_empty() || schema["items"]["$ref"].is_null(), "an example of {schema}");
                for item in items {
                    same_fields(item, &schema["items"], defs);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn results_have_the_fields_of_their_schemas() {
        let (conversation, seq, time) = (ConversationKey("pi:1".to_owned()), Seq(1), Some(Timestamp(1_000)));
        let text = "heron".to_owned();
        let hit = Hit {
            conversation: conversation.clone(),
            seq,
            host_id: None,
            bytes: 0..9,
            time,
            author: None,
            role: Role::User,
            score: 0.5,
            text: text.clone(),
            is_whole: true,
            tokens: 2,
            verdict: None,
            is_earlier: false,
            also: vec![HitCopy { conversation: conversation.clone(), seq: Seq(7) }],
        };
        let clue = Clue {
            kind: ClueKind::Summary,
            conversation: conversation.clone(),
            row: "sum:8000.0.0123456789ab".to_owned(),
            text: text.clone(),
            entries: std::iter::once(1..2).collect(),
            share: 1.0,
        };
        let clues = Clues { found: vec![clue], ..Clues::default() };
        check(&SearchJson::from(&SearchAnswer { results: vec![hit], clues, ..SearchAnswer::default() }));
        let found = GrepMatch {
            conversation: conversation.clone(),
            seq,
            host_id: None,
            role: Role::None,
            time,
            bytes: 0..9,
            snippet: text.clone(),
            shown: 0..5,
            is_earlier: false,
        };
        check(&GrepJson::from(&GrepAnswer { matches: vec![found], ..GrepAnswer::default() }));
    }

    #[test]
    fn entries_have_the_fields_of_their_schemas() {
        let (seq, time, text) = (Seq(1), Some(Timestamp(1_000)), "heron".to_owned());
        let face = EntryCopy { name: "s:2".to_owned(), seq: Seq(2), of: seq, time, bytes: 9..18 };
        let described = Description {
            name: "sum:1".to_owned(),
            kind: "summary",
            conversation: ConversationKey("pi:1".to_owned()),
            span: (seq, seq),
            entries: 1,
            tokens: 2,
            time: None,
            roles: vec![(Role::Tool, 1)],
            writer: Some(Writer::Model("m".to_owned())),
            sources: Vec::new(),
            preview: text.clone(),
            copies: vec![face.clone()],
        };
        check(&DescriptionJson::from(&described));
        let item = Item {
            seq,
            host_id: None,
            role: Role::Assistant,
            author: None,
            time,
            bytes: 0..9,
            text: text.clone(),
            piece: Some(0..5),
            tokens: 2,
            purged: false,
            raw: b"{}".to_vec(),
            copies: vec![face],
        };
        let page = EntryPage { outline: None, items: vec![item], tokens: 2, next: None, entries: 1 };
        check(&PageJson::new("s:1", &page).with_raw(&page));
    }

    #[test]
    fn a_models_answer_has_the_fields_of_its_schema() {
        let (seq, time, text) = (Seq(1), Some(Timestamp(1_000)), "heron".to_owned());
        let passage = Evidence {
            number: 1,
            name: "e:pi:1:1".to_owned(),
            conversation: ConversationKey("pi:1".to_owned()),
            seq,
            host_id: None,
            time,
            role: Role::System,
            text: text.clone(),
            tokens: 2,
            is_cited: true,
        };
        let answered = Answered {
            text: None,
            lines: vec![AnswerLine { kind: QuoteKind::Done, text: text.clone(), number: 1 }],
            ended: Ended::NoModel,
            evidence: vec![passage],
            named: vec![Named { name: text.clone(), entries: 1, read: 1, cut: 0, purged: 0 }],
            invented: vec![7],
            searched: (1, 1),
            negative: String::new(),
            held: 100,
            calls: 0,
            behind: 0,
            grant: None,
        };
        check(&AnswerJson::from(&answered));
    }

    #[test]
    fn pins_have_the_fields_of_their_schema() {
        let time = Timestamp(1_000);
        let text = "Never touch the boathouse.".to_owned();
        let pin =
            Pin { id: PinId(1), text: text.clone(), source: Some(Seq(3)), state: PinState::Active, order: 1 };
        let file = PinFile {
            place: 1,
            path: "/x".to_owned(),
            pin: PinId(1),
            digest: Digest::of(b""),
            trouble: None,
        };
        let row = PinRow { pin, made: time, changed: time };
        let proposed = Proposed { number: 1, seq: Seq(3), kind: ProposalKind::Prohibition, text };
        check(&PinsJson {
            conversation: "pi:1".to_owned(),
            pins: vec![PinJson::new(&row, &[PinFileRow { file, read: time }])],
            proposals: vec![(&proposed).into()],
        });
    }

    #[test]
    fn raised_spans_have_the_fields_of_their_schema() {
        let time = Timestamp(1_000);
        let row = RaisedRow {
            number: 1,
            span: (Seq(3), Seq(9)),
            author: "ann".to_owned(),
            made: time,
            withdrawn: Some(time),
        };
        check(&RaisedSpansJson::new("pi:1", &[(row, RaisedWeight { entries: 7, tokens: 300 })]));
    }

    #[test]
    fn names_table() {
        let table = [
            ("host_id", "hostId", "camelCase"),
            ("stopped_at_deadline", "stoppedAtDeadline", "several words"),
            ("text", "text", "one word"),
            ("id", "name", "a name of its own"),
        ];
        for (shared, want, why) in table {
            assert_eq!(spelling(shared, PageJson::RENAMED), want, "{why}");
        }
    }
}
