//! Cuts a text at colours and other codes for terminals, which are no words.

/// Forms of the letter that begins a code: itself, or written out.
const STARTS: [&str; 6] = ["\u{1b}", "\\u001b", "\\u001B", "\\x1b", "\\033", "\\e"];

/// Most bytes of the numbers of a code.
const NUMBERS_BYTES: usize = 24;

/// The largest number of a colour.
const COLOUR_MAX: u8 = 107;

/// The pieces of a text between codes; all of the text if it has none. Cost: linear.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let piece = rest.take()?;
        let Some((start, end)) = code(piece) else { return Some(piece) };
        rest = piece.get(end..);
        piece.get(..start)
    })
}

/// Where the first code begins and ends.
fn code(text: &str) -> Option<(usize, usize)> {
    memchr::memchr_iter(b'[', text.as_bytes()).find_map(|at| {
        let (before, behind) = (text.get(..at)?, text.get(at + 1..)?);
        let length = behind.bytes().take(NUMBERS_BYTES).take_while(|byte| is_of_numbers(*byte)).count();
        let (numbers, last) = (behind.get(..length)?, behind.as_bytes().get(length)?);
        let end = at + 1 + length + 1;
        match STARTS.iter().find_map(|start| before.strip_suffix(start)) {
            Some(before) if last.is_ascii_alphabetic() => Some((before.len(), end)),
            Some(_) => None,
            // Some hosts drop the letter that begins a code. Brackets may hold a time (`[5m]`).
            None => {
                let is_colour = *last == b'm' && numbers.split(';').all(is_colour_number);
                (is_colour && text.as_bytes().get(end) != Some(&b']')).then_some((at, end))
            }
        }
    })
}

const fn is_of_numbers(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b';' | b'?')
}

fn is_colour_number(number: &str) -> bool {
    number.parse().is_ok_and(|number: u8| number <= COLOUR_MAX)
}
