//! The table of breaks, in the view of the context and in a page to share.

use maud::{Markup, html};
use unforget_server::when::Clock;
use unforget_text::numbers::{count, plural, short};

use super::series::{CallPoint, Series};
use crate::frame::Kept;
use crate::visit::{Found, Visit};
use crate::words::{time, whole_time};

/// Breaks in the table; the chart has all of them.
const BREAKS: usize = 200;

/// Breaks up to which the table is open in a view.
const FEW: usize = 6;

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
        series.points.iter().enumerate().filter(|(_, point)| point.is_break()).collect();
    let rebilled: u64 = all.iter().filter_map(|(_, point)| Some(point.broken?.rebilled)).sum();
    let cold = all.iter().filter(|(_, point)| point.is_cold).count();
    let is_view = matches!(place, BreakPlace::View(..));
    html! {
        details class="breaks" open[is_view && !all.is_empty() && all.len() <= FEW] {
            summary {
                (plural(all.len() as u64, "break"))
                @if !all.is_empty() { ": " (count(rebilled)) " tokens billed again; " (cold) " after the cache had expired anyway" }
            }
            @if all.is_empty() { p { "The beginning of the prompt never changed: all of it could come from the provider's cache." } }
            @else {
                div class="scroll" tabindex="0" role="region" aria-label="Breaks" {
                    table class="list" {
                        thead { tr { th scope="col" { "Call" } th scope="col" { "When" } th scope="col" { "Cause" } th scope="col" { "From" } th scope="col" class="num" { "Tokens" } th scope="col" class="num" { "Billed again" } th scope="col" class="num" { "Still cached" } th scope="col" { "Cache" } @if is_view { th scope="col" { span class="gone" { "What left" } } } } }
                        tbody { @for (at, point) in all.iter().rev().take(BREAKS) { (row(series, place, *at, point)) } }
                    }
                }
                @if all.len() > BREAKS { p class="dim" { (plural((all.len() - BREAKS) as u64, "older break")) " in the chart." } }
            }
        }
    }
}

fn row(series: &Series, place: &BreakPlace<'_>, at: usize, point: &CallPoint) -> Markup {
    let before = at.checked_sub(1).and_then(|at| series.points.get(at));
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
            td { @if series.is_sent { "–" } @else if point.is_cold { "expired" } @else { "warm" } }
            @if let BreakPlace::View(visit, found) = place {
                td { a href={ (found.address()) "/left" (Kept::with(visit, &[("at", Some(&point.label))])) } { "What left" } }
            }
        }
    }
}
