//! The frame of a view: head, navigation, tabs of a conversation.

use maud::{DOCTYPE, Markup, html};
use unforget_text::numbers::{bytes, plural};

use crate::visit::{Found, Visit};
use crate::words::{shown, time};
use crate::{labels, owner_form};

/// The place of a view in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Here {
    Home,
    Conversations,
    Search,
    Calls,
    Trust,
    Settings,
    Read,
    Context,
    Left,
    Summaries,
    Ledger,
    Diff,
    Nowhere,
}

/// What a view is about.
pub(crate) struct Frame<'a> {
    pub(crate) title: &'a str,
    pub(crate) here: Here,
    /// The conversation whose tabs are shown.
    pub(crate) of: Option<&'a Found>,
}

/// The head of every page.
pub(crate) fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            title { (shown(title)) " · Unforget" }
            link rel="icon" href="/web/assets/icon.svg" type="image/svg+xml";
            link rel="stylesheet" href="/web/assets/page.css";
            script type="module" src="/web/assets/page.js" {}
        }
    }
}

/// A whole page.
pub(crate) fn frame(visit: &Visit, of: &Frame<'_>, body: &Markup) -> Markup {
    let places = [
        (Here::Home, "/", "Home"),
        (Here::Conversations, "/web/conversations", "Conversations"),
        (Here::Search, "/web/search", "Search"),
        (Here::Calls, "/web/calls", "Calls"),
        (Here::Trust, "/web/trust", "Trust"),
        (Here::Settings, "/web/settings", "Settings"),
    ];
    let owner_only = [Here::Trust, Here::Settings];
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(of.title))
            body {
                a class="skip" href="#main" { "Skip to the content" }
                header class="top" {
                    a class="brand" href="/" { "Unforget" }
                    nav aria-label="Views" {
                        @for (here, to, name) in places {
                            @if visit.is_owner || !owner_only.contains(&here) {
                                a href=(to) aria-current=[(here == of.here).then_some("page")] { (name) }
                            }
                        }
                    }
                    form class="find" role="search" action="/web/search" method="get" {
                        input id="find" name="q" type="search" placeholder="Search everything  ( / )"
                            aria-label="Search all conversations" autocomplete="off";
                    }
                    @if visit.site.settings.asks_for_token {
                        form method="post" action="/web/logout" { button class="plain" type="submit" { "Sign out" } }
                    }
                }
                @if let Some(found) = of.of { (subject(visit, found, of.here)) }
                main id="main" tabindex="-1" { (body) }
                (keys())
            }
        }
    }
}

/// The conversation of a view, and its tabs.
fn subject(visit: &Visit, found: &Found, here: Here) -> Markup {
    let (one, base) = (&found.one, found.address());
    let stored = &one.stored;
    let kept = Kept::of(visit);
    let tabs = [
        (Here::Read, String::new(), "Read"),
        (Here::Context, format!("/context{}", kept.0), "Context"),
        (Here::Left, format!("/left{}", kept.0), "What left"),
        (Here::Diff, format!("/diff{}", kept.0), "Diff"),
        (Here::Summaries, format!("/summaries{}", kept.0), "Summaries"),
        (Here::Ledger, "/ledger".to_owned(), "Ledger and pins"),
    ];
    let turns = plural(one.facts.turns, "turn");
    html! {
        section class="subject" aria-label="This conversation" data-conversation=(stored.key) data-entries=(stored.entries) {
            @if visit.may_decide {
                form class="starring" method="post" action=(owner_form::to(&stored.key.0)) {
                    input type="hidden" name="token" value=(visit.site.seal.token());
                    input type="hidden" name="back" value={ (visit.path) (visit.query.with(&[])) };
                    button class=(if one.label.is_starred { "plain star on" } else { "plain star" }) name="star"
                        value=(if one.label.is_starred { "0" } else { "1" }) aria-pressed=(if one.label.is_starred { "true" } else { "false" })
                        aria-label="star this conversation" { (if one.label.is_starred { "★" } else { "☆" }) }
                }
            } @else { (labels::star(visit, one)) }
            p class="title" dir="auto" { (one.title()) }
            p class="dim" {
                @if !one.project().is_empty() { span dir="auto" { (one.project()) } " · " }
                (one.host()) " · " (turns) " · " (plural(stored.entries, "entry")) " · " (bytes(stored.raw_bytes))
                " · " (time(visit, one.last())) " "
                span id="live" class="live" role="status" {}
                (labels::tags(one))
            }
            (labels::form(visit, found))
            nav class="tabs" aria-label="Views of this conversation" {
                @for (tab, rest, name) in tabs {
                    a href={ (base) (rest) } aria-current=[(tab == here).then_some("page")] { (name) }
                }
            }
        }
    }
}

/// Names of a query that belong to one view alone.
const VIEWS_OWN: [&str; 11] = ["at", "call", "e", "sum", "from", "to", "before", "all", "kind", "q", "after"];

/// The part of a query that goes along from view to view: the shape of prompts.
pub(crate) struct Kept(pub(crate) String);

impl Kept {
    pub(crate) fn of(visit: &Visit) -> Self {
        Self(Self::with(visit, &[]))
    }

    /// This query with further values.
    pub(crate) fn with(visit: &Visit, more: &[(&str, Option<&str>)]) -> String {
        let gone = VIEWS_OWN.into_iter().filter(|name| !more.iter().any(|(known, _)| known == name));
        let all: Vec<_> = gone.map(|name| (name, None)).chain(more.iter().copied()).collect();
        visit.query.with(&all)
    }
}

/// The keys, shown on `?`.
fn keys() -> Markup {
    let all = [
        ("/ or ⌘K", "search everything"),
        ("j, k", "next and previous entry or row"),
        ("[, ]", "previous and next page"),
        ("←, →", "previous and next call in the context view"),
        ("Enter", "open the row"),
        ("g then h, c", "home, conversations"),
        ("?", "these keys"),
    ];
    html! {
        dialog id="keys" aria-label="Keys" {
            h2 { "Keys" }
            dl { @for (key, does) in all { div { dt { kbd { (key) } } dd { (does) } } } }
            form method="dialog" { button type="submit" { "Close" } }
        }
    }
}

/// A state without content: why, and what next.
pub(crate) fn empty(what: &str, next: &Markup) -> Markup {
    html! { section class="empty" { p { (what) } p class="next" { (next) } } }
}
