//! Pieces of SVG.

use std::fmt::Write;

/// The area of a chart inside its picture, and the scale of its axes. In units of the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    /// Size of the picture.
    pub(super) width: f64,
    /// Height of the picture.
    pub(super) height: f64,
    /// Left of the axis.
    pub(super) left: f64,
    /// Space on the right.
    pub(super) right: f64,
    /// Space above.
    pub(super) top: f64,
    /// Space below, for the labels.
    pub(super) bottom: f64,
    /// Number of points along the x axis.
    pub(super) points: usize,
    /// Value at the top of the y axis.
    pub(super) max: f64,
}

impl Plot {
    /// A plot of this many points, `max` high.
    pub(super) const fn new(height: f64, points: usize, max: f64) -> Self {
        Self { width: 1_080.0, height, left: 56.0, right: 96.0, top: 18.0, bottom: 30.0, points, max }
    }

    /// Middle of a point's column.
    pub(super) fn x(&self, at: usize) -> f64 {
        self.left + (at as f64 + 0.5) * self.step()
    }

    /// Width of a point's column.
    pub(super) fn step(&self) -> f64 {
        (self.width - self.left - self.right) / self.points.max(1) as f64
    }

    /// Height of a value; values above the plot are clamped to its upper edge.
    pub(super) fn y(&self, value: f64) -> f64 {
        let share = if self.max > 0.0 { (value / self.max).clamp(0.0, 1.0) } else { 0.0 };
        let below = self.height - self.bottom;
        below - share * (below - self.top)
    }

    /// The right end of the axis.
    pub(super) fn end(&self) -> f64 {
        self.width - self.right
    }

    /// The picture with `body` in it.
    pub(super) fn picture(&self, id: &str, title: &str, body: &str) -> String {
        let (width, height, title) = (self.width, self.height, escape(title));
        let (left, end, points) = (self.left, self.end(), self.points);
        format!(
            "<svg id=\"{id}\" class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t\" \
             data-left=\"{left}\" data-end=\"{end}\" data-points=\"{points}\"><title id=\"{id}-t\">{title}</title>{body}</svg>"
        )
    }

    /// Grid lines and labels of the y axis, at round numbers.
    pub(super) fn y_axis(&self, label: impl Fn(f64) -> String) -> String {
        let mut text = String::new();
        let step = round_step(self.max, 4.0);
        let mut value = 0.0;
        while value <= self.max {
            let y = self.y(value);
            write!(
                text,
                "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                self.left,
                self.end(),
                self.left - 8.0,
                y + 4.0,
                escape(&label(value))
            )
            .ok();
            value += step;
        }
        text
    }

    /// Labels of the x axis: numbers of calls.
    pub(super) fn x_axis(&self, numbers: &[u64]) -> String {
        let mut text = String::new();
        let n = numbers.len();
        let shown = 6.min(n);
        for index in 0..shown {
            let at = if shown == 1 { 0 } else { index * (n - 1) / (shown - 1) };
            let number = numbers.get(at).copied().unwrap_or(0);
            let name = if index == 0 { format!("call {number}") } else { number.to_string() };
            let (x, y) = (self.x(at), self.height - 8.0);
            write!(text, "<text class=\"tick\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>")
                .ok();
        }
        text
    }

    /// A line through values. Parts above the plot are left out.
    pub(super) fn line(&self, class: &str, values: &[f64]) -> String {
        let mut path = String::new();
        let mut is_inside = false;
        for (at, value) in values.iter().enumerate() {
            let fits = *value <= self.max;
            if fits || is_inside {
                let command = if is_inside { 'L' } else { 'M' };
                write!(path, "{command}{:.1} {:.1}", self.x(at), self.y(*value)).ok();
            }
            is_inside = fits;
        }
        format!("<path class=\"line {class}\" d=\"{path}\"/>")
    }

    /// The area between two rows of values, as steps: one column per point.
    pub(super) fn steps(&self, class: &str, low: &[f64], high: &[f64]) -> String {
        let half = self.step() / 2.0;
        let mut path = String::new();
        for (at, value) in high.iter().enumerate() {
            let (x, y) = (self.x(at), self.y(*value));
            let command = if at == 0 { 'M' } else { 'L' };
            write!(path, "{command}{:.1} {y:.1}H{:.1}", x - half, x + half).ok();
        }
        for (at, value) in low.iter().enumerate().rev() {
            let (x, y) = (self.x(at), self.y(*value));
            write!(path, "L{:.1} {y:.1}H{:.1}", x + half, x - half).ok();
        }
        format!("<path class=\"area {class}\" d=\"{path}Z\"/>")
    }

    /// The upper edge of columns.
    pub(super) fn edge(&self, class: &str, values: &[f64]) -> String {
        let half = self.step() / 2.0;
        let mut path = String::new();
        for (at, value) in values.iter().enumerate() {
            let (x, y) = (self.x(at), self.y(*value));
            let command = if at == 0 { 'M' } else { 'L' };
            write!(path, "{command}{:.1} {y:.1}H{:.1}", x - half, x + half).ok();
        }
        format!("<path class=\"line {class}\" d=\"{path}\"/>")
    }
}

/// Escapes text for HTML and SVG, attributes included. Control characters are dropped.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c if c.is_control() && c != '\n' => (),
            c => safe.push(c),
        }
    }
    safe
}

/// A round step that divides `max` into about `parts`.
fn round_step(max: f64, parts: f64) -> f64 {
    if max <= 0.0 || !max.is_finite() {
        return 1.0;
    }
    let rough = max / parts;
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (max, want) in [(64_000.0, 20_000.0), (1.0, 0.25), (10.0, 2.5), (900.0, 250.0)] {
            assert!((round_step(max, 4.0) - want).abs() < 1e-9, "{max}: {}", round_step(max, 4.0));
        }
        assert!((round_step(0.0, 4.0) - 1.0).abs() < 1e-9, "no endless loop");
    }

    #[test]
    fn nothing_can_break_out() {
        assert_eq!(escape("</script><b a='\"'>&\u{1b}"), "&lt;/script&gt;&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
