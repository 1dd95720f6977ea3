//! A captured screen: rows of text with their styles.

/// A colour of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hue {
    /// One of the palette of 256.
    Palette(u8),
    /// Red, green and blue.
    Exact(u8, u8, u8),
}

/// How characters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::struct_excessive_bools, reason = "a terminal switches each of them alone")]
pub(super) struct Look {
    pub(super) ink: Option<Hue>,
    pub(super) paper: Option<Hue>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underlined: bool,
    pub(super) swapped: bool,
}

/// Characters of one look, side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Its first column, from 0.
    pub(super) column: usize,
    /// Columns that it takes.
    pub(super) width: usize,
    pub(super) text: String,
    pub(super) look: Look,
}

/// What the terminal shows at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Screen {
    pub(super) rows: Vec<Vec<Stretch>>,
    /// Column and row of the cursor; `None` while it is hidden.
    pub(super) cursor: Option<(usize, usize)>,
}

impl Screen {
    /// Reads what `tmux capture-pane -e -p` printed, and column, row and visibility of the cursor behind it.
    pub(super) fn read(captured: &str) -> Option<Self> {
        let (text, place) = captured.trim_end_matches('\n').rsplit_once('\n')?;
        let mut words = place.split(' ').map(|word| word.parse().ok());
        let (column, row, shown): (usize, usize, usize) = (words.next()??, words.next()??, words.next()??);
        // tmux carries a look from one row into the next.
        let mut look = Look::default();
        let rows = text.split('\n').map(|line| read_row(line, &mut look)).collect();
        Some(Self { rows, cursor: (shown == 1).then_some((column, row)) })
    }
}

/// Splits a row where its look changes and at gaps, so that no font moves what stands behind a gap.
fn read_row(line: &str, look: &mut Look) -> Vec<Stretch> {
    let mut row: Vec<Stretch> = Vec::new();
    let (mut column, mut gap) = (0, 0);
    let mut rest = line.chars();
    while let Some(character) = rest.next() {
        if character == '\x1b' {
            read_escape(&mut rest, look);
            continue;
        }
        if character.is_control() {
            continue;
        }
        let width = width_of(character);
        let blank = character == ' ' && look.paper.is_none() && !look.swapped && !look.underlined;
        gap = if blank { gap + 1 } else { 0 };
        match row.last_mut() {
            Some(last) if last.look == *look && last.column + last.width == column && gap < 2 => {
                last.text.push(character);
                last.width += width;
            }
            _ if blank => {}
            _ => row.push(Stretch { column, width, text: character.to_string(), look: *look }),
        }
        column += width;
    }
    for stretch in &mut row {
        if stretch.look.paper.is_none() && !stretch.look.swapped && !stretch.look.underlined {
            let spaces = stretch.text.len() - stretch.text.trim_end_matches(' ').len();
            stretch.text.truncate(stretch.text.len() - spaces);
            stretch.width -= spaces;
        }
    }
    row.retain(|stretch| stretch.width > 0);
    row
}

/// Columns of a character: two for the scripts of East Asia.
fn width_of(character: char) -> usize {
    match u32::from(character) {
        0x300..=0x36f | 0x200b..=0x200f | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xff00..=0xff60
        | 0x1f300..=0x1faff => 2,
        _ => 1,
    }
}

/// Reads an escape sequence behind its first byte. Only those that choose a look have a meaning here.
fn read_escape(rest: &mut std::str::Chars<'_>, look: &mut Look) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for character in rest.by_ref() {
                if character.is_ascii_alphabetic() {
                    if character == 'm' {
                        choose(&parameters, look);
                    }
                    return;
                }
                parameters.push(character);
            }
        }
        // A title or a link: up to its end, `ESC \`.
        Some(']') => {
            while rest.next().is_some_and(|character| character != '\x1b') {}
            rest.next();
        }
        _ => {}
    }
}

fn choose(parameters: &str, look: &mut Look) {
    let mut codes = parameters.split([';', ':']).map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => *look = Look::default(),
            1 => look.bold = true,
            2 => look.dim = true,
            3 => look.italic = true,
            4 => look.underlined = true,
            7 => look.swapped = true,
            22 => (look.bold, look.dim) = (false, false),
            23 => look.italic = false,
            24 => look.underlined = false,
            27 => look.swapped = false,
            30..=37 => look.ink = Some(Hue::Palette(code - 30)),
            90..=97 => look.ink = Some(Hue::Palette(code - 82)),
            40..=47 => look.paper = Some(Hue::Palette(code - 40)),
            100..=107 => look.paper = Some(Hue::Palette(code - 92)),
            38 => look.ink = hue(&mut codes),
            48 => look.paper = hue(&mut codes),
            39 => look.ink = None,
            49 => look.paper = None,
            _ => {}
        }
    }
}

fn hue(codes: &mut impl Iterator<Item = u8>) -> Option<Hue> {
    match codes.next()? {
        5 => codes.next().map(Hue::Palette),
        2 => Some(Hue::Exact(codes.next()?, codes.next()?, codes.next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;

    #[test]
    fn a_row_splits_where_its_look_changes_and_at_gaps() {
        let table = [
            // captured                        columns and texts         why
            ("plain words", "0:plain words", "one stretch"),
            ("\x1b[1mbold\x1b[0m rest", "0:bold|5:rest", "the look ends"),
            ("id   title", "0:id|5:title", "a gap keeps its columns in any font"),
            ("\x1b[48;5;4m a \x1b[49m", "0: a ", "blanks on a colour are seen"),
            ("高松 x", "0:高松 x", "wide characters"),
            ("\x1b]8;;file:///x\x1b\\link\x1b]8;;\x1b\\", "0:link", "a link shows its words"),
            ("a\x0eb", "0:ab", "control characters are dropped"),
        ];
        for (captured, want, why) in table {
            let row = read_row(captured, &mut Look::default());
            let got: Vec<String> = row.iter().map(|part| format!("{}:{}", part.column, part.text)).collect();
            assert_eq!(got.join("|"), want, "{why}");
        }
    }

    #[test]
    fn a_screen_has_looks_and_a_cursor() {
        let screen = Screen::read("\x1b[0;2mdim\nstill\x1b[38;2;1;2;3m ink\n2 1 1\n").unwrap();
        assert!(screen.rows[0][0].look.dim && screen.rows[1][0].look.dim);
        assert_eq!(screen.rows[1].last().unwrap().look.ink, Some(Hue::Exact(1, 2, 3)));
        assert_eq!(screen.cursor, Some((2, 1)));
        assert_eq!(Screen::read("a\n0 0 0\n").unwrap().cursor, None);
        assert_eq!(Screen::read("no place"), None);
    }
}
