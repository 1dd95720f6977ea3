//! Source code: its language and its definitions.

use std::sync::LazyLock;

use regex::Regex;

use super::{Kind, some};
use crate::clip::pattern;

/// A language by its definitions (name in the last group that matched) and other telling lines.
struct Language {
    name: &'static str,
    definition: &'static str,
    hint: &'static str,
}

const LANGUAGES: [Language; 9] = [
    Language {
        name: "Rust",
        definition: r#"(?m)^ {0,8}(?:pub(?:\([a-z: ]+\))? )?(?:(?:async|unsafe|const|default|extern "C") )*((?:fn|struct|enum|trait|mod|union) [A-Za-z_]\w*|impl(?:<[^>\n]*>)? [A-Za-z_][^\n{]*|macro_rules! \w+)"#,
        hint: r"(?m)^\s*(?:use [\w:]+(?:::\{?[\w*]|;)|#\[\w+|let mut |//[/!] )|-> (?:Result|Option|Self|&)|&mut |\w::\w",
    },
    Language {
        name: "Python",
        definition: r"(?m)^ {0,8}(?:async )?((?:def|class) [A-Za-z_]\w*)[^\n]*:",
        hint: r"(?m)^\s*(?:import \w+$|from [\w.]+ import |if __name__|elif |except |@\w+$)|\bself\.|\bNone\b",
    },
    Language {
        name: "TypeScript",
        definition: r"(?m)^ {0,4}(?:export )?(?:default )?(?:declare )?(?:abstract )?((?:interface|type|enum|namespace) [A-Za-z_$][\w$]*|(?:async )?function [A-Za-z_$][\w$]*[^\n]*\): |class [A-Za-z_$][\w$]*)",
        hint: r"(?m)^import (?:type )?[^\n]* from ['\x22]|: (?:string|number|boolean|void|Promise<|Record<)|\bas const\b|\breadonly ",
    },
    Language {
        name: "JavaScript",
        definition: r"(?m)^ {0,4}(?:export )?(?:default )?((?:async )?function\*? [A-Za-z_$][\w$]*|class [A-Za-z_$][\w$]*|const [A-Za-z_$][\w$]* = (?:async )?(?:\([^\n)]*\)|\w+) =>)",
        hint: r"(?m)^import [^\n]* from ['\x22]|require\(['\x22]|module\.exports|=> \{|===",
    },
    Language {
        name: "Go",
        definition: r"(?m)^((?:func (?:\([^)\n]{1,60}\) )?|type )[A-Za-z_]\w*)",
        hint: r"(?m)^package \w+$|:= |\bif err != nil\b|^import \(",
    },
    Language {
        name: "Java",
        definition: r"(?m)^\s{0,8}(?:(?:public|private|protected|static|final|abstract|sealed|internal|override) )+((?:class|interface|enum|record) \w+|[\w<>\[\], ]{1,60} \w+\()",
        hint: r"(?m)^import [\w.]+;|^package [\w.]+;|^using [\w.]+;|^namespace |@Override|\bnew \w+\(",
    },
    Language {
        name: "C",
        definition: r"(?m)^(?:static |inline |extern |const |constexpr |virtual )*((?:struct|class|enum|union|namespace) [A-Za-z_]\w*(?: :[^\n{]*)? ?\{|[A-Za-z_][\w:<>]*[ *&]+[A-Za-z_~][\w:]*\([^;\n]*\)(?: const)? ?\{?$)",
        hint: r"(?m)^#\s*(?:include|define|ifdef|ifndef|pragma)\b|->\w|std::|\bnullptr\b|\bNULL\b",
    },
    Language {
        name: "shell",
        definition: r"(?m)^(?:function )?([A-Za-z_]\w* ?\(\) ?\{)",
        hint: r"(?m)^#!/[^\n]*sh\b|^\s*(?:fi|done|esac)$|^\s*export \w+=|\$\{\w+|^set -e",
    },
    Language {
        name: "SQL",
        definition: r"(?mi)^\s*(create (?:or replace )?(?:unique )?(?:temp(?:orary)? )?(?:table|index|view|trigger|function)(?: if not exists)? [\w.\x22]+)",
        hint: r"(?mi)^\s*(?:select .* from|insert into|alter table|primary key)\b",
    },
];

static PATTERNS: LazyLock<Vec<(&'static str, Regex, Regex)>> = LazyLock::new(|| {
    let compiled = LANGUAGES
        .iter()
        .filter_map(|language| Some((language.name, pattern(language.definition)?, pattern(language.hint)?)));
    compiled.collect()
});

/// Most bytes read to detect the language.
const LOOK_BYTES: usize = 32 << 10;

/// Describes source code by its language and the names of its definitions.
pub(super) fn describe(text: &str) -> Option<(Kind, String)> {
    let look = crate::clip::head(text, LOOK_BYTES);
    let lines = look.lines().filter(|line| !line.trim().is_empty()).count();
    let score = |(_, definition, hint): &&(&'static str, Regex, Regex)| {
        let (definitions, hints) =
            (definition.find_iter(look).take(200).count(), hint.find_iter(look).take(200).count());
        if definitions == 0 { hints / 3 } else { 2 * definitions + hints }
    };
    let scored = PATTERNS.iter().rev().map(|language| (score(&language), language));
    let (points, best) = scored.max_by_key(|(points, _)| *points)?;
    let typed = || {
        PATTERNS.iter().any(|(name, _, hint)| *name == "TypeScript" && hint.find_iter(look).nth(1).is_some())
    };
    // A page of prose with a snippet in it is still prose.
    if points < 3 || points * 12 < lines {
        return None;
    }
    let (name, definition, _) = best;
    let outline: Vec<String> = definition
        .captures_iter(text)
        .filter_map(|groups| groups.iter().skip(1).flatten().last().map(|group| group.as_str()))
        .map(|found| found.trim().trim_end_matches(['{', '(', ':']).trim().to_owned())
        .take(200)
        .collect();
    let outline = if outline.is_empty() { String::new() } else { format!(": {}", some(&outline, 10)) };
    let name = if *name == "JavaScript" && typed() { "TypeScript" } else { name };
    Some((Kind::Code, format!("{name} code{outline}")))
}
