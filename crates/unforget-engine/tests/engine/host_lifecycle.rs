//! Hosts that lose and repeat calls, crash, rotate files, and run many lanes at once.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::host::{PI, answer, call, delivered, host, lane, page, result, turn, user};
use serde_json::json;
use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Delivered, Event, Host, HostError, LaneKey, LiveArray, Page, Turn};
use unforget_wire::journal::Provenance;
use unforget_wire::{Dialect, Format};

fn turns(count: i64) -> Vec<Vec<String>> {
    let one = |n: i64| {
        let id = format!("c{n}");
        vec![
            user(&format!("u{n}"), n * 10 + 1),
            call(&id, n * 10 + 2),
            result(&id, "same", n * 10 + 3),
            answer(&format!("a{n}"), n * 10 + 4),
        ]
    };
    (1..=count).map(one).collect()
}

#[test]
fn f002_f009_every_call_of_a_long_tool_loop_fits() {
    let (host, lane) = (host(), lane("loop"));
    let big = "a line of output that says something\n".repeat(900);
    let mut array = vec![user("run it two hundred times", 1)];
    host.begin_turn(&lane, PI, turn("t", &array)).unwrap();
    for n in 0..200 {
        let live =
            LiveArray { is_whole: false, messages: delivered(&array[array.len().saturating_sub(4)..]) };
        let ask = Ask { live: Some(live), is_first: n == 0, ..Ask::new(32_000, Dialect::Pi) };
        let assembled = host.assemble(&lane, PI, &ask).unwrap();
        assert!(assembled.tokens.upper <= 32_000, "call {n}");
        assert!(assembled.messages.iter().any(|message| message.contains("two hundred times")), "call {n}");
        let id = format!("c{n}");
        array.extend([call(&id, 100 + n * 2), result(&id, &big, 101 + n * 2)]);
    }
    host.commit_turn(&lane, PI, turn("t", &array)).unwrap();
    let status = host.status(&lane, PI).unwrap();
    assert_eq!((status.generation, status.path), (0, 401), "nothing was reset, nothing is twice");
}

#[test]
fn an_answer_that_the_host_put_in_has_nothing_before_it() {
    let (host, lane) = (host(), lane("injected"));
    // As `chat.inject` of OpenClaw does.
    let said = [user("u", 1), answer("a", 2), answer("injected", 3), user("v", 4)];
    host.sync(&lane, PI, delivered(&said)).unwrap();
    let assembled = host.assemble(&lane, PI, &Ask::new(32_000, Dialect::Pi)).unwrap();
    assert_eq!(assembled.messages, said, "no words of ours between the answers");
}

#[test]
fn f008_a_lane_that_fails_holds_nobody_up() {
    let host = Arc::new(host());
    let work = |n: usize| {
        let host = Arc::clone(&host);
        std::thread::spawn(move || {
            let lane = lane(&n.to_string());
            for turn_of_it in turns(4) {
                if n.is_multiple_of(10) {
                    // Every tenth lane makes only impossible requests.
                    assert!(host.assemble(&lane, PI, &Ask::new(0, Dialect::Pi)).is_err());
                }
                host.commit_turn(&lane, PI, turn(&turn_of_it[0], &turn_of_it)).unwrap();
                host.assemble(&lane, PI, &Ask::new(9_000, Dialect::Pi)).unwrap();
            }
            host.path(&lane, PI).unwrap()
        })
    };
    let threads: Vec<_> = (0..40).map(work).collect();
    let expected = turns(4).concat();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), expected, "f078: lanes see nothing of each other");
    }
}

#[test]
fn f037_a_lost_call_is_healed_by_the_next() {
    let all = turns(12);
    for lost in 0..all.len() {
        let (host, lane) = (host(), lane("x"));
        for (n, messages) in all.iter().enumerate() {
            let history = all[..n].concat();
            let live = LiveArray { is_whole: false, messages: delivered(&history) };
            let ask = Ask { live: Some(live), ..Ask::new(9_000, Dialect::Pi) };
            if lost != n {
                host.assemble(&lane, PI, &ask).unwrap();
                host.commit_turn(&lane, PI, turn(&n.to_string(), messages)).unwrap();
            }
        }
        host.catch_up(&lane, PI, page(&all.concat(), "end")).unwrap();
        assert_eq!(host.path(&lane, PI).unwrap(), all.concat(), "turn {lost} was lost");
    }
}

#[test]
fn f039_an_error_moves_no_cursor() {
    let (host, lane) = (host(), lane("x"));
    let all = turns(2);
    host.catch_up(&lane, PI, page(&all[0], "one")).unwrap();
    let before = host.status(&lane, PI).unwrap();
    let mut bad = page(&all[1], "two");
    bad.messages.push(Delivered::new("{\"role\":"));
    assert!(matches!(host.catch_up(&lane, PI, bad), Err(HostError::BadMessage { index: 4, .. })));
    assert_eq!(host.status(&lane, PI).unwrap(), before, "nothing was stored, nothing moved");
    host.catch_up(&lane, PI, page(&all[1], "two")).unwrap();
    assert_eq!(host.status(&lane, PI).unwrap().cursor.as_deref(), Some("two"));
}

#[test]
fn f041_a_burst_is_stored() {
    let (host, lane) = (host(), lane("x"));
    let bare =
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "t", "content": [], "isError": false })
            .to_string();
    let burst = vec![bare; 10_000];
    assert_eq!(host.sync(&lane, PI, delivered(&burst)).unwrap().added, 10_000);
    assert_eq!(host.sync(&lane, PI, delivered(&burst)).unwrap().why, DeliveryOutcome::UpToDate);
}

#[test]
fn f042_f043_turns_are_stored_once_and_before_the_call() {
    let engine = Engine::in_memory();
    let lane = lane("x");
    for (n, messages) in turns(5).iter().enumerate() {
        let key = n.to_string();
        let begin = turn(&key, &messages[..1]);
        for _ in 0..=n {
            Host::new(engine.clone(), || Timestamp(1)).begin_turn(&lane, PI, begin.clone()).unwrap();
        }
        let crashed = Host::new(engine.clone(), || Timestamp(1));
        assert_eq!(
            crashed.path(&lane, PI).unwrap().last(),
            Some(&messages[0]),
            "durable before the model is called"
        );
        for _ in 0..=n {
            let host = Host::new(engine.clone(), || Timestamp(1));
            host.commit_turn(&lane, PI, turn(&key, messages)).unwrap();
            host.begin_turn(&lane, PI, begin.clone()).unwrap();
        }
    }
    let host = Host::new(engine, || Timestamp(1));
    assert_eq!(host.path(&lane, PI).unwrap(), turns(5).concat());
}

#[test]
fn f097_two_writers_of_a_lane_lose_nothing() {
    let engine = Engine::in_memory();
    let hosts = [Host::new(engine.clone(), || Timestamp(1)), Host::new(engine, || Timestamp(2))];
    let lane = lane("x");
    for (n, messages) in turns(10).iter().enumerate() {
        let host = &hosts[n % 2];
        let commit = || host.commit_turn(&lane, PI, turn(&n.to_string(), messages));
        // The other engine has written since: this one gets an error, opens the lane again, and goes on.
        if commit().is_err() {
            commit().unwrap();
        }
    }
    for host in &hosts {
        host.close(&lane);
    }
    assert_eq!(hosts[0].path(&lane, PI).unwrap(), turns(10).concat());
}

#[test]
fn f097_a_lane_that_is_forgotten_while_it_is_at_work_has_one_writer() {
    let (host, lane) = (host(), lane("x"));
    let all = turns(200);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let until_done = |act: fn(&Host, &LaneKey)| {
            while !is_done.load(Ordering::Relaxed) {
                act(&host, &lane);
            }
        };
        scope.spawn(move || until_done(Host::close));
        scope.spawn(move || until_done(|host, lane| drop(host.path(lane, PI).unwrap())));
        for (n, messages) in all.iter().enumerate() {
            let done = host.commit_turn(&lane, PI, turn(&n.to_string(), messages));
            is_done.store(done.is_err() || n + 1 == all.len(), Ordering::Relaxed);
            done.unwrap();
        }
    });
    assert_eq!(host.path(&lane, PI).unwrap(), all.concat());
}

#[test]
fn f099_a_rotated_transcript_goes_on() {
    let (host, lane) = (host(), lane("x"));
    let all = turns(6);
    host.catch_up(&lane, PI, page(&all[..3].concat(), "old")).unwrap();
    host.event(&lane, PI, &Event::Rotate).unwrap();
    // The new file begins with the end of the old file.
    host.catch_up(&lane, PI, page(&all[2..].concat(), "new")).unwrap();
    assert_eq!(host.path(&lane, PI).unwrap(), all.concat());
    host.event(&lane, PI, &Event::Delete).unwrap();
    assert_eq!(host.path(&lane, PI).unwrap(), all.concat(), "deleting the host's file takes nothing");
}

#[test]
fn f101_heartbeats_are_nobodys_words() {
    let (host, lane) = (host(), lane("x"));
    host.commit_turn(&lane, PI, turn("1", &[user("remember the plan", 1), answer("yes", 2)])).unwrap();
    for n in 0..300 {
        let beat = Delivered {
            provenance: Some(Provenance::InternalEvent),
            ..Delivered::new(user("heartbeat: anything to do? answer shortly", 100 + n * 10))
        };
        let messages = vec![beat, Delivered::new(answer("nothing", 105 + n * 10))];
        host.commit_turn(&lane, PI, Turn { key: format!("h{n}"), messages }).unwrap();
    }
    let assembled = host.assemble(&lane, PI, &Ask::new(2_000, Dialect::Pi)).unwrap();
    let carried = assembled.messages.iter().filter(|message| message.contains("remember the plan")).count();
    assert!(carried >= 1, "the newest words of a person stay: {:?}", assembled.messages);
}

#[test]
fn f102_a_sub_agent_is_heard_once() {
    let (host, parent, child) = (host(), lane("p"), lane("c"));
    let history = turns(2).concat();
    host.sync(&parent, PI, delivered(&history)).unwrap();
    host.event(&parent, PI, &Event::SubagentPrepared { child: child.clone(), forks: true }).unwrap();
    host.event(&child, PI, &Event::Fork { from: parent.clone(), until: None }).unwrap();
    host.commit_turn(&child, PI, turn("c1", &[user("sub-task", 900), answer("sub-done", 901)])).unwrap();
    host.event(&parent, PI, &Event::SubagentEnded { child: child.clone(), reason: "completed".into() })
        .unwrap();
    let announced = Delivered {
        provenance: Some(Provenance::InterSession),
        is_volatile: true,
        ..Delivered::new(user("the sub-agent says: sub-done", 950))
    };
    let messages = [delivered(&history), vec![announced]].concat();
    for budget in [9_000, 9_000, 800] {
        let ask = Ask {
            live: Some(LiveArray { is_whole: false, messages: messages.clone() }),
            ..Ask::new(budget, Dialect::Pi)
        };
        let assembled = host.assemble(&parent, PI, &ask).unwrap();
        assert_eq!(
            assembled.messages.iter().filter(|message| message.contains("sub-done")).count(),
            1,
            "{budget}"
        );
    }
    assert_eq!(host.path(&child, PI).unwrap().len(), history.len() + 2, "the child has its parent's history");
    assert!(
        !host.path(&parent, PI).unwrap().iter().any(|message| message.contains("sub-task")),
        "and not the reverse"
    );
}

#[test]
fn f103_lanes_are_opened_and_closed_in_any_order() {
    let host = host();
    let lanes = [lane("a"), lane("b")];
    for (n, messages) in turns(20).iter().enumerate() {
        let lane = &lanes[n % 2];
        if n % 3 == 0 {
            host.close(&lanes[0]);
        }
        if n % 5 == 0 {
            host.event(lane, PI, &Event::Reset).unwrap();
        }
        host.open(lane, PI).unwrap();
        host.commit_turn(lane, PI, turn(&n.to_string(), messages)).unwrap();
        let own = host.path(lane, PI).unwrap();
        assert!(own.ends_with(messages));
        host.close(lane);
        assert_eq!(host.path(lane, PI).unwrap(), own, "closing changes nothing");
    }
}

#[test]
fn f034_arrays_without_names_are_known_after_a_restart() {
    let engine = Engine::in_memory();
    let lane = lane("chat");
    let chat = |role: &str, text: &str| json!({ "role": role, "content": text }).to_string();
    let words = ["ok", "a2", "r", "r", "a7", "ok", "a9", "r", "a13", "u15"];
    let array: Vec<String> = words
        .iter()
        .map(|word| chat(if word.starts_with(['o', 'u', 'r']) { "user" } else { "assistant" }, word))
        .collect();
    let form = Format::OpenAiChat;
    let ask = |count: usize| {
        let live = LiveArray { is_whole: true, messages: delivered(&array[..count]) };
        Ask { live: Some(live), ..Ask::new(9_000, Dialect::OpenAiChat) }
    };
    for count in 1..=array.len() {
        for _ in 0..2 {
            let host = Host::new(engine.clone(), || Timestamp(3));
            let receipt = host.assemble(&lane, form, &ask(count)).unwrap().receipt.unwrap();
            assert_eq!(receipt.generation, 0, "{count}");
            assert_eq!(host.path(&lane, form).unwrap(), array[..count]);
        }
    }
}

#[test]
fn a_restart_keeps_the_thresholds_of_neighbouring_budgets() {
    let engine = Engine::in_memory();
    let start = || Host::new(engine.clone(), || Timestamp(7));
    let (host, lane) = (start(), lane("budgets"));
    let words = "what was said and why it matters to everybody here ".repeat(20);
    for n in 0..120 {
        let messages =
            [user(&format!("{n} {words}"), n * 10 + 1), answer(&format!("{n} {words}"), n * 10 + 2)];
        host.commit_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
        host.assemble(&lane, PI, &Ask::new(17_000, Dialect::Pi)).unwrap();
    }
    for budget in [16_000, 15_500, 17_000, 20_000] {
        let ask = Ask::new(budget, Dialect::Pi);
        let here = host.assemble(&lane, PI, &ask).unwrap();
        let there = start().assemble(&lane, PI, &ask).unwrap();
        assert_eq!(here.messages, there.messages, "with room for {budget}");
        assert_ne!(
            there.broken.map(|broken| broken.cause.name()),
            Some("compaction"),
            "what is stored is enough"
        );
    }
}

#[test]
fn a_rewound_lane_goes_on_with_the_same_bytes_after_a_restart() {
    let words = "what was said and why it matters to everybody here ".repeat(20);
    let said =
        |n: i64| [user(&format!("{n} {words}"), n * 10 + 1), answer(&format!("{n} {words}"), n * 10 + 2)];
    let ask = Ask::new(17_000, Dialect::Pi);
    // Behind the summaries, at their edge, and deep inside of them.
    for back in [2, 20, 30, 31, 32, 33, 34, 35, 40, 110] {
        let engine = Engine::in_memory();
        let start = || Host::new(engine.clone(), || Timestamp(7));
        let (host, lane) = (start(), lane("rewound"));
        for n in 0..120 {
            let [first, second] = said(n);
            let messages = vec![Delivered::new(first).with_id(&format!("u{n}")), Delivered::new(second)];
            host.commit_turn(&lane, PI, Turn { key: n.to_string(), messages }).unwrap();
            host.assemble(&lane, PI, &ask).unwrap();
        }
        host.event(&lane, PI, &Event::Rewind { to: format!("u{}", 120 - back) }).unwrap();
        for n in 200..203 {
            host.commit_turn(&lane, PI, turn(&n.to_string(), &said(n))).unwrap();
            let here = host.assemble(&lane, PI, &ask).unwrap();
            let there = start().assemble(&lane, PI, &ask).unwrap();
            assert_eq!(here.messages, there.messages, "{back} turns back, then turn {n}");
        }
    }
}

#[test]
fn a_page_behind_a_reset_that_comes_again_changes_nothing() {
    let engine = Engine::in_memory();
    let start = || Host::new(engine.clone(), || Timestamp(7));
    let (host, lane) = (start(), lane("reset"));
    let behind = |messages: &[String], cursor| Page { is_reset: true, ..page(messages, cursor) };
    let (old, new) = ([user("before", 1), answer("so", 2)], [user("after", 3), answer("so", 4)]);
    host.catch_up(&lane, PI, page(&old, "c1")).unwrap();
    let first = host.catch_up(&lane, PI, behind(&new, "c2")).unwrap();
    assert_eq!((first.added, first.generation), (2, 1));
    let entries = host.status(&lane, PI).unwrap().entries;
    for host in [&host, &start()] {
        let again = host.catch_up(&lane, PI, behind(&new, "c2")).unwrap();
        assert_eq!((again.why, again.added, again.generation), (DeliveryOutcome::UpToDate, 0, 1));
        assert_eq!(host.path(&lane, PI).unwrap(), new);
        assert_eq!(host.status(&lane, PI).unwrap().entries, entries);
    }
    // A further reset at a place of the same name is a new reset.
    let other = [user("afterwards", 5), answer("so", 6)];
    let next = host.catch_up(&lane, PI, behind(&other, "c2")).unwrap();
    assert_eq!((next.added, next.generation), (2, 2));
    assert_eq!(host.path(&lane, PI).unwrap(), other);
}
