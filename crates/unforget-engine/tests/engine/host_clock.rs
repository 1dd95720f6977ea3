//! Hosts with clocks that jump, and hosts that redact words of their own transcripts.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::common::host::{PI, answer, call, lane, page, result, turn, user};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Array, Ask, Brings, DeliveredArray, Host};
use unforget_wire::{Dialect, Format};

const HOUR: i64 = 3_600_000;

/// A host whose clock cycles through these times.
fn host_at(engine: &Engine, times: &'static [i64]) -> Host {
    let next = Arc::new(AtomicUsize::new(0));
    Host::new(engine.clone(), move || Timestamp(times[next.fetch_add(1, Ordering::Relaxed) % times.len()]))
}

/// Turns with the given times, independent of the clock.
fn turns(times: &[i64]) -> Vec<Vec<String>> {
    let one = |n: usize| {
        let (id, at) = (format!("c{n}"), times[n % times.len()]);
        let long = format!("line {n} of output\n").repeat(120);
        vec![
            user(&format!("question {n}"), at),
            call(&id, at.saturating_sub(HOUR)),
            result(&id, &long, at.saturating_add(1)),
            answer(&format!("answer {n}"), at),
        ]
    };
    (0..60).map(one).collect()
}

#[test]
fn f116_no_step_of_a_clock_changes_what_is_stored_or_stops_a_lane() {
    let steady: &[i64] = &[1_790_000_000_000];
    let t = 1_790_000_000_000;
    let tables: [&'static [i64]; 5] = [
        Box::leak(Box::new([t, t + 7 * HOUR, t - 7 * HOUR, t - 1_000, t, t])),
        // Frozen, before 1970, and the limits of the range.
        &[0, 0, -5, i64::MIN, i64::MAX, 1],
        // Around the hour that occurs twice in New York and the half hour that Lord Howe skips.
        Box::leak(Box::new([1_793_509_200_000, 1_793_512_799_999, 1_793_509_200_001, 1_791_037_800_000])),
        &[253_402_300_800_000],
        steady,
    ];
    let want: Vec<String> = turns(steady).concat();
    for (clock, said) in tables.iter().flat_map(|clock| tables.iter().map(move |said| (clock, said))) {
        let (engine, lane) = (Engine::in_memory(), lane("clock"));
        let mut host = host_at(&engine, clock);
        let sent = turns(said);
        for (n, messages) in sent.iter().enumerate() {
            host.commit_turn(&lane, PI, turn(&n.to_string(), messages)).unwrap();
            let made = host.assemble(&lane, PI, &Ask::new(6_000, Dialect::Pi)).unwrap();
            assert!(made.tokens.upper <= 6_000, "{clock:?} {said:?} turn {n}");
            let newest = format!("answer {n}\"");
            let is_there = made.messages.iter().any(|shown| shown.contains(&newest));
            let ends: Vec<String> = made.messages.iter().map(|one| one.chars().take(90).collect()).collect();
            assert!(is_there, "{clock:?} {said:?} turn {n}: {ends:#?}");
            if n == 30 {
                host = host_at(&engine, clock);
            }
        }
        let path = host.path(&lane, PI).unwrap();
        assert!(path == sent.concat(), "{clock:?} {said:?}: in the order in which it was delivered");
        assert_eq!(path.len(), want.len());
        assert!(engine.verify(&mut |_, _| {}).unwrap().problems.is_empty());
    }
}

/// An array with a secret in some messages, and the same array with the secret redacted: in the form of a host's
/// transcript, whose messages have times, and in the form of a client's request, whose messages have none.
fn faces(form: Format, secret_in: &[usize]) -> [Vec<String>; 2] {
    let face = |secret: &str| {
        let message = |n: usize| {
            let words = if secret_in.contains(&n) { secret } else { "nothing" };
            let (text, at) = (format!("message {n} with {words} in it"), 1_790_000_000_000 + n as i64);
            match (form, n % 2) {
                (PI, 0) => user(&text, at),
                (PI, _) => answer(&text, at),
                (_, 0) => format!(r#"{{"role":"user","content":"{text}"}}"#),
                _ => format!(r#"{{"role":"assistant","content":"{text}"}}"#),
            }
        };
        (0..8).map(message).collect()
    };
    [face("ghp_0123456789abcdefghijABCDEFGHIJ012345"), face("[REDACTED]")]
}

fn said(path: &[String]) -> Vec<String> {
    let number = |message: &String| {
        let at = message.find("message ").unwrap();
        message[at..at + 9].to_owned()
    };
    path.iter().map(number).collect()
}

#[test]
fn f114_words_hidden_later_make_no_message_twice() {
    let places: [&[usize]; 7] = [&[0], &[3], &[7], &[0, 3, 6], &[2, 3, 4], &[6, 7], &[0, 1, 2, 3]];
    let cases = places.into_iter().flat_map(|places| [PI, Format::OpenAiChat].map(|form| (form, places)));
    for ((form, places), is_hidden_first) in cases.flat_map(|case| [(case, false), (case, true)]) {
        let mut both = faces(form, places);
        if is_hidden_first {
            both.reverse();
        }
        let (host, lane) = (Host::new(Engine::in_memory(), || Timestamp(7)), lane("faces"));
        let mut entries = Vec::new();
        // Each array twice: an unchanged repetition is nothing new.
        for array in both.iter().cycle().take(8).flat_map(|array| [array, array]) {
            if form == PI {
                host.catch_up(&lane, form, page(array, "end")).unwrap();
            } else {
                let bodies = array.iter().map(String::as_bytes);
                let read = Array::read(form, bodies, &Array::default()).unwrap();
                host.take(&lane, form, DeliveredArray { brings: Brings::All, array: &read }, None).unwrap();
            }
            let path = host.path(&lane, form).unwrap();
            assert_eq!(said(&path), said(&both[0]), "hidden in {places:?}: each once, in order");
            entries.push(host.status(&lane, form).unwrap().entries);
        }
        // A host's transcript is not stored again. For a client, the model reads exactly the words sent: with other
        // words the conversation branches there, once.
        let again = |two: &[u64]| two[1] - two[0];
        assert!(entries.chunks(2).all(|two| again(two) == 0), "{form:?} {places:?}: {entries:?}");
        if form == PI {
            assert!(entries.windows(2).skip(2).all(|two| again(two) <= 4), "{places:?}: {entries:?}");
        }
    }
}
