//! Limits of providers: images alone and together, marks for caching, call ids, nesting.
use std::collections::BTreeSet;

use proptest::prelude::*;
use unforget_core::entry::{Media, Part, ToolCall, ToolResult};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_wire::{Dialect, Target, losses, render, validate};

fn message(speaker: Speaker, blocks: Vec<Block>) -> Message {
    Message { speaker, blocks, model: None, seqs: Vec::new() }
}

fn text(text: &str) -> Block {
    Block::Part(Part::Text(text.to_owned()))
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A PNG of this size in pixels, with at least this many bytes of base64. Only its beginning is valid.
fn png(side: u32, bytes: usize) -> String {
    let head =
        [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), &side.to_be_bytes(), &1_u32.to_be_bytes()].concat();
    let mut data = String::new();
    for three in head.chunks(3) {
        let bits =
            three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        data.extend((0..4).rev().map(|digit| char::from(DIGITS[(bits >> (6 * digit) & 63) as usize])));
    }
    data.push_str(&"A".repeat(bytes.saturating_sub(data.len()).next_multiple_of(4)));
    data
}

fn image(side: u32, bytes: usize) -> Part {
    let raw = format!(r#"{{"type":"image","data":"{}","mimeType":"image/png"}}"#, png(side, bytes));
    Part::Media(Media { mime: "image/png".into(), size: None, raw: raw.into() })
}

/// One image per turn, every other one in the result of a call.
fn album(images: &[Part]) -> Request {
    let mut messages = vec![message(Speaker::User, vec![text("look")])];
    for (index, image) in images.iter().enumerate() {
        let id = format!("c{index}");
        let (name, arguments) = ("read".to_owned(), "{}".to_owned());
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments, complete: true, raw: None };
        let mut content = vec![Part::Text("seen".into())];
        let mut beside = Vec::new();
        if index % 2 == 0 {
            content.push(image.clone());
        } else {
            beside.push(Block::Part(image.clone()));
        }
        let result = ToolResult { call_id: id, name, content, is_error: false, exit_code: None };
        messages.push(message(Speaker::Assistant, vec![Block::Call(call)]));
        messages.push(message(Speaker::User, [vec![Block::Result(result)], beside].concat()));
    }
    Request { system: Vec::new(), messages }
}

#[test]
fn f064_every_album_is_valid_and_the_newest_image_is_in_it() {
    let one_kind = |count: usize, side: u32, bytes: usize| vec![image(side, bytes); count];
    let mixed = |count: usize| -> Vec<Part> {
        (0..count).map(|n| image([1, 1_999, 2_001, 8_000, 12_000][n % 5], [60, 4_000][n % 2])).collect()
    };
    // images, sent to anthropic, openai, gemini, bedrock, why
    let table = [
        (one_kind(1, 1, 60), [1, 1, 1, 1], "one pixel"),
        (one_kind(1, 8_000, 60), [1, 1, 1, 1], "as wide as is taken"),
        (one_kind(1, 8_001, 60), [0, 1, 1, 0], "wider"),
        (one_kind(20, 2_001, 60), [20, 20, 20, 20], "twenty may be wide"),
        (one_kind(21, 2_001, 60), [0, 21, 21, 16], "more than twenty may not; five of twenty-one make room"),
        (one_kind(21, 2_000, 60), [21, 21, 21, 16], "two thousand pixels are taken"),
        (one_kind(100, 1_000, 60), [100, 100, 100, 20], "a hundred"),
        (one_kind(101, 1_000, 60), [76, 101, 101, 16], "one more: a quarter goes at once"),
        (one_kind(120, 1_000, 60), [95, 120, 120, 20], "and stays gone"),
        (one_kind(1, 100, 5 << 20), [1, 1, 1, 1], "as large as is taken"),
        (one_kind(1, 100, (5 << 20) + 4), [0, 1, 1, 0], "larger"),
        (one_kind(1, 100, 20 << 20), [0, 1, 0, 0], "twenty megabytes"),
        (one_kind(12, 100, 4 << 20), [6, 10, 3, 3], "too large together"),
    ];
    for (images, [anthropic, openai, gemini, bedrock], why) in table {
        let request = album(&images);
        for dialect in Dialect::ALL {
            let want = match dialect {
                Dialect::Anthropic | Dialect::Pi => anthropic,
                Dialect::OpenAiChat | Dialect::OpenAiResponses => openai,
                Dialect::Gemini => gemini,
                Dialect::BedrockConverse => bedrock,
            };
            check(&request, dialect, images.len(), Some(want), why);
        }
    }
    for count in [1, 5, 20, 21, 22, 60, 119, 120] {
        for dialect in Dialect::ALL {
            check(&album(&mixed(count)), dialect, count, None, "mixed");
        }
    }
}

fn check(request: &Request, dialect: Dialect, count: usize, want: Option<usize>, why: &str) {
    let body = render(request, dialect);
    let case = format!("{count} images, {}: {why}", dialect.name());
    assert_eq!(validate(&body, dialect), Ok(()), "{case}");
    let sent = body.matches("iVBORw0KGgo").count();
    assert_eq!(losses(request, dialect).len(), count - sent, "{case}");
    assert!(want.is_none_or(|want| want == sent), "{case}: {sent} sent");
    assert!(body.matches("[image: image/png]").count() >= count - sent, "{case}");
}

/// Images are left out in steps: the beginning of the request stays for a while, and so does the provider's cache.
#[test]
fn f064_f075_old_images_go_in_steps() {
    let images = vec![image(10, 60); 130];
    let mut changes = 0;
    let mut before = String::new();
    for count in 95..=130 {
        let body = render(&album(&images[..count]), Dialect::Anthropic);
        let start = &before[..before.len().saturating_sub(3)];
        changes += usize::from(!body.starts_with(start));
        before = body;
    }
    assert_eq!(changes, 2, "at 101 and at 126 images");
}

#[test]
fn f062_f063_ids_are_legal_injective_and_stable() {
    let mut targets: Vec<Target> = Dialect::ALL.map(Target::from).to_vec();
    targets.push(Target::of(Dialect::OpenAiChat, Some("mistral-large")));
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let alphabet: Vec<char> = "abcdefXYZ0189_-|.:/ =é日😀\u{0}uf_".chars().collect();
    let mut ids = BTreeSet::new();
    while ids.len() < 143_000 {
        let length = next(80);
        ids.insert((0..length).map(|_| alphabet[next(alphabet.len() as u64) as usize]).collect::<String>());
    }
    for target in targets {
        let (longest, nine) = match (target.dialect, target.family) {
            (_, Some(_)) => (9, true),
            (Dialect::Pi, _) => (usize::MAX, false),
            (Dialect::OpenAiChat, _) => (40, false),
            _ => (64, false),
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || (!nine && (c == '_' || c == '-'));
        let mut mapped = BTreeSet::new();
        for id in &ids {
            let there = target.call_id(id).into_owned();
            let good = !there.is_empty() && there.len() <= longest && (!nine || there.len() == 9);
            assert!(
                good && (target.dialect == Dialect::Pi || there.chars().all(legal)),
                "{id:?} as {there:?}"
            );
            assert_eq!(there, target.call_id(id), "stable");
            assert!(mapped.insert(there), "{id:?} meets another in {target:?}");
        }
    }
}

/// JSON as deep as parsers allow is not sent unchanged: inside the request it would be too deep.
#[test]
fn f062_deep_arguments_do_not_make_the_request_too_deep() {
    for depth in [1, 70, 79, 80, 81, 100, 126, 127, 128, 500] {
        let arguments = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let (id, name) = ("c".to_owned(), "read".to_owned());
        let call = ToolCall { id: id.clone(), name: name.clone(), arguments, complete: true, raw: None };
        let result = ToolResult { call_id: id, name, content: Vec::new(), is_error: false, exit_code: None };
        let messages = vec![
            message(Speaker::User, vec![text("hi")]),
            message(Speaker::Assistant, vec![Block::Call(call)]),
            message(Speaker::User, vec![Block::Result(result)]),
        ];
        let request = Request { system: Vec::new(), messages };
        for dialect in Dialect::ALL {
            let body = render(&request, dialect);
            assert_eq!(validate(&body, dialect), Ok(()), "{depth} in {}", dialect.name());
            assert_eq!(body.contains("_raw"), depth > 80, "{depth} in {}", dialect.name());
        }
    }
}

/// A block that a client marked for caching.
fn marked(kind: usize) -> Part {
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    match kind {
        0 => Part::Media(Media {
            mime: "image/png".into(),
            size: None,
            raw: format!(r#"{{"type":"image","data":"iVBORw0KGgo=",{mark}}}"#).into(),
        }),
        1 => Part::Opaque {
            kind: "document".into(),
            raw: format!(r#"{{"type":"document","source":{{"type":"text","data":"x"}},{mark}}}"#).into(),
        },
        2 => Part::Opaque { kind: "cachePoint".into(), raw: r#"{"cachePoint":{"type":"default"}}"#.into() },
        _ => Part::Opaque {
            kind: "search_result".into(),
            raw: format!(r#"{{"type":"search_result","content":[{{"type":"text","text":"x",{mark}}}]}}"#)
                .into(),
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever marks a client left in its history, no more are sent than a provider accepts. In fact none are, since
    /// clients move them from call to call and the beginning of the request has to stay.
    #[test]
    fn f065_marks_for_caching_of_clients(kinds in proptest::collection::vec(0_usize..4, 0..9)) {
        let blocks = kinds.iter().map(|kind| Block::Part(marked(*kind))).chain([text("go")]).collect();
        let request = Request { system: Vec::new(), messages: vec![message(Speaker::User, blocks)] };
        for dialect in Dialect::ALL {
            let body = render(&request, dialect);
            prop_assert_eq!(validate(&body, dialect), Ok(()), "{} {}", dialect.name(), body);
            let marks = body.matches("cache_control").count() + body.matches("cachePoint").count();
            prop_assert_eq!(marks, 0, "{} {}", dialect.name(), body);
        }
    }
}

#[test]
fn f063_tool_names_are_what_the_provider_takes() {
    let table = [
        ("read", "read", "read", "legal everywhere"),
        ("", "unknown_tool", "unknown_tool", "none"),
        ("fs.read", "fs_read", "fs.read", "gemini takes dots"),
        ("mcp:read file", "mcp_read_file", "mcp:read_file", "and colons, no spaces"),
        ("1st", "1st", "_1st", "gemini's begin with a letter"),
        ("-x", "-x", "_-x", "or an underscore"),
        ("日本", "__", "___", "other scripts"),
    ];
    for (name, want, gemini, why) in table {
        for dialect in Dialect::ALL {
            let there = dialect.tool_name(name);
            match dialect {
                Dialect::Pi => assert!(there == name || name.is_empty(), "{why}"),
                Dialect::Gemini => assert_eq!(there, gemini, "{why}"),
                _ => assert_eq!(there, want, "{why}"),
            }
        }
    }
    assert_eq!(Dialect::Gemini.tool_name(&"1".repeat(90)).len(), 64);
}
