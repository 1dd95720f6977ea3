//! Draws successive screens as one animated SVG.
//!
//! All screens stand side by side on a strip, which jumps from one to the next. The first place on the strip is the
//! poster, for viewers that animate nothing and for people who want less motion. A row that several screens have is
//! stored once.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::screen::{Hue, Look, Screen, Stretch};

/// Size of the terminal, in characters.
pub(super) const COLUMNS: usize = 100;
pub(super) const ROWS: usize = 30;

/// Size of a character, in tenths of a pixel.
const CELL_WIDTH: usize = 84;
const CELL_HEIGHT: usize = 180;
/// From the top of a row to the line on which its characters stand, in tenths of a pixel.
const BASELINE: usize = 137;
const FONT_PIXELS: usize = 14;
/// Around the terminal, in pixels.
const MARGIN: usize = 14;

const PAPER: &str = "#0d1117";
const INK: &str = "#d5dbe3";
/// Dim ink, mixed with the paper.
const DIM: &str = "#848d97";
const CURSOR: &str = "#8b949e";
/// The first sixteen of the palette.
const PALETTE: [&str; 16] = [
    "#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#d5dbe3", "#6e7681",
    "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#ffffff",
];

/// A screen and how long it stands.
struct Frame {
    screen: Screen,
    stands_ms: u32,
}

/// Screens in the order of time.
#[derive(Default)]
pub(super) struct Film {
    frames: Vec<Frame>,
    poster: usize,
}

impl Film {
    /// Adds a screen; one that looks like the screen before makes that one stand longer.
    pub(super) fn add(&mut self, screen: Screen, stands_ms: u32) {
        match self.frames.last_mut() {
            Some(last) if last.screen == screen => last.stands_ms += stands_ms,
            _ => self.frames.push(Frame { screen, stands_ms }),
        }
    }

    /// Makes the newest screen the one for viewers without animation.
    pub(super) fn mark_poster(&mut self) {
        self.poster = self.frames.len().saturating_sub(1);
    }

    /// Milliseconds from the first screen to the end of the last.
    pub(super) fn duration_ms(&self) -> u32 {
        self.frames.iter().map(|frame| frame.stands_ms).sum()
    }

    /// The picture.
    pub(super) fn svg(&self) -> String {
        let mut rows = Rows::default();
        let mut strip = String::new();
        let poster = self.frames.get(self.poster).into_iter();
        for (place, frame) in poster.chain(&self.frames).enumerate() {
            strip += &rows.frame(&frame.screen, place * width());
        }
        let (across, down) = (pixels(width()) + 2 * MARGIN, pixels(height()) + 2 * MARGIN);
        let (inner_width, inner_height) = (pixels(width()), pixels(height()));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{across}\" height=\"{down}\" viewBox=\"0 0 {across} {down}\">\n\
             <title>Unforget in a terminal: import, list, search, ledger, read, resume, export</title>\n<style>\n{}{}</style>\n\
             <rect width=\"{across}\" height=\"{down}\" rx=\"8\" fill=\"{PAPER}\"/>\n<defs>\n",
            self.motion(),
            rows.rules(),
        );
        svg += &rows.definitions();
        let _ = write!(
            svg,
            "</defs>\n<svg x=\"{MARGIN}\" y=\"{MARGIN}\" width=\"{inner_width}\" height=\"{inner_height}\">\n\
             <g class=\"film\">\n{strip}</g>\n</svg>\n</svg>\n"
        );
        svg
    }

    /// The jumps of the strip.
    fn motion(&self) -> String {
        let duration = self.duration_ms().max(1);
        let mut rules = String::from("@keyframes film{\n");
        let mut begin = 0;
        for (place, frame) in self.frames.iter().enumerate() {
            let percent = f64::from(begin) * 100.0 / f64::from(duration);
            let left = (place + 1) * pixels(width());
            let _ = writeln!(rules, "{percent:.3}%{{transform:translateX(-{left}px)}}");
            begin += frame.stands_ms;
        }
        let left = self.frames.len() * pixels(width());
        let _ = writeln!(rules, "100%{{transform:translateX(-{left}px)}}\n}}");
        let _ = writeln!(rules, ".film{{animation:film {duration}ms step-end infinite}}");
        rules += "@media (prefers-reduced-motion:reduce){.film{animation:none}}\n";
        rules
    }
}

/// Width of a screen, in tenths of a pixel.
fn width() -> usize {
    COLUMNS * CELL_WIDTH
}

/// Height of a screen, in tenths of a pixel.
fn height() -> usize {
    ROWS * CELL_HEIGHT
}

fn pixels(tenths: usize) -> usize {
    tenths / 10
}

/// A length in pixels, without a fraction where there is none.
fn length(tenths: usize) -> String {
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        fraction => format!("{}.{fraction}", tenths / 10),
    }
}

/// Rows that screens show, and the looks that rows have, each with a number.
#[derive(Default)]
struct Rows {
    rows: BTreeMap<String, usize>,
    looks: BTreeMap<Look, usize>,
}

impl Rows {
    fn frame(&mut self, screen: &Screen, left: usize) -> String {
        let mut drawn = format!("<g transform=\"translate({})\">", length(left));
        if let Some((column, row)) = screen.cursor {
            let _ = write!(
                drawn,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{CURSOR}\"/>",
                length(column * CELL_WIDTH),
                length(row * CELL_HEIGHT),
                length(CELL_WIDTH),
                length(CELL_HEIGHT),
            );
        }
        for (place, row) in screen.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
            let mut text = String::new();
            for stretch in row {
                text += &self.stretch(stretch);
            }
            let next = self.rows.len();
            let number = *self.rows.entry(text).or_insert(next);
            let _ = write!(drawn, "<use href=\"#r{number}\" y=\"{}\"/>", length(place * CELL_HEIGHT));
        }
        drawn += "</g>\n";
        drawn
    }

    fn stretch(&mut self, stretch: &Stretch) -> String {
        let next = self.looks.len();
        let look = *self.looks.entry(stretch.look).or_insert(next);
        let (left, across) = (length(stretch.column * CELL_WIDTH), length(stretch.width * CELL_WIDTH));
        let mut drawn = String::new();
        if let Some(paper) = paper(stretch.look) {
            let high = length(CELL_HEIGHT);
            let _ =
                write!(drawn, "<rect x=\"{left}\" width=\"{across}\" height=\"{high}\" fill=\"{paper}\"/>");
        }
        let base = length(BASELINE);
        let text = escaped(&stretch.text);
        // A font of another width is stretched into its columns.
        let _ = write!(
            drawn,
            "<text x=\"{left}\" y=\"{base}\" class=\"k{look}\" textLength=\"{across}\" lengthAdjust=\"spacingAndGlyphs\">{text}</text>"
        );
        drawn
    }

    fn definitions(&self) -> String {
        let mut ordered: Vec<(&usize, &String)> =
            self.rows.iter().map(|(text, number)| (number, text)).collect();
        ordered.sort();
        let line = |(number, text)| format!("<g id=\"r{number}\">{text}</g>\n");
        ordered.into_iter().map(line).collect()
    }

    fn rules(&self) -> String {
        let mut rules = format!(
            "text{{font:{FONT_PIXELS}px ui-monospace,SFMono-Regular,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;white-space:pre}}\n"
        );
        for (look, number) in &self.looks {
            let _ = write!(rules, ".k{number}{{fill:{}", ink(*look));
            rules += if look.bold { ";font-weight:bold" } else { "" };
            rules += if look.italic { ";font-style:italic" } else { "" };
            rules += if look.underlined { ";text-decoration:underline" } else { "" };
            rules += "}\n";
        }
        rules
    }
}

fn ink(look: Look) -> String {
    match (look.swapped, look.ink, look.paper) {
        (true, _, paper) => paper.map_or_else(|| PAPER.to_owned(), named),
        (false, None, _) if look.dim => DIM.to_owned(),
        (false, ink, _) => ink.map_or_else(|| INK.to_owned(), named),
    }
}

fn paper(look: Look) -> Option<String> {
    if look.swapped {
        return Some(look.ink.map_or_else(|| INK.to_owned(), named));
    }
    look.paper.map(named)
}

/// A colour as CSS names it: the palette's cube and its greys are computed as terminals do.
fn named(hue: Hue) -> String {
    let (red, green, blue) = match hue {
        Hue::Palette(index) => match (PALETTE.get(usize::from(index)), index) {
            (Some(name), _) => return (*name).to_owned(),
            (None, 232..) => (8 + 10 * (index - 232), 8 + 10 * (index - 232), 8 + 10 * (index - 232)),
            (None, _) => (level((index - 16) / 36), level((index - 16) / 6 % 6), level((index - 16) % 6)),
        },
        Hue::Exact(red, green, blue) => (red, green, blue),
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Brightness of a step of the palette's cube.
fn level(step: u8) -> u8 {
    if step == 0 { 0 } else { 55 + 40 * step }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn screen(text: &str) -> Screen {
        Screen::read(&format!("{text}\n0 0 0\n")).unwrap()
    }

    #[test]
    fn equal_rows_are_stored_once_and_equal_screens_stand_longer() {
        let mut film = Film::default();
        film.add(screen("$ a <b>\nsame"), 100);
        film.add(screen("$ a <b>\nsame"), 50);
        film.add(screen("other\nsame"), 350);
        film.mark_poster();
        let svg = film.svg();
        assert_eq!(film.duration_ms(), 500);
        assert_eq!(svg.matches(">same<").count(), 1);
        assert_eq!(svg.matches("<use ").count(), 6, "two screens and the poster");
        assert!(svg.contains("$ a &lt;b&gt;") && svg.contains("30.000%{transform:translateX(-1680px)}"));
    }

    #[test]
    fn colours_have_names() {
        let table = [
            (Hue::Palette(1), "#ff7b72"),
            (Hue::Palette(16), "#000000"),
            (Hue::Palette(196), "#ff0000"),
            (Hue::Palette(232), "#080808"),
            (Hue::Exact(1, 2, 255), "#0102ff"),
        ];
        for (hue, want) in table {
            assert_eq!(named(hue), want, "{hue:?}");
        }
    }
}
