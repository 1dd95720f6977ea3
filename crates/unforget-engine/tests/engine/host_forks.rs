//! Lanes that begin as another one stands: they show the prompts of that one up to the fork point, byte for byte.

use crate::common::host::{PI, answer, call, delivered, host, lane, result, user};
use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::{ConversationKey, Seq, Timestamp};
use unforget_core::inherit::LATER;
use unforget_core::pin::{PinId, PinState};
use unforget_engine::NewRaised;
use unforget_engine::host::{
    Array, Ask, Asking, Assembled, Brings, Delivered, DeliveredAnswer, DeliveredArray, Event, Host,
    HostError, LaneKey, Recognised, RegisterAnswer, TakenArray, Turn, WriteLatency,
};
use unforget_engine::prompt::Cause;
use unforget_store::{Conversation, JobState, SummaryRow, read_all};
use unforget_wire::{Dialect, Format};

const BUDGET: u64 = 16_000;

fn stored(host: &Host, lane: &LaneKey) -> Conversation {
    let key = host.status(lane, PI).unwrap().conversation;
    host.engine().store().find(&ConversationKey(key)).unwrap().unwrap()
}

/// A turn of a lane with a result that fills its window, under ids and a key. Each reads a file of its own, so that no result makes an
/// older one worthless, whenever the context breaks; those of `same` read the same file.
fn turn_of(name: &str, n: i64) -> Vec<Delivered> {
    let text = format!("a line of {name}'s output that says something\n").repeat(40);
    let id = format!("c{n}");
    let file = if name == "same" { "src/same.rs".to_owned() } else { format!("src/{name}{n}.rs") };
    // No two speak at the same time.
    let time = (n + 100) * 100 + i64::from(name.as_bytes()[0] % 10) * 10;
    let messages = [
        user(&format!("{name} asks {n}"), time + 1),
        call(&id, time + 2).replace(r#""arguments":{}"#, &format!(r#""arguments":{{"path":"{file}"}}"#)),
        result(&id, &text, time + 3),
        answer(&format!("answer {n} to {name}"), time + 4),
    ];
    let ids = (0..).map(|at| Some(format!("{name}{n}-{at}")));
    delivered(&messages).into_iter().zip(ids).map(|(one, id)| Delivered { id, ..one }).collect()
}

/// Turns of a lane, each with a prompt before its answer.
///
/// Gives which of these prompts broke.
fn talk(host: &Host, lane: &LaneKey, name: &str, turns: std::ops::Range<i64>) -> Vec<bool> {
    let mut broke = Vec::new();
    for n in turns {
        let (key, messages) = (n.to_string(), turn_of(name, n));
        host.begin_turn(lane, PI, Turn { key: key.clone(), messages: messages[..3].to_vec() }).unwrap();
        broke.push(breaks(&prompt(host, lane)));
        let committed = host.commit_turn(lane, PI, Turn { key, messages }).unwrap();
        assert!(!committed.is_duplicate, "turn {n} of {name}");
    }
    broke
}

fn prompt(host: &Host, lane: &LaneKey) -> Assembled {
    host.assemble(lane, PI, &Ask::new(BUDGET, Dialect::Pi)).unwrap()
}

fn fork(host: &Host, from: &LaneKey, to: &LaneKey, until: Option<&str>) -> DeliveryOutcome {
    let event = Event::Fork { from: from.clone(), until: until.map(str::to_owned) };
    host.event(to, PI, &event).unwrap().why
}

/// Whether a lane's journal begins with the lines of another one.
fn is_inherited(host: &Host, lane: &LaneKey, from: &LaneKey) -> bool {
    let (store, own, other) = (host.engine().store(), stored(host, lane), stored(host, from));
    let body = |of: &Conversation| store.raw(of.id, 1..2).unwrap().remove(0).body;
    body(&own) == body(&other)
}

#[track_caller]
fn sound(host: &Host) {
    let verified = host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// Asserts that `verify` finds no problem in one lane.
#[track_caller]
fn is_sound(host: &Host, lane: &LaneKey) {
    let mut problems = host.engine().verify(&mut |_, _| {}).unwrap().problems;
    let key = stored(host, lane).key;
    problems.retain(|problem| problem.conversation.as_ref() == Some(&key));
    assert!(problems.is_empty(), "{problems:?}");
}

/// A parent whose prompt broke before the last four turns, the newest of which is number 59, and a child.
fn family() -> (Host, LaneKey, LaneKey) {
    for length in 60..90 {
        let (host, parent, child) = (host(), lane("parent"), lane("child"));
        let broke = talk(&host, &parent, "p", 60 - length..60);
        let (before, newest) = broke.split_at(broke.len() - 4);
        let last = prompt(&host, &parent);
        if before.contains(&true) && !newest.contains(&true) && !breaks(&last) {
            assert!(is_broken(&last));
            return (host, parent, child);
        }
    }
    panic!("it breaks every four turns");
}

/// Number of the first turn of a family's parent.
fn first(host: &Host, parent: &LaneKey) -> i64 {
    60 - host.path(parent, PI).unwrap().len() as i64 / 4
}

/// Whether the context broke for this prompt.
fn breaks(prompt: &Assembled) -> bool {
    prompt.broken.is_some_and(|broken| broken.cause == Cause::Compaction)
}

/// Whether summaries stand in it.
fn is_broken(prompt: &Assembled) -> bool {
    prompt.messages.concat().contains("history-summary")
}

/// What a model reads of a prompt, and whether it is all of another one's beginning.
fn is_beginning(of: &Assembled, prompt: &Assembled) -> bool {
    prompt.messages.len() <= of.messages.len() && prompt.messages == of.messages[..prompt.messages.len()]
}

#[test]
fn a_fork_shows_the_prompt_of_its_parent() {
    let (host, parent, child) = family();
    let before = prompt(&host, &parent);
    assert_eq!(fork(&host, &parent, &child, None), DeliveryOutcome::Append);
    assert_eq!(prompt(&host, &child).messages, before.messages);
    assert_eq!(host.path(&child, PI).unwrap(), host.path(&parent, PI).unwrap());
    // The answer was lost, and the host says it again.
    let lines = stored(&host, &child).entries;
    host.close(&child);
    assert_eq!(fork(&host, &parent, &child, None), DeliveryOutcome::UpToDate);
    assert_eq!(stored(&host, &child).entries, lines);
    assert_eq!(prompt(&host, &child).messages, before.messages);
    sound(&host);
}

#[test]
fn a_fork_of_an_earlier_entry_shows_what_stood_before_it() {
    let (host, parent, child) = family();
    fork(&host, &parent, &child, Some("p57-3"));
    assert!(is_inherited(&host, &child, &parent));
    let (all, some) = (prompt(&host, &parent), prompt(&host, &child));
    assert_eq!(some.messages.len() + 8, all.messages.len(), "two turns of four messages");
    assert!(is_beginning(&all, &some));
    let path = host.path(&parent, PI).unwrap();
    assert_eq!(host.path(&child, PI).unwrap(), path[..path.len() - 8]);
    sound(&host);
}

#[test]
fn a_fork_before_the_summaries_end_gets_its_messages_delivered() {
    let (host, parent, child) = family();
    fork(&host, &parent, &child, Some("p9-3"));
    assert!(!is_inherited(&host, &child, &parent));
    let kept = (10 - first(&host, &parent)) as usize * 4;
    assert_eq!(host.path(&child, PI).unwrap(), host.path(&parent, PI).unwrap()[..kept]);
    assert!(prompt(&host, &child).messages.last().unwrap().contains("answer 9 to p"));
    let nobody = host.event(&child, PI, &Event::Fork { from: parent, until: Some("nobody".into()) });
    assert!(matches!(nobody, Err(HostError::Refused { .. })));
    sound(&host);
}

/// Keys of turns, ids and cursors of the parent say nothing about what the child does.
#[test]
fn both_go_on_by_themselves() {
    let (host, parent, child) = family();
    fork(&host, &parent, &child, Some("p57-3"));
    let until = host.path(&child, PI).unwrap();
    assert_eq!(host.status(&child, PI).unwrap().cursor, None);
    // The same keys as turns of the parent, before and behind the fork point.
    talk(&host, &child, "c", 50..90);
    talk(&host, &parent, "p", 60..90);
    let own = host.path(&child, PI).unwrap();
    assert_eq!(own[..until.len()], until);
    assert_eq!(own.len(), until.len() + 40 * 4);
    assert!(
        own[until.len()..].iter().all(|message| !message.contains("of p's") && !message.contains("p asks"))
    );
    let shown = prompt(&host, &child).messages.concat();
    assert!(!shown.contains("p asks 58") && !shown.contains("p asks 60"), "{shown}");
    assert!(host.path(&parent, PI).unwrap().iter().all(|message| !message.contains("c asks")));
    // A person goes back behind the fork point, by an id of the parent's.
    host.event(&child, PI, &Event::Rewind { to: "p57-3".into() }).unwrap();
    assert_eq!(host.path(&child, PI).unwrap(), until);
    sound(&host);
}

/// After a fork the host delivers its array: all of it is known.
#[test]
fn the_array_of_a_fork_is_known() {
    for with_ids in [true, false] {
        let (host, parent, child) = family();
        fork(&host, &parent, &child, Some("p57-3"));
        let id = |message: Delivered| if with_ids { message } else { Delivered { id: None, ..message } };
        let array: Vec<Delivered> =
            (first(&host, &parent)..58).flat_map(|n| turn_of("p", n)).map(id).collect();
        let lines = stored(&host, &child).entries;
        let receipt = host.sync(&child, PI, array.clone()).unwrap();
        assert_eq!(
            (receipt.why, receipt.added, receipt.off_path),
            (DeliveryOutcome::UpToDate, 0, 0),
            "ids: {with_ids}"
        );
        assert_eq!(stored(&host, &child).entries, lines);
        let more = [array, vec![Delivered::new(user("and now?", 50_000))]].concat();
        assert_eq!(host.sync(&child, PI, more).unwrap().added, 1);
    }
}

#[test]
fn a_fork_of_a_fork_shows_the_same() {
    let (host, parent, child) = family();
    fork(&host, &parent, &child, Some("p57-3"));
    talk(&host, &child, "c", 60..61);
    let grandchild = lane("grandchild");
    fork(&host, &child, &grandchild, None);
    assert!(is_inherited(&host, &grandchild, &parent));
    assert_eq!(prompt(&host, &grandchild).messages, prompt(&host, &child).messages);
    fork(&host, &grandchild, &lane("another"), Some("p57-3"));
    assert!(is_beginning(&prompt(&host, &parent), &prompt(&host, &lane("another"))));
    sound(&host);
}

/// What the path of the parent left is not on the child's, and entries that were moved are found by their ids.
#[test]
fn what_was_left_stays_left() {
    let (host, parent, child) = (host(), lane("parent"), lane("child"));
    talk(&host, &parent, "p", 0..20);
    host.event(&parent, PI, &Event::Rewind { to: "p15-3".into() }).unwrap();
    talk(&host, &parent, "q", 20..60);
    let all = prompt(&host, &parent);
    fork(&host, &parent, &child, None);
    assert!(is_inherited(&host, &child, &parent));
    assert_eq!(prompt(&host, &child).messages, all.messages);
    assert_eq!(host.path(&child, PI).unwrap(), host.path(&parent, PI).unwrap());
    let left = Event::Rewind { to: "p17-3".into() };
    assert!(matches!(host.event(&child, PI, &left), Err(HostError::Refused { .. })), "it is off the path");
    sound(&host);
}

/// A later result makes an older one worthless: the parent shows a line in its place. A fork that ends between the two shows the
/// result, since nothing in its history replaces it, and everything before it as the parent does.
#[test]
fn what_only_a_later_result_replaces_stands_in_a_fork_before_it() {
    let (host, parent) = (host(), lane("parent"));
    talk(&host, &parent, "same", 0..50);
    let mut replaced = 0;
    for n in 50..70 {
        talk(&host, &parent, "same", n..n + 1);
        let all = prompt(&host, &parent);
        let child = lane(&format!("child{n}"));
        fork(&host, &parent, &child, Some(&format!("same{}-3", n - 1)));
        assert!(is_inherited(&host, &child, &parent), "turn {n}");
        let until = host.event(&child, PI, &Event::Rotate).unwrap().head.unwrap().0;
        let some = prompt(&host, &child);
        let differ = all.messages.iter().zip(&some.messages).find(|(one, other)| one != other);
        if let Some((theirs, own)) = differ {
            let (_, by) = theirs.split_once("[result superseded by s:").unwrap();
            let by: u64 = by.split_once(' ').unwrap().0.parse().unwrap();
            assert!(
                by > until && own.contains("a line of same's output"),
                "turn {n}: s:{by} in {until}: {own}"
            );
            replaced += 1;
        }
    }
    assert!(replaced > 0, "no break replaced a result by one behind a fork point");
    sound(&host);
}

/// A lane that was reset day by day leaves a fork only what is on its path.
#[test]
fn most_of_a_journal_that_was_left_is_not_copied() {
    let (host, parent, child) = (host(), lane("parent"), lane("child"));
    for day in 0..8 {
        talk(&host, &parent, &format!("d{day}"), day * 60..day * 60 + 40);
        if day < 7 {
            host.event(&parent, PI, &Event::Reset).unwrap();
        }
    }
    assert!(is_broken(&prompt(&host, &parent)));
    fork(&host, &parent, &child, None);
    assert!(!is_inherited(&host, &child, &parent));
    assert_eq!(host.path(&child, PI).unwrap(), host.path(&parent, PI).unwrap());
    sound(&host);
}

#[test]
fn what_was_purged_does_not_come_again() {
    let (host, parent, child) = family();
    let of = stored(&host, &parent);
    host.close(&parent);
    host.engine().purge(&of, 61..62).unwrap();
    // Its context is made again without what was purged.
    prompt(&host, &parent);
    is_sound(&host, &parent);
    fork(&host, &parent, &child, Some("p57-3"));
    assert!(!is_inherited(&host, &child, &parent));
    let (path, all) = (host.path(&child, PI).unwrap(), host.path(&parent, PI).unwrap());
    assert!(path.len() == all.len() - 8 && path.last().unwrap().contains("answer 57 to p"));
    prompt(&host, &child);
    is_sound(&host, &child);
    // What is purged behind the fork point is none of the fork's.
    let (host, parent, child) = family();
    let of = stored(&host, &parent);
    let tail = stored(&host, &parent).entries;
    host.close(&parent);
    host.engine().purge(&of, tail - 2..tail - 1).unwrap();
    prompt(&host, &parent);
    fork(&host, &parent, &child, Some("p57-3"));
    assert!(is_inherited(&host, &child, &parent));
    sound(&host);
}

/// A lane that the host opened before is new; one that has a history is not, and its own stays stored.
#[test]
fn a_lane_with_a_history_begins_anew() {
    let (host, parent, child) = family();
    host.open(&child, PI).unwrap();
    fork(&host, &parent, &child, None);
    assert!(is_inherited(&host, &child, &parent));
    let other = lane("other");
    talk(&host, &other, "o", 0..1);
    fork(&host, &parent, &other, None);
    assert!(!is_inherited(&host, &other, &parent));
    assert_eq!(host.path(&other, PI).unwrap(), host.path(&parent, PI).unwrap());
    assert!(prompt(&host, &other).messages.last().unwrap().contains("answer 59 to p"));
    sound(&host);
}

/// A rule holds where it is pinned, and in what begins from there.
#[test]
fn rules_of_the_parent_hold() {
    let (host, parent, child) = family();
    host.pin(&parent, PI, "Never touch the boathouse.", None).unwrap();
    let rows = host.engine().store().rows(stored(&host, &parent).id, 0..u64::MAX).unwrap();
    let late = rows.iter().find(|row| row.host_id.as_deref() == Some("p59-0")).unwrap().seq;
    host.pin(&parent, PI, "p asks 59", Some(late)).unwrap();
    fork(&host, &parent, &child, Some("p57-3"));
    let pins = host.pins(&child, PI).unwrap();
    let said: Vec<_> = pins.iter().map(|row| (row.pin.id, row.pin.text.as_str(), row.pin.state)).collect();
    let held = (PinId(1), "Never touch the boathouse.", PinState::Active);
    assert_eq!(said, [held, (PinId(2), LATER, PinState::Retired)]);
    assert!(prompt(&host, &child).messages.concat().contains("Never touch the boathouse."));
    host.unpin(&parent, PI, PinId(2)).unwrap();
    assert!(is_beginning(&prompt(&host, &parent), &prompt(&host, &child)));
    host.unpin(&parent, PI, PinId(1)).unwrap();
    assert!(
        prompt(&host, &child).messages.concat().contains("Never touch the boathouse."),
        "they are two lanes"
    );
    sound(&host);
    // A fork whose messages are delivered has the same rules.
    let early = lane("early");
    fork(&host, &child, &early, Some("p9-3"));
    assert!(!is_inherited(&host, &early, &parent));
    assert!(prompt(&host, &early).messages.concat().contains("Never touch the boathouse."));
    sound(&host);
}

/// What a person put back in the parent stands in the fork too, up to the fork point, and each goes its own way from there.
#[test]
fn what_was_put_back_in_the_parent_stands_in_the_fork() {
    let (host, parent, child) = family();
    host.raise(&parent, PI, &NewRaised { first: Seq(1), last: Seq(3), author: "ann" }).unwrap();
    host.raise(&parent, PI, &NewRaised { first: Seq(2), last: Seq(9_000), author: "ann" }).unwrap();
    assert_eq!(
        host.raise(&parent, PI, &NewRaised { first: Seq(5), last: Seq(9), author: "ann" }).unwrap(),
        3
    );
    host.lower(&parent, PI, 3).unwrap();
    fork(&host, &parent, &child, Some("p57-3"));
    assert!(is_inherited(&host, &child, &parent));
    let until = Seq(stored(&host, &child).entries - 2);
    let spans = |lane: &LaneKey| -> Vec<(Seq, Seq)> {
        let rows = host.raised(lane, PI).unwrap().into_iter();
        rows.filter(|(row, _)| row.is_standing()).map(|(row, _)| row.span).collect()
    };
    assert_eq!(spans(&child), [(Seq(1), Seq(3)), (Seq(2), until)], "to the fork point, and what stands");
    let made = prompt(&host, &child);
    assert!(
        made.certificate.raised.shown() > 0 && made.certificate.proof.is_ok(),
        "{:?}",
        made.certificate.raised
    );
    host.lower(&parent, PI, 1).unwrap();
    assert_eq!((spans(&child).len(), spans(&parent).len()), (2, 1), "they are two lanes");
    sound(&host);
}

/// What a model wrote of the parent's entries is shown in the fork, and asked for no more.
#[test]
fn summaries_by_models_come_along() {
    let (host, parent, child) = family();
    let (store, of) = (host.engine().store(), stored(&host, &parent).id);
    let written = |row: SummaryRow| {
        let body = row.body.replace("p asks", "the person asks");
        SummaryRow { writer: "model/1 m".into(), body, ..row }
    };
    let rewrites: Vec<_> =
        read_all(|page| store.summaries(of, page)).unwrap().into_iter().map(written).collect();
    store.put_rewrites(of, &rewrites, Timestamp(7)).unwrap();
    talk(&host, &parent, "p", 60..90);
    let before = prompt(&host, &parent);
    assert!(before.messages.concat().contains("the person asks"));
    fork(&host, &parent, &child, None);
    assert_eq!(prompt(&host, &child).messages, before.messages);
    let own = stored(&host, &child).id;
    assert!(!read_all(|page| store.rewrites(own, page)).unwrap().is_empty());
    assert!(
        read_all(|page| store.jobs(own, page))
            .unwrap()
            .iter()
            .all(|job| matches!(job.state, JobState::Done { .. }))
    );
    sound(&host);
}

/// Nobody waits for a lane that is at work.
#[test]
fn forks_of_a_lane_at_work_show_one_state_of_it() {
    let (host, parent, _) = family();
    let least = host.path(&parent, PI).unwrap().len();
    std::thread::scope(|scope| {
        scope.spawn(|| talk(&host, &parent, "p", 60..90));
        for n in 0..6 {
            let child = lane(&format!("child{n}"));
            let until = (n % 2 == 0).then_some("p59-3");
            fork(&host, &parent, &child, until);
            prompt(&host, &child);
        }
    });
    let path = host.path(&parent, PI).unwrap();
    for n in 0..6 {
        let own = host.path(&lane(&format!("child{n}")), PI).unwrap();
        assert_eq!(own[..], path[..own.len()], "child{n}");
        assert!(own.len() >= least && (n % 2 == 1 || own.len() == least), "child{n}: {}", own.len());
    }
    sound(&host);
}

const CHAT: Format = Format::OpenAiChat;

/// A client's array: questions and answers.
fn array(turns: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let say = |role, words: String| format!(r#"{{"role":"{role}","content":"{words}"}}"#).into_bytes();
    let words = "the gauge at the jetty was read and written down ".repeat(12);
    turns
        .flat_map(|n| {
            [say("user", format!("question {n}: {words}")), say("assistant", format!("answer {n}: {words}"))]
        })
        .collect()
}

const fn asking(tenant: &str) -> Asking<'_> {
    Asking { tenant, session: None, is_named: false, user: None, kind: "k", is_bare: false, form: CHAT }
}

/// A call of a client: its lane and its prompt. The answer is stored under an id.
fn asked(host: &Host, tenant: &str, bodies: &[Vec<u8>], answer: &str) -> (Recognised, Vec<String>) {
    let array = Array::read(CHAT, bodies.iter().map(Vec::as_slice), &Array::default()).unwrap();
    let asking = asking(tenant);
    let lane = host.recognise(&asking, &array).unwrap();
    let receipt =
        host.take(&lane.lane, CHAT, DeliveredArray { brings: Brings::All, array: &array }, None).unwrap();
    let ask = Ask::new(6_000, Dialect::OpenAiChat);
    let taken = TakenArray { brings: Brings::All, array: &array, head: receipt.head };
    let made = host.assemble_at(&lane.lane, CHAT, taken, &ask).unwrap();
    let said = DeliveredAnswer {
        asked_at: made.1,
        messages: vec![br#"{"role":"assistant","content":"Noted."}"#.to_vec()],
        id: Some(answer.to_owned()),
        ..DeliveredAnswer::default()
    };
    host.take_answer(&lane.lane, CHAT, &said).unwrap();
    let remembered = RegisterAnswer { id: Some(answer), latency: WriteLatency::Now };
    host.remember(&asking, &lane, &array.said(), remembered).unwrap();
    (lane, made.0.messages)
}

fn question(words: &str) -> Vec<u8> {
    format!(r#"{{"role":"user","content":"{words}"}}"#).into_bytes()
}

/// A client's call that begins like a conversation and leaves out more than an edit would.
#[test]
fn a_call_that_begins_like_a_lane_shows_its_prompt_and_leaves_it_its_answers() {
    let host = host();
    let parent = [array(0..60), vec![question("and now?")]].concat();
    let (of, before) = asked(&host, "ann", &parent, "resp-1");
    let fork = [array(0..58), vec![question("or else?")]].concat();
    let (child, after) = asked(&host, "ann", &fork, "resp-2");
    assert_ne!(of.lane, child.lane);
    let common = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    assert_eq!(common + 1, after.len(), "all but its own question");
    assert!(after.concat().contains("history-summary"));
    // An answer is of one lane, though the other one has its words.
    let lane_of = |answer| host.answered_in("ann", CHAT, answer).unwrap().map(|found| found.lane);
    assert_eq!((lane_of("resp-1"), lane_of("resp-2")), (Some(of.lane.clone()), Some(child.lane)));
    // Nobody else's calls begin like it.
    let (other, shown) = asked(&host, "bob", &fork, "resp-3");
    assert!(other.lane.0.starts_with("gateway/bob/"));
    let store = host.engine().store();
    let key = ConversationKey(format!("journal:{}", other.lane.0));
    let rows = store.conversation(store.find(&key).unwrap().unwrap().id).unwrap();
    assert_eq!(rows.entries, 58 * 2 + 3, "a header, what came, and the answer: {shown:?}");
    assert_eq!(host.answered_in("bob", CHAT, "resp-1").unwrap(), None);
    sound(&host);
}

/// A title is asked for with the first message of a conversation.
#[test]
fn a_title_takes_nothing_over() {
    let host = host();
    let (of, _) = asked(&host, "ann", &[array(0..60), vec![question("and now?")]].concat(), "resp-1");
    let first = Array::read(CHAT, array(0..1)[..1].iter().map(Vec::as_slice), &Array::default()).unwrap();
    let title = host.recognise(&Asking { kind: "title", ..asking("ann") }, &first).unwrap();
    assert_ne!(title.lane, of.lane);
    host.take(&title.lane, CHAT, DeliveredArray { brings: Brings::All, array: &first }, None).unwrap();
    assert_eq!(host.path(&title.lane, CHAT).unwrap().len(), 1);
    assert_eq!(host.status(&title.lane, CHAT).unwrap().entries, 2);
}
