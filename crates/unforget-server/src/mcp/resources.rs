//! Conversations and entries by address.
//!
//! | address | gives |
//! |---|---|
//! | `unforget://conversation/{key}` | a description, and the summaries that cover most of it |
//! | `unforget://entry/{name}` | the entries behind a name, word for word; `?cursor=…` the next page |

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::json;
use unforget_core::entry::Role;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, ConversationKey, Thread};
use unforget_core::tokens::Ruler as _;
use unforget_engine::Engine;
use unforget_engine::host::is_internal;
use unforget_engine::recall::summary_name;
use unforget_store::{Conversation, EntryRow, SummaryRow, read_all};

use super::calls::expand;
use super::page::{PageItem, Told, ToolPage};
use super::show;
use super::trouble::Trouble;

const CONVERSATION: &str = "unforget://conversation/";
const ENTRY: &str = "unforget://entry/";

/// Number of resources per page of the list.
const LISTED: usize = 100;

/// Token limit of a read resource.
const READ_TOKENS: u64 = 8_000;

/// Characters that stay unescaped in an address; a name takes one segment of it.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of a conversation.
pub(super) fn address(key: &ConversationKey) -> String {
    format!("{CONVERSATION}{}", utf8_percent_encode(&key.0, PLAIN))
}

/// Conversations, the newest first, and the cursor of the next page. A new conversation does not change later pages.
pub(super) fn list(
    engine: &Engine,
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), Trouble> {
    let before = match cursor.map(str::parse::<u64>) {
        None => ConversationId(u64::MAX),
        Some(Ok(id)) => ConversationId(id),
        Some(Err(_)) => {
            return Err(Trouble::new("this is no cursor of the list", "take it from the page before"));
        }
    };
    let mut all = read_all(|page| engine.store().conversations(page))?;
    all.retain(|one| !is_internal(&one.key));
    all.retain(|one| one.id < before);
    all.sort_by_key(|one| std::cmp::Reverse(one.id));
    let is_more = all.len() > LISTED;
    all.truncate(LISTED);
    let next = all.last().filter(|_| is_more).map(|last| last.id.to_string());
    let resource = |one: &Conversation| -> Result<Resource, Trouble> {
        let title = show::title(engine, one)?.unwrap_or_else(|| one.key.0.clone());
        Ok(Resource::new(address(&one.key), show::label(&one.key.0, 200))
            .with_title(show::label(&title, 200))
            .with_description(show::conversation(engine, one)?.text)
            .with_mime_type("text/plain"))
    };
    Ok((all.iter().map(resource).collect::<Result<_, _>>()?, next))
}

/// The templates of addresses.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{CONVERSATION}{{key}}"), "conversation")
            .with_description("What a conversation is, and the summaries that stand for most of it")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{ENTRY}{{name}}"), "entry")
            .with_description(
                "Entries by name (e:KEY:12, e:KEY:12-40, sum:…), word for word; ?cursor=… goes on",
            )
            .with_mime_type("text/plain"),
    ]
}

/// The content at an address, as text.
pub(super) fn read(engine: &Engine, uri: &str) -> Result<String, Trouble> {
    if let Some(rest) = uri.strip_prefix(CONVERSATION) {
        let name = decoded(rest)?;
        return Ok(conversation(engine, &engine.resolve(&name)?.conversation, READ_TOKENS)?.text);
    }
    let Some(rest) = uri.strip_prefix(ENTRY) else {
        let what = format!("there is nothing at {:?}", show::one_line(uri, 120));
        return Err(Trouble::new(what, format!("addresses begin with {CONVERSATION} or {ENTRY}")));
    };
    let (name, cursor) = match rest.split_once("?cursor=") {
        Some((name, cursor)) => (name, Some(decoded(cursor)?)),
        None => (rest, None),
    };
    Ok(expand(engine, &decoded(name)?, READ_TOKENS, cursor.as_deref())?.text)
}

fn decoded(text: &str) -> Result<String, Trouble> {
    let text = percent_decode_str(text).decode_utf8().map(String::from);
    text.map_err(|_| {
        Trouble::new("the address is not UTF-8 behind its percent signs", "encode the name as UTF-8")
    })
}

/// Describes a conversation: facts, and the summaries at the top of its tree, or its beginning and end if it has none.
pub(super) fn conversation(engine: &Engine, one: &Conversation, tokens: u64) -> Result<Told, Trouble> {
    let PageItem { text: facts, value } = show::conversation_facts(engine, one)?;
    let mut page = ToolPage::new(tokens);
    let whole = format!("e:{}:0-{}", one.key, one.entries.saturating_sub(1));
    let head = format!("{facts} | all of it, word for word: expand {whole}");
    page.add(PageItem { text: format!("{}\n", show::fenced("history", &head, "")), value });
    let tops = tops(read_all(|page| engine.store().summaries(one.id, page))?);
    let mut left_out = Vec::new();
    let mut room = tokens;
    // The newest are most relevant: they are placed first while there is room, and shown in order in the end.
    let mut shown = Vec::new();
    for row in tops.iter().rev() {
        let summary = summary(engine, one, row)?;
        let cost = ClassEstimate.count(&summary.text).expected;
        if cost > room {
            left_out.push(summary_name(&row.key));
            continue;
        }
        room -= cost;
        shown.push(summary);
    }
    for item in shown.into_iter().rev() {
        page.add(item);
    }
    if tops.is_empty() {
        ends(engine, one, &mut page)?;
    }
    let mut receipts = match tops.len() as u64 {
        0 => "It has no summary: this is how it begins and ends.".to_owned(),
        all => format!("{} stand for the older part.", show::count(all, "summary", "summaries")),
    };
    if !left_out.is_empty() {
        receipts.extend([" Not shown for room: ", &left_out.join(", "), "."]);
    }
    Ok(page.finish("parts", &receipts, None))
}

fn summary(engine: &Engine, one: &Conversation, row: &SummaryRow) -> Result<PageItem, Trouble> {
    let name = summary_name(&row.key);
    let body =
        engine.store().rewrite(one.id, &row.key)?.map_or_else(|| row.body.clone(), |rewrite| rewrite.body);
    let (first, last) = row.span;
    let head = format!("{name} | entries {first}-{last}");
    let text = format!("{}\n", show::fenced("summary", &head, &body));
    let value =
        json!({ "name": name, "first": first.0, "last": last.0, "text": unforget_text::redact(&body) });
    Ok(PageItem::new(text, value))
}

/// The first and the last entries with a speaker.
fn ends(engine: &Engine, one: &Conversation, page: &mut ToolPage) -> Result<(), Trouble> {
    const EACH: usize = 3;
    const LOOKED: u64 = 256;
    let store = engine.store();
    let said = |rows: Vec<EntryRow>| rows.into_iter().filter(|row| row.role != Role::None).map(|row| row.seq);
    let first: Vec<_> = said(store.rows(one.id, 0..LOOKED.min(one.entries))?).take(EACH).collect();
    let last = said(store.rows(one.id, one.entries.saturating_sub(LOOKED)..one.entries)?);
    let last: Vec<_> = last.filter(|seq| !first.contains(seq)).collect();
    for seq in first.iter().chain(last.iter().skip(last.len().saturating_sub(EACH))) {
        let found = engine.expand(None, &format!("e:{}:{seq}", one.key), 200, None)?;
        for item in &found.items {
            page.add(show::item(&one.key.0, item));
        }
    }
    Ok(())
}

/// The summaries of the main lane that no other summary covers: one tree, one branch, in order.
fn tops(rows: Vec<SummaryRow>) -> Vec<SummaryRow> {
    let main = |row: &SummaryRow| row.key.thread == Thread(0);
    // Trees of several leaf sizes can coexist: the one that reaches furthest is the newest.
    let newest = rows.iter().filter(|row| main(row)).max_by_key(|row| (row.span.1, row.key.grain));
    let Some(grain) = newest.map(|row| row.key.grain) else { return Vec::new() };
    let covered: BTreeSet<_> = rows.iter().flat_map(|row| row.sources.clone()).collect();
    let mut all: Vec<_> = rows
        .into_iter()
        .filter(|row| main(row) && row.key.grain == grain && !covered.contains(&row.key))
        .collect();
    all.sort_by_key(|row| std::cmp::Reverse((row.span.1, row.count)));
    let mut tops: Vec<SummaryRow> = Vec::new();
    for row in all {
        // Summaries of a part removed by a rewind overlap with those of its replacement.
        if tops.last().is_none_or(|above| row.span.1 < above.span.0) {
            tops.push(row);
        }
    }
    tops.reverse();
    tops
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use unforget_core::digest::Digest;
    use unforget_core::id::{Seq, Timestamp};
    use unforget_store::SummaryKey;

    fn row(level: u8, span: (u64, u64), sources: &[&SummaryRow]) -> SummaryRow {
        let end = Digest::of(format!("{level} {span:?}").as_bytes());
        SummaryRow {
            key: SummaryKey { thread: Thread(0), grain: 8_000, level, end },
            span: (Seq(span.0), Seq(span.1)),
            count: span.1 - span.0 + 1,
            sources: sources.iter().map(|row| row.key).collect(),
            writer: "test".to_owned(),
            body: String::new(),
            tokens: (1, 1),
            time: Timestamp(0),
        }
    }

    /// Summaries, the spans of the top ones, and why.
    type Row<'a> = (&'a [&'a SummaryRow], &'a [(u64, u64)], &'a str);

    #[test]
    fn tops_table() {
        let (a, b, c) = (row(0, (0, 4), &[]), row(0, (5, 9), &[]), row(0, (10, 14), &[]));
        let merged = row(1, (0, 9), &[&a, &b]);
        let abandoned = row(0, (8, 12), &[]);
        let table: [Row<'_>; 4] = [
            (&[], &[], "none"),
            (&[&c, &a, &b], &[(0, 4), (5, 9), (10, 14)], "leaves, in order"),
            (&[&a, &b, &c, &merged], &[(0, 9), (10, 14)], "a merge stands for its sources"),
            (&[&a, &abandoned, &c], &[(0, 4), (10, 14)], "one branch"),
        ];
        for (rows, want, why) in table {
            let found = tops(rows.iter().copied().cloned().collect());
            assert_eq!(
                found.iter().map(|row| (row.span.0.0, row.span.1.0)).collect::<Vec<_>>(),
                want,
                "{why}"
            );
        }
    }

    #[test]
    fn addresses_come_back() {
        for key in ["pi:one", "a/b?c#d e%20", "日本\u{0}", "..", "x?cursor=3.0"] {
            let address = address(&ConversationKey(key.to_owned()));
            assert!(address.is_ascii(), "{address}");
            assert_eq!(decoded(address.strip_prefix(CONVERSATION).unwrap()).unwrap(), key);
        }
        assert!(decoded("%ff").is_err());
    }
}
