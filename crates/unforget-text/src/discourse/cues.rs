//! Words that reveal the kind of a statement.

use std::sync::LazyLock;

use regex::Regex;

use super::Class;
use crate::clip::pattern;
use crate::draft::unquoted;

/// A pattern compiled on first use; an invalid one matches nothing.
pub(super) type Cue = LazyLock<Option<Regex>>;

pub(super) fn is(cue: &Cue, text: &str) -> bool {
    cue.as_ref().is_some_and(|cue| cue.is_match(text))
}

/// Introductory words without content.
static LEAD: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|excellent|alright|right|yes|no|now|so|first|next|then|also|and|but|wait|hmm+|ah|oh|actually|finally|lastly|meanwhile|as (?:a )?next(?: step)?|in the meantime|since [^,]{1,60}|before [^,]{1,60}|after [^,]{1,60}|to [a-z]+ [^,]{1,60})(?:[,.!:–—-]+ *| +))+",
    )
});

/// Words of a model about its current or next action.
static NARRATION: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:let me\b|let['’]?s\b|let us\b|lemme\b|i['’]?ll\b|i will\b|i['’]?m (?:going|now|about|still|just|also|[a-z]+ing)\b|i am (?:going|now|about|still|[a-z]+ing)\b|i['’]?d\b|i (?:now )?(?:need|want|should|must|can|could|have to|might|would|plan|intend|wonder|think|suspect|believe|assume)\b",
        r"|i(?:['’]ve| have)? (?:now |already )?(?:read|got|see|understand|looked|know|have (?:all|the|a|everything|enough|now))\b|i have (?:all|the|a|everything|enough|now)\b|we (?:need|should|can|could|have) (?:to )?[a-z]+",
        r"|(?:we['’]re|i['’]m|it['’]s) (?:still )?(?:waiting|running|building|working|polling|monitoring)\b|(?:need|needs|time|going|about|ready|trying|want) to\b|now (?:that |to |for |i |we |the [a-z]+ (?:file|test|tests|part|one)$)",
        r"|(?:check|look|runn?|read|wait|continu|start|updat|add|fix|test|build|verify|monitor|try|investigat|search|writ|creat|mov|clean|commit|push|implement|pull|fetch|examin|inspect|polling|us|do|go|proceed|apply|install|switch|rerunn|re-runn|keep|tak|mak|download|review|kick|launch|spawn|dispatch)ing\b",
        r"|(?:add|update|fix|run|check|clean up|commit|push|read|look|see|verify|wait|continue|do|remove|replace|create|write|rerun|start|stage|build|test|implement) (?:the|it|this|that|a|an|all|any|them|these|those|now|both|again|at|for|to|in|on|my|our|and)\b",
        r"|still (?:running|waiting|going|in progress|compiling|building)\b|(?:here|there)(?:['’]s| is| are)? (?:the|a|an|my|what|how|your)\b|this (?:will|should|might|may)\b|feel free\b|if you(?:['’]d| would)? (?:want|like|prefer|need|agree)\b|would you\b|want me to\b|shall i\b|should i\b|do you\b|which (?:one|option|of)\b|please\b|you (?:must|should|can|may|need|have to|will|are|could|might|would)\b|your (?:task|job|next)\b|continue\b|proceed\b|resume\b|to proceed\b|just (?:let|say|tell)\b|tell me\b|happy to\b|once you\b|when you(?:['’]re| are) ready\b)",
        r"|^(?:step|phase|task|fix|part) #?\d+\b[^.]{0,60}$|\bstill running\b|[;,—–-] ?(?:and |so )?(?:now |next )?i['’](?:m|ll)\b|\b(?:now|next) i['’]?(?:m|ll)\b|^i['’]?m\b[^.]{0,40}ing\b",
    ))
});

/// Whole sentences without content.
pub(super) static FILLER: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:good|great|fair|nice|excellent|valid|interesting) (?:question|catch|call|point|idea|news|enough|thinking|find|progress|instinct|timing|eye|work|job)\b.{0,24}|(?:perfect|great|excellent|done|understood|got it|sure|certainly|absolutely|sounds good|thanks?(?: you)?(?: .{0,30})?|sorry\b.{0,50}|my apologies\b.{0,40}|apologies\b.{0,40}|i apologi[sz]e\b.{0,60}|ok(?:ay)?|yes|no|right|exactly|agreed|confirmed|correct|indeed|of course|makes sense|noted|all set|all done|all green|found it|found the (?:issue|problem|bug)|there it is|interesting|ah,? (?:yes|i see|right)|hello\b.{0,40}|hi\b.{0,40}|welcome\b.{0,40})",
        r"|you(?:['’]re| are) (?:absolutely |completely |totally |quite |so )?right\b.{0,40}|(?:that|this|it)(?:['’]s| is) (?:a )?(?:clean(?:er)?|great|good|fair|correct|right|better|much better|exactly|all|it|interesting|clear|helpful|expected|fine|done|very)\b.{0,40}|no response requested|(?:everything|all) (?:looks|is|works?) (?:good|fine|great|clean|correct|in order|ready)|(?:it )?looks good|(?:all )?(?:ready|set)(?: to go)?|the (?:plan|path|approach|picture|flow) is (?:now )?clear",
        r"|.{0,40}\bon it|sounds like a plan|no problem\b.{0,30}|i hope .{0,60}|let me know .{0,80}|enjoy\b.{0,40}|key (?:points|changes|insights?))[.!…]*$",
        r"|^(?:★ )?insight\b|^question \d|^[A-D]\. |^option \d+$",
    ))
});

/// A short sentence that calls the preceding text the cause: `This is the actual root cause.`
pub(super) static POINTER: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:so )?(?:this|that|here|which)(?:['’]s| is| was) (?:likely |probably |exactly |clearly )?(?:the |our |my )?(?:actual |real |true |main |underlying )*(?:root cause|issue|problem|bug|culprit|reason|cause)(?: here)?[.!]*$",
    )
});

/// A short sentence or heading that announces a cause without naming it.
pub(super) static EMPTY_CAUSE: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^[^:]{0,70}\b(?:root cause|issue|problem|bug|culprit|what['’]?s (?:happening|going on|wrong)|what happened|what is (?:happening|wrong))(?: here| now| clearly| analysis| is clear| is now clear)*[.!]*$",
    )
});

/// A sentence about something in the preceding text.
static ANAPHOR: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:but|and|so|now|also|yes|no|ok(?:ay)?|then),? )*(?:this|that|it|these|those|they|everything|all of (?:this|that|it)|the (?:implementation|work|change|code|math|logic|plan)|implementation|you(?:['’]re| are)) (?:is|was|are|were|will|would|should|could|makes?|adds?|gives?|looks?|works?|keeps?|means?|checks?|ensures?|provides?|complete|completed?|done|all)\b",
    )
});

/// Whether a sentence means nothing without the previous one, and holds nothing exact.
pub(super) fn is_vague(sentence: &str) -> bool {
    let few = sentence.is_ascii() && sentence.split_whitespace().count() < 13;
    few && !is(&EXACT, sentence)
        && (is(&ANAPHOR, sentence) || sentence.split_whitespace().count() < 6 && is(&CAUSE, sentence))
        && !sentence.contains("because")
}

/// Words of supposition.
pub(super) static GUESS: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:might|may be|maybe|perhaps|probably|possibly|likely|could be|could have|suspect|i think|seems|appears|i believe|my (?:guess|hypothesis)|hypothesis|let me|i['’]ll|i need|must be|should|if )\b",
    )
});

/// Words about hypothetical work.
pub(super) static WOULD: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:would|could|might|i['’]d|we['’]d|possible|possibly|option|alternatively|proposed?|propose|suggest(?:ion)?|recommend(?:ation|ed)?|my take|cleanest|plan)\b",
    )
});

/// A question that refers to the preceding text.
pub(super) static POINTS_BACK: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:this|that|it|these|those|them|one|both|proceed|preference|prefer|option|go ahead|the fix|approach)\b|^(?:thoughts|ok(?:ay)?|agreed?|sound good|sounds good)\b",
    )
});

/// Questions that only ask for reassurance.
pub(super) static ASSURES: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:does|do) (?:this|that|it|these)\b|(?:is|are) (?:this|that|it|these|you)\b|looks?\b|ready\b|sounds?\b|(?:should i|shall i|want me to|would you like me to) (?:go ahead|proceed|continue)\b)",
    )
});

/// Code or a number: exact content.
pub(super) static EXACT: Cue = LazyLock::new(|| pattern(r"`|\d"));

/// Causes.
static CAUSE: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:because|root (?:cause|problem)|caused by|due to|turns? out|culprit|(?:the|its|a|one) (?:\w+ )?(?:cause|reason|problem|issue|bug|error|failure) (?:is|was|here is|with|comes|came|occurs|happens|lies|occurred)|(?:that|which)(?:['’]s| is| was) (?:exactly )?why|which (?:means|meant|caused|causes|explains)|this (?:means|meant|caused|causes|explains|happens|happened)|as a result|therefore|so (?:it|the|they|that|this|no) [a-z]+|only because|thanks to|the reason|makes sense because)\b",
        r"|^(?:(?:the |actual |real )*(?:root cause|root problem|cause|why|problem|issue|bug|reason|what happened|what went wrong))\b[^:]{0,24}[:—–-] |因为|原因",
    ))
});

/// Choices.
static CHOICE: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:instead of|rather than|decided|decision|went with|go(?:ing)? with|chose|chosen|opted|agreed|in favou?r of|trade-?off|intentional(?:ly)?|by design|deliberate(?:ly)?|recommend(?:ed|ation)?|my take|preferred|keeps? the|kept|stays?|no need (?:to|for)|not needed|unnecessary|design(?:ed)? (?:choice|to)|safer|simpler|(?:the|my|one) (?:real |actual |key |main |\d )?(?:fix|solution|approach|strategy|rule) (?:is|was|now))\b",
        r"|^(?:(?:the |my |suggested )*(?:fix|solution|decision|approach|verdict|conclusion|answer|recommendation))\b[^:]{0,24}[:—–-] |决定|採用|決定|결정",
    ))
});

/// Completed work and its outcomes.
static DEED: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:added|adds|fixed|fixes|changed|changes|removed|removes|implemented|implements|updated|updates|renamed|pushed|committed|created|creates|moved|replaced|replaces|merged|refactored|restored|extracted|introduced|verified|confirmed|deleted|reverted|rewrote|rewritten|wrote|written|installed|configured|bumped|released|published|deployed|closed|opened|resolved|converted|simplified|cleaned|documented|migrated|enabled|disabled|exposed|split|handled|handles|supports?|returns|returned|uses|used|ran|found|passes|passed|pass|fails?|failed|failing|succeeded|works|working|green|completed?|finished|matches|match|shows|correct|exists?|now|no longer|no (?:issues?|errors?|changes?|failures?|duplication))\b",
        r"|\b\d+(?:/\d+)? (?:tests?|passed|passing|failed|files?|commits?)\b",
    ))
});

/// Denials.
static DENIAL: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)n['’]t|(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|should) not|cannot|never|no longer|not (?:yet|needed|supported|possible|found)|without|neither|limitation|only|kein|nicht|nunca|jamais)\b",
        r"|不能|没有|できない|않",
    ))
});

/// Remaining work.
static NEXT: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:next steps?|remaining|remains? (?:to|open|undone|unfinished|pending|unhandled|missing)|(?:what|work|steps?|tasks?|issues?|gaps?) remains?|todo|to-do|follow-?ups?|not (?:yet|done)|still (?:needs?|open|missing|to|left|unhandled|pending)|left to do|(?:still|will|would) needs? to be|(?:is|are|still) (?:pending|blocked)|unfinished|is next|out of scope|deferred)\b",
    )
});

/// Labels above work that was not done.
static ASIDE: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:options?|alternatives?|possible|pros|cons|examples?|before|after|output|questions?|for instance|proposed|current (?:logic|behaviou?r|flow)|what we need|ideas?|considerations?|how to (?:test|use|run|try|verify)|to (?:test|use|run|try|verify|continue)|you can|usage|try|commands?)\b",
    )
});

/// Labels without content.
static GENERIC: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|done|yes|all (?:done|set|good|green))[.,!—–-]* *)*(?:here(?:['’]s| is| are)?\b.*|(?:a |the |brief |quick |final |full |key |main |overall |complete )*(?:summary|overview|details?|changes?|results?|status|notes?|highlights|recap|breakdown|report|analysis|points|findings|implementation|insight|improvements|deliverables|files|current state|behaviou?r|steps)\b.{0,40}|what (?:was|i|we|has|changed|it|this)\b.*|the following\b.*|in (?:short|summary)\b.*|this (?:means|is|includes)\b.*|(?:it|they|these|there) [a-z]+\b.{0,30}|i['’]?(?:ve| have)? (?:made|did|found|added|fixed|updated|created|completed|implemented)\b.{0,40}|(?:changes?|files?) (?:made|changed|modified|created)\b.*|(?:new|modified|added|updated|key) (?:files?|features?|tests?)|.{0,3})$",
    )
});

/// Labels that tell the kind of their statements.
static TOLD: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:cause|causes|problem|issue|bug|why|fix|fixes|solution|reason|decision|decisions|limitations?|conclusion|verdict|recommend(?:ation|ed)?|answer|next|remaining|todo|open|left|gap|gaps|risk|risks|key difference|trade-?offs?|what happened)\b",
    )
});

/// Whether a sentence is about the model's next action, or a single word.
pub(super) fn is_narration(sentence: &str) -> bool {
    is_intention(sentence) || unled(sentence).split_whitespace().count() < 2
}

/// Whether a sentence is about the model's next action.
pub(crate) fn is_intention(sentence: &str) -> bool {
    is(&NARRATION, sentence) || is(&NARRATION, unled(sentence))
}

/// A sentence without introductory words.
fn unled(sentence: &str) -> &str {
    let start = LEAD.as_ref().and_then(|lead| lead.find(sentence)).map_or(0, |lead| lead.end());
    sentence.get(start..).unwrap_or_default()
}

/// The kind of a statement.
pub(super) fn class(sentence: &str, label: Option<&Label>) -> Class {
    let under = |cue| label.is_some_and(|label| is(cue, &label.text));
    // What code or a message says is not the speaker's word.
    let plain = unquoted(sentence);
    if under(&NEXT) || is(&NEXT, &plain) {
        Class::Next
    } else if is(&CAUSE, sentence) || label.is_some_and(|label| label.is_cause) {
        Class::Cause
    } else if is(&CHOICE, sentence) {
        Class::Choice
    } else if is(&DEED, sentence) {
        Class::Deed
    } else if is(&DENIAL, sentence) {
        Class::Denial
    } else {
        Class::Other
    }
}

/// The weightier of two kinds.
pub(super) fn stronger(one: Class, other: Class) -> Class {
    let order = |class| match class {
        Class::Next => 0,
        Class::Cause => 1,
        Class::Choice => 2,
        Class::Deed => 3,
        Class::Denial => 4,
        Class::Other => 5,
    };
    if order(other) < order(one) { other } else { one }
}

/// A heading, or the sentence with a colon before a list.
pub(super) struct Label {
    text: String,
    is_cause: bool,
    is_heading: bool,
}

impl Label {
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_end_matches([':', '：', '.', ' ']).to_owned();
        let is_cause = is(&EMPTY_CAUSE, &text) || is(&CAUSE, &format!("{text}: "));
        let is_heading = text.split_whitespace().count() < 7;
        Self { text, is_cause, is_heading }
    }

    /// The label made from a sentence that only announces a cause. Without words: whether what follows is the cause, only
    /// its author could say.
    pub(super) const fn cause() -> Self {
        Self { text: String::new(), is_cause: true, is_heading: true }
    }

    /// Whether what follows it is a cause.
    pub(super) const fn is_cause(&self) -> bool {
        self.is_cause
    }

    /// Whether it announces something without naming it: `Here is what happens`.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_cause && (is(&GENERIC, &self.text) || is(&FILLER, &self.text) || is_intention(&self.text))
    }

    /// Whether it is a statement in itself.
    pub(super) fn says(&self) -> bool {
        let behind = self.text.split_once(": ").map_or("", |(_, behind)| behind);
        // Names alone, as in `Problem 1: The Size Guard`, are no statement.
        let words = behind.split_whitespace().filter(|word| word.starts_with(|c: char| !c.is_uppercase()));
        let told = words.filter(|word| word.chars().all(|c| c.is_alphabetic() || c == '\'')).count();
        behind.split_whitespace().count() > 2 && told > 1 && is(&CAUSE, &self.text)
    }

    /// Whether the things under it were not done.
    pub(super) fn is_aside(&self) -> bool {
        is(&ASIDE, &self.text) && !self.is_cause
    }

    /// Whether a list under it is about what may be or will be: `This helps to find cases such as`.
    pub(super) fn intends(&self) -> bool {
        !self.is_cause && is_intention(&self.text) && !is(&GENERIC, &self.text)
    }

    /// The prefix for one statement under it.
    pub(super) fn prefix(&self) -> Option<&str> {
        (self.is_heading && is(&TOLD, &self.text) && !is(&GENERIC, &self.text)).then_some(&self.text)
    }

    /// The prefix for the items of a list under it.
    pub(super) fn prefix_of_list(&self) -> Option<String> {
        let says = !self.text.is_empty()
            && !is(&GENERIC, &self.text)
            && !is_intention(&self.text)
            && !is(&FILLER, &self.text);
        says.then(|| crate::clip::clip(&self.text, 120).into_owned())
    }

    /// Whether it applies to more than one statement: a mere announcement of a cause does not.
    pub(super) fn lasts(&self) -> bool {
        self.is_aside() || is(&NEXT, &self.text)
    }
}
