//! Scripts of code-mode tools: finds the calls of other tools inside them.
//!
//! `const r = await tools.exec_command({cmd: "cargo test"});` runs `cargo test`. Only plain strings of the script are
//! known, never computed ones.

/// Most strings read of a script, and most bytes of a script.
const STRINGS_MAX: usize = 256;
const SCRIPT_BYTES: usize = 256 << 10;

/// The command lines that a script runs, one after another, and the patches that it applies, each on its own lines.
/// `None` if the text is no such script. Cost: linear.
pub(crate) fn commands(script: &str) -> Option<String> {
    let script = crate::clip::head(script, SCRIPT_BYTES);
    memchr::memmem::find(script.as_bytes(), b"tools.")?;
    let strings = strings(script);
    let mut lines: Vec<&str> = Vec::new();
    let mut at = 0;
    while let Some(found) = script.get(at..).and_then(|rest| memchr::memmem::find(rest.as_bytes(), b"tools."))
    {
        let start = at + found + "tools.".len();
        let rest = script.get(start..).unwrap_or_default();
        let name: &str =
            rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
        let end = memchr::memmem::find(rest.as_bytes(), b"tools.").map_or(script.len(), |next| start + next);
        at = start;
        let inside = strings.iter().filter(|string| (start..end).contains(&string.at));
        match name {
            "exec_command" | "shell" | "shell_command" | "local_shell" | "bash" | "exec" => {
                lines.extend(command(script, inside));
            }
            "apply_patch" => {
                let before = strings.iter().filter(|string| string.at < start);
                let patch = inside.chain(before.rev()).find(|string| string.text.contains("*** Begin Patch"));
                lines.extend(patch.map(|patch| patch.text.as_str()));
            }
            _ => {}
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The string of a `cmd` or `command`, or the joined strings of its list.
fn command<'a>(script: &str, inside: impl Iterator<Item = &'a Literal>) -> Option<&'a str> {
    let mut inside = inside.filter(|string| string.plain);
    inside.find_map(|string| {
        let before = script.get(..string.at)?.trim_end().trim_end_matches('[').trim_end();
        let key = before.strip_suffix(':')?.trim_end().trim_end_matches(['"', '\'']);
        // `["bash", "-lc", "cargo test"]`: the caller reads the shell's script from the end.
        (key.ends_with("cmd") || key.ends_with("command")).then_some(string.text.as_str())
    })
}

/// A string of a script.
struct Literal {
    /// Where it begins.
    at: usize,
    text: String,
    /// Whether it computes nothing.
    plain: bool,
}

/// The strings of a script without comments; the strings of one list are joined by blanks.
fn strings(script: &str) -> Vec<Literal> {
    let mut found: Vec<Literal> = Vec::new();
    let mut at = 0;
    // Where the last string of a list ended, if only a comma followed.
    let mut list = None;
    while let Some(c) = script.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = script.get(at..).unwrap_or_default();
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            at += rest.find("*/").map_or(rest.len(), |end| end + 2);
        } else if matches!(c, '"' | '\'' | '`') && found.len() < STRINGS_MAX {
            let (text, plain, length) = literal(rest, c);
            match (list, found.last_mut()) {
                (Some(()), Some(last)) => {
                    last.text.extend([" ", &text]);
                    last.plain &= plain;
                }
                _ => found.push(Literal { at, text, plain }),
            }
            at += length;
            list = None;
            let behind = script.get(at..).unwrap_or_default().trim_start();
            let next = behind.strip_prefix(',').map(str::trim_start);
            if let Some(next) = next.filter(|next| next.starts_with(['"', '\'', '`'])) {
                at = script.len() - next.len();
                list = Some(());
            }
        } else {
            at += c.len_utf8();
        }
    }
    found
}

/// A string that begins with its quote: its text, whether it is plain, and its length in the script.
fn literal(rest: &str, quote: char) -> (String, bool, usize) {
    let mut text = String::new();
    let mut plain = true;
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return (text, plain, at + c.len_utf8()),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('r' | '\n') | None => {}
                Some('u' | 'x') => plain = false,
                Some(c) => text.push(c),
            },
            '$' if quote == '`' && rest.get(at + 1..).is_some_and(|rest| rest.starts_with('{')) => {
                plain = false;
                text.push(c);
            }
            c => text.push(c),
        }
    }
    (text, false, rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_table() {
        let table = [
            (
                "// @exec: {\"timeout\": 1}\nconst r = await tools.exec_command({cmd: \"cargo test -p a\"});\ntext(r.output ?? r);",
                Some("cargo test -p a"),
                "one command behind a comment",
            ),
            (
                "const [a, b] = await Promise.all([tools.exec_command({cmd: 'ls src'}), tools.exec_command({\"cmd\": `git status`})]);",
                Some("ls src\ngit status"),
                "two at once",
            ),
            (
                "await tools.exec_command({\n cmd: [\"git\", \"status\", \"--short\"],\n workdir: \"/repo\"\n});",
                Some("git status --short"),
                "a list",
            ),
            (
                "tools.exec_command({workdir: \"/repo\", cmd: \"make\\ncheck\"})",
                Some("make\ncheck"),
                "a line end",
            ),
            ("tools.exec_command({cmd: `rm ${file}`})", None, "computed"),
            (
                "const p = `*** Begin Patch\n*** Add File: a.rs\n+x\n*** End Patch`;\nawait tools.apply_patch(p);",
                Some("*** Begin Patch\n*** Add File: a.rs\n+x\n*** End Patch"),
                "a patch in a variable",
            ),
            ("tools.wait({cell_id: \"c\"})", None, "nothing that runs"),
            ("cargo test", None, "a command line is no script"),
            ("tools.exec_command({cmd: \"open", None, "cut off"),
        ];
        for (script, want, why) in table {
            assert_eq!(commands(script).as_deref(), want, "{why}");
        }
    }
}
