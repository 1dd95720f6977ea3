//! Titles, stars and tags that a person gives: the forms of the owner, and how a label is shown.

use maud::{Markup, html};
use unforget_engine::recognise::RecognisedConversation;
use unforget_engine::{LABEL_TITLE_CHARS, LabelChange};

use crate::owner_form::{FORM, to};
use crate::trouble::Trouble;
use crate::visit::{Found, Query, Visit, encoded};
use crate::words::shown;

/// Most characters of all tags together in their field.
const TAGS_CHARS: usize = 1_000;

/// A star: a button for the owner, in a page that has the form of decisions, else a mark.
pub(crate) fn star(visit: &Visit, one: &RecognisedConversation) -> Markup {
    let is_starred = one.label.is_starred;
    if !visit.may_decide {
        return html! { @if is_starred { span class="star on" title="starred" { "★ " } } };
    }
    let (value, sign, class) =
        if is_starred { ("0", "★", "plain star on") } else { ("1", "☆", "plain star") };
    html! {
        button class=(class) form=(FORM) formaction=(to(&one.stored.key.0)) formnovalidate name="star" value=(value)
            aria-pressed=(if is_starred { "true" } else { "false" }) aria-label={ "star " (one.title()) } { (sign) }
        " "
    }
}

/// The tags of a conversation, each a filter of the list.
pub(crate) fn tags(one: &RecognisedConversation) -> Markup {
    html! {
        @for tag in &one.label.tags { " " a class="tag" href={ "/web/conversations?tag=" (encoded(tag)) } dir="auto" { "#" (shown(tag)) } }
    }
}

/// The form for title and tags of the conversation of a view. Empty for who may not decide.
pub(crate) fn form(visit: &Visit, found: &Found) -> Markup {
    if !visit.may_decide {
        return html! {};
    }
    let label = &found.one.label;
    let without = found.one.facts.title().map_or("no title by itself", |title| title.text);
    html! {
        details class="label" {
            summary { "Title and tags" }
            form class="filters" method="post" action=(to(&found.resolved.conversation.key.0)) {
                input type="hidden" name="token" value=(visit.site.seal.token());
                input type="hidden" name="back" value={ (visit.path) (visit.query.with(&[])) };
                label class="wide" { "Title" input name="title" maxlength=(LABEL_TITLE_CHARS) value=[label.title.as_deref().map(shown)] placeholder=(shown(without)) dir="auto"; }
                label class="wide" { "Tags" input name="tags" maxlength=(TAGS_CHARS) value=(shown(&label.tags_text())) placeholder="words, parted by spaces" dir="auto"; }
                button name="label" value="1" { "Save" }
            }
            p class="dim" { "They are yours: no import changes them, and the transcript stays as it is. An empty title takes yours away." }
        }
    }
}

/// The change that a form asks for; `None` if it is about something else.
pub(crate) fn asked(form: &Query, visit: &Visit, found: &Found) -> Result<Option<LabelChange>, Trouble> {
    if let Some(star) = form.get("star") {
        return Ok(Some(LabelChange::star(star == "1")));
    }
    if form.get("label").is_none() {
        return Ok(None);
    }
    let label = visit.engine.label(found.of.conversation)?;
    let tags = form.get("tags").unwrap_or_default();
    let title = Some(form.get("title").unwrap_or_default().to_owned());
    Ok(Some(LabelChange { title, ..LabelChange::exact_tags(&label, tags) }))
}
