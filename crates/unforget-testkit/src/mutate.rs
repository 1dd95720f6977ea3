//! Damaged lines and files, as left by disks, crashes, editors and faulty programs.

use unforget_bench::Random;

/// A way to damage a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mutation {
    /// Ends early.
    #[default]
    Cut,
    /// Loses its beginning.
    Behead,
    /// Some bits are flipped.
    Flip,
    /// A run of bytes became NUL, as after a power loss.
    Zero,
    /// A piece occurs twice.
    Repeat,
    /// Two pieces change places.
    Swap,
    /// Random bytes in between, invalid UTF-8 included.
    Insert,
    /// A value nested some thousand levels deep.
    Deepen,
    /// A lone surrogate escape inside a string.
    Surrogate,
    /// A key occurs twice, with different values.
    DuplicateKey,
    /// A number beyond every machine type.
    HugeNumber,
    /// A carriage return at the end.
    CarriageReturn,
    /// A byte order mark in front.
    Mark,
    /// A second value on the line.
    Glue,
    /// Line separators other than newlines: U+2028, U+0085, form feed.
    Separator,
    /// A value changed its type: a string became a number, null, an array or an object.
    Retype,
}

impl Mutation {
    /// Every mutation.
    pub const ALL: [Self; 16] = [
        Self::Cut,
        Self::Behead,
        Self::Flip,
        Self::Zero,
        Self::Repeat,
        Self::Swap,
        Self::Insert,
        Self::Deepen,
        Self::Surrogate,
        Self::DuplicateKey,
        Self::HugeNumber,
        Self::CarriageReturn,
        Self::Mark,
        Self::Glue,
        Self::Separator,
        Self::Retype,
    ];
}

/// A line, damaged once or, one time in four, several times. No new newline is added.
pub fn mutate(line: &[u8], random: &mut Random) -> Vec<u8> {
    let times = if random.chance(0.25) { 2 + random.below(4) } else { 1 };
    let mut damaged = line.to_vec();
    for _ in 0..times {
        let mutation = random.pick(&Mutation::ALL);
        damaged = apply(mutation, damaged, random);
    }
    damaged
}

/// A file in which about one line in `every` is damaged, lost, doubled or exchanged with its neighbour.
pub fn mutate_lines(file: &[u8], every: usize, random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = file.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for at in 0..lines.len() {
        if random.below(every.max(1)) > 0 {
            continue;
        }
        match random.below(10) {
            0 => lines.swap(at, at.saturating_sub(1)),
            1 => {
                if let Some(line) = lines.get_mut(at) {
                    *line = [line.as_slice(), line.as_slice()].concat();
                }
            }
            2 => {
                if let Some(line) = lines.get_mut(at) {
                    line.clear();
                }
            }
            _ => {
                if let Some(line) = lines.get_mut(at) {
                    let ended = line.pop_if(|last| *last == b'\n').is_some();
                    *line = mutate(line, random);
                    // Sometimes the newline is lost too, which glues the next line on.
                    if ended && random.chance(0.9) {
                        line.push(b'\n');
                    }
                }
            }
        }
    }
    lines.concat()
}

/// A line, damaged in this way.
pub fn apply(mutation: Mutation, mut line: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let at = random.below(line.len() + 1);
    match mutation {
        Mutation::Cut => line.truncate(at),
        Mutation::Behead => line = line.split_off(at),
        Mutation::Flip => {
            for _ in 0..=random.below(4) {
                let (place, bit) = (random.below(line.len()), random.below(8));
                if let Some(byte) = line.get_mut(place) {
                    let flipped = *byte ^ (1 << bit);
                    *byte = if flipped == b'\n' { b'?' } else { flipped };
                }
            }
        }
        Mutation::Zero => {
            let run = random.below(64);
            line.iter_mut().skip(at).take(run).for_each(|byte| *byte = 0);
        }
        Mutation::Repeat => {
            let piece: Vec<u8> = line.iter().skip(at).take(1 + random.below(200)).copied().collect();
            line = insert(&line, at, &piece);
        }
        Mutation::Swap => {
            let other = random.below(line.len());
            if at < line.len() {
                line.swap(at, other);
            }
        }
        Mutation::CarriageReturn => line.push(b'\r'),
        _ => {
            let (place, piece) = addition(mutation, &line, random);
            line = insert(&line, place, &piece);
        }
    }
    line
}

/// The inserted piece of a mutation, and its place. Only for inserting mutations.
fn addition(mutation: Mutation, line: &[u8], random: &mut Random) -> (usize, Vec<u8>) {
    let at = random.below(line.len() + 1);
    let (place, piece) = match mutation {
        Mutation::Insert => {
            let bytes = (0..=random.below(16)).map(|_| (random.bits() as u8).max(11)).collect();
            return (at, bytes);
        }
        Mutation::Deepen => {
            let depth = 1 + random.below(5_000);
            let (open, close) = if random.chance(0.5) { ("[", "]") } else { ("{\"a\":", "}") };
            (after(line, b":", random), format!("{}1{},\"x\":", open.repeat(depth), close.repeat(depth)))
        }
        Mutation::Surrogate => {
            let escape = random.pick(&["\\ud83d", "\\udc00", "\\udc00\\ud83d", "\\uD800x"]);
            (after(line, b":\"", random), escape.to_string())
        }
        Mutation::DuplicateKey => {
            let pairs = [
                "\"type\":\"user\",",
                "\"id\":\"0\",",
                "\"role\":\"tool\",",
                "\"content\":[],",
                "\"message\":null,",
                "\"uuid\":1,",
            ];
            (after(line, b"{", random), random.pick(&pairs).to_string())
        }
        Mutation::HugeNumber => {
            let number =
                random.pick(&["1e999", "-0", "123456789012345678901234567890", "1e-999", "00", "NaN"]);
            (after(line, b":", random), format!("{number},\"x\":"))
        }
        Mutation::Retype => {
            let value = random.pick(&["null", "0", "true", "[]", "{}", "\"\"", "[{}]"]);
            (after(line, b":", random), format!("{value},\"x\":"))
        }
        Mutation::Mark => (0, "\u{feff}".to_string()),
        Mutation::Glue => {
            let second = ["{}", "{\"type\":\"summary\"}", "[1]", "null", "{\"type\":", " \"x\""];
            (line.len(), random.pick(&second).to_string())
        }
        _ => (at, random.pick(&["\u{2028}", "\u{2029}", "\u{85}", "\u{c}", "\u{b}"]).to_string()),
    };
    (place, piece.into_bytes())
}

fn insert(line: &[u8], at: usize, piece: &[u8]) -> Vec<u8> {
    let (head, tail) = line.split_at(at.min(line.len()));
    [head, piece, tail].concat()
}

/// A place right behind some occurrence of `what`; any place if there is none.
fn after(line: &[u8], what: &[u8], random: &mut Random) -> usize {
    let places: Vec<usize> =
        line.windows(what.len()).enumerate().filter(|(_, piece)| *piece == what).map(|(at, _)| at).collect();
    match places.get(random.below(places.len())) {
        Some(at) => at + what.len(),
        None => random.below(line.len() + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hostile::{Size, history};
    use crate::render;

    const LINE: &[u8] =
        br#"{"type":"message","id":"00000001","message":{"role":"user","content":"hello there"}}"#;

    #[test]
    fn every_mutation_changes_a_line_and_adds_no_newline() {
        for mutation in Mutation::ALL {
            let made: Vec<Vec<u8>> =
                (0..50).map(|seed| apply(mutation, LINE.to_vec(), &mut Random::new(seed))).collect();
            assert!(made.iter().any(|line| line != LINE), "{mutation:?} changes nothing");
            assert!(made.iter().all(|line| !line.contains(&b'\n')), "{mutation:?} adds a newline");
        }
    }

    #[test]
    fn empty_lines_survive() {
        for mutation in Mutation::ALL {
            for seed in 0..20 {
                apply(mutation, Vec::new(), &mut Random::new(seed));
            }
        }
    }

    #[test]
    fn some_damage_leaves_json_and_some_does_not() {
        let parses = (0..400)
            .filter(|seed| {
                serde_json::from_slice::<serde_json::Value>(&mutate(LINE, &mut Random::new(*seed))).is_ok()
            })
            .count();
        assert!((40..360).contains(&parses), "{parses} of 400 still parse");
    }

    #[test]
    fn damage_to_a_file_is_repeatable() {
        let file = render::pi(&history(3, Size::SMALL));
        let damaged = |seed| mutate_lines(&file, 3, &mut Random::new(seed));
        assert_eq!(damaged(1), damaged(1));
        assert_ne!(damaged(1), file);
        assert_eq!(mutate_lines(b"", 1, &mut Random::new(1)), b"");
    }
}
