//! Identifiers in text: the words that a later reader needs letter by letter.

mod codes;

/// The kind of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AnchorKind {
    /// `https://…`
    Url,
    /// A file or folder.
    Path,
    /// A digest, commit or UUID.
    Hash,
    /// `1.2.3`, `v2.0`
    Version,
    /// A number with a unit, or a port.
    Quantity,
    /// `ABC-123`, `#42`, `E0308`, `snake_case`, `crate::item`
    Id,
}

/// An identifier, verbatim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Anchor<'a> {
    /// Its kind.
    pub kind: AnchorKind,
    /// Its letters.
    pub text: &'a str,
}

/// Shortest and longest identifier, in bytes.
const LENGTH: std::ops::RangeInclusive<usize> = 2..=160;

/// Marks a word that was cut off.
pub(crate) const CUT: char = '…';

/// The identifiers in `text`, in order, including repetitions. A cut-off one (`src/ma…`) does not count, nor does a measured
/// time (`0.5s`) or what hosts and shells write into all outputs. Cost: linear.
pub fn anchors(text: &str) -> impl Iterator<Item = Anchor<'_>> {
    let whole = anchors_and_cut(text).filter_map(|(anchor, cut)| (!cut).then_some(anchor));
    whole.filter(|anchor| !is_measured_time(anchor.text) && !COMMON.contains(&anchor.text))
}

/// The identifiers in `text`, each with whether it was cut off.
pub(crate) fn anchors_and_cut(text: &str) -> impl Iterator<Item = (Anchor<'_>, bool)> {
    raw_words(text).filter_map(|raw| {
        let word = without_line(trim(raw));
        // Most words consist of plain letters.
        if !LENGTH.contains(&word.len()) || word.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            return None;
        }
        Some((Anchor { kind: kind(word)?, text: word }, raw.contains(CUT)))
    })
}

/// Names that stand in the outputs of all tools: devices of the shell, fields of hosts.
const COMMON: [&str; 8] = [
    "/dev/null",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "duration_api_ms",
    "duration_ms",
    "tool_use_id",
];

/// Whether a word is a time with a fraction, as programs measure it. A time without one may be a setting.
fn is_measured_time(word: &str) -> bool {
    let Some(end) = word.find(|c: char| !(c.is_ascii_digit() || c == '.')) else { return false };
    let (number, unit) = word.split_at(end);
    let is_fraction = number
        .split_once('.')
        .is_some_and(|(whole, part)| !whole.is_empty() && !part.is_empty() && !part.contains('.'));
    is_fraction && matches!(unit, "ns" | "us" | "µs" | "ms" | "s")
}

/// A word without the words of a line that `grep` puts behind the name of its file: `pool.go:507:func` is `pool.go:507`,
/// `pool.go-467-` is `pool.go`.
pub(crate) fn without_line(word: &str) -> &str {
    let is_file = |name: &str| name.rsplit_once('.').is_some_and(|(_, extension)| known_extension(extension));
    let cut = |separator: char| {
        let (name, rest) = word.split_once(separator)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0)?;
        let behind = rest.get(end..)?.strip_prefix(separator)?;
        let is_number = behind.starts_with(|c: char| c.is_ascii_digit());
        (is_file(name) && !is_number).then_some((name, end))
    };
    if let Some((name, digits)) = cut(':') {
        return word.get(..name.len() + 1 + digits).unwrap_or(word);
    }
    // A name may hold the separator too.
    let mut names = word.match_indices('-').filter_map(|(at, _)| {
        let (name, rest) = (word.get(..at)?, word.get(at + 1..)?);
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let words = behind.strip_prefix('-').filter(|_| behind.len() < rest.len())?;
        (is_file(name) && !words.starts_with(|c: char| c.is_ascii_digit())).then_some(name)
    });
    names.next().unwrap_or(word)
}

/// The words of a text with the punctuation of their sentences, without codes for terminals.
pub(crate) fn raw_words(text: &str) -> impl Iterator<Item = &str> {
    codes::pieces(text).flat_map(|piece| piece.split(is_gap))
}

/// Whether a character separates words. Quotes, brackets and `=` do.
pub(crate) fn is_gap(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '"' | '\''
                | '`'
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '<'
                | '>'
                | ','
                | ';'
                | '|'
                | '='
                | '\\'
                | '“'
                | '”'
                | '，'
                | '。'
                | '、'
        )
}

/// A word without the punctuation of its sentence.
pub(crate) fn trim(word: &str) -> &str {
    let word = word.trim_matches(|c| matches!(c, '!' | '?' | '*' | ':' | '…' | '^' | '&' | '+'));
    let word = word.trim_end_matches('.');
    if word.starts_with("--") { "" } else { word.trim_start_matches('-') }
}

fn kind(word: &str) -> Option<AnchorKind> {
    let bytes = word.as_bytes();
    let digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    if !word.is_ascii() && letters + digits == 0 {
        return None;
    }
    if let Some(at) = word.find("://") {
        return (at > 1 && word.len() > at + 5).then_some(AnchorKind::Url);
    }
    if word.starts_with("data:") || is_blob(word) {
        return None;
    }
    if is_hash(word, digits) {
        return Some(AnchorKind::Hash);
    }
    if is_path(word, letters) {
        return Some(AnchorKind::Path);
    }
    if digits > 0 {
        if is_version(word) {
            return Some(AnchorKind::Version);
        }
        if is_quantity(word) {
            return Some(AnchorKind::Quantity);
        }
    }
    is_id(word, digits, letters).then_some(AnchorKind::Id)
}

/// Long runs of letters and digits without structure: base64 and the like.
fn is_blob(word: &str) -> bool {
    let longest = word.split(['/', '.', '_', '-', ':']).map(str::len).max().unwrap_or(0);
    longest > 64 || (longest > 40 && !word.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn is_hash(word: &str, digits: usize) -> bool {
    let hex = word.bytes().filter(u8::is_ascii_hexdigit).count();
    let dashes = word.bytes().filter(|&byte| byte == b'-').count();
    let plain = dashes == 0 && hex == word.len() && matches!(hex, 7..=64) && digits > 0 && digits < hex;
    let uuid = word.len() == 36 && dashes == 4 && hex == 32;
    plain || uuid
}

fn is_path(word: &str, letters: usize) -> bool {
    if letters < 2 || word.contains("//") {
        return false;
    }
    let name = word.rsplit('/').next().unwrap_or(word);
    // `src/a.rs:12:3` is a place in a file.
    let name = name.split(':').next().unwrap_or(name);
    let extension = name.rsplit_once('.');
    let has_extension = extension.is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && matches!(extension.len(), 1..=8)
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && extension.bytes().any(|byte| byte.is_ascii_lowercase())
    });
    let slashes = word.bytes().filter(|&byte| byte == b'/').count();
    // `/compact` is a host's command, `/name` the end of a tag.
    let rooted = word.starts_with(['/', '~', '.'])
        && word.len() > 3
        && (slashes > 1 || (slashes > 0 && (has_extension || !word.starts_with('/'))));
    let plain_extension = slashes == 0
        && extension.is_some_and(|(stem, extension)| {
            known_extension(extension) && stem.len() < 80 && (!stem.is_empty() || extension == "env")
        });
    rooted || (slashes > 0 && has_extension) || slashes > 1 || plain_extension
}

fn known_extension(extension: &str) -> bool {
    const KNOWN: &[&str] = &[
        "rs", "py", "js", "ts", "tsx", "jsx", "mjs", "cjs", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp",
        "cs", "rb", "php", "swift", "sh", "bash", "zsh", "sql", "md", "txt", "json", "jsonl", "toml", "yaml",
        "yml", "lock", "xml", "html", "css", "scss", "csv", "tsv", "log", "ini", "cfg", "conf", "env",
        "proto", "db", "sqlite", "pdf", "png", "jpg", "svg", "zip", "gz", "tar", "wasm", "so", "dll", "exe",
        "vue", "lua", "ex", "exs", "mdx", "svelte", "erl", "hs", "ml", "scala", "dart", "zig", "nix", "tf",
        "ipynb", "diff", "patch", "pem", "service",
    ];
    KNOWN.contains(&extension)
}

fn is_version(word: &str) -> bool {
    let number = word.strip_prefix(['v', 'V']).unwrap_or(word);
    let number = number.strip_prefix(['^', '~']).unwrap_or(number);
    let (core, _) = number.split_once(['-', '+']).unwrap_or((number, ""));
    let mut pieces = 0;
    for piece in core.split('.') {
        if piece.is_empty() || piece.len() > 8 || !piece.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        pieces += 1;
    }
    pieces >= 3 || (pieces == 2 && number.len() < word.len())
}

/// Words that follow quantities.
const UNITS: &[&str] = &[
    "ns", "us", "µs", "ms", "s", "m", "min", "h", "d", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "k",
    "x", "%", "px", "rem", "em", "hz", "khz", "mhz", "ghz", "fps", "mb/s", "gb/s", "kb/s", "rps", "qps",
    "usd", "eur", "°c", "tokens", "bytes",
];

/// Whether a word is a unit, in any case.
pub(crate) fn is_unit(word: &str) -> bool {
    UNITS.contains(&word.to_lowercase().as_str())
}

fn is_quantity(word: &str) -> bool {
    let number = word.trim_start_matches(['$', '€', '£', '~', '#']);
    let end = number.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_'))).unwrap_or(number.len());
    let (digits, unit) = number.split_at(end);
    if digits.is_empty() || !digits.bytes().any(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let money = number.len() < word.len() && !word.starts_with('~') && unit.is_empty();
    money || is_unit(unit) || (unit.is_empty() && digits.bytes().filter(u8::is_ascii_digit).count() >= 4)
}

fn is_id(word: &str, digits: usize, letters: usize) -> bool {
    let bytes = word.as_bytes();
    if letters == 0
        || bytes
            .first()
            .is_some_and(|byte| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'@' | b'#'))
    {
        return false;
    }
    let inner = bytes.iter().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.' | b'#' | b'@' | b'/')
    });
    let upper = bytes.iter().any(u8::is_ascii_uppercase);
    let ticket = digits > 0 && upper && word.len() <= 40;
    let snake = word.trim_matches('_').contains('_');
    let scoped = word.contains("::") || (word.contains('@') && word.contains('.'));
    let numbered = digits > 0 && word.contains(['-', '_', '#']) && word.len() <= 40;
    inner && (ticket || snake || scoped || numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchor_table() {
        let table = [
            ("\u{1b}[36mpool.go\u{1b}[0m", "pool.go", "colours"),
            ("\u{1b}[1;31mE0308\u{1b}[K", "E0308", "several of them"),
            ("\\u001b[36m\\u001b[0m x_y", "x_y", "written out"),
            ("[36mFAIL_A[39m and [0m", "FAIL_A", "without their first letter"),
            ("retry[5m] for 36m", "5m 36m", "times in brackets and words"),
            ("in 0.5s, 12.25ms and 3.0s", "", "measured times"),
            ("a timeout of 30s or 250ms, 1.5h at most", "30s 250ms 1.5h", "settings"),
            ("pool.go:507:func", "pool.go:507", "a line that was found"),
            ("src/pool.go:507:\tx", "src/pool.go:507", "with blanks"),
            ("src/a.rs:12:3", "src/a.rs:12:3", "a place"),
            ("src/common.go-467-", "src/common.go", "a line beside it"),
            ("my-pool.go-467-func", "my-pool.go", "a name with the sign"),
            ("app.log-2026-01-02", "app.log-2026-01-02", "a date"),
            ("utf-8-sig v1.2.3-4-gabcdef0", "utf-8-sig v1.2.3-4-gabcdef0", "no file"),
            ("x 2>/dev/null", "", "a device of the shell"),
            ("/dev/sda1", "/dev/sda1", "another one"),
            ("duration_ms: 12", "", "a field of hosts"),
            ("timeout_ms x86_64 v1.2.3 8080", "timeout_ms x86_64 v1.2.3 8080", "identifiers as before"),
            ("at 12:30, #42, ABC-123", "#42 ABC-123", "times of day are none"),
            ("https://a.b/c:80:x", "https://a.b/c:80:x", "an address"),
            ("sha-1-x 3-2-1", "sha-1-x", "numbers between signs"),
        ];
        for (text, want, why) in table {
            let found: Vec<&str> = anchors(text).map(|anchor| anchor.text).collect();
            assert_eq!(found.join(" "), want, "{why}: {text}");
        }
    }
}
