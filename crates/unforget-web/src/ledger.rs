//! What was done with tools, and the rules that stand in every prompt.

use maud::{Markup, html};
use unforget_core::pin::PinState;
use unforget_engine::Folded;
use unforget_server::json::{LedgerKind, LedgerRow, ledger_rows};
use unforget_text::numbers::{count, plural};

use crate::frame::{Frame, Here, empty, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::{Found, Visit};
use crate::words::shown;

/// Rows of a kind that are shown.
const ROWS: usize = 300;

/// Proposals that are shown.
const PROPOSALS: usize = 40;

/// Shows the view.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let found = visit.conversation()?;
    let mut folded = Folded::default();
    visit.engine.fold_ledger(found.of.conversation, found.of.thread, &mut folded)?;
    let rows = ledger_rows(&folded.ledger);
    let kind = visit.query.get("kind").and_then(LedgerKind::by_name);
    let body = html! {
        h1 class="quiet" { "Ledger and pins" }
        (pins(visit, &found)?)
        h2 { "Work" }
        @if rows.is_empty() {
            (empty("No tool did anything in this conversation.", &html! { "Files, commands, failures, commits and tasks stand here once one does." }))
        } @else {
            nav class="tabs small" aria-label="Kinds of work" {
                a href={ (found.address()) "/ledger" } aria-current=[kind.is_none().then_some("page")] { "All" }
                @for one in LedgerKind::ALL {
                    @let number = rows.iter().filter(|row| row.kind == one).count() as u64;
                    @if number > 0 { a href={ (found.address()) "/ledger?kind=" (one.name()) } aria-current=[(kind == Some(one)).then_some("page")] { (one.name()) " " span class="dim" { (count(number)) } } }
                }
            }
            @for one in LedgerKind::ALL.into_iter().filter(|one| kind.is_none_or(|kind| kind == *one)) { (table(&found, one, &rows)) }
        }
    };
    let title = format!("Ledger of {}", found.one.title());
    Ok(Reply::page(frame(visit, &Frame { title: &title, here: Here::Ledger, of: Some(&found) }, &body)))
}

fn table(found: &Found, kind: LedgerKind, rows: &[LedgerRow]) -> Markup {
    let base = found.address();
    let mut of: Vec<&LedgerRow> = rows.iter().filter(|row| row.kind == kind).collect();
    of.reverse();
    let all = of.len();
    html! {
        @if !of.is_empty() {
            h3 { (kind.name()) }
            table class="list" {
                thead { tr { th scope="col" { "What" } th scope="col" { "State" } th scope="col" class="num" { "Times" } th scope="col" class="num" { "Last" } } }
                tbody {
                    @for row in of.iter().take(ROWS) {
                        tr data-row {
                            td class="code" dir="auto" { (shown(&found.one.relative(&row.what))) @if let Some(told) = row.told() { div class="dim" { (shown(told)) } } }
                            td { span class={ "state " (row.state) } { (row.state) } }
                            td class="num" { (count(row.times)) }
                            td class="num" { a href={ (base) "/entry/" (row.last) } { "s:" (row.last) } }
                        }
                    }
                }
            }
            @if all > ROWS { p class="dim" { (plural((all - ROWS) as u64, "row")) " more: " code { "unforget ledger" } } }
        }
    }
}

fn pins(visit: &Visit, found: &Found) -> Result<Markup, Trouble> {
    let id = found.of.conversation;
    let (pins, recipes) = (visit.engine.pins(id)?, visit.engine.recipes(id)?);
    let proposed = visit.engine.proposed_pins(id)?;
    let active = pins.all().iter().filter(|pin| pin.state == PinState::Active).count();
    let base = found.address();
    Ok(html! {
        h2 { "Pins" }
        @if pins.all().is_empty() {
            (empty("Nothing is pinned: no rule is promised to stand in every prompt.", &html! { code { "unforget pin " (shown(&found.one.name)) " \"the rule\"" } " pins one." }))
        } @else {
            table class="list" {
                caption class="dim" { (active) " in every prompt" @if !recipes.is_empty() { "; " (recipes.len()) " sent prompts are kept" } }
                thead { tr { th scope="col" { "Pin" } th scope="col" { "Words" } th scope="col" { "State" } th scope="col" class="num" { "In sent prompts" } th scope="col" class="num" { "From" } } }
                tbody {
                    @for pin in pins.all() {
                        @let shown_in = recipes.iter().filter(|(_, recipe)| recipe.pins.contains(&pin.id)).count();
                        tr data-row {
                            td { (pin.id) }
                            td dir="auto" { (shown(&pin.text)) }
                            td { @if pin.state == PinState::Active { span class="state done" { "active" } } @else { span class="state" { "not any more" } } }
                            td class="num" { @if recipes.is_empty() { "–" } @else { (shown_in) " of " (recipes.len()) } }
                            td class="num" { @if let Some(seq) = pin.source { a href={ (base) "/entry/" (seq) } { "s:" (seq) } } @else { "typed" } }
                        }
                    }
                }
            }
        }
        @if !proposed.is_empty() {
            details {
                summary { (plural(proposed.len() as u64, "sentence")) " that you may want to pin" }
                ul { @for one in proposed.iter().take(PROPOSALS) { li dir="auto" { (shown(&one.text)) " " a class="seq" href={ (base) "/entry/" (one.seq) } { "s:" (one.seq) } } } }
                p class="dim" { code { "unforget pins " (shown(&found.one.name)) " --accept NUMBER" } " pins one." }
            }
        }
    })
}
