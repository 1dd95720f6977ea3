//! Sentences that a person may want to pin.
//!
//! Conservative: a proposal costs a person's attention, and one that is taken stands in every prompt. So only
//! people's own words count, and of them only sentences that lay down a rule or give leave for more than one time. What is
//! quoted, shown as code, asked, told of others, guessed ("it must be"), or meant for now only, is no rule.

use std::sync::LazyLock;

use regex::Regex;
use unforget_core::entry::{Entry, Origin, Part};

use crate::clip::{head, one_line, pattern};
use crate::draft::unquoted;
use crate::lines::error_lines;
use crate::sentences::sentences;

/// Why a sentence is proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProposalKind {
    /// It forbids: never, do not, must not.
    Prohibition,
    /// It demands: always, must, only.
    Demand,
    /// It gives leave: you may, I approve.
    Approval,
    /// It is a rule of a file that the host puts in front (`AGENTS.md`, `CLAUDE.md` and their like).
    RuleFile,
}

impl ProposalKind {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prohibition => "prohibition",
            Self::Demand => "demand",
            Self::Approval => "approval",
            Self::RuleFile => "rule-file",
        }
    }
}

/// A sentence to pin, verbatim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal<'a> {
    /// Why.
    pub kind: ProposalKind,
    /// The words as they stand in the entry.
    pub text: &'a str,
}

/// Bytes of a text that are read.
const READ_BYTES: usize = 64 << 10;
/// Shortest and longest sentence that is proposed.
const CHARS_MIN: usize = 8;
const CHARS_MAX: usize = 300;
/// Most proposals from one entry.
const PROPOSALS_MAX: usize = 32;

/// What stands before an order at the start of a sentence or behind a comma.
const LEAD: &str = r"(?:^|[,;:–] (?:and |but |so |then )?|\. )(?:please,? |also,? |and,? |but,? |so,? |important: *|note: *|rule: *|reminder: *|from now on,? |going forward,? |in (?:the )?future,? )*";

/// Sentences that forbid.
static PROHIBITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
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
static DEMAND: LazyLock<Option<Regex>> = LazyLock::new(|| {
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

/// Sentences that give leave for more than once.
static APPROVAL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:yes,? )?(?:i (?:approve|allow|permit|authori[sz]e) [a-z]|approved: |permission granted\b|you (?:are allowed|are free|have (?:my )?(?:permission|approval|leave)) to [a-z]",
        r"|you may (?:always |freely )?(?:run|use|edit|change|delete|push|commit|merge|install|create|write|read|call|deploy|publish|add|remove)\b)",
    ))
});

/// What looks like a rule and is none.
static OTHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
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

/// Starts of texts that hosts put in front from rule files.
const RULE_FILES: [&str; 4] =
    ["# AGENTS.md instructions", "<user_instructions>", "Contents of ", "# claudeMd"];

/// The sentences of an entry that a person may want to pin, in order, each once.
///
/// Of a person's entry every text counts; of what a host put in, only the text of rule files. Tool output, words of
/// the model and summaries propose nothing.
///
/// Cost: linear in the first 64 kilobytes of each text.
pub fn proposals(entry: &Entry) -> Vec<Proposal<'_>> {
    let file = match entry.origin {
        Origin::Human => false,
        Origin::Injected => true,
        _ => return Vec::new(),
    };
    let mut found: Vec<Proposal<'_>> = Vec::new();
    for part in &entry.parts {
        let Part::Text(text) = part else { continue };
        if file && !RULE_FILES.iter().any(|start| text.trim_start().starts_with(start)) {
            continue;
        }
        for (kind, sentence) in rules(head(text, READ_BYTES)) {
            let kind = if file { ProposalKind::RuleFile } else { kind };
            if found.len() < PROPOSALS_MAX && !found.iter().any(|known| known.text == sentence) {
                found.push(Proposal { kind, text: sentence });
            }
        }
    }
    found
}

/// Rules in a text, outside code and quoted lines.
fn rules(text: &str) -> Vec<(ProposalKind, &str)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            in_code = !in_code;
        } else if !in_code && !start.starts_with(['>', '[', '\u{1b}']) && error_lines(line, 1).is_empty() {
            found
                .extend(sentences(line).into_iter().filter_map(|sentence| Some((kind(sentence)?, sentence))));
        }
    }
    found
}

/// What a sentence lays down, if anything.
fn kind(sentence: &str) -> Option<ProposalKind> {
    // Scripts without blanks say more in fewer characters.
    let least = if sentence.is_ascii() { CHARS_MIN } else { CHARS_MIN / 2 };
    let length = sentence.chars().count();
    if !(least..=CHARS_MAX).contains(&length) || sentence.ends_with(['?', '？', ':']) {
        return None;
    }
    // What is quoted is somebody else's.
    let plain = one_line(&unquoted(sentence));
    let plain = plain.trim_matches(['*', '_']);
    let is = |wanted: &LazyLock<Option<Regex>>| wanted.as_ref().is_some_and(|wanted| wanted.is_match(plain));
    let few = plain.is_ascii() && plain.split_whitespace().count() < 3;
    if few || is(&OTHER) {
        None
    } else if is(&PROHIBITION) {
        Some(ProposalKind::Prohibition)
    } else if is(&DEMAND) {
        Some(ProposalKind::Demand)
    } else {
        is(&APPROVAL).then_some(ProposalKind::Approval)
    }
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::Role;

    use super::*;

    const RULES: &[(&str, ProposalKind, &str)] = {
        use ProposalKind::{Approval, Demand, Prohibition};
        &[
            ("Never push to main.", Prohibition, "never"),
            ("Please never delete rows from the orders table.", Prohibition, "politely"),
            ("Do not touch the migrations folder", Prohibition, "do not"),
            ("Don’t use unwrap in library code.", Prohibition, "with a curly apostrophe"),
            ("You must not log tokens.", Prohibition, "you must not"),
            ("Tests must never hit the network.", Prohibition, "must never"),
            ("Force pushes are strictly forbidden.", Prohibition, "forbidden"),
            ("Under no circumstances change the public API.", Prohibition, "under no circumstances"),
            ("Fix the bug, but never edit generated files.", Prohibition, "behind a comma"),
            ("If a test fails, don't skip it.", Prohibition, "a condition of its own"),
            ("Never deploy until I approve it.", Prohibition, "never, with a condition"),
            ("Always run cargo fmt before a commit.", Demand, "always"),
            ("You must use tabs.", Demand, "you must"),
            ("All commits must be signed.", Demand, "all must"),
            ("Migrations must run inside a transaction.", Demand, "plural must"),
            ("From now on, answer in German.", Demand, "from now on"),
            ("Use only the standard library.", Demand, "only"),
            ("Code review is mandatory.", Demand, "mandatory"),
            ("You may run the deploy script.", Approval, "leave"),
            ("I approve the use of SQLite.", Approval, "approval"),
            ("You have my permission to edit CI files.", Approval, "permission"),
            ("Niemals direkt auf main pushen.", Prohibition, "German"),
            ("Bitte immer die Tests laufen lassen.", Demand, "German"),
            ("Ne modifie jamais ce fichier.", Prohibition, "French"),
            ("Nunca borres la base de datos.", Prohibition, "Spanish"),
            ("不要修改这个文件。", Prohibition, "Chinese"),
            ("必ずテストを実行してください。", Demand, "Japanese"),
        ]
    };

    const NO_RULES: &[(&str, &str)] = &[
        ("Should I never push to main?", "a question"),
        ("Why must all commits be signed?", "a question"),
        ("Do not push?", "a question"),
        ("I never said that.", "told of oneself"),
        ("It never works on the first try.", "told of a thing"),
        ("The build never finished.", "told"),
        ("This always fails on Windows.", "told"),
        ("Same result, never worked.", "told behind a comma"),
        ("That crash should never happen.", "a complaint"),
        ("\u{1b}[2mYou must run this checklist.\u{1b}[22m", "coloured output"),
        ("Never mind, it works.", "a saying"),
        ("Don't worry about the warning.", "a comfort"),
        ("Don't forget the comma.", "once"),
        ("Do not run the tests yet.", "for now"),
        ("Don't commit this time.", "once"),
        ("Do not touch it for now.", "for now"),
        ("There must be a bug in the parser.", "a guess"),
        ("It must have been the cache.", "a guess"),
        ("The error must be in the lexer.", "a guess"),
        ("The docs say you must call flush.", "told of others"),
        ("The linter complains: never use any.", "told of others"),
        ("He said \"never push to main\".", "quoted"),
        ("\"Never push to main.\"", "quoted whole"),
        ("> Never push to main.", "a quoted line"),
        ("`never push` is in the log.", "code"),
        ("```\nNever push to main.\n```", "a block of code"),
        ("| Always | Never |", "a table"),
        ("error: you must not borrow twice", "output"),
        ("[WARN] Never run as root.", "output"),
        ("As always, thanks.", "a saying"),
        ("It is almost never used.", "a measure"),
        ("I don't know what you must do.", "not knowing"),
        ("Please fix the bug and run the tests.", "an order for once"),
        ("Never!", "too short to say anything"),
        ("if (x) { never(); }", "code"),
        ("You may want to look at a.rs.", "no leave"),
        ("Go ahead.", "leave for once, for what was asked"),
        ("Es ist immer noch kaputt.", "German, still"),
        ("Ça ne marche toujours pas.", "French, still"),
        ("必须修改吗？", "Chinese, a question"),
    ];

    fn entry(origin: Origin, text: &str) -> Entry {
        Entry { role: Role::User, parts: vec![Part::Text(text.into())], ..Entry::bare(origin) }
    }

    #[test]
    fn rule_table() {
        for (text, kind, why) in RULES {
            let entry = entry(Origin::Human, text);
            assert_eq!(proposals(&entry), [Proposal { kind: *kind, text }], "{why}: {text}");
        }
    }

    #[test]
    fn near_miss_table() {
        for (text, why) in NO_RULES {
            let entry = entry(Origin::Human, text);
            assert_eq!(proposals(&entry), [], "{why}: {text}");
        }
    }

    #[test]
    fn only_people_and_rule_files_propose() {
        let text = "Never push to main.";
        for origin in [
            Origin::Model,
            Origin::Tool,
            Origin::HostSummary,
            Origin::Volatile,
            Origin::Copy,
            Origin::Injected,
        ] {
            assert_eq!(proposals(&entry(origin, text)), [], "{origin:?}");
        }
        let file = entry(
            Origin::Injected,
            "# AGENTS.md instructions for /w\n\n- Never push to main.\n- The crate is small.",
        );
        assert_eq!(proposals(&file), [Proposal { kind: ProposalKind::RuleFile, text }]);
        let result = unforget_core::entry::ToolResult {
            call_id: "c".into(),
            name: String::new(),
            content: vec![Part::Text(text.into())],
            is_error: false,
            exit_code: None,
        };
        let tool = Entry { parts: vec![Part::ToolResult(result)], ..entry(Origin::Human, "") };
        assert_eq!(proposals(&tool), [], "a result in a person's record");
    }

    #[test]
    fn words_stay_verbatim_and_stand_once() {
        let said = entry(
            Origin::Human,
            "Thanks!  - Never  push to `main`.\n- Never  push to `main`.\nAlso fix a.rs.",
        );
        let texts: Vec<&str> = proposals(&said).iter().map(|proposal| proposal.text).collect();
        assert_eq!(texts, ["Never  push to `main`."]);
    }
}
