//! Texts in a view. Everything stored passes [`shown`].

use maud::{Markup, html};
use unforget_core::id::Timestamp;
use unforget_server::when::Clock;
use unforget_text::visible;

use crate::visit::Visit;

/// Stored text: controls and marks of direction are visible. The template escapes it.
pub(crate) fn shown(text: &str) -> String {
    visible(text).into_owned()
}

/// Stored text cut to so many characters, and whether it was cut.
pub(crate) fn cut(text: &str, chars: usize) -> (String, bool) {
    match text.char_indices().nth(chars) {
        Some((at, _)) => (shown(text.get(..at).unwrap_or(text)), true),
        None => (shown(text), false),
    }
}

/// A time relative to now, with the whole time on request.
pub(crate) fn time(visit: &Visit, time: Option<Timestamp>) -> Markup {
    let Some(time) = time else { return html! { span class="dim" { "–" } } };
    let iso = unforget_server::json::iso(time).unwrap_or_default();
    html! { time datetime=(iso) title=(visit.clock.full(time)) { (visit.clock.short(time)) } }
}

/// A whole time, for a page that is read later.
pub(crate) fn whole_time(clock: &Clock, time: Option<Timestamp>) -> Markup {
    let Some(time) = time else { return html! { span class="dim" { "–" } } };
    html! { time datetime=(unforget_server::json::iso(time).unwrap_or_default()) { (clock.full(time)) } }
}

/// A figure with its name.
pub(crate) fn fact(name: &str, value: impl std::fmt::Display) -> Markup {
    html! { div class="fact" { dt { (name) } dd { (value) } } }
}
