//! Carries out the tools on an engine that is limited to the client's scope.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::is_internal;
use unforget_engine::recall::{
    Address, CLUES_SHOWN, Grant, GrepQuery, NewVerdict, PackQuery, Question, Reader, SearchQuery,
};
use unforget_engine::summarise::Cancel;
use unforget_store::{Conversation, read_all};

use super::page::{PageItem, Place, Told, ToolPage};
use super::resources;
use super::scope::{at_hand, narrow};
use super::show;
use super::tools::{Arguments, Tool};
use super::trouble::Trouble;
use super::{Answerer, VerdictRequest, VerdictWriter};
use crate::json::{AnswerJson, NamedJson, PackJson};

/// Most results per page, whatever their tokens.
const RESULTS_MAX: usize = 50;

/// Time limit of a scan. Clients wait for a minute or less.
const SCAN: Duration = Duration::from_secs(20);

/// Author of a client's verdicts.
const CLIENT: &str = "mcp client";

/// Time limit of an answer.
const ANSWER: Duration = Duration::from_secs(50);

/// Carries out a tool that needs no model.
///
/// * `engine` - an engine limited to the client's scope.
pub(super) fn recall(tool: Tool, engine: Engine, given: &Arguments) -> Result<Told, Trouble> {
    let engine = narrow(engine, given.text("conversation"))?;
    match tool {
        Tool::Search => search(&engine, given),
        Tool::Grep => grep(&engine, given),
        Tool::Describe => describe(&engine, given),
        Tool::Expand => {
            let name = whole_name(&engine, given.needed("name"))?;
            expand(&engine, &name, given.tokens(), given.text("cursor"))
        }
        Tool::Pack => pack(&engine, given),
        Tool::Answer => {
            let asked = AnswerCall { given, is_all: false, cancel: &Cancel::default() };
            answer(engine, None, &asked)
        }
        Tool::Reject => Err(reads_only()),
    }
}

fn search(engine: &Engine, given: &Arguments) -> Result<Told, Trouble> {
    let place = Place::parse(given.text("cursor"))?;
    let query = SearchQuery {
        text: given.needed("query").to_owned(),
        role: given.role(),
        since: given.time("since"),
        until: given.time("until"),
        limit: Some(place.shown + RESULTS_MAX),
        now: Some(now()),
        clues: if place.shown == 0 { CLUES_SHOWN } else { 0 },
        ..SearchQuery::default()
    };
    let answer = engine.search(&query)?;
    let mut page = ToolPage::new(given.tokens());
    for hit in answer.results.iter().skip(place.shown) {
        if !page.add(show::hit(hit)) {
            break;
        }
    }
    let shown = (place.shown + page.len()) as u64;
    let found = answer.matched + answer.nearby + answer.meant;
    let next = (page.len() > 0 && shown < found).then(|| place.next(page.len(), answer.total));
    let mut receipts = match page.len() {
        0 if found == 0 => format!("Nothing found: {}.", answer.evidence),
        0 => format!("No more of {} found.", count_entries(found)),
        _ => format!(
            "Results {}-{shown} of {} found, {} with a word of it.",
            place.shown + 1,
            count_entries(found),
            answer.matched
        ),
    };
    receipts.extend([" ", &searched(answer.searched, answer.total)]);
    if let Some(meaning) = &answer.meaning {
        receipts.extend([" Ranked ", if meaning.trouble.is_none() { "by words and " } else { "" }]);
        receipts.extend([show::label(&meaning.to_string(), 300).as_str(), "."]);
    }
    if !answer.absent.is_empty() && found > 0 {
        receipts.extend([" Nowhere: ", &show::label(&answer.absent.join(", "), 200), "."]);
    }
    if answer.is_weak() {
        _ = write!(
            receipts,
            " No result holds more than {} % of the query's words, weighed by rarity: the answer may not be stored.",
            answer.held
        );
    }
    receipts += place.drift(answer.total);
    let mut told = page.finish("results", &receipts, next.as_deref());
    let clues: Vec<PageItem> = answer.clues.found.iter().map(show::clue).collect();
    if !clues.is_empty() {
        told.text += "\nRows that hold the words and lead to entries, untrusted too:\n";
        for one in &clues {
            told.text += &one.text;
        }
    }
    let clues: Vec<Value> = clues.into_iter().map(|one| Value::Object(one.value)).collect();
    Ok(told
        .with("clues", clues)
        .with("matched", answer.matched)
        .with("nearby", answer.nearby)
        .with("meant", answer.meant)
        .with("searched", answer.searched)
        .with("total", answer.total)
        .with("held", answer.held)
        .with("absent", answer.absent))
}

/// What is known of a question, for a model.
fn pack(engine: &Engine, given: &Arguments) -> Result<Told, Trouble> {
    let question = given.needed("question");
    let query = PackQuery {
        text: question.to_owned(),
        budget_tokens: given.tokens(),
        now: Some(now()),
        ..PackQuery::default()
    };
    let pack = PackJson::new(question, &engine.pack(&query)?);
    let PageItem { text, value } = show::pack(&pack);
    Ok(Told { text: format!("{}\n\n{text}", show::UNTRUSTED), value }.with("trust", show::UNTRUSTED))
}

fn grep(engine: &Engine, given: &Arguments) -> Result<Told, Trouble> {
    let place = Place::parse(given.text("cursor"))?;
    let query = GrepQuery {
        pattern: given.needed("pattern").to_owned(),
        ignore_case: given.flag("ignore_case"),
        limit: Some(place.shown + RESULTS_MAX),
        deadline: Some(SCAN),
        ..GrepQuery::default()
    };
    let answer = engine.grep(&query)?;
    let mut page = ToolPage::new(given.tokens());
    for found in answer.matches.iter().skip(place.shown) {
        if !page.add(show::found(found)) {
            break;
        }
    }
    let shown = place.shown + page.len();
    let is_more = shown < answer.matches.len() || answer.stopped_at_limit;
    let next = (page.len() > 0 && is_more).then(|| place.next(page.len(), answer.entries_total));
    let mut receipts = match page.len() {
        0 if place.shown == 0 => "Nothing found.".to_owned(),
        0 => "No more matches.".to_owned(),
        _ if is_more => format!("Matches {}-{shown}, and there are more.", place.shown + 1),
        _ => format!("Matches {}-{shown} of {shown}.", place.shown + 1),
    };
    receipts.extend([" ", &searched(answer.entries_searched, answer.entries_total)]);
    if answer.stopped_at_deadline {
        receipts += " Time ran out before all was searched: name a conversation, or a longer literal.";
    }
    receipts += place.drift(answer.entries_total);
    let told = page.finish("matches", &receipts, next.as_deref());
    Ok(told
        .with("searched", answer.entries_searched)
        .with("total", answer.entries_total)
        .with("incomplete", answer.stopped_at_deadline))
}

fn describe(engine: &Engine, given: &Arguments) -> Result<Told, Trouble> {
    let name = given.text("name").or_else(|| given.text("conversation"));
    let Some(name) = name else { return list(engine, given) };
    if !is_address(name) {
        return resources::conversation(engine, &engine.resolve(name)?.conversation, given.tokens());
    }
    let PageItem { text, value } = show::description(&engine.describe(at_hand(engine)?, name)?);
    let text = format!("{}\n\n{text}Read it with expand.", show::UNTRUSTED);
    Ok(Told { text, value }.with("trust", show::UNTRUSTED))
}

/// Lists the conversations, most recently used first.
fn list(engine: &Engine, given: &Arguments) -> Result<Told, Trouble> {
    let place = Place::parse(given.text("cursor"))?;
    let mut all = read_all(|page| engine.store().conversations(page))?;
    all.retain(|one| !is_internal(&one.key));
    all.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
    let mut page = ToolPage::new(given.tokens());
    for one in all.iter().skip(place.shown) {
        if !page.add(show::conversation(engine, one)?) {
            break;
        }
    }
    let (shown, total) = (place.shown + page.len(), all.len() as u64);
    let next = (page.len() > 0 && shown < all.len()).then(|| place.next(page.len(), total));
    let all = show::count(total, "conversation", "conversations");
    let receipts = if page.len() == 0 {
        format!("No more of {all}.")
    } else {
        format!("Results {}-{shown} of {all}, newest first.{}", place.shown + 1, place.drift(total))
    };
    Ok(page.finish("conversations", &receipts, next.as_deref()))
}

/// A page of the entries behind a name.
///
/// * `name` - an address; see [`Engine::address`].
pub(super) fn expand(
    engine: &Engine,
    name: &str,
    tokens: u64,
    cursor: Option<&str>,
) -> Result<Told, Trouble> {
    let at_hand = at_hand(engine)?;
    let (Address::Entries { conversation, .. } | Address::Summary { conversation, .. }) =
        engine.address(at_hand, name)?;
    let key = engine.store().conversation(conversation)?.key;
    let found = engine.expand(at_hand, name, tokens, cursor)?;
    let mut page = ToolPage::new(tokens);
    if let Some(outline) = &found.outline {
        page.add(show::outline(&key.0, outline));
        let receipts = format!(
            "An outline of {}: {} do not fit a page, {} of them found no line. Expand one of them by its name for its words, or go on with the cursor for all words in order.",
            show::label(name, usize::MAX),
            count_entries(found.entries),
            outline.left_out
        );
        return Ok(page.finish("outline", &receipts, found.next.as_deref()).with("total", found.entries));
    }
    let mut next = found.next;
    for item in &found.items {
        if !page.add(show::item(&key.0, item)) {
            next = Some(item.cursor());
            break;
        }
    }
    let shown = show::count(page.len() as u64, "entry", "entries");
    let receipts = format!(
        "{shown} here; {} stands for {}.",
        show::label(name, usize::MAX),
        count_entries(found.entries)
    );
    Ok(page.finish("entries", &receipts, next.as_deref()).with("total", found.entries))
}

/// An address: for a conversation's name, that of all its entries.
fn whole_name(engine: &Engine, name: &str) -> Result<String, Trouble> {
    if is_address(name) {
        return Ok(name.to_owned());
    }
    let Conversation { key, entries, .. } = engine.resolve(name)?.conversation;
    Ok(format!("e:{key}:0-{}", entries.saturating_sub(1)))
}

/// Whether a name denotes entries or a summary, and not a conversation.
fn is_address(name: &str) -> bool {
    ["e:", "s:", "sum:"].iter().any(|start| name.starts_with(start))
}

/// A client's question.
pub(super) struct AnswerCall<'a> {
    pub(super) given: &'a Arguments,
    /// Whether the client's scope is everything.
    pub(super) is_all: bool,
    pub(super) cancel: &'a Cancel,
}

/// Answers a question: by models where there are some, else by statements of the entries.
///
/// * `engine` - an engine limited to the client's scope.
pub(super) fn answer(
    engine: Engine,
    answerer: Option<&Answerer>,
    asked: &AnswerCall<'_>,
) -> Result<Told, Trouble> {
    let AnswerCall { given, is_all, cancel } = *asked;
    let engine = narrow(engine, given.text("conversation"))?;
    let names = given.names("from");
    let from: Vec<String> = names.iter().map(|name| whole_name(&engine, name)).collect::<Result<_, _>>()?;
    let (text, scope) = (given.needed("question"), at_hand(&engine)?);
    let reader = match answerer {
        Some(Answerer::There(owner)) => {
            if scope.is_none() && !is_all {
                let what = "the daemon that owns the database answers about one conversation or all";
                return Err(Trouble::new(what, "name one of yours as `conversation`"));
            }
            let key = scope.map(|id| engine.store().conversation(id)).transpose()?.map(|found| found.key.0);
            let within = ANSWER.as_secs();
            let asked = json!({ "question": text, "from": from, "conversation": key, "within": within });
            return told(&owner(&asked)?);
        }
        Some(Answerer::Here(_, models)) => Some(Reader { models, cancel }),
        None => None,
    };
    let grant = Grant { scope, within: ANSWER, ..Grant::default() };
    let question = Question { text, from: &from, now: Some(now()) };
    told(&AnswerJson::from(&engine.answer(&question, &grant, reader)?))
}

fn told(answered: &AnswerJson) -> Result<Told, Trouble> {
    let receipts = searched(answered.searched, answered.total);
    let why = answered.why.as_deref().unwrap_or_default();
    let Some(text) = &answered.text else {
        return match &*answered.ended {
            "nothing-found" => {
                let negative = answered.negative.as_deref().unwrap_or_default();
                let receipts = format!("Nothing found: {negative}. {receipts}");
                Ok(ToolPage::new(0).finish("sources", &receipts, None).with("answer", Value::Null))
            }
            "partial" if answered.lines.is_empty() => Err(Trouble::new(
                format!("there is no answer: {why}"),
                "search and expand read the same without a model",
            )),
            _ => Ok(by_statements(answered)),
        };
    };
    let mut page = ToolPage::new(u64::MAX);
    for one in &answered.passages {
        page.add(show::evidence(one));
    }
    let remark = match &*answered.ended {
        "uncited" => " It cites nothing that it read: a guess.".to_owned(),
        "partial" => format!(" It is not whole: {why}."),
        _ => String::new(),
    };
    let invented = match answered.invented.as_slice() {
        [] => String::new(),
        numbers => format!(" It cites passages that are not there: {numbers:?}."),
    };
    let unread = unread(&answered.from);
    let mut told = page.finish("sources", &format!("{receipts}{remark}{invented}{unread}"), None);
    told.text = format!("{text}\n\nA model read these:\n{}", told.text);
    Ok(told.with("answer", text.as_str()).with("ended", &*answered.ended))
}

/// An answer without a model: statements of the entries, with the entries that say them.
fn by_statements(answered: &AnswerJson) -> Told {
    let mut page = ToolPage::new(u64::MAX);
    for one in &answered.passages {
        if answered.lines.iter().any(|line| line.number == one.number) {
            page.add(show::evidence(one));
        }
    }
    let mut receipts = searched(answered.searched, answered.total);
    if &*answered.ended == "unsure" {
        _ = write!(
            receipts,
            " No statement holds more than {} % of the question's words: the answer may not be stored.",
            answered.held
        );
    }
    if let Some(negative) = &answered.negative {
        receipts.extend([" ", &show::label(negative, 300), "."]);
    }
    receipts += &unread(&answered.from);
    let mut told = page.finish("sources", &receipts, None);
    told.text = format!("{}\n\n{}", show::statements(&answered.lines), told.text);
    told.with("answer", Value::Null)
        .with("lines", json!(answered.lines))
        .with("ended", &*answered.ended)
        .with("held", answered.held)
}

/// Describes the unread part of the given names.
fn unread(named: &[NamedJson]) -> String {
    let short = named.iter().filter(|one| one.read < one.entries);
    let told = short.map(|one| {
        format!(
            " Of {} {} of {} were read whole.",
            show::label(&one.id, 200),
            one.read,
            count_entries(one.entries)
        )
    });
    told.collect()
}

/// Records what a client says of an entry, or of words of an entry or a summary.
///
/// * `engine` - an engine limited to the client's scope: names out of scope are unknown.
pub(super) fn reject(engine: &Engine, given: &Arguments, write: &VerdictWriter) -> Result<Told, Trouble> {
    let name = given.needed("name");
    let at_hand = at_hand(engine)?;
    let (Address::Entries { conversation, .. } | Address::Summary { conversation, .. }) =
        engine.address(at_hand, name)?;
    let instead = match given.text("instead") {
        Some(name) => {
            let (of, seq) = engine.entry_named(Some(conversation), name)?;
            Some(crate::json::id_of(&engine.store().conversation(of)?.key.0, seq.0))
        }
        None => None,
    };
    let key = engine.store().conversation(conversation)?.key.0;
    let verdict = NewVerdict {
        line: given.text("line"),
        why: given.needed("why"),
        instead: instead.as_deref(),
        author: CLIENT,
    };
    write(&VerdictRequest { conversation: &key, name, verdict })?;
    let text = format!(
        "Recorded. {} is shown with the reason from now on, and no longer recalled as true. A person can take it back: \
         unforget reject {} --list",
        show::label(name, 200),
        show::label(&key, 200)
    );
    let PageItem { text, value } =
        PageItem::new(text, json!({ "name": name, "conversation": key, "recorded": true }));
    Ok(Told { text, value })
}

/// The failure where nobody may write.
pub(super) fn reads_only() -> Trouble {
    Trouble::new(
        "this server only reads: nothing was recorded",
        "a person can say it: unforget reject ID --why TEXT",
    )
}

fn searched(searched: u64, total: u64) -> String {
    format!("Searched {searched} of {}.", count_entries(total))
}

fn count_entries(entries: u64) -> String {
    show::count(entries, "entry", "entries")
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
