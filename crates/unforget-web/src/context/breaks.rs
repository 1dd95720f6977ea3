//! The table of breaks, in the view of the context and in a page to share.

use maud::{Markup, html};
use unforget_engine::calls::CallPoint;
use unforget_server::price::{PriceList, dollars};
use unforget_server::when::Clock;
use unforget_text::numbers::{count, one_line, plural, short};

use super::series::Series;
use crate::frame::Kept;
use crate::visit::{Found, Visit};
use crate::words::{shown, time, whole_time};

/// Breaks in the table; the chart has all of them.
const BREAKS: usize = 200;

/// Breaks up to which the table is open in a view.
const FEW: usize = 6;

/// Most characters of a model's name.
const MODEL_CHARS: usize = 60;

/// Where the table is.
pub(crate) enum BreakPlace<'a> {
    /// In a view: each break leads to its call, and to what left there.
    View(&'a Visit, &'a Found),
    /// In a page of its own, where nothing is a link.
    Page(&'a Clock),
}

/// The breaks, the newest first.
pub(crate) fn breaks(series: &Series, place: &BreakPlace<'_>) -> Markup {
    let all: Vec<(usize, &CallPoint)> =
        series.calls.points.iter().enumerate().filter(|(_, point)| point.is_break()).collect();
    let rebilled: u64 = all.iter().filter_map(|(_, point)| Some(point.broken?.rebilled)).sum();
    let cold = all.iter().filter(|(_, point)| point.is_cold).count();
    let is_view = matches!(place, BreakPlace::View(..));
    html! {
        details class="breaks" open[is_view && !all.is_empty() && all.len() <= FEW] {
            summary {
                (plural(all.len() as u64, "break"))
                @if !all.is_empty() { ": " (count(rebilled)) " tokens billed again" @if let Some(sum) = series.cost_of_breaks() { ", " (dollars(sum)) " more than from the cache" } "; " (cold) " after the cache had expired anyway" }
            }
            @if all.is_empty() { p { "The beginning of the prompt never changed: all of it could come from the provider's cache." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Breaks" {
                    table class="list" {
                        thead { tr { th scope="col" { "Call" } th scope="col" { "When" } th scope="col" { "Cause" } th scope="col" { "From" } th scope="col" class="num" { "Tokens" } th scope="col" class="num" { "Billed again" } th scope="col" class="num" { "Still cached" } th scope="col" { "Cache" } th scope="col" class="num" { "Cost more" } @if is_view { th scope="col" { span class="gone" { "What left" } } } } }
                        tbody { @for (at, point) in all.iter().rev().take(BREAKS) { (row(series, place, *at, point)) } }
                    }
                }
                (priced(series))
                @if all.len() > BREAKS { p class="dim" { (plural((all.len() - BREAKS) as u64, "older break")) " in the chart." } }
            }
        }
    }
}

/// What the dollars are of.
fn priced(series: &Series) -> Markup {
    html! {
        p class="dim" {
            @match (&series.model, series.cost_of_breaks()) {
                (Some(model), Some(_)) => { "Cost more: what the tokens billed again cost beyond reading them from the cache, at prices of " (shown(&one_line(model, MODEL_CHARS))) " of " (PriceList::current().date) "; nothing where the cache had expired." }
                (Some(model), None) => { "No price is known for " (shown(&one_line(model, MODEL_CHARS))) ", so the cost of breaks is in tokens only." }
                (None, _) => { "The model of these calls is not recorded, so the cost of breaks is in tokens only; a model in the field above gives its prices." }
            }
        }
    }
}

fn row(series: &Series, place: &BreakPlace<'_>, at: usize, point: &CallPoint) -> Markup {
    let before = at.checked_sub(1).and_then(|at| series.calls.points.get(at));
    html! {
        tr data-row {
            @match place {
                BreakPlace::View(visit, found) => {
                    td { a href={ (found.address()) "/context" (Kept::with(visit, &[("at", Some(&point.label))])) "#call" } { (point.label) } }
                    td { (time(visit, point.time)) }
                }
                BreakPlace::Page(clock) => {
                    td { (point.label) }
                    td { (whole_time(clock, point.time)) }
                }
            }
            @if let Some(broken) = point.broken {
                td title=(broken.cause.words()) { (broken.cause.name()) }
                td { (broken.region.name()) }
                td class="num" { @if let Some(before) = before { (short(before.total)) " → " } (short(point.total)) }
                td class="num" { (count(broken.rebilled)) }
                td class="num" { (count(broken.hit)) }
            }
            td { @if series.calls.is_sent { "–" } @else if point.is_cold { "expired" } @else { "warm" } }
            td class="num" { @if let Some(cost) = series.cost(point) { (cost.words()) } }
            @if let BreakPlace::View(visit, found) = place {
                td { a href={ (found.address()) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } { "What left" } }
            }
        }
    }
}
