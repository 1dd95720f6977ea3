//! Words by which people lay down rules.

use std::sync::LazyLock;

use regex::Regex;

use crate::clip::pattern;

/// Text before an order, at the start of a sentence or behind a comma.
const LEAD: &str = r"(?:^|[,;:–] (?:and |but |so |then )?|\. )(?:please,? |also,? |and,? |but,? |so,? |important: *|note: *|rule: *|reminder: *|from now on,? |going forward,? |in (?:the )?future,? )*";

/// Sentences that forbid.
pub(super) static PROHIBITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(&format!(
        concat!(
            r"(?i){LEAD}(?:never (?:ever )?[a-z]|(?:do not|don['’]t) (?:ever )?[a-z]|you (?:must|should|may|can|shall)(?: not|n['’]t| never)\b|you are not allowed to\b|under no circumstances\b|at no time\b|no longer [a-z])",
            r"|\b(?:must|shall|should) never\b|\bmust(?: not|n['’]t) (?:be|have|use|contain|change|touch|exceed|depend|run|go|write|call|push|commit|[a-z]+)\b|\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|not allowed|off[- ]limits)\b",
            r"|^(?:bitte )?(?:niemals|nie|auf keinen fall|du darfst (?:nie|niemals|nicht)) |\bd(?:arf|ürfen) (?:niemals|nie)\b",
            r"|^(?:ne|n['’])[ ]?[a-zé]+ (?:jamais|pas|plus) |^il ne faut (?:jamais|pas) |^(?:nunca|jamás|no debes|no (?:uses|hagas|toques|cambies|borres|ejecutes|escribas|modifiques)) ",
            r"|^(?:请)?(?:永远不要|绝不|绝对不要|不要|禁止|不得|严禁)|绝对に.{{0,40}}(?:ない|するな)|(?:しないで|するな)(?:ください)?。?$",
        ),
        LEAD = LEAD
    ))
});

/// Sentences that demand.
pub(super) static DEMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(&format!(
        concat!(
            r"(?i){LEAD}(?:always [a-z]|you must [a-z]|you (?:need|have) to always\b|make sure (?:to|that you|you) always\b|only ever [a-z]|(?:only use|use only) |remember to always\b)",
            r"|^(?:from now on|going forward|from here on),? [a-z]|\b(?:must|should|needs? to|has to|have to) always\b|\b(?:is|are) mandatory\b",
            r"|^(?:all|every|each|any|new|the|no) (?:[a-z`'-]+ ){{1,6}}must [a-z]|^[a-z]+s must [a-z]",
            r"|^(?:bitte )?(?:immer|ab jetzt|du musst immer) |\bm(?:uss|üssen) immer\b|^(?:toujours|il faut toujours) |^siempre |^debes siempre ",
            r"|^(?:请)?(?:务必|必须|一定要|始终|总是)|^必ず",
        ),
        LEAD = LEAD
    ))
});

/// Sentences that give leave for more than one time.
pub(super) static APPROVAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:yes,? )?(?:i (?:approve|allow|permit|authori[sz]e) [a-z]|approved: |permission granted\b|you (?:are allowed|are free|have (?:my )?(?:permission|approval|leave)) to [a-z]",
        r"|you may (?:always |freely )?(?:run|use|edit|change|delete|push|commit|merge|install|create|write|read|call|deploy|publish|add|remove)\b)",
    ))
});

/// Sentences that look like a rule but are none.
pub(super) static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\bnever ?mind\b|\bnever (?:worked|happened|happens?|seen|heard|got|gets|did|had|was|were|been|finished|finishes|ran|fails?|failed|works|returns|returned|knew|thought|called|reached|ends)\b",
        r"|\balways (?:fails|failed|worked|works|been|was|were|has|had|happens|happened|returns|returned|gets|got|shows|the same|the case|wondered|thought)\b|\b(?:almost|nearly|not|as) (?:always|never)\b",
        r"|\b(?:don['’]t|do not) (?:worry|know|think|understand|see|have|care|remember|forget|need|mind|like|want|get|believe|bother|mean|feel|you|we|i|they|exist|work|match|seem|appear|fit|look)\b",
        r"|\bmust (?:have|be (?:a|an|the|some|because|due|something|wrong|missing|here|there|related|in|on|that|why|my|your|it))\b|\b(?:it|there|that|this|he|she|they|i|we) must\b",
        r"|\b(?:yet|for now|right now|this time|today|tonight|at the moment|just (?:this )?once|for the moment|for this (?:one|task|commit|change|pr|time|run|test)|in this (?:case|commit|pr|change)|anymore right)\b",
        r"|\b(?:say|said|says|told|tells|claims?|wrote|asked|according to|reads|complains?|states|means|suggests?|seems|looks like|i think|i guess|maybe|perhaps|probably|might)\b",
        r"|^(?:what|why|how|should|could|would|can|is|are|does|did|who|when|where|which|if i|if we) |\bimmer (?:noch|wieder)\b|\btoujours (?:pas|le même|la même|en train)\b|\b(?:siempre|nunca) (?:falla|funciona|pasa|ha)\b|[{}]|=>|;$|::|吗",
    ))
});

/// Statements of what people do not want.
pub(super) static UNWANTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:i|we) (?:really |definitely |actually |also |certainly |just |only |still )?(?:don['’]?t|do not) (?:really |actually |ever )?(?:want|need|use|allow|accept|support|care about)\b",
        r"|\b(?:i['’]d|i would|we['’]d|we would) (?:really |much )?(?:rather|prefer) (?:not|you not|we not|no|that you don)\b",
        r"|\b(?:there(?:['’]s| is) )?no need (?:to|for)\b|(?:^|[,.;:–-] ?)(?:and |but )?no (?:more )?[a-z-]+(?: [a-z-]+){0,3}!+$",
        r"|^(?:(?:ok(?:ay)?|no|so|and|but|yes|then),? )*let['’]?s (?:not|never|avoid) [a-z]",
        r"|(?:^|[,;:–-] |\b(?:and|but) )(?:please,? )?(?:avoid|refrain from|stay away from|steer clear of) (?:using |adding |[a-z`]+)|^(?:please,? |and |also,? )*stop [a-z]+ing\b",
    ))
});

/// Statements of what people prefer.
pub(super) static PREFERRED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:i|we)(?:['’]?d| would| do| strongly| really| much| generally| usually| typically| always| still| also| personally|,)* prefere?\b|\b(?:my|our) preference (?:is|would be)\b|\b(?:i|we)(?:['’]?d| would) (?:much |far )?rather (?:have|use|keep|see|do|we|you|it|stick|avoid|go|be|get)\b",
    )
});

/// Statements of how people want things to be.
pub(super) static WANTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:i|we)(?:['’]?d| would)? (?:really |also |still )?(?:only|always|never) (?:want|need|use|accept|write|commit|push|squash|rebase|deploy|like)\b|\b(?:i|we) (?:want|need|expect) (?:you |it |them |this |that |everything |all |every |each )(?:[a-z']+ ){0,4}?(?:to )?(?:always|never|only)\b",
        r"|^(?:(?:ok(?:ay)?|no|so|and|but|yes|then),? )*let['’]?s (?:always|only|keep|stick|stay) [a-z`]",
        r"|(?:^|[,;:–-] |\b(?:and|but|then|so) )(?:please,? |also,? |just,? )*(?:keep|leave) (?:the|all|our|my|existing|old|both|everything|things|them|backwards?|compatibility|support|code|comments|functions|changes|commits|answers|responses|tests|files|it (?:simple|short|small|as|minimal|brief|clean|consistent|in))\b",
        r"|(?:^|[,;:–-] |\b(?:and|but|then|so) )(?:please,? |also,? |just,? )*(?:stick (?:to|with)|make sure|be sure to|ensure|prefer) [a-z`]|^(?:please,? |also,? )*use [^,.]{1,60}(?:,? (?:not|never|no) [a-z`]| instead of | rather than )",
        r"|\bmake sure (?:you|to|that|we|there|all|every|no|nothing)\b|\b(?:and|but|then|so|please|we|you) (?:always|never) [a-z]|\b(?:we|you) should (?:only|not|keep)\b",
        r"|\bshould (?:only|always|stay|remain|be the only)\b|\b(?:from now on|from here on|going forward)\b|\bmust (?:never|always|only)\b",
        r"|^(?:the |all |every |any |each |no |an? )?[a-z`'/-]+(?: [a-z`'/-]+){0,5} must (?:not |never |always |only )?[a-z]+",
        r"|^(?:no,? |yes,? |ok,? )*(?:only|just) [^?]{3,80}\b(?:not|no|never|nothing else)\b|\bnothing else\b",
    ))
});

/// Requests in the form of a question.
pub(super) static ASKED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:(?:ok(?:ay)?|no|so|and|but|also|hmm?|then|actually|btw|please|sorry),? )*(?:can|could|would|will) (?:we|you) (?:please |maybe |just |perhaps )*(?:not|always|never|only|stop [a-z]+ing|avoid|keep|stick (?:to|with)|leave (?:the|all|it)|make sure (?:to|that|you|we) (?:always|never|only|not))\b",
    )
});

/// Statements about wishes that lay down nothing: for once, about others, or about knowing.
pub(super) static NO_WISH: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:for now|right now|this time|today|tonight|at the moment|just (?:this )?once|for the moment|not yet|anymore right)\b|\b(?:says?|said|tells|told (?:me|us|you|them|him|her)|claims?|wrote|asked|according to|complains?|suggests?|it seems|looks like)\b",
        r"|\b(?:do not|don['’]?t|only|no) (?:need|want|need to|want to|care)? ?(?:to )?(?:know|understand|remember|see|check|ask|tell|say|bother|worry|think|be (?:rude|mean|that guy))\b|\bno need to (?:apologi|worry|thank|be sorry)|\bkeep (?:going|it up|working|trying|me)\b",
        r"|\b(?:it|there|that|this|he|she|they|i|we) must\b|\bmust (?:have|be (?:a|an|the|some|because|due|something|wrong|missing|here|there|related|in|on|why|your))\b|\bif (?:i|we|you) (?:don['’]?t|do not|only|prefer)\b|\b(?:that|this|it|which) should (?:never|always)\b|\b(?:i|we|they|you|it) (?:never|always) (?:said|say|saw|see|know|knew|had|have|get|got|think|thought|wanted|find|found|was|were|did|do|does|had|seem|end|forget)\b",
        r"|^(?:what|why|how|is|are|does|did|do|who|when|where|which|if) |\b(?:do you|would you|you) prefer\b|\bcan (?:we|you) only\b.*\bor\b|\bmake sure (?:it|this|that|everything|they|all|the [a-z ]{1,30}) (?:still )?(?:works?|is correct|are correct|passes|pass|builds?|compiles?)\b|[{}]|=>|;$|::",
    ))
});

/// People's own plans, or reports about others.
pub(super) static TOLD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:(?:and|but|so|also|well|yes|no|then|by the way|since),? )*(?:i(?:['’]?ll| will|['’]?m| am|['’]?ve| have| was| had| already| recently| can| always)|it|they|he|she|there|because|this|that)(?:['’]s|['’]re)?\b|\b(?:i['’]?ll|i will|we['’]?ll|want|wanted|need|needed|like|going|trying|just|have|had) to (?:also )?make sure\b|\bi(?:['’]ll| will) (?:also )?make sure\b|\bto make sure\b",
        r"|\b(?:don['’]?t|do not) want (?:my|him|her|them|people|anyone|to (?:be|miss|lose|forget|hurt|sound|seem|feel|end up))\b|\b(?:and|or) always (?:a|an|the)\b",
    ))
});

/// Rules that speak of every time, of all things of a kind, or of what people want in general.
pub(super) static LASTING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:never|always|ever|from now on|from here on|going forward|in (?:the )?future|no circumstances|at no time|no longer|whenever|every time|each time|in general|generally|usually|typically|by default|mandatory|forbidden|prohibited|not allowed|off[- ]limits|nothing else)\b",
        r"|\b(?:only|unless|without|until|before|after|when) (?:[a-z']+ )?(?:i|we|you|asked|told|asking)\b|(?:^|[,;:–] )(?:please,? |and |but |so |also,? )*(?:do not|don['’]t) [a-z]+|\b(?:must not|mustn['’]t|may not|shall not)\b|^(?:please,? )?(?:only use|use only|avoid|prefer|ensure)\b",
        r"|\b(?:i|we) (?:really |definitely |actually |generally |usually |strongly |personally )?(?:prefer|(?:only|always|never) [a-z]+|(?:don['’]?t|do not) (?:want|use|allow|accept|support))\b|\b(?:i|we) (?:approve|allow|permit)\b|\byou (?:may|are allowed|are free|must|have to)\b",
        r"|(?:^|[,.;:–-] ?)(?:and |but )?no (?:more )?[a-z-]+(?: [a-z-]+){0,3}!+$",
        r"|^(?:all|every|each|any|new|no) (?:[a-z`'-]+ ){1,6}must\b|^[a-z]+s must\b|\b(?:niemals|nie|immer|ab jetzt|jamais|toujours|nunca|jamás|siempre)\b|永远|绝不|绝对|始终|总是|不要|禁止|不得|严禁|务必|必须|必ず|しないで|するな",
    ))
});

/// Words addressed to somebody, which an article does not contain.
pub(super) static SPOKEN_TO: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?i)\b(?:i|you|your|we|our|my|please)\b|^(?:never|always|don['’]?t|make sure|keep|use|only)\b")
});
