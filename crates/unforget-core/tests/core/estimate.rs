//! The estimator against two real tokenisers.
use std::path::Path;

use proptest::prelude::*;
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler;

/// Tokens by `o200k_base` and by `cl100k_base`.
fn exact(text: &str) -> (u64, u64) {
    let count = |bpe: &tiktoken_rs::CoreBPE| bpe.encode_ordinary(text).len() as u64;
    (count(tiktoken_rs::o200k_base_singleton()), count(tiktoken_rs::cl100k_base_singleton()))
}

/// Reproducible pseudo-random numbers.
fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    })
}

fn letters(alphabet: &str, count: usize, seed: u64) -> String {
    let alphabet: Vec<char> = alphabet.chars().collect();
    noise(seed).take(count).map(|number| alphabet[number as usize % alphabet.len()]).collect()
}

fn scalars(range: std::ops::Range<u32>, count: usize, seed: u64) -> String {
    let len = u64::from(range.end - range.start);
    noise(seed).take(count).filter_map(|number| char::from_u32(range.start + (number % len) as u32)).collect()
}

const PROSE: &str = "The harbour master kept a ledger of every ship that came in during the winter of that year. He wrote down \
    where each had been, what it carried, and how long it meant to stay; when two captains disagreed about a berth, \
    the ledger decided. Nobody was allowed to tear a page out, although several people had asked him politely. ";
const CODE: &str = "pub fn merge(parts: &[Self]) -> Self {\n    let mut merged = Self::default();\n    for part in parts {\n        \
    if part.is_empty() {\n            continue;\n        }\n        merged.items.extend(part.items.iter().cloned());\n    }\n    merged\n}\n\n\
    def read_lines(path, limit=None):\n    with open(path, encoding=\"utf-8\") as handle:\n        return [line.rstrip(\"\\n\") for line in handle][:limit]\n";
const LOG: &str = "2026-11-21T10:15:32.481Z INFO  server::http listening on 127.0.0.1:8080\n2026-11-21T10:15:33.002Z WARN  pool: 3 of 8 connections are idle\n\
    2026-11-21T10:15:40.119Z ERROR worker-7 request failed: connection reset by peer (os error 104)\n";
const JSON: &str = r#"{"id":18273,"type":"message","role":"assistant","content":[{"type":"text","text":"done"}],"usage":{"input":1824,"output":93},"ok":true},"#;
const CHINESE: &str = "我们需要在明天之前完成这个项目的测试工作，然后把结果发送给客户。系统目前运行正常，但是内存使用量比预期的要高一些。";
const JAPANESE: &str = "データベースの接続に失敗しました。設定ファイルを確認してから、もう一度お試しください。新しい機能は来週公開されます。";
const KOREAN: &str = "데이터베이스 연결에 실패했습니다. 설정 파일을 확인한 후 다시 시도해 주세요. 새로운 기능은 다음 주에 공개됩니다.";
const RUSSIAN: &str = "Не удалось подключиться к базе данных. Проверьте файл настроек и попробуйте ещё раз. Новая версия выйдет на следующей неделе.";
const EMOJI: &str = "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇩🇪 🎉🚀✨ 👨🏿‍💻 ";

/// Kinds of text, as in the table of the module documentation: name, text, bounds of the signed error of `expected`
/// against `o200k_base` in percent, and the allowed excess of `upper` over `expected`.
fn kinds() -> Vec<(&'static str, String, (f64, f64), f64)> {
    vec![
        ("prose", PROSE.repeat(4), (-10.0, 10.0), 1.3),
        ("code", CODE.repeat(4), (-15.0, 15.0), 1.3),
        ("log", LOG.repeat(6), (-10.0, 10.0), 1.3),
        ("minified JSON", JSON.repeat(6), (-10.0, 10.0), 1.3),
        ("digits", letters("0123456789", 600, 1), (-5.0, 5.0), 1.1),
        ("hex", letters("0123456789abcdef", 800, 2), (-10.0, 10.0), 1.2),
        (
            "base64",
            letters("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 800, 3),
            (-30.0, 30.0),
            1.7,
        ),
        ("Chinese", CHINESE.repeat(4), (-10.0, 10.0), 2.0),
        ("Japanese", JAPANESE.repeat(4), (-10.0, 10.0), 2.0),
        ("Korean", KOREAN.repeat(4), (-10.0, 10.0), 3.0),
        ("Russian", RUSSIAN.repeat(4), (-10.0, 10.0), 5.0),
        ("emoji", EMOJI.repeat(6), (-15.0, 15.0), 2.0),
    ]
}

#[test]
fn documented_errors_hold() {
    let mut failures = Vec::new();
    for (kind, text, (low, high), ratio) in kinds() {
        let (o200k, cl100k) = exact(&text);
        let count = ClassEstimate.count(&text);
        let error = (count.expected as f64 / o200k as f64 - 1.0) * 100.0;
        let above = count.upper as f64 / count.expected as f64;
        eprintln!("| {kind} | {error:+.0} % | {above:.2} | 0 | o200k {o200k} cl100k {cl100k}");
        if !(low..=high).contains(&error) || above > ratio || count.upper < o200k.max(cl100k) {
            failures.push(format!("{kind}: {error:+.1} %, {above:.2}, {count:?} of {o200k} and {cl100k}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Texts made to be underestimated.
fn hostile() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for byte in 0..128u8 {
        for count in [1, 2, 3, 7, 50, 333, 2000] {
            texts.push((format!("{count} × {byte:#x}"), char::from(byte).to_string().repeat(count)));
        }
    }
    for pair in [
        "a ", " \n", "\r\n", "\t ", "a1", "Ab", "aB", "._", "-=", "\\n", "\\\"", "()", "{}", "qz", "zq",
        "Q q", "é", "ü ", "'s", "'S",
    ] {
        texts.push((format!("flood of {pair:?}"), pair.repeat(400)));
    }
    let alphabets = [
        "abcdefghijklmnopqrstuvwxyz",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "aBcDeFgHiJkLmNoPqRsTuVwXyZ",
        "qxzjvkwyQXZJVKWY",
        "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
        " \t\n\r",
        " \n.,",
        "{}[]\":,0123456789abc",
        "aeiouAEIOU'_.",
        "äöüßéèêñçåø abc",
        "\u{300}\u{301}\u{302}e",
        "👩\u{200d}👧\u{fe0f}🏽🇩🇪",
        "٠١٢٣٤٥٦٧٨٩",
        "\u{a0}\u{2003}\u{2028} \u{3000}",
    ];
    for (at, alphabet) in alphabets.iter().enumerate() {
        for seed in 0..20 {
            texts.push((format!("letters of {alphabet:?}"), letters(alphabet, 400, at as u64 * 100 + seed)));
        }
    }
    let blocks = [
        (0x80, 0x250),
        (0x370, 0x600),
        (0x600, 0x900),
        (0x900, 0x1100),
        (0x1100, 0x2000),
        (0x2000, 0x3000),
        (0x3000, 0x3400),
        (0x3400, 0x4e00),
        (0x4e00, 0xa000),
        (0xa000, 0xd7ff),
        (0xe000, 0x1_0000),
        (0x1_0000, 0x2_0000),
        (0x2_0000, 0x11_0000),
        (1, 0x11_0000),
    ];
    for (low, high) in blocks {
        for seed in 0..20 {
            texts.push((format!("{low:#x} to {high:#x}"), scalars(low..high, 300, u64::from(low) + seed)));
        }
    }
    let bytes: Vec<u8> = noise(9).take(20_000).map(|number| number as u8).collect();
    texts.push(("random bytes, repaired".into(), String::from_utf8_lossy(&bytes).into_owned()));
    texts
}

#[test]
fn f067_upper_is_never_below_the_exact_count() {
    let mut failures = Vec::new();
    for (name, text) in hostile() {
        let (o200k, cl100k) = exact(&text);
        let upper = ClassEstimate.count(&text).upper;
        if upper < o200k.max(cl100k) {
            failures.push(format!("{name}: {upper} < {o200k}, {cl100k}"));
        }
    }
    assert!(failures.is_empty(), "{} of them: {:#?}", failures.len(), &failures[..failures.len().min(20)]);
}

#[test]
fn f067_real_files_are_never_underestimated() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    #[allow(clippy::disallowed_methods, reason = "a test may be told where the data is")]
    let folder = std::env::var_os("UNFORGET_DATA").map_or_else(|| folder.to_path_buf(), Into::into);
    let names = [
        "pi-mono/large-session.v1.jsonl",
        "locomo/locomo5-dev.json",
        "codex-agentv/4f-7325a9ab13-0.jsonl",
        "README.md",
        "stats.py",
    ];
    for name in names {
        let Ok(bytes) = std::fs::read(folder.join(name)) else {
            eprintln!("skipped: no {name}");
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let text: String = text.chars().take(200_000).collect();
        for piece in std::iter::once(text.as_str()).chain(text.lines().take(300)) {
            let (o200k, cl100k) = exact(piece);
            let count = ClassEstimate.count(piece);
            assert!(count.upper >= o200k.max(cl100k), "{name}: {count:?} < {o200k}, {cl100k}: {piece:.100}");
        }
    }
}

#[test]
fn empty_and_tiny() {
    assert_eq!(ClassEstimate.count("").upper, 0);
    assert_eq!(ClassEstimate.count("a").expected, 1);
    assert_eq!(ClassEstimate.name(), "class-estimate");
}

/// Words, marks, blanks and other scripts, mixed.
fn mixed() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,12}",
        2 => "[A-Z][a-z]{1,9}([A-Z][a-z]{1,9}){0,3}",
        1 => "[A-Z]{1,8}",
        2 => "[0-9]{1,9}",
        3 => "[ \t\n\r]{1,6}",
        3 => " ",
        2 => "[!-/:-@\\[-`{-~]{1,5}",
        1 => "\\PC{1,5}",
        1 => "[一-龥]{1,6}",
        1 => "[ぁ-んァ-ヴ가-힣а-яÀ-ÿ]{1,6}",
        1 => "[\u{1f300}-\u{1faff}\u{200d}\u{fe0f}]{1,4}",
        1 => "\\x00|\\x1b\\[[0-9;]{1,5}m",
        2 => prop::sample::select(PROSE.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn upper_holds_for_any_text(text in mixed()) {
        let (o200k, cl100k) = exact(&text);
        let count = ClassEstimate.count(&text);
        prop_assert!(count.upper >= o200k.max(cl100k), "{count:?} < {o200k}, {cl100k}");
        prop_assert!(count.upper >= count.expected);
    }

    /// The sum of separately counted parts bounds the whole.
    #[test]
    fn f068_sums_of_parts_bound_the_whole(a in mixed(), b in mixed()) {
        let (o200k, cl100k) = exact(&format!("{a}{b}"));
        let sum = ClassEstimate.count(&a) + ClassEstimate.count(&b);
        prop_assert!(sum.upper >= o200k.max(cl100k), "{sum:?} < {o200k}, {cl100k}");
    }
}
