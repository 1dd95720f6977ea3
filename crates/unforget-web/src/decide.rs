//! What a person decides on the page: entries put back into the prompt, statements rejected, and both taken back; titles, stars and tags.
//!
//! A page shows these forms only to the owner. A form is sent to this site alone: the guard of the daemon refuses other origins, the
//! browser has to name one, and each form carries a token that only pages of this process have.

use std::sync::Arc;

use axum::extract::{RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::header::ORIGIN;
use axum::response::Response;
use maud::{Markup, html};
use unforget_core::id::Seq;
use unforget_engine::NewRaised;
use unforget_engine::recall::NewVerdict;
use unforget_store::{Conversation, RaisedRow, VerdictRow};
use unforget_text::numbers::{count, one_line, plural};

use crate::labels;
use crate::login::{FORM_MAX, local, moved};
use crate::owner_form::{FORM, to};
use crate::reply::{Trouble, answer, trouble_page};
use crate::state::Site;
use crate::visit::{Found, Query, Visit, address};
use crate::words::{shown, time};

/// Who decides, in what is recorded.
const AUTHOR: &str = "the page";

/// Decisions that are listed.
const SHOWN: usize = 60;

/// Most characters of words in the list.
const CHARS: usize = 160;

/// The form of a view's buttons, and, if the query asks for it, that of a rejection. Empty for who may not decide.
pub(crate) fn form(visit: &Visit) -> Markup {
    if !visit.may_decide {
        return html! {};
    }
    let here =
        format!("{}{}", visit.path, visit.query.with(&[("reject", None), ("line", None), ("of", None)]));
    html! {
        form id=(FORM) method="post" {
            input type="hidden" name="token" value=(visit.site.seal.token());
            input type="hidden" name="back" value=(here);
        }
        @if let Some(name) = visit.query.get("reject") {
            @let line = visit.query.get("line");
            @let key = visit.query.get("of").map_or_else(|| visit.name("name").to_owned(), str::to_owned);
            section class="decide" aria-labelledby="reject-head" id="reject" {
                h2 id="reject-head" { "Reject " @if line.is_some() { "a statement of " } (shown(name)) }
                @if let Some(line) = line { blockquote dir="auto" { (shown(line)) } input type="hidden" name="line" value=(line) form=(FORM); }
                p {
                    label for="why" { "Why it is wrong, or holds no more" } " "
                    input id="why" name="why" form=(FORM) required maxlength="2000" autofocus;
                    " "
                    button form=(FORM) formaction=(to(&key)) name="reject" value=(name) { "Reject" }
                    " " a href=(here) { "Cancel" }
                }
                p class="dim" { "It stays stored and readable, is no longer recalled as true, and stands in no summary from the next prompt on." }
            }
        }
    }
}

/// A button that puts entries back. Empty for who may not decide.
pub(crate) fn put_back(visit: &Visit, key: &str, first: Seq, last: Seq) -> Markup {
    if !visit.may_decide {
        return html! {};
    }
    let (value, name) = if first == last {
        (first.to_string(), format!("put back s:{first}"))
    } else {
        (format!("{first}-{last}"), format!("put back s:{first} to s:{last}"))
    };
    html! { button class="plain" form=(FORM) formaction=(to(key)) formnovalidate name="raise" value=(value) aria-label=(name) { "put back" } }
}

/// A link to the form that rejects an entry, or a statement. Empty for who may not decide.
///
/// * `name` - of the entry or the summary.
pub(crate) fn reject(visit: &Visit, key: &str, name: &str, line: Option<&str>) -> Markup {
    if !visit.may_decide {
        return html! {};
    }
    let query = visit.query.with(&[("reject", Some(name)), ("line", line), ("of", Some(key))]);
    html! { a href={ (visit.path) (query) "#reject" } aria-label={ "reject " (name) } { "reject" } }
}

/// The decisions about a conversation that stand, each with its way back.
pub(crate) fn standing(visit: &Visit, found: &Found) -> Result<Markup, Trouble> {
    let id = found.of.conversation;
    let mut raised = visit.engine.raised(id)?;
    raised.retain(RaisedRow::is_standing);
    let mut verdicts = visit.engine.verdicts(id)?;
    verdicts.retain(VerdictRow::is_standing);
    if raised.is_empty() && verdicts.is_empty() {
        return Ok(html! {});
    }
    let (base, key) = (found.address(), &found.resolved.conversation.key.0);
    let undo = |name: &'static str, number: u64| {
        html! { @if visit.may_decide { button class="plain" form=(FORM) formaction=(to(key)) formnovalidate name=(name) value=(number) { "undo" } } }
    };
    let all = raised.len() + verdicts.len();
    Ok(html! {
        section class="left" id="decisions" aria-labelledby="decisions-head" {
            h2 id="decisions-head" { "Decided here " span class="dim" { "what people put back, and what they rejected" } }
            table class="list" {
                thead { tr { th scope="col" { "Decision" } th scope="col" { "What" } th scope="col" { "By" } th scope="col" { "Undo" } } }
                tbody {
                    @for row in raised.iter().rev().take(SHOWN) {
                        tr data-row {
                            td { span class="state done" { "put back " (row.number) } }
                            td { a href={ (base) "?from=" (row.span.0) "#s" (row.span.0) } { "s:" (row.span.0) @if row.span.1 != row.span.0 { " to s:" (row.span.1) } } " stands in every prompt that fits it" }
                            td { span dir="auto" { (shown(&row.author)) } " · " (time(visit, Some(row.made))) }
                            td { (undo("lower", row.number)) }
                        }
                    }
                    @for row in verdicts.iter().rev().take(SHOWN) {
                        tr data-row {
                            td { span class="state" { "rejected " (row.number) } }
                            td dir="auto" {
                                a href={ (base) "?from=" (row.seq) "#s" (row.seq) } { "s:" (row.seq) } " "
                                @if let Some(line) = &row.line { "“" (shown(&one_line(line, CHARS))) "” " }
                                (shown(&one_line(&row.why, CHARS)))
                            }
                            td { span dir="auto" { (shown(&row.author)) } " · " (time(visit, Some(row.made))) }
                            td { (undo("accept", row.number)) }
                        }
                    }
                }
            }
            @if all > SHOWN { p class="dim" { (count(all as u64)) " in all: " code { "unforget uncompact --list" } " and " code { "unforget reject --list" } } }
        }
    })
}

/// A line that tells how many decisions about a conversation stand, with the way to them. Empty if none does.
pub(crate) fn told(visit: &Visit, stored: &Conversation) -> Result<Markup, Trouble> {
    let raised = visit.engine.raised(stored.id)?.iter().filter(|row| row.is_standing()).count();
    let rejected = visit.engine.verdicts(stored.id)?.iter().filter(|row| row.is_standing()).count();
    Ok(html! {
        @if raised + rejected > 0 {
            p id="decisions" class="dim" {
                a href={ (address(&stored.key)) "/left#decisions" } { (plural((raised + rejected) as u64, "decision")) " about this conversation" }
            }
        }
    })
}

impl Site {
    /// Takes a form with a decision, and leads back to the view.
    pub(crate) async fn decided(self: Arc<Self>, names: RawPathParams, request: Request) -> Response {
        let has_origin = request.headers().contains_key(ORIGIN);
        let visit = match self.visit(&names, &request) {
            Ok(visit) => visit,
            Err(error) => return answer(Err(error.into())),
        };
        let body = axum::body::to_bytes(request.into_body(), FORM_MAX).await.unwrap_or_default();
        let form = Query::parse(&String::from_utf8_lossy(&body));
        let is_ours = has_origin && form.get("token").is_some_and(|sent| self.seal.is(sent));
        let done = tokio::task::spawn_blocking(move || {
            let allowed = match (visit.may_decide, is_ours) {
                (false, _) => {
                    Err(Trouble::new(403, "only the owner decides here", "sign in with the owner's token"))
                }
                (true, false) => Err(Trouble::new(
                    403,
                    "this form is not of this page, or an old one",
                    "go back, load the page again, and repeat it",
                )),
                (true, true) => Ok(()),
            };
            match allowed.and_then(|()| decide(&visit, &form)) {
                Ok(anchor) => moved(&format!("{}{anchor}", local(form.get("back"))), None),
                Err(trouble) => answer(Ok(trouble_page(&trouble, &visit))),
            }
        });
        done.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a decision failed");
            answer(Err(Trouble::ours()))
        })
    }
}

/// Carries out what a form says. Returns where in the view it is seen.
fn decide(visit: &Visit, form: &Query) -> Result<&'static str, Trouble> {
    let (engine, now) = (&visit.engine, visit.clock.now());
    let found = visit.conversation()?;
    let id = found.of.conversation;
    if let Some(change) = labels::asked(form, visit, &found)? {
        engine.change_label(id, &change, now)?;
        return Ok("");
    }
    let number = |text: &str| {
        text.parse::<u64>()
            .map_err(|_| Trouble::new(400, format!("{text} is no number"), "load the page again"))
    };
    if let Some(entries) = form.get("raise") {
        let (first, last) = engine.span_of(id, entries)?;
        engine.raise(id, &NewRaised { first, last, author: AUTHOR }, now)?;
    } else if let Some(text) = form.get("lower") {
        engine.lower(id, number(text)?, now)?;
    } else if let Some(name) = form.get("reject") {
        let why = form.get("why").unwrap_or_default();
        let new = NewVerdict { line: form.get("line"), why, instead: None, author: AUTHOR };
        engine.reject_named(Some(id), name, &new, now)?;
    } else if let Some(text) = form.get("accept") {
        engine.withdraw_verdict(id, number(text)?, now)?;
    } else {
        let status = StatusCode::BAD_REQUEST.as_u16();
        return Err(Trouble::new(status, "the form says nothing to decide", "use a button of the page"));
    }
    Ok("#decisions")
}
