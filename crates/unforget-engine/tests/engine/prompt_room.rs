//! Use of the window by a prompt: a provider's counts, shares of results, and the depth of breaks.
use crate::common;

use std::sync::Arc;

use unforget_core::admit::{Authority, Rung};
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::id::{Seq, Thread};
use unforget_engine::Engine;
use unforget_engine::prompt::{Prompt, Session, Shape, ThreadRef};
use unforget_engine::replay::RecordedHost;
use unforget_wire::{Dialect, Reader, validate};

/// An agent that asks for files and receives them.
struct Agent {
    session: Session,
    seq: u64,
}

impl Agent {
    fn new(window: u64) -> Self {
        let engine = Engine::in_memory();
        let text = common::Session::new("room").says("a").text();
        let mut host = RecordedHost::begin(&engine, Reader::open(text.as_bytes()).unwrap().source(), None);
        let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
        let shape = Shape::new(window, None, Dialect::Anthropic);
        Self { session: Session::new(&engine, lane, shape, false), seq: 0 }
    }

    fn push(&mut self, role: Role, origin: Origin, part: Part) {
        let entry = Entry { role, parts: vec![part], ..Entry::bare(origin) };
        let parent = self.seq.checked_sub(1).map(Seq);
        self.session.push(Seq(self.seq), parent, &Arc::new(entry), 400).unwrap();
        self.seq += 1;
    }

    fn asks(&mut self, words: &str) {
        self.push(Role::User, Origin::Human, Part::Text(words.to_owned()));
    }

    /// Makes a call with a result of `lines` lines.
    fn reads(&mut self, lines: usize) {
        let line =
            |line| format!("{line}: the lighthouse of entry {} keeps its lamp burning\n", self.seq + 1);
        let text = (0..lines).map(line).collect();
        self.receives(text);
    }

    /// Makes a call with this result.
    fn receives(&mut self, text: String) {
        let id = format!("call_{}", self.seq);
        let arguments = format!(r#"{{"command":"cat part-{}.txt"}}"#, self.seq);
        let call = ToolCall { id: id.clone(), name: "bash".to_owned(), arguments, complete: true, raw: None };
        self.push(Role::Assistant, Origin::Model, Part::ToolCall(call));
        let content = vec![Part::Text(text)];
        let result =
            ToolResult { call_id: id, name: "bash".to_owned(), content, is_error: false, exit_code: Some(0) };
        self.push(Role::User, Origin::Tool, Part::ToolResult(result));
    }

    /// The next prompt. The provider counts `permille` thousandths of our upper bound; 0 stands for no count.
    fn prompt(&mut self, permille: u64) -> Prompt {
        let prompt = self.session.prompt().unwrap();
        let counted = prompt.admitted.certificate().total.upper * permille / 1_000;
        if let Some(weighed) = prompt.weighed.as_ref().filter(|_| counted > 0) {
            self.session.reported(weighed, counted).unwrap();
        }
        prompt
    }
}

/// The result of an entry in the text of a prompt.
fn shown(prompt: &Prompt, id: &str) -> Option<String> {
    let body = prompt.render(Dialect::Anthropic);
    let at = body.find(&format!(r#""tool_use_id":"{id}""#))?;
    let end = at + body[at..].find("\"}").unwrap_or_default();
    Some(body[at..end].to_owned())
}

#[test]
fn a_result_above_its_share_is_shortened_once_and_keeps_that_form() {
    let mut agent = Agent::new(65_536);
    agent.asks("Read the files.");
    agent.reads(2_000);
    let first = agent.prompt(0);
    assert_eq!(first.admitted.certificate().rung, Rung::Assembled, "no rung is needed for it");
    let form = shown(&first, "call_1").unwrap();
    assert!(form.contains("bytes left out: expand s:"), "{form}");
    let share = agent.session.shape().policy.result_share;
    assert!(first.admitted.certificate().sections.tail.upper < share + 1_000, "{share}");
    let mut calls = 0;
    loop {
        agent.reads(400);
        let prompt = agent.prompt(0);
        assert_eq!(prompt.admitted.certificate().rung, Rung::Assembled);
        if prompt.broken.is_some() {
            break;
        }
        assert_eq!(shown(&prompt, "call_1").as_ref(), Some(&form), "it does not change before a break");
        calls += 1;
    }
    assert!(calls > 5, "{calls} calls before the first break");
}

#[test]
fn f075_what_a_provider_counts_leaves_room_for_more() {
    let table = [
        // share of our bound counted by the provider, minimum use in its tokens before a break, reason
        (0, 0.60, "nothing is counted: our bound is all there is"),
        (700, 0.90, "the bound is far above the truth"),
        (1_000, 0.90, "the bound is the truth"),
    ];
    for (permille, least, why) in table {
        let mut agent = Agent::new(65_536);
        agent.asks("Read all of it.");
        let budget = agent.session.shape().policy.budget();
        let (mut before, mut breaks, mut least_seen, mut in_a_row) = (0, 0, f64::MAX, false);
        for _ in 0..200 {
            agent.reads(40);
            let prompt = agent.prompt(permille);
            let certificate = prompt.admitted.certificate();
            let rate = if permille == 0 { 700 } else { permille };
            let counted = certificate.total.upper * rate / 1_000;
            assert!(certificate.bound <= budget, "I10: {why}");
            assert!(counted <= budget, "what the provider counts fits: {why}");
            let has_broken = prompt.broken.is_some() && prompt.epoch > 0;
            assert!(!(has_broken && in_a_row), "no two breaks in a row: {why}");
            if has_broken {
                breaks += 1;
                least_seen = least_seen.min(before as f64 / budget as f64);
            }
            (before, in_a_row) = (counted, has_broken);
        }
        assert!(breaks >= 2, "{breaks} breaks: {why}");
        assert!(least_seen >= least, "{least_seen:.2} of the budget before a break: {why}");
    }
}

#[test]
fn f012_a_fast_history_breaks_deeper_than_a_slow_one() {
    let after = |lines: usize| {
        let mut agent = Agent::new(65_536);
        agent.asks("Read all of it.");
        let budget = agent.session.shape().policy.budget();
        loop {
            agent.reads(lines);
            let prompt = agent.prompt(1_000);
            if prompt.epoch > 0 {
                let certificate = prompt.admitted.certificate();
                assert!(certificate.total.upper * 10 < budget * 7);
                break certificate.sections.tail.upper as f64 / budget as f64;
            }
        }
    };
    // What stays word for word: summaries of a slow history say little, and take little.
    let (fast, slow) = (after(400), after(10));
    assert!(fast < slow - 0.04, "fast to {fast:.2}, slow to {slow:.2}");
}

#[test]
fn the_running_turn_keeps_its_newest_results() {
    let mut agent = Agent::new(65_536);
    for turn in 0..40 {
        agent.asks(&format!("Question {turn}."));
        let first = agent.seq;
        for _ in 0..3 {
            agent.reads(60);
            let prompt = agent.prompt(900);
            let body = prompt.render(Dialect::Anthropic);
            for call in (first..agent.seq).step_by(2) {
                assert!(body.contains(&format!("lighthouse of entry {}", call + 1)), "turn {turn}: {call}");
            }
        }
    }
    assert!(agent.session.context().epoch > 1, "it broke meanwhile");
}

#[test]
fn a_sentence_explains_the_summaries_once() {
    let mut agent = Agent::new(32_768);
    agent.asks("Read all of it.");
    let mut prompt = agent.prompt(0);
    let count = |prompt: &Prompt| {
        prompt.render(Dialect::Anthropic).matches("is the record of this conversation").count()
    };
    assert_eq!(count(&prompt), 0, "nothing is summarised yet");
    while prompt.epoch == 0 {
        agent.reads(100);
        prompt = agent.prompt(0);
    }
    assert_eq!(count(&prompt), usize::from(!agent.session.context().roots.is_empty()));
}

/// Summaries of one turn share wrappers, which name every span once and in order; a new request begins a new wrapper.
#[test]
fn neighbouring_summaries_of_a_turn_share_a_wrapper() {
    let mut agent = Agent::new(16_384);
    let mut asked = vec![agent.seq];
    agent.asks("Read all the files of the lighthouse.");
    let mut breaks = 0;
    let prompt = loop {
        agent.reads(30);
        let prompt = agent.prompt(0);
        breaks += u32::from(prompt.broken.is_some());
        match breaks {
            2 if asked.len() < 2 => {
                asked.push(agent.seq);
                agent.asks("Now read the files of the harbour, and tell me what differs there.");
            }
            5.. => break prompt,
            _ => {}
        }
    };
    let body = prompt.render(Dialect::Anthropic);
    let blocks: Vec<&str> =
        body.split(r#"entries=\""#).skip(1).filter_map(|rest| rest.split('\\').next()).collect();
    let span = |text: &str| -> [u64; 2] {
        let (first, last) = text.split_once('-').unwrap();
        [first, last].map(|end| end.parse().unwrap())
    };
    let spans: Vec<[u64; 2]> = blocks.iter().flat_map(|block| block.split(',').map(span)).collect();
    assert!(blocks.len() < spans.len(), "some share a wrapper: {blocks:?}");
    assert_eq!(spans[0][0], 0, "{blocks:?}");
    assert!(spans.windows(2).all(|two| two[0][1] + 1 == two[1][0]), "each entry once, in order: {blocks:?}");
    let begins = |block: &&str| span(block.split(',').next().unwrap())[0];
    let leaf = spans.iter().find(|span| (span[0]..=span[1]).contains(&asked[1])).unwrap();
    assert!(leaf[0] != asked[1] || blocks.iter().map(begins).any(|first| first == asked[1]), "{blocks:?}");
}

/// What an agent is given last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Message,
    Result,
    /// A message, and work on it since.
    WorkedOn,
}

/// A text of this many bytes, in lines of this many words.
fn long_text(bytes: usize, words: usize) -> String {
    let word = |at: usize| format!("w{at}{}", if at % words == words - 1 { '\n' } else { ' ' });
    let mut text = String::from("FIRST ");
    for at in 0.. {
        if text.len() + 16 >= bytes {
            break;
        }
        text.push_str(&word(at));
    }
    text + " LAST"
}

/// The prompt of an agent that is given a text behind some work.
fn given(window: u64, given: Given, text: &str) -> Prompt {
    let mut agent = Agent::new(window);
    agent.asks("Begin.");
    for _ in 0..30 {
        agent.reads(8);
        agent.prompt(0);
    }
    match given {
        Given::Message => agent.asks(text),
        Given::Result => agent.receives(text.to_owned()),
        Given::WorkedOn => {
            agent.asks(text);
            agent.prompt(0);
            agent.reads(4);
        }
    }
    agent.prompt(0)
}

#[test]
fn an_input_that_fits_no_prompt_has_all_the_room_there_is() {
    for (window, given_as) in [8_192, 32_768, 200_000]
        .into_iter()
        .flat_map(|window| [Given::Message, Given::Result, Given::WorkedOn].map(|given| (window, given)))
    {
        let budget = Shape::new(window, None, Dialect::Anthropic).policy.budget();
        let just_above = budget as usize * 6;
        for (bytes, words) in [(just_above, 12), (just_above, 400), (just_above * 3, 12), (10_000_000, 12)] {
            let case = format!("{given_as:?} of {bytes} bytes in lines of {words} words at {window}");
            let prompt = given(window, given_as, &long_text(bytes, words));
            let certificate = prompt.admitted.certificate();
            assert!(certificate.total.upper <= budget, "I10: {case}");
            let least = budget * 85 / 100;
            let (used, rung) = (certificate.total.upper, certificate.rung);
            assert!(used >= least, "{used} of {budget} on {rung:?}: {case}");
            assert!(matches!(certificate.authority, Authority::Degraded(_)), "{rung:?}: {case}");
            assert_eq!(certificate.proof, Ok(()), "{case}");
            let body = prompt.render(Dialect::Anthropic);
            assert_eq!(validate(&body, Dialect::Anthropic), Ok(()), "I9: {case}");
            for part in ["FIRST", "LAST", "bytes left out: expand s:"] {
                assert!(body.contains(part), "{part}: {case}");
            }
        }
    }
}

#[test]
fn a_message_that_fits_beside_less_is_shown_whole() {
    let budget = Shape::new(32_768, None, Dialect::Anthropic).policy.budget();
    let prompt = given(32_768, Given::Message, &long_text(budget as usize, 12));
    assert!(
        !prompt.render(Dialect::Anthropic).contains("bytes left out"),
        "{:?}",
        prompt.admitted.certificate()
    );
}

#[test]
fn results_that_fit_no_prompt_share_its_room_with_what_was_said_since() {
    let mut agent = Agent::new(32_768);
    agent.asks("Begin.");
    agent.receives(long_text(500_000, 12));
    let wide = agent.prompt(0);
    assert_eq!(wide.admitted.certificate().rung, Rung::CutNewest);
    agent.reads(4);
    let next = agent.prompt(0);
    assert_eq!(next.admitted.certificate().rung, Rung::Assembled, "the share of a result, from now on");
    let share = agent.session.shape().policy.result_share;
    assert!(next.admitted.certificate().sections.tail.upper < share + 1_000);
}
