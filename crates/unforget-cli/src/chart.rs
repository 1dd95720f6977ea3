//! The terminal chart: prompt tokens per call, for three ways of sending prompts.
//!
//! Unforget is an area of blocks, sending everything a fine line, the sliding window a row of points, so the chart is
//! readable without colours.

mod dots;

use unforget_engine::prompt::Cause;
use unforget_engine::replay::{Call, Report};

use crate::output::{Palette, paint};
use crate::text::{plural, short};
use dots::Dots;

/// Columns left of the plot: a number and the axis.
const AXIS: usize = 8;

/// Number of windows above which values are cut off, so that the rest stays visible.
const CLIP: f64 = 2.0;

/// The data of the chart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chart {
    /// Tokens per call with Unforget.
    pub(crate) ours: Vec<u64>,
    /// Tokens per call if everything were sent.
    pub(crate) everything: Vec<u64>,
    /// Tokens per call if the newest groups that fit were sent.
    pub(crate) sliding: Vec<u64>,
    /// Calls before which the beginning of the prompt changed.
    pub(crate) breaks: Vec<usize>,
    /// The model's window.
    pub(crate) window: u64,
}

impl Chart {
    /// The chart of a report.
    pub(crate) fn of(report: &Report) -> Self {
        let each = |of: fn(&Call) -> u64| report.calls.iter().map(of).collect();
        let is_break = |call: &Call| call.broken.is_some_and(|broken| broken.cause != Cause::First);
        Self {
            ours: each(|call| call.prompt.expected),
            everything: each(|call| call.everything),
            sliding: each(|call| call.sliding),
            breaks: (0..).zip(&report.calls).filter(|(_, call)| is_break(call)).map(|(at, _)| at).collect(),
            window: report.window,
        }
    }

    /// Highest drawn value.
    fn top(&self) -> f64 {
        let all = self.ours.iter().chain(&self.everything).chain(&self.sliding);
        let highest = all.copied().max().unwrap_or(0).max(self.window) as f64;
        (highest * 1.04).min(self.window as f64 * CLIP).max(1.0)
    }
}

/// One cell: a character and its series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ink {
    Nothing,
    Ours,
    Everything,
    Sliding,
    Window,
}

/// Size of a chart, in characters.
#[derive(Clone, Copy)]
pub(crate) struct ChartSize {
    /// All columns, with the axis.
    pub(crate) columns: usize,
    /// Rows of the plot.
    pub(crate) rows: usize,
}

/// Draws the chart. No line exceeds its columns, if there are at least 32.
pub(crate) fn draw(chart: &Chart, palette: Palette, size: ChartSize) -> String {
    let (width, rows) = (size.columns.saturating_sub(AXIS).max(24), size.rows.max(4));
    let top = chart.top();
    let level = |tokens: u64| tokens as f64 / top * rows as f64;
    let ours: Vec<f64> = columns(&chart.ours, width).into_iter().map(level).collect();
    let scale = |series: &[u64], n| columns(series, n).into_iter().map(level).collect::<Vec<_>>();
    let everything = Dots::line(&scale(&chart.everything, width * 2), rows);
    let sliding = Dots::points(&scale(&chart.sliding, width), rows);
    let window_row = rows.saturating_sub(1).saturating_sub((level(chart.window) as usize).min(rows - 1));
    let axis = Axis { rows, window_row, top, window: chart.window };
    let mut text = format!("{}\n", paint(palette.strong, "Prompt tokens per model call"));
    for row in 0..rows {
        let cells = (0..width).map(|column| {
            let fill = ours.get(column).copied().unwrap_or(0.0) - (rows - 1 - row) as f64;
            match (block(fill), everything.at(column, row), sliding.at(column, row)) {
                (Some(block), _, _) => (block, Ink::Ours),
                (None, Some(dots), _) => (dots, Ink::Everything),
                (None, None, Some(_)) => ('•', Ink::Sliding),
                _ if row == window_row => ('─', Ink::Window),
                _ => (' ', Ink::Nothing),
            }
        });
        let label = axis.label(row);
        let style = if row == window_row { palette.limit } else { palette.dim };
        text.push_str(&paint(style, label));
        text.push_str(&inked(cells, palette));
        text.push('\n');
    }
    text.push_str(&below(chart, palette, width));
    text
}

/// The block that fills a cell up to `fill`, from 0 to 1.
fn block(fill: f64) -> Option<char> {
    const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = (fill * 8.0).round();
    if eighths < 1.0 { None } else { EIGHTHS.get((eighths as usize).min(8) - 1).copied() }
}

/// The largest value in each of `width` columns; fewer values than columns are stretched.
fn columns(values: &[u64], width: usize) -> Vec<u64> {
    let n = values.len();
    let column = |at: usize| {
        let (from, to) = (at * n / width, ((at + 1) * n / width).max(at * n / width + 1));
        values.get(from..to.min(n)).and_then(|some| some.iter().max()).copied().unwrap_or(0)
    };
    (0..width).map(column).collect()
}

/// The axis at the left of the plot.
struct Axis {
    rows: usize,
    /// Row of the window's limit.
    window_row: usize,
    /// Tokens at the upper end.
    top: f64,
    window: u64,
}

impl Axis {
    fn label(&self, row: usize) -> String {
        if row == self.window_row {
            return format!("{:>6} ┼", short(self.window));
        }
        let every = (self.rows / 4).max(1);
        let from_below = self.rows - 1 - row;
        let is_tick =
            (row == 0 || (from_below + 1).is_multiple_of(every)) && row.abs_diff(self.window_row) > 1;
        if is_tick {
            let tokens = (from_below + 1) as f64 / self.rows as f64 * self.top;
            format!("{:>6} ┤", short(tokens.round() as u64))
        } else {
            format!("{:>6} │", "")
        }
    }
}

/// Cells with the least number of colour changes.
fn inked(cells: impl Iterator<Item = (char, Ink)>, palette: Palette) -> String {
    let mut runs: Vec<(String, Ink)> = Vec::new();
    for (cell, ink) in cells {
        match runs.last_mut() {
            Some((run, last)) if *last == ink => run.push(cell),
            _ => runs.push((cell.to_string(), ink)),
        }
    }
    if let Some((run, Ink::Nothing)) = runs.last_mut() {
        run.clear();
    }
    let style = |ink| match ink {
        Ink::Nothing => palette.dim,
        Ink::Ours => palette.ours,
        Ink::Everything => palette.everything,
        Ink::Sliding => palette.sliding,
        Ink::Window => palette.limit,
    };
    let shown = runs.into_iter().filter(|(run, _)| !run.is_empty());
    shown.map(|(run, ink)| if ink == Ink::Nothing { run } else { paint(style(ink), run) }).collect()
}

/// The axis, the breaks, the legend, and the places where a line leaves the chart.
fn below(chart: &Chart, palette: Palette, width: usize) -> String {
    let calls = chart.ours.len();
    let mut marks = vec!['─'; width];
    for at in &chart.breaks {
        if let Some(mark) = marks.get_mut(at * width / calls.max(1)) {
            *mark = '┴';
        }
    }
    let axis: String = marks.into_iter().collect();
    let (first, last) = ("call 1".to_owned(), calls.to_string());
    let gap = width.saturating_sub(first.len() + last.len());
    let mut lines = vec![
        paint(palette.dim, format!("{:>6} └{axis}", "0")),
        paint(palette.dim, format!("{:>AXIS$}{first}{:gap$}{last}", "", "")),
    ];
    let indent = " ".repeat(AXIS);
    let parts = [
        (palette.ours, "█ Unforget".to_owned()),
        (palette.everything, "⠒⠒ everything".to_owned()),
        (palette.sliding, "•• sliding window".to_owned()),
        (palette.limit, format!("── window {}", short(chart.window))),
        (palette.dim, format!("┴ {}", plural(chart.breaks.len() as u64, "break"))),
    ];
    let mut legend = String::new();
    let mut used = 0;
    for (style, part) in parts {
        let wide = part.chars().count() + 3;
        if used > 0 && used + wide > width {
            lines.push(format!("{indent}{legend}"));
            (legend, used) = (String::new(), 0);
        }
        let gap = if used > 0 { "   " } else { "" };
        legend = format!("{legend}{gap}{}", paint(style, part));
        used += wide;
    }
    lines.push(format!("{indent}{legend}"));
    let top = chart.top();
    let left = chart.everything.iter().position(|tokens| *tokens as f64 > top);
    if let (Some(at), Some(end)) = (left, chart.everything.iter().max()) {
        let note =
            format!("{indent}↑ everything leaves the chart at call {} and reaches {}", at + 1, short(*end));
        lines.push(paint(palette.everything, note.chars().take(width + AXIS).collect::<String>()));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
