//! Properties of every file, however damaged: nothing is lost, nothing panics, and a file caught while it grows gives
//! the first records of the grown file.
use proptest::prelude::*;
use proptest::sample::Index;

use unforget_wire::{Format, ReadError, Reader, decode};

const PI: [&str; 9] = [
    r#"{"type":"session","version":3,"id":"u-1","timestamp":"2025-11-20T23:33:50.805Z","cwd":"/x"}"#,
    r#"{"type":"message","id":"a","parentId":null,"timestamp":"2025-11-20T23:33:01.550Z","message":{"role":"user","content":[{"type":"text","text":"caf\u00e9 \ud83d\ude00 \ud800"}],"timestamp":1763681581544}}"#,
    r#"{"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"S"},{"type":"toolCall","id":"c","name":"read","arguments":{"path":"/x\\y"},"partialJson":"{\"pa"}],"stopReason":"aborted"}}"#,
    r#"{"type":"message","id":"c","parentId":"b","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[{"type":"text","text":"a\nb"}],"details":{"exitCode":1},"isError":true}}"#,
    r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"x","exitCode":0}}"#,
    r#"{"type":"compaction","summary":"s","firstKeptEntryIndex":2}"#,
    r#"{"type":"custom","data":[1,-2.5e3,true,null,{"k":{}}]}"#,
    "",
    r#"{"type":"label"}{"type":"label"}"#,
];

const CLAUDE: [&str; 8] = [
    r#"{"parentUuid":null,"isSidechain":false,"sessionId":"s","type":"user","message":{"role":"user","content":"hi 中文"},"uuid":"u1","timestamp":"2026-01-24T15:41:28.877Z"}"#,
    r#"{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"id":"m","model":"x","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls \"a\""}}]}}"#,
    r#"{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s","toolUseResult":{"stdout":"x"},"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"}]}]}}"#,
    r#"{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true,"sessionId":"s","message":{"content":"task"}}"#,
    r#"{"type":"progress","data":{"type":"agent_progress","message":{}}}"#,
    r#"{"type":"system","subtype":"compact_boundary","parentUuid":null}"#,
    r#"{"type":"summary","summary":"t","leafUuid":"l"}"#,
    "not json",
];

/// Records of formats with documents.
const DOCUMENTS: [&str; 5] = [
    "{\n \"sessionId\": \"g\",\n \"projectHash\": \"h\",\n \"messages\": [\n  {\n   \"id\": \"1\",\n   \"type\": \"user\",\n   \"content\": \"hi ]}\\\"\"\n  },\n  {\"id\":\"2\",\"type\":\"gemini\",\"content\":\"x\"}\n ]\n}\n",
    "[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[]}]\n",
    "[ {\"task_id\":0,\"traj\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}],\"trial\":1},\n{\"task_id\":1,\"traj\":[{\"role\":\"user\",\"content\":\"c\"}]}]",
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n",
    "{\"trajectory\":[{\"action\":\"a\"}],\"history\":[{\"role\":\"user\",\"content\":\"b\"}],\"info\":{}}",
];

/// The leads and bodies of a file. Proves the partition, and that decoding a body again gives its entry.
fn records(file: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut reader = match Reader::open(file) {
        Ok(reader) => reader,
        Err(ReadError::NotATranscript { .. }) => return Vec::new(),
        Err(error) => panic!("{error}"),
    };
    let format = reader.source().format;
    let mut records = Vec::new();
    let mut at = 0;
    while let Some(record) = reader.next_record().unwrap() {
        assert!(file[at..].starts_with(&record.lead));
        at += record.lead.len();
        assert!(file[at..].starts_with(&record.body));
        at += record.body.len();
        let mut again = decode(format, &record.body);
        again.host_id.clone_from(&record.entry.host_id);
        again.parent.clone_from(&record.entry.parent);
        again.thread.clone_from(&record.entry.thread);
        assert_eq!(again, record.entry);
        records.push((record.lead, record.body));
    }
    assert_eq!(&file[at..], reader.trailer());
    records
}

/// One kind of damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(Index),
    Flip(Index, u8),
    Zero(Index, usize),
    Twice(Index, usize),
    Lose(Index, usize),
    Insert(Index, &'static [u8]),
}

fn damage() -> impl Strategy<Value = Damage> {
    let odd: [&[u8]; 9] = [b"\n", b"\"", b"{", b"}", b"[", b"\\", b"\xEF\xBB\xBF", b"\xFF\xFE", b"\r\n\0\0"];
    prop_oneof![
        1 => any::<Index>().prop_map(Damage::Cut),
        4 => (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Damage::Flip(at, bit)),
        2 => (any::<Index>(), 1..40usize).prop_map(|(at, count)| Damage::Zero(at, count)),
        2 => (any::<Index>(), 1..200usize).prop_map(|(at, count)| Damage::Twice(at, count)),
        2 => (any::<Index>(), 1..200usize).prop_map(|(at, count)| Damage::Lose(at, count)),
        3 => (any::<Index>(), proptest::sample::select(odd.to_vec())).prop_map(|(at, odd)| Damage::Insert(at, odd)),
    ]
}

fn apply(file: &mut Vec<u8>, damage: &Damage) {
    let place = |index: &Index| index.index(file.len() + 1);
    match damage {
        Damage::Cut(at) => file.truncate(place(at)),
        Damage::Flip(at, bit) => {
            let at = place(at);
            if let Some(byte) = file.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Damage::Zero(at, count) => {
            let at = place(at);
            let end = file.len().min(at + count);
            file[at..end].fill(0);
        }
        Damage::Twice(at, count) => {
            let at = place(at);
            let piece = file[at..file.len().min(at + count)].to_vec();
            file.splice(at..at, piece);
        }
        Damage::Lose(at, count) => {
            let at = place(at);
            file.drain(at..file.len().min(at + count));
        }
        Damage::Insert(at, odd) => {
            let at = place(at);
            file.splice(at..at, odd.iter().copied());
        }
    }
}

fn lines(pool: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let line = proptest::sample::select(pool.to_vec());
    let end = prop_oneof![8 => Just("\n"), 1 => Just("\r\n"), 1 => Just("")];
    proptest::collection::vec((line, end), 0..8).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end]).collect::<String>().into_bytes()
    })
}

fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let document = proptest::sample::select(DOCUMENTS.to_vec()).prop_map(|text| text.as_bytes().to_vec());
    prop_oneof![3 => lines(&PI), 3 => lines(&CLAUDE), 2 => document]
}

/// Cases per property; `UNFORGET_CASES` asks for more.
fn cases() -> u32 {
    std::env::var("UNFORGET_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(6000)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    /// F094. Leads, bodies and trailer are the file, for any damage, and decoding is repeatable.
    #[test]
    fn f094_nothing_is_lost(file in any_file(), damages in proptest::collection::vec(damage(), 0..4)) {
        let mut file = file;
        for damage in &damages {
            apply(&mut file, damage);
        }
        records(&file);
    }

    /// The records of a file cut at any place are the first records of the file.
    #[test]
    fn a_growing_file_never_changes_its_mind(
        file in any_file(),
        damages in proptest::collection::vec(damage(), 0..2),
        cut in any::<Index>(),
    ) {
        let mut file = file;
        for damage in &damages {
            apply(&mut file, damage);
        }
        let (whole, part) = (records(&file), records(&file[..cut.index(file.len() + 1)]));
        prop_assert!(
            whole.starts_with(&part),
            "{:?}\nwhole {:?}\npart {:?}",
            String::from_utf8_lossy(&file),
            whole.iter().map(|(lead, body)| (String::from_utf8_lossy(lead), String::from_utf8_lossy(body))).collect::<Vec<_>>(),
            part.iter().map(|(lead, body)| (String::from_utf8_lossy(lead), String::from_utf8_lossy(body))).collect::<Vec<_>>()
        );
    }

    /// F062, F094. Any bytes at all decode to something, in every format.
    #[test]
    fn decode_is_total(
        line in proptest::sample::select([PI.as_slice(), CLAUDE.as_slice()].concat()),
        damages in proptest::collection::vec(damage(), 0..4),
    ) {
        let mut body = line.as_bytes().to_vec();
        for damage in &damages {
            apply(&mut body, damage);
        }
        for format in Format::ALL {
            decode(format, &body);
        }
    }
}

#[test]
fn every_cut_of_every_document_is_a_prefix() {
    for file in DOCUMENTS {
        let whole = records(file.as_bytes());
        for cut in 0..file.len() {
            let part = records(&file.as_bytes()[..cut]);
            assert!(whole.starts_with(&part), "{cut} of {file}");
        }
    }
}

#[test]
fn deep_nesting_is_a_record() {
    for depth in [100, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let deep = format!(r#"{{"type":"tool_result","content":{open}{close}}}"#);
        let nested = r#"{"type":"tool_result","content":["#.repeat(depth) + &"]}".repeat(depth);
        for content in [deep, nested] {
            let line = format!(r#"{{"type":"user","sessionId":"s","message":{{"content":[{content}]}}}}"#);
            assert_eq!(records(line.as_bytes()).len(), 1);
            for format in Format::ALL {
                decode(format, line.as_bytes());
            }
        }
    }
}
