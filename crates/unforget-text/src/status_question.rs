//! Questions about the state of the work: what is open, what is next, what was changed, what failed, what mended it.

use std::sync::LazyLock;

use regex::Regex;

use crate::clip::{one_line, pattern};

/// What a question about the state of the work asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusKind {
    /// What is not done: open work, tasks, failures that nothing cleared.
    Open,
    /// What comes next: what the newest session left.
    Next,
    /// Which files were changed, and what was committed.
    Changed,
    /// What made a failure pass.
    Fixed,
    /// What failed.
    Failed,
}

impl StatusKind {
    /// Whether it asks for what a session left.
    pub const fn is_of_left_work(self) -> bool {
        matches!(self, Self::Open | Self::Next)
    }
}

/// A question about the state of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusQuestion {
    /// What it asks for.
    pub kind: StatusKind,
    /// The words of the question that say of what; empty for all of the work.
    pub about: String,
}

impl StatusQuestion {
    /// The words to search for where no session's state answers; `None` for all of the question.
    pub fn searched(&self) -> Option<&str> {
        (self.kind.is_of_left_work() && !self.about.is_empty()).then_some(self.about.as_str())
    }
}

/// A pattern, and what its words ask for. The first that fits counts.
static CUES: LazyLock<Vec<(StatusKind, Regex)>> = LazyLock::new(|| {
    let cues = [
        (
            StatusKind::Fixed,
            r"(?i)\b(?:(?:what|which)(?: \w+)? (?:finally )?(?:fixed|cleared|solved|resolved|mended|repaired)|how (?:did (?:we|you|i|they) (?:fix|solve|resolve|mend|repair|clear|get)|(?:was|were|is) (?:\S+ ){1,6}?(?:fixed|solved|resolved|mended|repaired|cleared))|(?:what|which)(?: \w+)? made (?:\S+ ){1,6}?pass)\b",
        ),
        (
            StatusKind::Changed,
            r"(?i)\b(?:what (?:(?:did|have) (?:we|you|i|they|the agents?) )?chang(?:ed?|es)|what (?:was|were|has been|have been|got) (?:changed|edited|modified|written|touched|added|committed|done (?:in|to|with|for) (?:the )?\S+\.\w+)|(?:which|what) files? (?:did|were|was|have|has|are|got|does)|(?:which|what) commits?|who (?:changed|touched|edited|wrote)|what did (?:we|you|i|they) (?:edit|touch|write|modify|commit)|changes (?:made )?(?:to|in|for))\b",
        ),
        (
            StatusKind::Next,
            r"(?i)\b(?:what(?:['’]?s| is| are| comes| do (?:we|i) do| should (?:we|i|you)(?: do)?| shall (?:we|i)(?: do)?| was| were)?(?: to do| the| my| our| your)* next(?: steps?)?|next steps?|where (?:did|do|were|was|are) (?:we|i|you)(?: leave off| stop| stand| at)?|(?:pick|take) up where|(?:left|leave) off|what (?:were|was) (?:we|i|you) (?:doing|working on))\b",
        ),
        (
            StatusKind::Open,
            r"(?i)\b(?:what(?:['’]?s| is| are| was| were| remains| has| have)?(?: still| not| yet| been| left)* (?:open|left|remaining|unfinished|pending|outstanding|missing|undone|to (?:be )?do(?:ne)?|incomplete|not (?:yet )?done)|what remains|(?:open|pending|unfinished|outstanding|remaining) (?:items?|tasks?|work|todos?|issues?|points?|steps?|ends)|to-?dos?(?: list)?|anything (?:still )?(?:open|left|missing)|what (?:did|have) (?:we|you|i) not (?:do|done|finish|finished)|which tasks?)\b",
        ),
        (
            StatusKind::Failed,
            r"(?i)\b(?:what(?: \w+)? (?:has |have |still |is |are )*(?:fail(?:ed|s|ing)|broken|broke|red)|(?:which|what) (?:tests?|commands?|builds?|steps?|errors?|failures?)(?: \w+){0,2} (?:fail(?:ed|s|ing)?|broke(?:n)?|red|were|did|are|happened|occurred|came)|what went wrong|did anything fail|any (?:errors?|failures?))\b",
        ),
    ];
    cues.into_iter().filter_map(|(kind, cue)| Some((kind, pattern(cue)?))).collect()
});

/// Words beside the subject of a question.
static FILLER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:yesterday|(?:last|previous|this) (?:night|week|weekend|month|year)|the|a|an|of|for|in|on|to|at|with|by|from|about|so far|still|yet|now|today|currently|we|i|you|they|our|my|your|did|do|does|was|were|is|are|have|has|been|and|or|that|this|it|there|here|please|tell me|last|session|sessions|time|project|repo|repository|work|tasks?|file|files|changed?|edit(?:ed)?|touch(?:ed)?|written|modif(?:y|ied)|after|when|before|pass|passed|passing)\b",
    )
});

/// Reads a question about the state of the work; `None` for any other. Cost: linear.
pub fn status_question(text: &str) -> Option<StatusQuestion> {
    let text = one_line(text);
    let (kind, cue) = CUES.iter().find_map(|(kind, cue)| Some((*kind, cue.find(&text)?)))?;
    // A why asks for a reason, whatever else it mentions.
    if text.get(..cue.start()).is_some_and(|before| before.to_lowercase().contains("why")) {
        return None;
    }
    let rest = format!(
        "{} {}",
        text.get(..cue.start()).unwrap_or_default(),
        text.get(cue.end()..).unwrap_or_default()
    );
    // `What fixed the test?`: what the pattern took along may be the subject.
    let within = text.get(cue.range()).filter(|_| kind == StatusKind::Fixed || kind == StatusKind::Failed);
    let whole = format!("{} {rest}", within.unwrap_or_default());
    let plain =
        FILLER.as_ref().map_or_else(|| whole.clone(), |filler| filler.replace_all(&whole, " ").into_owned());
    let words = plain.split_whitespace().map(|word| word.trim_matches(|c: char| "?!,;:.\"'()".contains(c)));
    let words = words.filter(|word| word.chars().any(char::is_alphanumeric) && !is_asking(word));
    Some(StatusQuestion { kind, about: words.collect::<Vec<_>>().join(" ") })
}

/// Words that ask, and those that name the state itself.
fn is_asking(word: &str) -> bool {
    const ASKING: [&str; 37] = [
        "what", "what's", "which", "how", "who", "why", "where", "fixed", "fix", "solved", "resolved",
        "mended", "repaired", "cleared", "made", "command", "commands", "failed", "fail", "fails", "failing",
        "broke", "broken", "wrong", "went", "error", "errors", "failure", "failures", "get", "any",
        "anything", "finally", "happened", "occurred", "came", "got",
    ];
    ASKING.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_question_table() {
        use StatusKind::{Changed, Failed, Fixed, Next, Open};
        let table = [
            ("What is still open?", Some((Open, "")), "open"),
            ("what's left to do", Some((Open, "")), "left"),
            ("What remains for the parser?", Some((Open, "parser")), "of something"),
            ("open items", Some((Open, "")), "no question at all"),
            ("What is next?", Some((Next, "")), "next"),
            ("Where did we leave off?", Some((Next, "")), "where"),
            ("what were we working on", Some((Next, "")), "in the past"),
            ("next steps for the gateway", Some((Next, "gateway")), "of something"),
            ("What did we change for the retry?", Some((Changed, "retry")), "changed"),
            ("What was changed in src/retry.rs?", Some((Changed, "src/retry.rs")), "a file"),
            ("Which files did we touch for the parser?", Some((Changed, "parser")), "files"),
            ("Which command fixed the parser test?", Some((Fixed, "parser test")), "fixed"),
            ("how was the lock error fixed?", Some((Fixed, "lock")), "in the passive"),
            ("What made cargo test pass?", Some((Fixed, "cargo test")), "passed"),
            ("What failed?", Some((Failed, "")), "failed"),
            ("Which tests failed in the store?", Some((Failed, "tests store")), "tests"),
            ("what went wrong with the migration", Some((Failed, "migration")), "wrong"),
            ("what did we change for wingman last week?", Some((Changed, "wingman")), "a time is no subject"),
            ("what failed yesterday?", Some((Failed, "")), "a day is none"),
            ("Why did the test fail?", None, "a reason"),
            ("Which port does staging use?", None, "a fact"),
            ("Why was what we changed wrong?", None, "a reason, behind all"),
            ("", None, "nothing"),
        ];
        for (text, want, why) in table {
            let found = status_question(text);
            let found = found.as_ref().map(|found| (found.kind, found.about.as_str()));
            assert_eq!(found, want, "{why}: {text}");
        }
    }
}
