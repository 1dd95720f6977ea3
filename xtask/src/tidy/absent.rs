//! What is absent on purpose: the list of ARCHITECTURE.md, line by line.

use super::Problem;
use super::source::{Mention, Source};
use crate::workspace::File;

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## What is absent, on purpose";

/// What must not stand in code.
enum Banned {
    /// This path or one below it: `std::fs` bans `std::fs::read` and `use std::fs`.
    Path(&'static str),
    /// A name anywhere in a path.
    Name(&'static str),
    /// Words in a string literal, in any case.
    Text(&'static str),
    /// A type built by naming its fields.
    Built(&'static str),
    /// A trait that a public type derives.
    Derived(&'static str),
    /// A line of the crate's manifest that begins so.
    Dependency(&'static str),
}

/// One line of the table: where something is absent.
struct Absence {
    /// Words of the item of ARCHITECTURE.md that it checks.
    item: &'static str,
    /// Paths that it is about, by their beginnings.
    within: &'static [&'static str],
    /// Paths in which it is allowed.
    except: &'static [&'static str],
    banned: &'static [Banned],
}

use Banned::{Built, Dependency, Derived, Name, Path, Text};

const TABLE: &[Absence] = &[
    Absence {
        item: "The core has no clock",
        within: &["crates/unforget-core/"],
        except: &[],
        banned: &[
            Path("std::fs"),
            Path("std::env"),
            Path("std::thread"),
            Path("std::process"),
            Path("std::net"),
            Path("std::io"),
            Name("Mutex"),
            Name("RwLock"),
            Path("std::sync::mpsc"),
            Name("SystemTime"),
            Name("Instant"),
            Name("HashMap"),
            Name("HashSet"),
            Dependency("serde"),
            Dependency("tracing"),
            Dependency("log"),
            Dependency("rand"),
            Dependency("getrandom"),
            Dependency("regex"),
        ],
    },
    Absence {
        item: "`wire` decides nothing",
        within: &["crates/unforget-wire/"],
        except: &[],
        banned: &[Name("unforget_store"), Name("unforget_engine"), Dependency("unforget-store")],
    },
    Absence {
        item: "`wire` decides nothing",
        within: &["crates/unforget-store/"],
        except: &[],
        banned: &[Name("unforget_wire"), Dependency("unforget-wire"), Dependency("serde_json")],
    },
    Absence {
        item: "The store has no method that changes or deletes an entry",
        within: &["crates/unforget-store/"],
        except: &["crates/unforget-store/src/sqlite/purge", "crates/unforget-store/src/sqlite/entries.rs"],
        banned: &[
            Text("update entry "),
            Text("delete from entry "),
            Text("update chunk "),
            Text("delete from chunk "),
            Text("update blob "),
            Text("delete from blob "),
        ],
    },
    Absence {
        item: "The engine computes no tokens",
        within: &["crates/unforget-engine/"],
        // The ruler holds the tokeniser of a model: the core counts with it, and cannot load one.
        except: &["crates/unforget-engine/src/ruler.rs", "crates/unforget-engine/src/prompt/compose.rs"],
        banned: &[Built("Cover"), Path("tiktoken"), Name("fresh_tail_start")],
    },
    Absence {
        item: "Nothing decides by equal text",
        within: &[
            "crates/unforget-core/src/reconcile",
            "crates/unforget-core/src/deliver",
            "crates/unforget-core/src/inherit",
            "crates/unforget-core/src/caller",
        ],
        except: &[],
        banned: &[Name("Text"), Name("unforget_text"), Name("eq_ignore_ascii_case")],
    },
    Absence {
        item: "Only `admit` makes an `Admitted`",
        within: &["crates/"],
        except: &["crates/unforget-core/src/admit"],
        banned: &[Built("Admitted")],
    },
    Absence {
        item: "No prompt waits for a model",
        within: &["crates/unforget-engine/src/prompt", "crates/unforget-core/", "crates/unforget-wire/"],
        except: &[],
        banned: &[Name("unforget_llm")],
    },
    Absence {
        item: "There is no FTS5 table",
        within: &["crates/"],
        except: &["crates/unforget-cli/src/bench", "crates/unforget-eval/src/arms.rs"],
        banned: &[Text("using fts5"), Text("using fts4")],
    },
    Absence {
        item: "Nobody opens the database file outside SQLite",
        within: &["crates/unforget-store/"],
        // The lock file, the record of what was acknowledged, the log, a copy, a file that is not there yet, and a handle that is never closed.
        except: &[
            "crates/unforget-store/src/sqlite/acknowledged.rs",
            "crates/unforget-store/src/sqlite/backup",
            "crates/unforget-store/src/sqlite/checkpoint.rs",
            "crates/unforget-store/src/sqlite/lock.rs",
            "crates/unforget-store/src/sqlite/open.rs",
            "crates/unforget-store/src/sqlite/sync.rs",
        ],
        banned: &[Path("std::fs::File"), Path("std::fs::OpenOptions"), Path("std::fs::read")],
    },
    Absence {
        item: "Nothing of the command line prints past `output`",
        within: &["crates/unforget-cli/"],
        // The protocol of an agent host.
        except: &["crates/unforget-cli/src/output", "crates/unforget-cli/src/commands/engine.rs"],
        banned: &[
            Path("println"),
            Path("eprintln"),
            Path("dbg"),
            Path("std::io::stdout"),
            Path("std::io::stderr"),
            Path("io::stdout"),
            Path("io::stderr"),
        ],
    },
    Absence {
        item: "No path, address or command that stands in a transcript",
        within: &[
            "crates/unforget-core/",
            "crates/unforget-text/",
            "crates/unforget-wire/",
            "crates/unforget-recall/",
        ],
        except: &[],
        banned: &[
            Path("std::fs"),
            Path("std::net"),
            Path("std::process"),
            Dependency("ureq"),
            Dependency("reqwest"),
        ],
    },
    Absence {
        item: "No path, address or command that stands in a transcript",
        within: &["crates/unforget-engine/"],
        // Files of hosts where hosts keep them, files that a person named, and folders of the daemon.
        except: &[
            "crates/unforget-engine/src/append",
            "crates/unforget-engine/src/discover",
            "crates/unforget-engine/src/guard",
            "crates/unforget-engine/src/import",
            "crates/unforget-engine/src/pins",
            "crates/unforget-engine/src/replay/run.rs",
            "crates/unforget-engine/src/summarise/chain.rs",
            "crates/unforget-engine/src/trust/doctor.rs",
        ],
        banned: &[Path("std::fs"), Path("std::net"), Path("std::process"), Dependency("reqwest")],
    },
    Absence {
        item: "No type below L3 implements serde for its own sake",
        within: &[
            "crates/unforget-core/",
            "crates/unforget-text/",
            "crates/unforget-llm/",
            "crates/unforget-recall/",
            "crates/unforget-store/",
            "crates/unforget-engine/",
        ],
        // What a model returns is read as its instructions describe it.
        except: &["crates/unforget-llm/src/patch.rs"],
        banned: &[Derived("Serialize"), Derived("Deserialize")],
    },
];

/// Checks every line of the table, and that ARCHITECTURE.md and the table name the same items.
pub(super) fn check(files: &[File], sources: &[Source<'_>]) -> Vec<Problem> {
    let mut problems = listed(files);
    for absence in TABLE {
        for source in sources.iter().filter(|source| absence.is_about(source.path)) {
            problems.extend(absence.banned.iter().flat_map(|banned| banned.found(source)));
        }
        let manifests = files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
        for manifest in manifests.filter(|file| absence.is_about(&file.path)) {
            problems.extend(absence.banned.iter().filter_map(|banned| banned.declared(manifest)));
        }
    }
    problems.sort();
    problems.dedup();
    problems
}

/// Items of the page that no line of the table checks, and lines that check no item.
fn listed(files: &[File]) -> Vec<Problem> {
    let page = files.iter().find(|file| file.path == PAGE).map_or("", |file| file.text.as_str());
    let section = page.lines().skip_while(|line| *line != HEADING).skip(1);
    let items: Vec<&str> = section
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("- "))
        .collect();
    let mut problems = Vec::new();
    for item in &items {
        if !TABLE.iter().any(|absence| item.contains(absence.item)) {
            problems.push(format!("{PAGE}: no check for \"{item}\"; add one (xtask/src/tidy/absent.rs)"));
        }
    }
    for absence in TABLE {
        if !items.iter().any(|item| item.contains(absence.item)) {
            problems.push(format!("{PAGE}: \"{HEADING}\" has no item with \"{}\"", absence.item));
        }
    }
    problems.dedup();
    problems
}

impl Absence {
    fn is_about(&self, path: &str) -> bool {
        let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| path.starts_with(beginning));
        begins(self.within) && !begins(self.except)
    }
}

impl Banned {
    fn found(&self, source: &Source<'_>) -> Vec<Problem> {
        let mentions: &[Mention] = match self {
            Path(_) | Name(_) => &source.paths,
            Text(_) => &source.literals,
            Built(_) => &source.built,
            Derived(_) => &source.derived,
            Dependency(_) => &[],
        };
        let found = mentions.iter().filter(|mention| self.is_in(&mention.text));
        found.map(|mention| {
            format!(
                "{}:{}: `{}` is absent here on purpose ({PAGE}, \"{HEADING}\"); move the code or ask for another rule",
                source.path, mention.line, mention.text
            )
        })
        .collect()
    }

    fn is_in(&self, text: &str) -> bool {
        match self {
            Path(path) => {
                text.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            }
            Name(name) | Derived(name) => text.split("::").any(|segment| segment == *name),
            Text(words) => text.to_ascii_lowercase().contains(words),
            Built(name) => text == *name,
            Dependency(_) => false,
        }
    }

    fn declared(&self, manifest: &File) -> Option<Problem> {
        let Dependency(name) = self else { return None };
        let begins = |line: &str| line.split(['.', ' ', '=']).next() == Some(name);
        let product = manifest.text.lines().take_while(|line| *line != "[dev-dependencies]");
        product
            .into_iter()
            .any(begins)
            .then(|| format!("{}: `{name}` is absent here on purpose ({PAGE}, \"{HEADING}\")", manifest.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::source::parse;

    fn file(path: &str, text: &str) -> File {
        File { path: path.to_string(), text: text.to_string() }
    }

    fn items() -> Vec<String> {
        TABLE.iter().map(|absence| format!("- {}, and more", absence.item)).collect()
    }

    fn page(items: &[String]) -> String {
        format!("{HEADING}\n\n{}\n## Next\n- other\n", items.join("\n"))
    }

    fn breaches(path: &str, text: &str) -> usize {
        let files = [file(PAGE, &page(&items())), file(path, text)];
        check(&files, &parse(&files).0).len()
    }

    #[test]
    fn each_absence_is_noticed() {
        let table = [
            ("crates/unforget-core/src/a.rs", "fn f() { std::env::var(A); }", 1, "environment"),
            ("crates/unforget-core/src/a.rs", "use std::collections::{BTreeMap, HashMap};", 1, "order"),
            ("crates/unforget-core/src/a.rs", "use std::fmt;", 0, "no effect"),
            ("crates/unforget-core/Cargo.toml", "[dependencies]\nserde = { workspace = true }", 1, "serde"),
            ("crates/unforget-core/Cargo.toml", "[dev-dependencies]\nserde = \"1\"", 0, "tests may"),
            ("crates/unforget-cli/src/a.rs", "fn f() { println!(\"a\"); }", 1, "printed past the output"),
            ("crates/unforget-cli/src/output.rs", "fn f() { std::io::stdout(); }", 0, "the output itself"),
            ("crates/unforget-wire/src/a.rs", "use unforget_store::Store;", 1, "wire knows no store"),
            ("crates/unforget-store/src/a.rs", "use unforget_wire::Format;", 1, "the store knows no wire"),
            (
                "crates/unforget-store/src/a.rs",
                "const A: &str = \"UPDATE entry SET a = 1\";",
                1,
                "an entry changes",
            ),
            (
                "crates/unforget-store/src/sqlite/purge.rs",
                "fn f() { g(\"DELETE FROM blob WHERE\"); }",
                0,
                "purge",
            ),
            ("crates/unforget-engine/src/a.rs", "fn f() { Cover { a } }", 1, "a cover"),
            ("crates/unforget-core/src/reconcile.rs", "fn f(a: Part) { a == Part::Text }", 1, "by text"),
            ("crates/unforget-engine/src/a.rs", "fn f() { Admitted { a } }", 1, "a second maker"),
            ("crates/unforget-engine/src/prompt/a.rs", "use unforget_llm::Model;", 1, "a model"),
            (
                "crates/unforget-store/src/a.rs",
                "const A: &str = \"CREATE VIRTUAL TABLE a USING fts5(b)\";",
                1,
                "fts5",
            ),
            ("crates/unforget-store/src/a.rs", "use std::fs::File;", 1, "the database file"),
            ("crates/unforget-text/src/a.rs", "fn f() { std::fs::read(a); }", 1, "a path in a transcript"),
            (
                "crates/unforget-engine/src/recall.rs",
                "use std::process::Command;",
                1,
                "a command in a transcript",
            ),
            ("crates/unforget-recall/src/a.rs", "#[derive(serde::Serialize)] pub struct A;", 1, "serde"),
            ("crates/unforget-recall/src/a.rs", "#[derive(serde::Serialize)] struct A;", 0, "a private form"),
        ];
        for (path, text, want, why) in table {
            assert_eq!(breaches(path, text).min(1), want, "{why}");
        }
    }

    #[test]
    fn the_page_and_the_table_name_each_other() {
        let problems = |items: &[String]| check(&[file(PAGE, &page(items))], &[]);
        let mut all = items();
        assert_eq!(problems(&all), Vec::<Problem>::new());
        assert_eq!(problems(all.get(1..).unwrap_or_default()).len(), 1, "a check without an item");
        all.push("- No cat".to_string());
        assert_eq!(problems(&all).len(), 1, "an item without a check");
    }
}
