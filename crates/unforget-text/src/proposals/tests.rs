//! Tables of rules and of sentences that are none.

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
        ("I prefer short commit messages.", Demand, "a preference"),
        ("I'd prefer tabs over spaces in this repo.", Demand, "politely preferred"),
        ("As a beginner, i really prefer step-by-step answers.", Demand, "behind a clause"),
        ("i would only want e2e tests", Demand, "only want"),
        ("I only want unit tests for the parser.", Demand, "only want"),
        ("we don't need backwards compatibility", Prohibition, "not needed"),
        ("I don't want any new dependencies.", Prohibition, "not wanted"),
        ("no, dimGray should be that, no need for linkGray", Prohibition, "no need"),
        ("can we not add a new config flag?", Demand, "a request in the form of a question"),
        ("Could you keep the old code around?", Demand, "a request in the form of a question"),
        ("keep the old code around", Demand, "keep"),
        ("Let's keep the public API as it is.", Demand, "let's keep"),
        ("update the docs but make sure that nobody has to run the slow tests", Demand, "in one breath"),
        ("read the review make sure you check it first", Demand, "in one breath"),
        ("rename it but always write the old name too", Demand, "in one breath"),
        ("make sure you also run the linter", Demand, "make sure"),
        ("Fix it, and make sure to add a test.", Demand, "behind a comma"),
        ("answer in German from now on", Demand, "from now on, at the end"),
        ("no console logs!", Prohibition, "short and loud"),
        ("use rgb values in the themes, no rgb indices", Demand, "this and not that"),
        ("invalid themes must NEVER explode", Prohibition, "loud"),
        ("only the first response and not on error paths", Demand, "only, and not"),
        (
            "Keep the docs next to code, e.g. a README per crate, i.e. not in a wiki.",
            Demand,
            "shortened words",
        ),
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
    for origin in
        [Origin::Model, Origin::Tool, Origin::HostSummary, Origin::Volatile, Origin::Copy, Origin::Injected]
    {
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
    let said =
        entry(Origin::Human, "Thanks!  - Never  push to `main`.\n- Never  push to `main`.\nAlso fix a.rs.");
    let texts: Vec<&str> = proposals(&said).iter().map(|proposal| proposal.text).collect();
    assert_eq!(texts, ["Never  push to `main`."]);
}

#[test]
fn lasting_table() {
    let table = [
        ("Never push to main.", true, "never"),
        ("If a test fails, don't skip it.", true, "an order behind a condition"),
        ("I prefer small commits.", true, "a preference"),
        ("We don't use mocks here.", true, "a habit"),
        ("Only run the benches when I ask.", true, "a condition of every time"),
        ("Make sure there are no redundant parts.", false, "a wish about the work at hand"),
        ("No, the block should stay as it is.", false, "a wish about one thing"),
        ("yes, but we don't need to commit", false, "an answer"),
    ];
    for (sentence, want, why) in table {
        assert_eq!(is_lasting(sentence), want, "{why}: {sentence}");
    }
}
