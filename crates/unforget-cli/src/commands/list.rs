//! `unforget list`.

use unforget_store::read_all;

use unforget_engine::host::is_internal;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::json::ConversationJson;
use crate::output::paint;
use crate::text;

/// Lists all conversations, the most recently active first. Sub-agents stand under their parents.
pub(crate) fn run(app: &mut App) -> Outcome {
    let engine = app.read()?;
    let mut all = read_all(|page| engine.store().conversations(page))?;
    all.retain(|one| !is_internal(&one.key));
    all.sort_by_key(|conversation| std::cmp::Reverse(conversation.time.map(|(_, last)| last)));
    if app.out.json {
        let list: Vec<_> = all.iter().map(ConversationJson::from).collect();
        app.out.json(&list)?;
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        app.out.note("the store is empty; import something: unforget import --discover");
        return Ok(Exit::Done);
    }
    let rows: Vec<_> = all
        .iter()
        .map(|conversation| {
            let title = conversation.title.as_deref().unwrap_or_default();
            vec![
                conversation.key.0.clone(),
                conversation.time.map(|(_, last)| text::minute(last)).unwrap_or_default(),
                text::count(conversation.entries),
                text::short(conversation.tokens),
                text::bytes(conversation.raw_bytes),
                text::one_line(&text::harmless(title), 40),
            ]
        })
        .collect();
    let head = ["conversation", "last", "entries", "tokens", "size", "title"];
    write!(app.out, "{}", text::table(&head, rows, &[2, 3, 4]))?;
    let tokens: u64 = all.iter().map(|conversation| conversation.tokens).sum();
    let line = format!("{}, {} tokens", text::plural(all.len() as u64, "conversation"), text::short(tokens));
    let dim = app.out.palette.dim;
    writeln!(app.out, "{}", paint(dim, line))?;
    Ok(Exit::Done)
}
