//! The chart of a session: tokens by class against the window, breaks, and a cursor.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use unforget_core::admit::Sections;
use unforget_engine::calls::CallPoint;
use unforget_text::numbers::{count, short};

use super::series::Series;
use crate::frame::Kept;
use crate::visit::Visit;

const WIDTH: f64 = 1_080.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 20.0;
const BOTTOM: f64 = 26.0;

/// Most calls that are drawn; of more, the extremes of each stretch are.
const COLUMNS: usize = 540;

/// The classes of tokens, from the bottom of the chart.
pub(super) const CLASSES: [(&str, &str); 7] = [
    ("system", "instructions"),
    ("pins", "pins"),
    ("summaries", "summaries"),
    ("ledger", "ledger"),
    ("raised", "put back"),
    ("carried", "carried request"),
    ("tail", "messages"),
];

fn tokens(sections: &Sections) -> [u64; 7] {
    let Sections { system, pins, summaries, ledger, raised, carried, tail, frame } = sections;
    let all = [*system, *pins, *summaries, *ledger, *raised, *carried, *tail + *frame];
    all.map(|tokens| tokens.expected)
}

/// Indices of the calls that are drawn: all, or the smallest and largest prompt and every break of each stretch, in order.
fn drawn(points: &[CallPoint]) -> Vec<usize> {
    if points.len() <= COLUMNS {
        return (0..points.len()).collect();
    }
    let stretch = points.len().div_ceil(COLUMNS / 3);
    let mut all = Vec::new();
    for (at, chunk) in points.chunks(stretch).enumerate() {
        let index = |found: Option<(usize, &CallPoint)>| found.map(|(one, _)| at * stretch + one);
        let least = index(chunk.iter().enumerate().min_by_key(|(_, point)| point.total));
        let most = index(chunk.iter().enumerate().max_by_key(|(_, point)| point.total));
        let broken = index(
            chunk
                .iter()
                .enumerate()
                .filter(|(_, point)| point.is_break())
                .max_by_key(|(_, point)| point.broken.map_or(0, |broken| broken.rebilled)),
        );
        let mut three: Vec<usize> = [least, most, broken].into_iter().flatten().collect();
        three.sort_unstable();
        three.dedup();
        all.extend(three);
    }
    all
}

/// The scale of a chart.
struct Plot {
    columns: usize,
    most: f64,
}

impl Plot {
    fn step(&self) -> f64 {
        (WIDTH - LEFT - RIGHT) / self.columns.max(1) as f64
    }

    /// Left edge of a column.
    fn x(&self, at: usize) -> f64 {
        LEFT + at as f64 * self.step()
    }

    fn y(&self, value: f64) -> f64 {
        let share = if self.most > 0.0 { (value / self.most).clamp(0.0, 1.0) } else { 0.0 };
        HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)
    }
}

/// A call that is marked in a chart, in a view whose columns are links to their calls.
pub(crate) struct ChartCursor<'a> {
    pub(crate) visit: &'a Visit,
    /// Index of the call.
    pub(crate) at: usize,
}

/// The chart; without a cursor for a page of no view, where nothing is a link.
pub(crate) fn chart(series: &Series, cursor: Option<&ChartCursor<'_>>) -> Markup {
    let points = &series.calls.points;
    let drawn = drawn(points);
    let most = points.iter().map(|point| point.total).max().unwrap_or(0).max(series.calls.window);
    let plot = Plot { columns: drawn.len(), most: most as f64 * 1.03 };
    let shown: Vec<&CallPoint> = drawn.iter().filter_map(|at| points.get(*at)).collect();
    let mut body = axis(&plot, &shown);
    body += &areas(&plot, &shown);
    body += &everything(&plot, &shown);
    body += &limits(&plot, series);
    body += &marks(&plot, &shown);
    if let Some(ChartCursor { visit, at }) = cursor {
        let column = drawn.iter().position(|one| one >= at).unwrap_or(drawn.len().saturating_sub(1));
        body += &mark(&plot, column);
        body += &links(visit, &plot, &shown);
    }
    let name = format!("Tokens of {} calls against a window of {}", points.len(), count(series.calls.window));
    let about = match cursor {
        Some(_) => "Chart of all calls: left and right arrows go from call to call",
        None => "Chart of all calls",
    };
    html! {
        figure class="chart" {
            div class="scroll" tabindex="0" role="region" aria-label=(about) {
                svg id="chart" viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role=(if cursor.is_some() { "group" } else { "img" }) aria-label=(name) { (PreEscaped(body)) }
            }
            figcaption { (legend(series)) }
        }
    }
}

/// The mark of the chosen call.
fn mark(plot: &Plot, column: usize) -> String {
    let (x, wide, high) = (plot.x(column), plot.step().max(2.0), HEIGHT - BOTTOM - TOP);
    let middle = x + plot.step() / 2.0;
    format!(
        "<rect class=\"cursor\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{wide:.1}\" height=\"{high:.1}\"/><path class=\"cursor-head\" d=\"M{middle:.1} {TOP}l-5 -8h10z\"/>"
    )
}

/// A link over each column.
fn links(visit: &Visit, plot: &Plot, shown: &[&CallPoint]) -> String {
    let query = Kept::with(visit, &[("at", None)]).replace('&', "&amp;");
    let sign = if query.is_empty() { "?" } else { "&amp;" };
    let mut text = String::new();
    for (at, point) in shown.iter().enumerate() {
        let (x, wide, high) = (plot.x(at), plot.step(), HEIGHT - BOTTOM - TOP);
        let (title, label) = (title(point), &point.label);
        // Writing to a string cannot fail.
        write!(
            text,
            "<a class=\"hit\" href=\"context{query}{sign}at={label}#call\" data-at=\"{label}\" tabindex=\"-1\" aria-label=\"{title}\"><rect x=\"{x:.2}\" y=\"{TOP}\" width=\"{wide:.2}\" height=\"{high:.1}\"><title>{title}</title></rect></a>"
        )
        .ok();
    }
    text
}

/// A call in words. Its parts are numbers and names of ours.
fn title(point: &CallPoint) -> String {
    let broken = point.broken.filter(|_| point.is_break());
    let broken = broken.map(|broken| format!("; break: {}", broken.cause.name())).unwrap_or_default();
    match point.refused {
        Some(needs) => format!("call {}: nothing fits, {} needed", point.label, count(needs)),
        None => format!("call {}: {} tokens{broken}", point.label, count(point.total)),
    }
}

fn axis(plot: &Plot, shown: &[&CallPoint]) -> String {
    let mut text = String::new();
    let power = 10f64.powf((plot.most / 4.0).max(1.0).log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= plot.most / 5.0);
    let step = step.unwrap_or(plot.most).max(1.0);
    let mut value = 0.0;
    while value <= plot.most {
        let (y, end) = (plot.y(value), WIDTH - RIGHT);
        write!(text, "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>", LEFT - 6.0, y + 4.0, short(value as u64)).ok();
        value += step;
    }
    let labels = 7.min(shown.len());
    for label in 0..labels {
        let at = if labels > 1 { label * (shown.len() - 1) / (labels - 1) } else { 0 };
        let Some(point) = shown.get(at) else { continue };
        let (x, y) = (plot.x(at) + plot.step() / 2.0, HEIGHT - 8.0);
        let anchor = if label + 1 == labels && labels > 1 {
            "end"
        } else if label == 0 {
            "start"
        } else {
            "middle"
        };
        let name = if label == 0 { "call " } else { "" };
        write!(
            text,
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{name}{}</text>",
            point.label
        )
        .ok();
    }
    text
}

/// Tokens by class as steps, one upon the other.
fn areas(plot: &Plot, shown: &[&CallPoint]) -> String {
    let rows: Vec<[u64; 7]> = shown
        .iter()
        .map(|point| point.sections.as_ref().map_or([0, 0, 0, 0, 0, 0, point.total], tokens))
        .collect();
    let mut text = String::new();
    for (class, (name, _)) in CLASSES.iter().enumerate() {
        let sum = |row: &[u64; 7], upto: usize| row.iter().take(upto).sum::<u64>() as f64;
        if rows.iter().all(|row| row.get(class).is_none_or(|tokens| *tokens == 0)) {
            continue;
        }
        let mut path = String::new();
        for (at, row) in rows.iter().enumerate() {
            let (x, y) = (plot.x(at), plot.y(sum(row, class + 1)));
            let command = if at == 0 { 'M' } else { 'L' };
            write!(path, "{command}{x:.1} {y:.1}H{:.1}", x + plot.step()).ok();
        }
        for (at, row) in rows.iter().enumerate().rev() {
            let (x, y) = (plot.x(at), plot.y(sum(row, class)));
            write!(path, "L{:.1} {y:.1}H{x:.1}", x + plot.step()).ok();
        }
        write!(text, "<path class=\"area c-{name}\" d=\"{path}Z\"/>").ok();
    }
    text
}

/// The line of sending everything, as far as it is inside the chart.
fn everything(plot: &Plot, shown: &[&CallPoint]) -> String {
    let mut path = String::new();
    let mut is_inside = false;
    for (at, point) in shown.iter().enumerate() {
        let Some(value) = point.everything.filter(|value| *value as f64 <= plot.most) else {
            is_inside = false;
            continue;
        };
        let command = if is_inside { 'L' } else { 'M' };
        write!(path, "{command}{:.1} {:.1}", plot.x(at) + plot.step() / 2.0, plot.y(value as f64)).ok();
        is_inside = true;
    }
    format!("<path class=\"everything\" d=\"{path}\"/>")
}

fn limits(plot: &Plot, series: &Series) -> String {
    let mut text = String::new();
    let end = WIDTH - RIGHT;
    let all = [(series.calls.window, "window"), (series.calls.budget, "room for input")];
    for (value, name) in all.into_iter().take(if series.calls.window == series.calls.budget { 1 } else { 2 })
    {
        let y = plot.y(value as f64);
        write!(text, "<line class=\"limit\" x1=\"{LEFT}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>").ok();
        if name == "window" {
            write!(
                text,
                "<text class=\"tick\" x=\"{end}\" y=\"{:.1}\" text-anchor=\"end\">{name} {}</text>",
                y - 4.0,
                short(value)
            )
            .ok();
        }
    }
    text
}

/// A mark under each call at which the beginning of the prompt changed, and over each that nothing fits.
fn marks(plot: &Plot, shown: &[&CallPoint]) -> String {
    let mut text = String::new();
    let base = HEIGHT - BOTTOM;
    for (at, point) in shown.iter().enumerate() {
        let x = plot.x(at) + plot.step() / 2.0;
        if point.is_break() {
            let class = if point.is_cold { "break cold" } else { "break" };
            write!(text, "<path class=\"{class}\" d=\"M{x:.1} {base}l4 7h-8z\"/><line class=\"{class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{base}\"/>").ok();
        }
        if point.refused.is_some() {
            write!(
                text,
                "<text class=\"refused\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">×</text>",
                TOP + 10.0
            )
            .ok();
        }
    }
    text
}

fn legend(series: &Series) -> Markup {
    let sections: Vec<[u64; 7]> =
        series.calls.points.iter().filter_map(|point| point.sections.as_ref().map(tokens)).collect();
    let has = |class: usize| sections.iter().any(|row| row.get(class).is_some_and(|tokens| *tokens > 0));
    html! {
        ul class="legend" {
            @for (class, (name, words)) in CLASSES.iter().enumerate() {
                @if has(class) { li { span class={ "swatch c-" (name) } {} (words) } }
            }
            @if !series.calls.is_sent { li { span class="swatch line" {} "everything, if it were sent" } }
            li { span class="swatch mark" {} "break" }
            @if !series.calls.is_sent { li { span class="swatch mark cold" {} "break with an expired cache" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unforget_core::prefix::{Broken, Cause, Region};

    fn point(number: u64, total: u64) -> CallPoint {
        CallPoint {
            label: number.to_string(),
            number,
            turn: 0,
            time: None,
            answer: None,
            head: None,
            epoch: Some(0),
            total,
            sections: None,
            everything: None,
            broken: None,
            cached: 0,
            is_cold: false,
            refused: None,
            window: None,
        }
    }

    #[test]
    fn a_long_session_keeps_its_extremes() {
        let mut points: Vec<CallPoint> =
            (0..26_000).map(|number| point(number, 1_000 + number % 7)).collect();
        for (at, total) in [(3, 1), (12_345, 999_999), (25_999, 2)] {
            if let Some(point) = points.get_mut(at) {
                point.total = total;
            }
        }
        if let Some(point) = points.get_mut(777) {
            point.broken = Some(Broken { cause: Cause::Pins, region: Region::Pins, rebilled: 5, hit: 0 });
        }
        let drawn = drawn(&points);
        assert!(drawn.len() <= COLUMNS + 3, "{}", drawn.len());
        assert!(drawn.is_sorted());
        for at in [3, 777, 12_345, 25_999] {
            assert!(drawn.contains(&at), "{at}");
        }
        assert_eq!(super::drawn(&points[..5]), [0, 1, 2, 3, 4]);
    }
}
