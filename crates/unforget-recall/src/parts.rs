//! Large parts: a part may hold a fraction of a literal that continues in the surrounding text.
//!
//! A large part is the inside of a JSON string that is stored apart from its entry, so the entry has a double quote at
//! each of its edges. A part is longer than any literal. So a literal that is neither whole in the entry nor whole in a
//! part ends in one part, begins in another, or both.

use regex::bytes::Regex;

use crate::escapes::{self, Edge};
use crate::filter;
use crate::literals::Need;

/// Most bytes of JSON for one byte of text.
const ESCAPED_MAX: usize = 6;

/// How much of a clause a part may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// Nothing.
    Nothing,
    /// The beginning or end of a literal, at an edge where the surrounding text may complete it.
    Edge,
    /// A whole literal.
    Whole,
}

/// Determines by filters how much of a clause a part may hold.
///
/// * `around` - filter of the chunk from which the part was cut.
/// * `part` - filter of the part.
pub fn touch(around: &[u8], part: &[u8], clause: &[Vec<u8>]) -> Touch {
    if filter::holds(part, clause) {
        Touch::Whole
    } else if pieces(clause).any(|piece| piece.fits(around, part)) {
        Touch::Edge
    } else {
        Touch::Nothing
    }
}

/// The beginning or end of a literal that a part can hold, up to the quote at the part's edge.
struct Piece<'a> {
    in_part: &'a [u8],
    /// The least content of the surrounding text: from the quote to the next one, or to the end of the literal.
    around: &'a [u8],
    edge: Edge,
}

impl Piece<'_> {
    fn fits(&self, around: &[u8], part: &[u8]) -> bool {
        filter::may_hold(around, self.around) && filter::may_hold(part, self.in_part)
    }
}

fn pieces(clause: &[Vec<u8>]) -> impl Iterator<Item = Piece<'_>> {
    let quote = |byte: &u8| *byte == b'"';
    clause.iter().flat_map(move |literal| {
        let quotes = literal.iter().enumerate().filter(move |(_, byte)| quote(byte));
        quotes.flat_map(move |(at, _)| {
            let (before, from) = literal.split_at_checked(at).unwrap_or_default();
            let (until, after) = literal.split_at_checked(at + 1).unwrap_or_default();
            // Beyond the next quote there may be another part.
            let next = from.iter().skip(1).position(quote).map_or(from.len(), |next| next + 2);
            let last = before.iter().rposition(quote).unwrap_or(0);
            let end = Piece { in_part: before, around: from.get(..next).unwrap_or(from), edge: Edge::End };
            let start =
                Piece { in_part: after, around: until.get(last..).unwrap_or(until), edge: Edge::Start };
            [end, start].into_iter().filter(|piece| !piece.in_part.is_empty())
        })
    })
}

/// Searches the bytes of a part for the result that [`touch`] estimates from its filter.
#[derive(Debug)]
pub struct Probe {
    /// `None` if it is too large to compile: then every part may match.
    finder: Option<Finder>,
}

#[derive(Debug)]
struct Finder {
    whole: Regex,
    /// Ends of literals, at the start of a part; `None` without any.
    start: Option<Regex>,
    /// Beginnings of literals, at the end of a part; `None` without any.
    end: Option<Regex>,
    /// The rest of these literals, in the surrounding text; `None` without any.
    around: Option<Regex>,
    /// Number of bytes at either edge of a part that can hold such a fraction.
    reach: usize,
}

impl Probe {
    /// One probe for each clause.
    pub fn all(need: &Need) -> Vec<Self> {
        need.clauses().iter().map(|clause| Self { finder: Finder::new(clause) }).collect()
    }

    /// Whether `part` has a literal of the clause, or at its edges the beginning or end of one. False positives are
    /// possible, false negatives are not. Cost: O(part).
    pub fn finds(&self, part: &[u8]) -> bool {
        let Some(finder) = &self.finder else { return true };
        let reach = finder.reach.min(part.len());
        let head = part.get(..reach).unwrap_or(part);
        let tail = part.get(part.len() - reach..).unwrap_or(part);
        finder.start.as_ref().is_some_and(|start| start.is_match(head))
            || finder.end.as_ref().is_some_and(|end| end.is_match(tail))
            || finder.has_whole(part)
    }

    /// Whether an entry may have a literal of the clause.
    ///
    /// * `text` - the entry's text around its parts.
    /// * `touch` - the most that any of the parts may hold.
    ///
    /// False positives are possible, false negatives are not. Cost: O(text).
    pub fn finds_around(&self, text: &[u8], touch: Touch) -> bool {
        let Some(finder) = &self.finder else { return true };
        match touch {
            Touch::Whole => true,
            Touch::Edge => {
                finder.around.as_ref().is_some_and(|around| around.is_match(text)) || finder.has_whole(text)
            }
            Touch::Nothing => finder.has_whole(text),
        }
    }
}

impl Finder {
    fn has_whole(&self, bytes: &[u8]) -> bool {
        self.whole.is_match(bytes) || escapes::has_ascii_unit(bytes)
    }

    fn new(clause: &[Vec<u8>]) -> Option<Self> {
        let at = |edge: Edge| -> Option<Option<Regex>> {
            let pieces = pieces(clause).filter(|piece| piece.edge == edge);
            let pieces: Vec<Vec<u8>> = pieces.map(|piece| piece.in_part.to_vec()).collect();
            if pieces.is_empty() { Some(None) } else { Some(Some(escapes::escaped(&pieces, Some(edge))?)) }
        };
        let around: Vec<Vec<u8>> = pieces(clause).map(|piece| piece.around.to_vec()).collect();
        let longest = clause.iter().map(Vec::len).max().unwrap_or(0);
        Some(Self {
            whole: escapes::escaped(clause, None)?,
            start: at(Edge::Start)?,
            end: at(Edge::End)?,
            around: if around.is_empty() { None } else { Some(escapes::escaped(&around, None)?) },
            reach: longest.saturating_mul(ESCAPED_MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;
    use crate::grep::Pattern;

    #[test]
    fn touch_table() {
        let table = [
            // pattern, part, by filters, by bytes, why
            ("needle", "a needle b", true, true, "whole in the part"),
            ("needle", "nothing", false, false, "nowhere"),
            (r#"needle"}x"#, "a needle", false, true, "the text around has no such rest"),
            (r#"needle"}"#, "a needle", true, true, "begins in the part, ends around it"),
            (r#"needle"}"#, "a needle b", true, false, "not at the edge"),
            (r#"(?i)NEEDLE"}"#, "a nEEdle", true, true, "any case"),
            (r#"":"needle"#, "needle b", true, true, "ends in the part"),
            (r#"":"needle"#, "a needle", true, false, "at the other edge"),
            (r#""needle"#, r#"a \"needle b"#, true, true, "an escaped quote inside"),
            ("a\nb\"}", r"x a\nb", true, true, "an escape at the edge"),
            (r#"x","text":"y"#, "zzx", true, true, "from one part to another: the first"),
            (r#"x","text":"y"#, "yzz", true, true, "the second"),
            ("needle", r"n\u0065edle", true, true, "escaped letters"),
        ];
        let around = filter::build(br#"{"text":"","text":""}"#);
        for (pattern, part, by_filter, by_bytes, why) in table {
            let pattern = Pattern::new(pattern).unwrap();
            let filter = filter::build(part.as_bytes());
            let touched = |clause: &Vec<Vec<u8>>| touch(&around, &filter, clause) > Touch::Nothing;
            let touched = pattern.need().clauses().iter().all(touched);
            let found = Probe::all(pattern.need()).iter().all(|probe| probe.finds(part.as_bytes()));
            assert_eq!((touched, found), (by_filter, by_bytes), "{why}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// For every match in an entry, each clause occurs in the text around the parts or touches one of them.
        #[test]
        fn f104_every_match_is_led_to(
            texts in prop::collection::vec(r#"([a-c]|[A-C]|\\n|\\"|\\\\|é|\\u00e9|\\u0061){0,12}"#, 1..3),
            pattern in r#"(\(\?i\))?([a-c]{1,4}|"|"\},\{"|\\n|é|\[ab\]|b\+|\.){1,6}"#,
        ) {
            let Ok(pattern) = Pattern::new(&pattern) else { return Ok(()) };
            let closed = vec![r#"{""}"#; texts.len()].join(",");
            let parts: Vec<String> = texts.iter().map(|text| format!("{text}{text}{text}")).collect();
            let entry: Vec<String> = parts.iter().map(|part| format!(r#"{{"{part}"}}"#)).collect();
            if !pattern.is_match(entry.join(",").as_bytes()) { return Ok(()) }
            // Parts are longer than any literal.
            let long = pattern.need().clauses().iter().flatten().map(Vec::len).max().unwrap_or(0);
            if parts.iter().any(|part| part.len() <= long * ESCAPED_MAX) { return Ok(()) }
            let around = filter::build(closed.as_bytes());
            let probes = Probe::all(pattern.need());
            for (clause, probe) in pattern.need().clauses().iter().zip(&probes) {
                let touch = |part: &String| touch(&around, &filter::build(part.as_bytes()), clause);
                let found = |part: &&String| touch(part) > Touch::Nothing && probe.finds(part.as_bytes());
                let most = parts.iter().filter(found).map(touch).max();
                let led = most.is_some() || filter::holds(&around, clause);
                let most = most.unwrap_or(Touch::Nothing);
                let led = led && probe.finds_around(closed.as_bytes(), most);
                prop_assert!(led, "{:?} {:?} {:?}", pattern, clause, entry);
            }
        }
    }
}
