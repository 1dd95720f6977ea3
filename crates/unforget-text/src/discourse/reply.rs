//! Reads a person's reaction to a model's answer.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::cues::{Cue, is};
use crate::clip::pattern;

/// The effect of a person's message on the answer before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Accepts an offer.
    Agrees,
    /// Says that all or part of the answer is wrong or unwanted.
    Corrects,
    /// Abandons the request.
    Drops,
    /// Anything else.
    Goes,
}

/// Most words of a message that refers to the text before it, and telling words from which it names something.
const REPLY_WORDS_MAX: usize = 25;
const NAMES_MIN: usize = 3;

/// Introductory words that say nothing about the answer.
const LEAD: &str = r"(?i)^(?:(?:ok(?:ay)?|hm+|ah+|oh|well|dude|man|omfg|wtf|lol|sorry|yeah|mh+|but|so|and|haha|look|btw|fuck(?:ing hell)?|fucking hell)[,.!… ]+)*";

static CORRECTS: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    pattern(&format!(
        concat!(
            r"{}(?:no(?:pe)?[,.! ]+[a-z#`]|nah\b|wait\b|actually\b|instead\b|wrong\b|incorrect\b|not (?:quite|what|like|that|really|the|correct|right)\b|that(?:['’]?s| is| was) (?:not|wrong|incorrect|still|the old|stupid)\b|that ?isn['’]?t\b|(?:this|it) (?:is|was) (?:wrong|not|still)\b|undo\b|revert\b|roll ?back\b|you (?:fucked|broke|missed|forgot|misunderstood|didn['’]?t|did not|should have|removed|deleted)\b|(?:it|this|that) (?:still |really )?(?:doesn['’]?t|does not|isn['’]?t|didn['’]?t|did not|still|should(?:n['’]?t| not))\b|doesn['’]?t\b|still (?:not|fail|broken|the same|doesn|getting|seeing|wrong|no)|i(?:['’]d| would) (?:much )?(?:rather|prefere?)\b|are you (?:fucking )?(?:stupid|sure)|i (?:said|meant|did ?n['’]?t (?:say|ask|mean|want))\b|those (?:tests )?are just\b|you marked\b|what about\b.*\?\?)",
            r"|\b(?:doesn['’]?t (?:seem to )?(?:work|look right|help|show|change)|still (?:fail(?:s|ing)?|broken|doesn['’]?t|don['’]?t|not working|the same|looks? (?:the same|wrong|off)|shows?|says?)|that['’]?s not (?:it|right|what|how|the)|not what i (?:want|meant|asked)|looks? (?:wrong|off|the same|worse)|remove (?:this|that|it) again|put (?:it|that|this) back|change it back|crash(?:es|ed) (?:again|now))\b",
        ),
        LEAD
    ))
});

static AGREES: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    pattern(&format!(
        r"{LEAD}(?:yes|yep|yup|sure|go ahead|go for it|do (?:it|that|this|so)|let['’]?s (?:do|give|go|try|implement|use)|sounds? (?:good|great)|agreed?|perfect|please do|proceed|make it so|ship it|approved?|lgtm|ja|oui|sí|好的?)\b"
    ))
});

static DROPS: LazyLock<Option<regex::Regex>> = LazyLock::new(|| {
    pattern(&format!(
        r"{LEAD}(?:(?:no,? )?never ?mind\b|forget (?:it|that|this|about)\b|drop (?:it|that|this)\b|leave (?:it|that)(?:$|[.!,])|cancel (?:it|that|this|the)\b|skip (?:it|that|this)\b|stop[.!]*$|abort[.!]*$|don['’]?t bother\b|scrap (?:it|that|this)\b|let['’]?s not (?:do|bother))"
    ))
});

static NO_CORRECTION: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:no (?:problem|worries|need|idea|rush|thanks|more questions)\b|wait (?:for|until)\b|actually,? (?:can|could|is|do|does|what|how)\b|undo (?:button|stack))",
    )
});

/// The effect of a message on the answer before it.
///
/// * `text` - the person's own words.
pub(crate) fn reply(text: &str) -> Reply {
    let text = text.trim();
    let start = crate::clip::head(text, 400);
    // Whether its first sentence is a question.
    let asks = start
        .find(['.', '!', '?', '？'])
        .and_then(|at| start.get(at..))
        .is_some_and(|rest| rest.starts_with(['?', '？']));
    if is(&DROPS, start) {
        Reply::Drops
    } else if is(&NO_CORRECTION, start) {
        Reply::Goes
    } else if is(&CORRECTS, start) {
        // `wait, do we have only one?` is just a question; `it still fails, why?` is more.
        let mild = ["wait", "actually", "hm", "what about"];
        let small = start.to_lowercase();
        if asks && mild.iter().any(|word| small.starts_with(word)) { Reply::Goes } else { Reply::Corrects }
    } else if is(&AGREES, start) {
        Reply::Agrees
    } else {
        Reply::Goes
    }
}

/// For each statement of an answer, whether a correction overturns it: those that share words with the correction,
/// otherwise all.
pub(crate) fn overturns(correction: &str, statements: &[&str]) -> Vec<bool> {
    let said = telling_words(correction);
    let shares = |text: &&str| telling_words(text).iter().any(|word| said.contains(word));
    let shared: Vec<bool> = statements.iter().map(shares).collect();
    if shared.contains(&true) { shared } else { vec![true; statements.len()] }
}

/// Whether a message may mean little without the text that it follows: it is short, and agrees, names nothing, or names something of the text.
/// Cost: linear.
pub(crate) fn refers(message: &str, text: &str) -> bool {
    if message.split_whitespace().count() > REPLY_WORDS_MAX {
        return false;
    }
    let said = telling_words(message);
    said.len() < NAMES_MIN || reply(message) == Reply::Agrees || !said.is_disjoint(&telling_words(text))
}

/// Words common to many sentences.
const COMMON: [&str; 24] = [
    "that", "this", "with", "from", "have", "just", "still", "again", "remove", "there", "then", "when",
    "what", "into", "they", "them", "your", "also", "only", "like", "because", "would", "should", "doesn't",
];

fn telling_words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
    let words = words.filter(|word| word.chars().count() > 3).map(str::to_lowercase);
    words.filter(|word| !COMMON.contains(&word.as_str())).collect()
}

/// The item of a list that a short reply names by its number or letter: `2`, `option B`, `(c)`.
pub(crate) fn option(text: &str, reply: &str) -> Option<String> {
    let mut words = reply.split_whitespace();
    let last = words.next_back()?.trim_matches(|c: char| !c.is_alphanumeric());
    let is_name = (1..=2).contains(&last.len())
        && (last.chars().all(|c| c.is_ascii_digit()) || last.len() == 1 && last.is_ascii());
    if !is_name || words.count() > 1 {
        return None;
    }
    text.lines().find_map(|line| {
        let line = super::without_emphasis(line);
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#*->_(".contains(c));
        let (_, rest) =
            line.split_at_checked(last.len()).filter(|(name, _)| name.eq_ignore_ascii_case(last))?;
        // `3.11` is no third item.
        let rest = rest.strip_prefix(['.', ')', ':']).filter(|rest| rest.starts_with([' ', '*', '_']))?;
        let rest = rest.trim_matches(|c: char| c.is_whitespace() || "*_".contains(c));
        (rest.chars().filter(|c| c.is_alphabetic()).count() > 3).then(|| rest.to_owned())
    })
}

/// Fewest words of a request that is recognised in another form, and the least share of them, in percent, that both have.
const AGAIN_WORDS_MIN: usize = 4;
const AGAIN_PERCENT: usize = 70;

/// Whether a request is nearly the one before it: stopped, mended and sent again. One that names another number is another
/// request. Cost: linear.
pub(crate) fn is_again(before: &str, request: &str) -> bool {
    let words = |text: &str| -> BTreeSet<String> { text.split_whitespace().map(str::to_lowercase).collect() };
    let (before, request) = (words(before), words(request));
    let has_digit = |word: &&String| word.contains(|c: char| c.is_ascii_digit());
    if !before.iter().filter(has_digit).eq(request.iter().filter(has_digit)) {
        return false;
    }
    let most = before.len().max(request.len());
    most >= AGAIN_WORDS_MIN && before.intersection(&request).count() * 100 >= most * AGAIN_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refers_table() {
        let text = "Two ways:\n1. Keep the lock file\n2. Drop the approach of locks";
        let table = [
            ("go ahead", true, "names nothing"),
            ("2", true, "a number"),
            ("I think 2 is the right approach", true, "names something of the text"),
            ("yeah, let's give this thing a try", true, "agrees"),
            ("now write the parser for tables", false, "names something else"),
            (&"keep the lock file ".repeat(20), false, "says it itself"),
        ];
        for (message, want, why) in table {
            assert_eq!(refers(message, text), want, "{why}: {message}");
        }
    }

    #[test]
    fn option_table() {
        let text =
            "Which one?\n\n1. **Keep** the lock file\n2) Drop it\n**B)** Ask the owner first\n3.11 is newer";
        let table = [
            ("1", Some("Keep the lock file"), "a number"),
            ("option 2", Some("Drop it"), "a number behind a word"),
            ("(b)", Some("Ask the owner first"), "a letter"),
            ("3", None, "no item has this number"),
            ("do it", None, "no name"),
            ("take a look at 2", None, "a sentence"),
            ("", None, "nothing"),
        ];
        for (reply, want, why) in table {
            assert_eq!(option(text, reply).as_deref(), want, "{why}");
        }
    }

    #[test]
    fn again_table() {
        let table = [
            ("mend the reader of the log", "mend the reader of the old log", true, "a word more"),
            ("mend the reader of the log", "mend the writer of an index", false, "another request"),
            ("do it", "do it", false, "few words say nothing"),
            ("please review change 12 now", "please review change 13 now", false, "another number"),
        ];
        for (before, request, want, why) in table {
            assert_eq!(is_again(before, request), want, "{why}");
        }
    }
}
