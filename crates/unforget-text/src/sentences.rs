//! Sentences of prose, and what kind of thing they say.

use std::sync::LazyLock;

use regex::Regex;

use crate::clip::pattern;

/// Words by which people give rules.
static RULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:must|mustn['’]t|never|always|don['’]?t|do not|please (?:use|keep|make|do|avoid|ensure|stick|write|only|remember)|should(?:n['’]t)?",
        r"|make sure|ensure|avoid|prefer|only use|use only|no more than|at (?:most|least)|required?|needs? to|stick (?:to|with)|under no circumstances",
        r"|not allowed|forbidden|has to|have to|may not|can(?:no|['’])t use|no longer|from now on|remember (?:to|that)|without (?:using|changing|touching|breaking))\b",
        r"|\b(?:muss|müssen|niemals|immer|darf nicht|bitte|toujours|jamais|il faut|siempre|nunca|debe|sempre|deve)\b",
        r"|必须|不要|禁止|务必|不能|必ず|ないで|してください|禁止|반드시|하지 ?마",
    ))
});

/// Words by which decisions and causes are told.
static DECISION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:decided?|decision|we['’]?ll (?:use|go|keep)|we will (?:use|go|keep)|i['’]?ll (?:use|go with|keep|switch)|i will (?:use|go with|keep|switch)",
        r"|let['’]?s (?:use|go with|keep|do)|going with|go with|went with|chose|chosen|opted|switch(?:ed|ing)? to|instead of|rather than|root cause",
        r"|the (?:real |actual )?(?:fix|cause|reason|problem|issue|solution|bug|culprit) (?:is|was)|turns out|agreed|confirmed|in conclusion|works because|fails because|trade-?off)\b",
        r"|决定|因为|採用|決定|결정",
    ))
});

/// Words by which somebody says that something is not so, or does not work.
static NEGATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)n['’]t",
        r"|(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should) not|cannot|never|no longer|not (?:yet|needed|supported|possible|found)",
        r"|without|neither|kein|nicht|nunca|jamais)\b|不能|没有|できない|않",
    ))
});

/// Whether a sentence says that something is not so. What a model says of itself (`I don't see …`) does not count: it is
/// about the moment, and has the shape of a refusal.
pub(crate) fn is_negation(sentence: &str) -> bool {
    let is_of_itself =
        ["I ", "I'", "I’", "Sorry", "Unfortunately"].iter().any(|start| sentence.starts_with(start));
    !is_of_itself && NEGATION.as_ref().is_some_and(|negation| negation.is_match(sentence))
}

/// Whether a person's sentence gives a rule.
pub(crate) fn is_rule(sentence: &str) -> bool {
    RULE.as_ref().is_some_and(|rule| rule.is_match(sentence))
}

/// Whether a sentence tells a decision or a cause.
pub(crate) fn is_decision(sentence: &str) -> bool {
    DECISION.as_ref().is_some_and(|decision| decision.is_match(sentence))
}

/// The sentences of `text` outside code fences, without list marks, as they stand. Cost: linear.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code && !line.starts_with('|') && !line.starts_with('<') {
            split_line(strip_mark(line), &mut found);
        }
    }
    found
}

fn strip_mark(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', ' ']);
    let bullet = line.trim_start_matches(['-', '*', '•', '+']);
    if bullet.len() < line.len() && bullet.starts_with(' ') {
        return bullet.trim_start();
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

fn split_line<'a>(line: &'a str, found: &mut Vec<&'a str>) {
    let mut start = 0;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let ends = match c {
            '.' | '!' | '?' => chars.peek().is_none_or(|(_, next)| next.is_whitespace()),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            push(line.get(start..at + c.len_utf8()), found);
            start = at + c.len_utf8();
        }
    }
    push(line.get(start..), found);
}

fn push<'a>(sentence: Option<&'a str>, found: &mut Vec<&'a str>) {
    let sentence = sentence.unwrap_or_default().trim();
    if sentence.chars().any(char::is_alphabetic) {
        found.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_table() {
        let table: [(&str, &[&str], &str); 6] = [
            ("One. Two! Three?", &["One.", "Two!", "Three?"], "ends"),
            ("Use v1.2.3 of a.rs now", &["Use v1.2.3 of a.rs now"], "a full stop inside a word is none"),
            (
                "- never push\n* always test\n1. must pass",
                &["never push", "always test", "must pass"],
                "list marks",
            ),
            ("a\n```\nmust not count\n```\nb", &["a", "b"], "code is not prose"),
            ("必须用。不要改！", &["必须用。", "不要改！"], "CJK stops"),
            ("| must | never |\n<tag>\n---", &[], "tables, tags and rules are not prose"),
        ];
        for (text, want, why) in table {
            assert_eq!(sentences(text), want, "{why}");
        }
    }

    #[test]
    fn negation_table() {
        let table = [
            ("The reader does not keep the lock.", true),
            ("It can't be opened twice.", true),
            ("This works without a network.", true),
            ("Nothing to see, a knot in a note.", false),
            ("I don't see it yet.", false),
        ];
        for (sentence, want) in table {
            assert_eq!(is_negation(sentence), want, "{sentence}");
        }
    }

    #[test]
    fn kind_table() {
        let table = [
            ("You must never delete rows.", true, false),
            ("Please use tabs.", true, false),
            ("Don’t touch main.", true, false),
            ("Let's go with SQLite instead of Postgres.", false, true),
            ("The root cause is a stale lock.", false, true),
            ("What time is it?", false, false),
            ("Mustard is yellow.", false, false),
        ];
        for (sentence, rule, decision) in table {
            assert_eq!((is_rule(sentence), is_decision(sentence)), (rule, decision), "{sentence}");
        }
    }
}
