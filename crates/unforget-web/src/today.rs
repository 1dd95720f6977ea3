//! What models cost today, as transcripts record it. The page asks for it again while somebody looks.

use maud::{Markup, html};
use unforget_server::price::{PriceList, dollars};
use unforget_text::numbers::{count, one_line, percent, plural, short};

use crate::day_cache::DaySum;
use crate::frame::{Frame, Here, frame};
use crate::reply::{Reply, Trouble, Viewed};
use crate::visit::Visit;
use crate::words::shown;

/// Models without a price that are named.
const NAMED: usize = 5;

/// Most characters of a model's name.
const MODEL_CHARS: usize = 60;

/// Shows the sum as a view of its own.
pub(crate) fn show(visit: &Visit) -> Viewed {
    let body = html! { h1 { "Cost of models" } (section(visit)?) };
    Ok(Reply::page(frame(visit, &Frame { title: "Cost today", here: Here::Calls, of: None }, &body)))
}

/// What models cost today, with what each figure is of.
pub(crate) fn section(visit: &Visit) -> Result<Markup, Trouble> {
    let begin = visit.clock.parse("today").unwrap_or(visit.clock.now());
    // A tenant sees other conversations, so the sum is another one.
    let mark = if visit.is_owner { visit.engine.store().change_mark()? } else { None };
    let DaySum { sum, conversations } = visit.site.day.calls(&visit.engine, begin, mark)?;
    let (tokens, unpriced) = (sum.tokens, sum.unpriced_calls());
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    let share = |part: u64| percent(part as f64 / input.max(1) as f64);
    Ok(html! {
        section id="today" class="today" aria-labelledby="today-head" {
            h2 id="today-head" { "Today" }
            @if sum.calls == 0 {
                p class="dim" { "No stored transcript records a call of today. Calls are counted when their transcript is imported: " code { "unforget setup" } " has that done by itself." }
            } @else {
                p {
                    strong { @if unpriced == sum.calls { "no price is known" } @else { (dollars(sum.dollars)) } }
                    " for " (count(sum.calls - unpriced)) " of " (plural(sum.calls, "call")) " in " (plural(conversations, "conversation"))
                    " · " (short(input)) " tokens of input: " (share(tokens.cache_read)) " from the cache, " (share(tokens.cache_write)) " written to it, " (share(tokens.input)) " neither"
                    " · " (short(tokens.output)) " of output"
                }
                @if unpriced > 0 {
                    p class="dim" {
                        "No price is known for " (plural(unpriced, "call")) ": "
                        @for (at, (model, calls)) in sum.unpriced.iter().take(NAMED).enumerate() { @if at > 0 { ", " } span dir="auto" { (shown(&one_line(model, MODEL_CHARS))) } " (" (count(*calls)) ")" }
                        @if sum.unpriced.len() > NAMED { " and " (plural((sum.unpriced.len() - NAMED) as u64, "other model")) }
                        ". Their tokens are in the figures, their dollars are not."
                    }
                }
                p class="dim" { "As the transcripts record it, at prices of " (PriceList::current().date) " where a host records no cost. More: " code { "unforget usage" } "." }
            }
        }
    })
}
