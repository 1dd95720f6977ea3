//! Finds credentials in text and replaces them by typed placeholders.

mod command;
mod key_lines;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::clip::head;

/// A kind of credential.
struct Format {
    /// Its name in the placeholder.
    name: &'static str,
    /// Words that it starts with, or that mark it; compared case-insensitively.
    marks: &'static [&'static str],
    /// A pattern for all of it, ASCII only. A first group is kept: it names the secret's purpose.
    pattern: &'static str,
}

/// Abbreviates a row.
const fn format(name: &'static str, marks: &'static [&'static str], pattern: &'static str) -> Format {
    Format { name, marks, pattern }
}

/// The known formats. Where two match at one place, the earlier row wins.
const FORMATS: &[Format] = &[
    format("private-key", &["-----BEGIN "], r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"),
    format("aws-key", &["AKIA", "ASIA", "ABIA", "ACCA"], r"[A-Z]{4}[A-Z0-9]{16}"),
    format("anthropic-key", &["sk-ant-"], r"sk-ant-[A-Za-z0-9_-]{16,}"),
    format("openrouter-key", &["sk-or-"], r"sk-or-[A-Za-z0-9_-]{16,}"),
    format("openai-key", &["sk-"], r"sk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}"),
    format(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    ),
    format(
        "gitlab-token",
        &["glpat-", "glptt-", "gldt-", "glrt-", "glcbt-", "glagent-", "glsoat-"],
        r"gl[a-z]{2,5}-[A-Za-z0-9_-]{16,}",
    ),
    format(
        "slack-token",
        &["xox", "xapp-"],
        r"(?:xox[abeoprs](?:\.[a-z]{1,8})?-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,})",
    ),
    format(
        "slack-webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,}",
    ),
    format(
        "discord-webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]{10,}/[A-Za-z0-9_-]{20,}",
    ),
    format(
        "stripe-key",
        &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{16,})",
    ),
    format("google-key", &["AIza"], r"AIza[A-Za-z0-9_-]{35}"),
    format("google-token", &["ya29.", "GOCSPX-"], r"(?:ya29\.|GOCSPX-)[A-Za-z0-9_-]{16,}"),
    format("unforget-token", &["uft_"], r"uft_[0-9a-f]{32,}"),
    format("npm-token", &["npm_"], r"npm_[A-Za-z0-9]{30,}"),
    format("pypi-token", &["pypi-"], r"pypi-[A-Za-z0-9_-]{30,}"),
    format("huggingface-token", &["hf_", "api_org_"], r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
    format("sendgrid-key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    format("twilio-key", &["SK", "AC"], r"(?:SK|AC)[0-9a-f]{32}"),
    format("mailgun-key", &["key-"], r"key-[0-9a-f]{32}"),
    format("mailchimp-key", &["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}"),
    format("telegram-token", &[":AA"], r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    format(
        "jwt",
        &["eyJ"],
        r"eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|[A-Za-z0-9_-]{0,}(?:\.[A-Za-z0-9_-]{8,}){2,3})",
    ),
    format("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{32,}"),
    format("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    format("databricks-token", &["dapi"], r"dapi[0-9a-f]{32}"),
    format("linear-key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    format("doppler-token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], r"dp\.[a-z]{2}\.[A-Za-z0-9._-]{20,}"),
    format("vault-token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    format("age-key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    format("atlassian-token", &["ATATT3", "ATCTT3", "ATBB"], r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{16,}"),
    format("groq-key", &["gsk_"], r"gsk_[A-Za-z0-9]{20,}"),
    format("xai-key", &["xai-"], r"xai-[A-Za-z0-9]{20,}"),
    format("replicate-token", &["r8_"], r"r8_[A-Za-z0-9]{20,}"),
    format("planetscale-token", &["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{16,}"),
    format("sentry-token", &["sntrys_", "sntryu_"], r"sntry[su]_[A-Za-z0-9+/=_-]{20,}"),
    format("notion-token", &["ntn_", "secret_"], r"(?:ntn_|secret_)[A-Za-z0-9]{40,}"),
    format("figma-token", &["figd_", "figo_", "figu_", "figr_"], r"fig[dour]_[A-Za-z0-9_-]{20,}"),
    format("netlify-token", &["nfp_", "nfc_", "nfo_", "nfu_"], r"nf[pcou]_[A-Za-z0-9]{20,}"),
    format("heroku-key", &["HRKU-"], r"HRKU-[A-Za-z0-9_-]{20,}"),
    format("newrelic-key", &["NRAK-"], r"NRAK-[A-Z0-9]{20,}"),
    format("grafana-token", &["glsa_", "glc_"], r"gl(?:sa|c)_[A-Za-z0-9_=+/]{20,}"),
    format(
        "azure-key",
        &["accountkey=", "sharedaccesskey=", "sharedaccesssignature="],
        r"(?i)([a-z]+=)[A-Za-z0-9+/=%&_.-]{16,}",
    ),
    format(
        "signature",
        &["x-amz-signature=", "x-goog-signature=", "?sig=", "&sig="],
        r"(?i)([?&a-z-]+=)[A-Za-z0-9%+/_=-]{16,}",
    ),
    format(
        "url-password",
        &["://"],
        r#"([a-zA-Z][a-zA-Z0-9+.-]{0,30}://[^\s"'<>\\/:@]{0,64}:)[^\s"'<>\\]{1,200}@"#,
    ),
    format(
        "authorization",
        &["bearer ", "basic ", "digest ", "authorization"],
        r#"(?i)((?:bearer|basic|digest|authorization\\*["']?[ \t]*[:=][ \t]*\\*["']?token)[ \t]+)[A-Za-z0-9+/=._~-]{12,}"#,
    ),
    format("npm-token", &["_auth="], r"(_auth=)[A-Za-z0-9+/=_-]{8,}"),
    format("cookie", &["cookie:"], r"(?i)(cookie:[ \t]*)[ -~]{8,}"),
    format(
        "password",
        &["passw", "passphrase", "pwd"],
        r#"(?i)((?:password|passwd|passphrase|passwort|pwd)(?:_[a-z0-9]{1,20})?\\*["']?[ \t]{0,8}(?:=>|:=|[:=]|[ \t]value=)[ \t]{0,8})(?:\\+"[^"\\\r\n]{1,256}|"(?:[^"\\\r\n]|\\[^\r\n]){1,256}|'[^'\r\n]{1,256}|[A-Za-z0-9!@#$%^&*()_+=\[\]{}|:;.,<>?/~`\x{80}-\x{10ffff}-]{3,256})"#,
    ),
    format("password", &["password>", "passphrase>"], r"(?i)(pass(?:word|phrase)>)[^<\s]{3,256}"),
    format("password", &["--passw", "--passphrase"], r"(?i)(--pass(?:word|wd|phrase)[ \t]+)[^\s-]\S{2,255}"),
    // Options that mean something else in other programs: see `command`.
    format(
        "user-password",
        &[" -u", " --user"],
        r#"( (?:-u|--user)[ \t=]{0,4}\\*["']?[^\s:"'\\$]{1,64}:)[^\s"'\\]{3,256}"#,
    ),
    format("attached-password", &[" -p"], r#"( -p\\*["']?)[^\s"'\\-][^\s"'\\]{2,255}"#),
    format("option-password", &[" -p"], r#"( -p[ \t]{1,4}\\*["']?)[^\s"'\\-][^\s"'\\]{2,255}"#),
    format(
        "said-password",
        &["passw", "passphrase"],
        r#"(?i)((?:password|passwd|passphrase|passwort)[ \t]{1,4}(?:is|was|ist)[ \t]{1,4}(?:now[ \t]{1,4})?\\*["'`]?)[^\s"'`\\]{6,256}"#,
    ),
    format("password", &["login "], r"(?i)(login[ \t]+\S{1,64}[ \t]+password[ \t]+)\S{3,256}"),
    format(
        "password",
        &["_pass", "_PASS"],
        r#"(?i)(_pass(?:_[a-z0-9]{1,20})?\\*["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8})(?:\\+"[^"\\\r\n]{1,256}|"(?:[^"\\\r\n]|\\[^\r\n]){1,256}|'[^'\r\n]{1,256}|[A-Za-z0-9!@#$%^&*()_+=\[\]{}|:;.,<>?/~`\x{80}-\x{10ffff}-]{3,256})"#,
    ),
    format(
        "credential",
        &[
            "secret",
            "api_key",
            "api-key",
            "apikey",
            "access_key",
            "access-key",
            "accesskey",
            "private_key",
            "private-key",
            "encryption_key",
            "signing_key",
            "token",
            "credential",
        ],
        r#"(?i)((?:secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|access[_-]?key|private[_-]?key|encryption_key|signing_key|token|credentials?)(?:_[a-z0-9]{1,20}){0,3}\\*["']?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}\\*["']?)[A-Za-z0-9+/=_.~%-]{8,512}"#,
    ),
];

/// How far a credential is searched for; a longer one is replaced to the end of its letters.
const WINDOW_BYTES: usize = 16 << 10;

/// A pattern for any mark, and one per format for the start of a text.
struct Patterns {
    marks: Regex,
    formats: Vec<Regex>,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    let mut marks: Vec<&str> = FORMATS.iter().flat_map(|format| format.marks).copied().collect();
    marks.sort_unstable_by_key(|mark| std::cmp::Reverse(mark.len()));
    let sensitive = |mark: &&&str| {
        mark.bytes().any(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-')) || mark.len() < 4
    };
    let list =
        |marks: Vec<&&str>| marks.into_iter().map(|mark| regex::escape(mark)).collect::<Vec<_>>().join("|");
    let exact = list(marks.iter().filter(sensitive).collect());
    let loose = list(marks.iter().filter(|mark| !sensitive(mark)).collect());
    let marks = Regex::new(&format!("(?i:{loose}|api[_-]key|access[_-]key|private[_-]key|encryption_key|signing_key|x-amz-signature=|x-goog-signature=|pwd)|(?:{exact})")).ok()?;
    let formats = FORMATS.iter().map(|format| Regex::new(&format!("^(?:{})", format.pattern)).ok());
    Some(Patterns { marks, formats: formats.collect::<Option<_>>()? })
});

/// Replaces every credential in `text` by a typed placeholder such as `[secret: aws-key]`.
///
/// The words that name a secret stay (`password=`). Applying it twice changes nothing. Known formats are found by their
/// own form; others only beside a word such as `api_key`; lines of a private key also without its beginning. Cost: linear.
pub fn redact(text: &str) -> Cow<'_, str> {
    let Some(patterns) = PATTERNS.as_ref() else { return Cow::Borrowed("[secret: no patterns]") };
    match redact_marked(text, patterns) {
        Cow::Borrowed(text) => redact_blocks(text),
        Cow::Owned(marked) => match redact_blocks(&marked) {
            Cow::Owned(redacted) => Cow::Owned(redacted),
            Cow::Borrowed(_) => Cow::Owned(marked),
        },
    }
}

/// Replaces lines of private keys that have lost their beginning.
fn redact_blocks(text: &str) -> Cow<'_, str> {
    let (mut redacted, mut done) = (String::new(), 0);
    while let Some(block) = key_lines::next_block(text, done) {
        redacted.push_str(text.get(done..block.start).unwrap_or_default());
        redacted.push_str("[secret: key-lines]");
        done = block.end;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// Replaces what a mark or a format tells.
fn redact_marked<'a>(text: &'a str, patterns: &Patterns) -> Cow<'a, str> {
    let mut redacted = String::new();
    let (mut done, mut at) = (0, 0);
    while let Some(mark) = patterns.marks.find_at(text, at) {
        at = mark.start() + 1;
        let Some((name, secret)) = secret_at(text, mark.start().max(done), done, patterns) else { continue };
        redacted.push_str(text.get(done..secret.start).unwrap_or_default());
        redacted.push_str("[secret: ");
        redacted.push_str(name);
        redacted.push(']');
        if name == "url-password" {
            redacted.push('@');
        }
        (done, at) = (secret.end, secret.end);
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    redacted.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// The credential at the mark `mark`, if there is one: its name and the bytes to replace.
fn secret_at(
    text: &str,
    mark: usize,
    done: usize,
    patterns: &Patterns,
) -> Option<(&'static str, Range<usize>)> {
    let from = text.get(mark..)?;
    let found = FORMATS.iter().zip(&patterns.formats).filter(|(format, _)| {
        format.marks.iter().any(|mark| {
            from.as_bytes().get(..mark.len()).is_some_and(|start| start.eq_ignore_ascii_case(mark.as_bytes()))
        })
    });
    for (format, pattern) in found {
        let start = match format.name {
            "mailchimp-key" | "telegram-token" | "url-password" => mark - run_before(text, mark, done),
            _ => mark,
        };
        let before = text.as_bytes().get(start.wrapping_sub(1)).copied().unwrap_or(b' ');
        let inside = match format.name {
            "password" | "credential" | "azure-key" | "signature" | "cookie" | "slack-webhook"
            | "discord-webhook" | "said-password" => false,
            "user-password" | "attached-password" | "option-password" => {
                !command::takes(text.get(..start).unwrap_or_default(), format.name)
            }
            _ => before.is_ascii_alphanumeric() && !ends_with_escape(text.get(..start).unwrap_or_default()),
        };
        if inside
            || text.get(..start).is_some_and(|before| {
                before.ends_with("[secret: ") || before.ends_with('[') && from.starts_with("secret: ")
            })
        {
            continue;
        }
        let window = head(text.get(start..)?, WINDOW_BYTES);
        let Some(groups) = pattern.captures(window) else { continue };
        let whole = groups.get_match();
        if format.name == "private-key" {
            return Some((format.name, start..key_lines::key_end(text, start)));
        }
        let keep = groups.get(1).map_or(0, |group| group.end());
        // The quote marks around a value are no part of it.
        let value = whole.as_str().get(keep..).unwrap_or_default();
        let quoted = value.trim_start_matches('\\');
        let keep = if quoted.starts_with(['"', '\'']) { keep + value.len() - quoted.len() + 1 } else { keep };
        if is_secret(format.name, whole.as_str().get(keep..).unwrap_or_default()) {
            let cut = whole.end() == window.len();
            let rest = text.as_bytes().get(start + whole.end()..).unwrap_or_default();
            let more = if cut { rest.iter().take_while(|&&byte| is_key_letter(byte)).count() } else { 0 };
            return Some((format.name, start + keep..start + whole.end() + more));
        }
    }
    None
}

/// Whether a text ends with an escape: `\n` of escaped text, `%3D` of an address, or a colour of a terminal.
fn ends_with_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit();
    if let [.., b'\\', _] = bytes {
        return true;
    }
    if let [.., b'%', high, low] = bytes {
        return is_hex(high) && is_hex(low);
    }
    let Some(before) = text.strip_suffix('m') else { return false };
    before.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ';').ends_with('[')
}

fn is_key_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'.' | b'-')
}

/// Length in bytes of the run of key letters that ends at `mark`, at most 40, not before `done`.
fn run_before(text: &str, mark: usize, done: usize) -> usize {
    let before = text.as_bytes().get(done..mark).unwrap_or_default();
    before
        .iter()
        .rev()
        .take(40)
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'.' | b'-'))
        .count()
}

/// Values behind a word such as `password:` that are types and nothings.
const PLAIN_WORDS: &[&str] =
    &["string", "str", "none", "null", "nil", "true", "false", "undefined", "option", "bool", "required"];

/// Whether the value after a word such as `token:` is a secret and not a type, a number or a reference.
fn is_secret(name: &str, value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    match name {
        _ if value.starts_with("[secret:") => false,
        "credential" => digits >= 2 && digits < value.len() && !value.contains("env."),
        "said-password" => command::is_no_word(value),
        "password" | "user-password" | "attached-password" | "option-password" => {
            let lower = value.to_ascii_lowercase();
            let word = lower.trim_start_matches(|letter: char| !letter.is_ascii_alphabetic());
            let end =
                word.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_'));
            let word = word.get(..end.unwrap_or(word.len())).unwrap_or_default();
            !PLAIN_WORDS.contains(&word)
                && !["process.env", "os.", "env."].iter().any(|word| lower.starts_with(word))
                && !value.ends_with('(')
                && !value.starts_with(['$', '{', '<', '&', '*'])
        }
        // A port is no password, whatever stands behind it.
        "url-password" => {
            let first = value.split(['/', '?', '#']).next().unwrap_or_default().trim_end_matches('@');
            first.len() + 1 == value.len() || first.bytes().any(|byte| !byte.is_ascii_digit())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    /// The parts are joined here, so that no scanner reports this file as a leak.
    const TABLE: &[(&str, &[&str], &str)] = &[
        ("aws-key", &["AKIA", "IOSFODNN7EXAMPLE"], "access key id"),
        (
            "credential",
            &["aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY9"],
            "beside its name",
        ),
        ("github-token", &["ghp_", "0123456789abcdefABCDEF0123456789abcd"], "personal"),
        ("github-token", &["github_pat_", "11ABCDEFG0123456789_abcdefghijklmnop"], "fine-grained"),
        ("gitlab-token", &["glpat-", "abcdEFGH1234_5678xyz"], "personal"),
        ("slack-token", &["xoxb-", "123456789012-abcdefGHIJKL"], "bot"),
        (
            "slack-webhook",
            &["hooks.slack.com/services/", "T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"],
            "webhook",
        ),
        (
            "discord-webhook",
            &["discord.com/api/webhooks/", "123456789012345678/abcdefghijABCDEFGHIJ_-12"],
            "webhook",
        ),
        ("stripe-key", &["sk_live_", "51ABCDEFabcdef0123"], "secret"),
        ("openai-key", &["sk-proj-", "abcdEFGH1234abcdEFGH1234"], "project"),
        ("openai-key", &["sk-", "abcdEFGH1234abcdEFGH1234abcdEFGH1234"], "classic"),
        ("anthropic-key", &["sk-ant-", "api03-abcdEFGH1234abcdEFGH1234"], "api"),
        ("openrouter-key", &["sk-or-", "v1-0123456789abcdef0123456789abcdef"], "api"),
        ("google-key", &["AIza", "SyA0123456789abcdefghijklmnopqrstuv"], "api"),
        ("google-token", &["ya29.", "a0AfH6SMBabcdefghijk"], "access"),
        ("npm-token", &["npm_", "abcdefghijklmnopqrstuvwxyz0123456789"], "automation"),
        ("pypi-token", &["pypi-", "AgEIcHlwaS5vcmcCJGFiY2RlZmdoaWprbG1ub3A"], "upload"),
        ("huggingface-token", &["hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"], "user"),
        ("sendgrid-key", &["SG.", "abcdefghijklmnopqrstuv.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghi"], "api"),
        ("twilio-key", &["SK", "0123456789abcdef0123456789abcdef"], "api"),
        ("mailgun-key", &["key-", "0123456789abcdef0123456789abcdef"], "api"),
        ("mailchimp-key", &["0123456789abcdef0123456789abcdef", "-us12"], "api"),
        ("telegram-token", &["123456789", ":AAabcdefghijklmnopqrstuvwxyz0123456"], "bot"),
        (
            "jwt",
            &["eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"],
            "token",
        ),
        ("digitalocean-token", &["dop_v1_", "0123456789abcdef0123456789abcdef0123456789abcdef"], "api"),
        ("shopify-token", &["shpat_", "0123456789abcdef0123456789abcdef"], "access"),
        ("databricks-token", &["dapi", "0123456789abcdef0123456789abcdef"], "api"),
        ("linear-key", &["lin_api_", "abcdefghijklmnopqrstuvwxyz"], "api"),
        ("vault-token", &["hvs.", "CAESIabcdefghijklmnopqrst"], "service"),
        ("age-key", &["AGE-SECRET-KEY-1", "QQQQQQQQQQQQQQQQQQQQQQQQQQQQ"], "identity"),
        ("groq-key", &["gsk_", "abcdefghijklmnopqrstuvwxyz"], "api"),
        ("replicate-token", &["r8_", "abcdefghijklmnopqrstuvwxyz"], "api"),
        ("azure-key", &["AccountKey=", "abcdefghijklmnopqrstuvwxyz0123456789=="], "storage"),
        (
            "signature",
            &["https://x.test/a?X-Amz-Signature=", "0123456789abcdef0123456789abcdef"],
            "signed URL",
        ),
        ("url-password", &["postgres://bob:", "hunter2secret@db.test/x"], "URL"),
        ("authorization", &["Authorization: Bearer ", "abcdefghijklmnop"], "header"),
        ("cookie", &["Set-Cookie: ", "session=abcdef0123456789; Path=/"], "header"),
        (
            "unforget-token",
            &["uft_", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"],
            "a token of ours",
        ),
        ("user-password", &["curl -s -u admin:", "hunter2x https://x.test"], "an option of curl"),
        ("user-password", &["curl -H \\\"Accept: a\\\" --user \\\"ann:", "hunter2x\\\""], "escaped"),
        ("attached-password", &["mysqldump -h db -u root -p", "hunter2x shop"], "an option of mysql"),
        ("option-password", &["sshpass -p ", "hunter2x ssh boat"], "an option of sshpass"),
        ("said-password", &["the password is ", "hunter2x."], "said"),
        ("said-password", &["Passphrase was `", "p@ssw0rd-x`"], "said, as code"),
        ("password", &["PGPASSWORD=", "hunter2"], "variable"),
        ("password", &["{\"password\": \"", "correct horse battery\"}"], "JSON"),
        ("password", &["{\\\"db_password\\\":\\\"", "s3cr3t!\\\"}"], "escaped JSON"),
        ("credential", &["api_key: ", "abcdef0123456789"], "YAML"),
        (
            "private-key",
            &["-----BEGIN RSA PRIVATE KEY-----\n", "MIIEow\nabc=\n-----END RSA PRIVATE KEY-----"],
            "block",
        ),
        (
            "private-key",
            &["-----BEGIN OPENSSH PRIVATE KEY-----\\n", "b3BlbnNzaC1rZXktdjE"],
            "block cut off, escaped",
        ),
    ];

    #[test]
    fn f108_secrets_are_replaced_by_typed_placeholders() {
        for (name, parts, why) in TABLE {
            let secret = parts.concat();
            for text in [format!("before {secret} after"), format!("\"{secret}\""), format!("a\n{secret}\nb")]
            {
                let redacted = redact(&text);
                assert!(redacted.contains(&format!("[secret: {name}]")), "{name}, {why}: {redacted}");
                let value: String = parts.last().unwrap().chars().take(7).collect();
                assert!(!redacted.contains(&value), "{name}, {why}: {redacted}");
                assert_eq!(redact(&redacted), redacted, "{name}, {why}: twice");
            }
        }
    }

    #[test]
    fn nothing_of_a_secret_is_left() {
        let line = "MIIEowIBAAKCAQEAx7Qp0sV9tY3kZ5nR8mW2bL4cH6jD1fG0uTqXeSiNoKvPaByC";
        let dashes = "-".repeat(5);
        let (begin, end) =
            (format!("{dashes}BEGIN PRIVATE KEY{dashes}"), format!("{dashes}END PRIVATE KEY{dashes}"));
        let key = format!("{}{}", "ghp_", "0123456789abcdefABCDEF0123456789abcd");
        let table: Vec<(String, Vec<&str>, &str)> = vec![
            (
                format!("     1→{begin}\n     2→{line}\n     3→{line}\n     4→{end}\n     5→next"),
                vec![line],
                "read by an agent",
            ),
            (format!("k.pem:1:{begin}\nk.pem:2:{line}\nk.pem:3:{end}"), vec![line], "found by grep"),
            (
                format!("  14→{line}\n  15→{line}\n  16→Qw3rTy12=="),
                vec![line, "Qw3rTy12"],
                "the second half of a file",
            ),
            (
                "{\"password\": \"correct horse battery staple\"}".to_owned(),
                vec!["horse", "staple"],
                "spaces in quotes",
            ),
            ("password: 'it is a secret'".to_owned(), vec!["secret'"], "single quotes"),
            (r#"{"password":"hun\"ter2 more"}"#.to_owned(), vec!["ter2", "more"], "an escaped quote within"),
            (
                r#"{\\\"password\\\":\\\"hunter2 more\\\"}"#.to_owned(),
                vec!["hunter2", "more"],
                "JSON in JSON in JSON",
            ),
            ("password=hunter\u{fc}2x".to_owned(), vec!["hunter", "2x"], "other letters"),
            ("password: \u{e4}\u{f6}\u{fc}x".to_owned(), vec!["\u{e4}"], "only other letters"),
            (
                "password = None2x\npassword = string-x99".to_owned(),
                vec!["None2x", "x99"],
                "words that begin like types",
            ),
            ("postgres://bob:hunt@er2@db.test/x".to_owned(), vec!["hunt", "er2"], "an at sign in a password"),
            ("postgres://bob:hunt/er2@db.test/x".to_owned(), vec!["hunt", "er2"], "a slash in a password"),
            (format!("\u{1b}[32m{key}\u{1b}[0m"), vec![&key[4..]], "coloured"),
            (format!("?next=%2Fa%3D{key}"), vec![&key[4..]], "in an address"),
            ("curl --password hunter2x --user bob".to_owned(), vec!["hunter2x"], "an option"),
            ("machine h login bob password hunter2x".to_owned(), vec!["hunter2x"], "netrc"),
            ("<password>hunter2x</password>".to_owned(), vec!["hunter2x"], "XML"),
            ("<input name=\"password\" value=\"hunter2x\">".to_owned(), vec!["hunter2x"], "a form"),
            ("SECRET_KEY_BASE=abcdef0123456789".to_owned(), vec!["abcdef"], "a longer name"),
            ("TOKEN_PROD=abcdef0123456789".to_owned(), vec!["abcdef"], "a longer name"),
            ("DB_PASS=hunter2x".to_owned(), vec!["hunter2x"], "a shorter name"),
            ("Authorization: Token abcdef0123456789".to_owned(), vec!["abcdef"], "a token in a header"),
            ("//registry/:_auth=YWJjZGVmMDEyMzQ1Njc4OQ==".to_owned(), vec!["YWJj"], "npm"),
        ];
        for (text, gone, why) in table {
            let redacted = redact(&text);
            assert!(redacted.contains("[secret: "), "{why}: {redacted}");
            for gone in gone {
                assert!(!redacted.contains(gone), "{why}: {redacted}");
            }
            assert_eq!(redact(&redacted), redacted, "{why}: twice");
        }
    }

    #[test]
    fn ordinary_text_stays() {
        let table = [
            ("max_tokens: 4096", "a number"),
            ("token = get_token(user)", "a call"),
            ("password: String", "a type"),
            ("mkdir -p build/out && cp -p a b", "a path"),
            ("docker run -p 8080:80 -u 1000:1000 web", "ports, and numbers of users"),
            ("ssh -p 2222 boat; ps -u ann:x", "a port"),
            ("mysql -u root -p shop", "asked for"),
            ("mysql -uroot; mkdir -ptarget/x", "another command"),
            ("curl https://x.test | sort -u a:bcd", "another command"),
            ("curl -u ann:$TOKEN https://x.test", "a variable"),
            ("The password is required, the passphrase is stored encrypted", "words"),
            ("the password is base64-encoded", "an encoding"),
            ("uft_ begins every token", "a beginning"),
            ("password: Option<String>,", "a type"),
            ("let password = null;", "nothing"),
            ("http://localhost:8080/a@2x.png", "a port"),
            ("tests_pass = true", "a test"),
            ("Type the password and press Enter", "words"),
            ("1  YWJj\n2  ZGVm", "short Base64"),
            ("let secret = std::env::var(\"SECRET\")", "a variable"),
            ("https://example.org/a:b@c", "no password before the at sign's host"),
            ("task-force of sk-learn", "words with the letters of a mark"),
            ("commit 0123456789abcdef0123456789abcdef01234567", "a digest"),
        ];
        for (text, why) in table.into_iter().filter(|(text, _)| !text.starts_with("https")) {
            assert_eq!(redact(text), text, "{why}");
        }
    }

    proptest! {
        #[test]
        fn redaction_is_total_and_idempotent(text in "\\PC{0,80}", row in 0usize..40, tail in "\\PC{0,20}") {
            let text = format!("{text}{}{tail}", TABLE[row].1.concat());
            let once = redact(&text).into_owned();
            prop_assert_eq!(redact(&once).into_owned(), once);
        }
    }
}
