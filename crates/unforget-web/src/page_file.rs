//! A conversation as one HTML file: its turns, its window, and what its last prompt shows of each entry.
//!
//! The file has no script, asks for nothing from anywhere, and says so in its own policy. It is written as it is read, so a long
//! history needs no more memory than a short one.

use std::io::{self, Write};
use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use unforget_core::id::Seq;
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_engine::reading::{ReadOptions, ReadTurn, TurnReader};
use unforget_engine::recall::PageStart;
use unforget_engine::recognise::RecognisedConversation;
use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, EngineError};
use unforget_server::when::Clock;
use unforget_text::numbers::{bytes, count, plural};

use crate::context::{BreakPlace, CoverGrid, Series, breaks, cells, chart, grid};
use crate::mask::Mask;
use crate::turns::TurnPlace;
use crate::words::{fact, shown, whole_time};

/// Entries that are read at once.
const ENTRIES: usize = 256;

/// What the file may load: its own style and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A conversation that is to be written as a file.
#[derive(Clone, Copy)]
pub struct PageFile<'a> {
    /// Where it is stored.
    pub engine: &'a Engine,
    /// The conversation.
    pub of: &'a Resolved,
    /// The shape of the prompts in the context view.
    pub shape: Shape,
    /// The time zone of times.
    pub clock: &'a Clock,
    /// Whether credentials are replaced by their kinds.
    pub is_masked: bool,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageReport {
    /// Turns.
    pub turns: u64,
    /// Entries that were read.
    pub entries: u64,
    /// Calls in the context view.
    pub calls: u64,
    /// Texts in which a credential was replaced; 0 if nothing was masked.
    pub masked: u64,
}

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
pub enum PageFileError {
    /// The conversation could not be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl PageFile<'_> {
    /// Writes the file.
    ///
    /// * `progress` - called with the number of entries that are done and of all; every entry is read twice, once for the
    ///   context view and once for the turns.
    ///
    /// # Errors
    /// [`PageFileError`]; what was written so far is no whole file.
    ///
    /// Cost: O(history); memory O(calls).
    pub fn write(
        &self,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<PageReport, PageFileError> {
        let id = self.of.conversation.id;
        let thread = ThreadRef { conversation: id, thread: self.of.thread };
        let Some(one) = self.engine.recognised(&|stored| stored.id == id)?.pop() else {
            let name = self.of.conversation.key.0.clone();
            return Err(EngineError::NoConversation { name, near: Vec::new() }.into());
        };
        let entries = one.stored.entries;
        let mut mask = Mask::new(self.is_masked);
        out.write_all(self.begin(&one, &mut mask).into_string().as_bytes())?;
        let calls = self.write_context(thread, out, &mut |done| progress(done, entries * 2))?;
        out.write_all(b"<h2 id=\"turns\">Turns</h2>\n")?;
        let mut turns = |done| progress(entries + done, entries * 2);
        let written = self.write_turns(thread, out, &mut mask, &mut turns)?;
        out.write_all(b"</main></body></html>\n")?;
        Ok(PageReport { calls, masked: mask.texts(), ..written })
    }

    /// The head, and what the conversation is.
    fn begin(&self, one: &RecognisedConversation, mask: &mut Mask) -> Markup {
        let stored = &one.stored;
        let title = mask.text(&shown(&one.title())).into_owned();
        html! {
            (DOCTYPE)
            (PreEscaped("<html lang=\"en\"><head>"))
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="referrer" content="no-referrer";
            meta name="robots" content="noindex";
            title { (title) " · Unforget" }
            style { (PreEscaped(include_str!("../assets/page.css"))) }
            (PreEscaped("</head><body>"))
            section class="subject" {
                p class="title" dir="auto" { (title) }
                p class="dim" {
                    @if !one.project().is_empty() { span dir="auto" { (mask.text(&shown(&one.project()))) } " · " }
                    (one.host()) " · " (plural(one.facts.turns, "turn")) " · " (plural(stored.entries, "entry")) " · " (bytes(stored.raw_bytes)) " · " (whole_time(self.clock, one.last()))
                }
                nav class="tabs" aria-label="Parts" { a href="#context" { "Context" } a href="#turns" { "Turns" } }
            }
            (PreEscaped("<main>"))
            p class="dim" {
                "Written by Unforget on " (whole_time(self.clock, Some(self.clock.now()))) ". "
                @if self.is_masked { "Credentials that have a known form, or stand beside a word such as password, are replaced by their kind." }
                @else { "Nothing is masked." }
            }
        }
    }

    /// Writes the window over the session. Returns the number of calls.
    fn write_context(
        &self,
        thread: ThreadRef,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64, PageFileError> {
        let mut each = |done, _| {
            progress(done);
            true
        };
        // Playing ends early only where the progress says so.
        let Some(played) = self.engine.play_calls(thread, self.shape, &mut each)? else { return Ok(0) };
        let model = self.engine.newest_model(&self.of.conversation)?;
        let series = Series::played(Arc::new(played)).with_model(model);
        let last = series.calls.points.last();
        let call = last
            .map(|point| series.calls.call(self.engine, thread.conversation, point))
            .transpose()?
            .flatten();
        let shown_cells = last.zip(call.as_ref()).map(|(point, call)| cells(&call.parts, point.head));
        let link = |seq: u64| format!("#s{seq}");
        let page = html! {
            h2 id="context" { "Context" }
            @if let Some(last) = last {
                p class="dim" { (plural(series.calls.points.len() as u64, "call")) " of this session, each with the prompt that it gets in a window of " (count(series.calls.window)) " tokens: " (count(series.calls.budget)) " for input, the rest for the answer." }
                (chart(&series, None))
                (breaks(&series, &BreakPlace::Page(self.clock)))
                @if let Some(cells) = &shown_cells {
                    h3 { "What the newest prompt shows of each entry" }
                    dl class="facts" { (fact("tokens", count(last.total))) }
                    (grid(&CoverGrid { cells, chosen: None, link: &link }))
                } @else { p { "No request of the newest call fits this window." } }
            } @else { p { "This conversation has no call of a model." } }
        };
        out.write_all(page.into_string().as_bytes())?;
        Ok(series.calls.points.len() as u64)
    }

    fn write_turns(
        &self,
        thread: ThreadRef,
        out: &mut dyn Write,
        mask: &mut Mask,
        progress: &mut dyn FnMut(u64),
    ) -> Result<PageReport, PageFileError> {
        let mut written = PageReport::default();
        let place = TurnPlace::File { clock: self.clock };
        let mut failed = None;
        let mut each = |turn: ReadTurn| {
            written.turns += 1;
            let page = place.turn(&mask.turn(turn)).into_string();
            if failed.is_none() {
                failed = out.write_all(page.as_bytes()).err();
            }
        };
        let mut reader = TurnReader::new(ReadOptions { tools: true, all: false }, &mut each);
        let (mut next, mut entries) = (Some(Seq(0)), 0);
        while let Some(from) = next {
            let page = self.engine.read_page(thread, PageStart::From(from), ENTRIES)?;
            page.entries.iter().for_each(|entry| reader.take(entry));
            entries += page.entries.len() as u64;
            let last = page.entries.last().map(|entry| entry.seq);
            progress(last.map_or(0, |last| last.0 + 1));
            next = last.filter(|_| page.has_newer).map(|last| Seq(last.0 + 1));
        }
        reader.finish();
        written.entries = entries;
        failed.map_or(Ok(written), |error| Err(error.into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use unforget_wire::Dialect;

    use super::*;

    const HOSTILE: &str = "<script>alert(1)</script><img src=\"https://evil.example/x.png\" onerror=alert(1)> \
        ![x](https://evil.example/a.png) </style></title>\u{1b}]0;t\u{7}\u{202e}";

    /// A key of a known form, put together so that this file holds none.
    fn secret() -> String {
        format!("AKIA{}", "IOSFODNN7EXAMPLE")
    }

    fn stored() -> Engine {
        let engine = Engine::in_memory();
        let arguments = json!({ "path": HOSTILE, "old_string": HOSTILE, "new_string": secret() }).to_string();
        let messages = [
            json!({ "role": "user", "content": format!("{HOSTILE} the key is {}", secret()) }),
            json!({ "role": "assistant", "content": "I look.", "tool_calls": [
                { "id": "c1", "type": "function", "function": { "name": HOSTILE, "arguments": arguments } }] }),
            json!({ "role": "tool", "tool_call_id": "c1", "content": format!("{HOSTILE}\n{}", secret()) }),
            json!({ "role": "assistant", "content": format!("Counted seven herons. {HOSTILE}") }),
        ];
        let text: Vec<String> = messages.iter().map(ToString::to_string).collect();
        engine.import_reader(text.join("\n").as_bytes(), "test").unwrap();
        engine
    }

    fn page(is_masked: bool) -> (String, PageReport) {
        let engine = stored();
        let key = engine.recognised(&|_| true).unwrap().pop().unwrap().stored.key;
        let of = engine.resolve(&key.0).unwrap();
        let shape = Shape::new(32_000, None, Dialect::OpenAiChat);
        let clock = Clock::here();
        let file = PageFile { engine: &engine, of: &of, shape, clock: &clock, is_masked };
        let (mut out, mut steps) = (Vec::new(), Vec::new());
        let written = file.write(&mut out, &mut |done, all| steps.push((done, all))).unwrap();
        assert!(steps.is_sorted() && steps.iter().all(|(done, all)| done <= all), "{steps:?}");
        (String::from_utf8(out).unwrap(), written)
    }

    #[test]
    fn a_page_asks_for_nothing_and_runs_nothing() {
        let (page, written) = page(false);
        assert_eq!((written.turns, written.entries, written.masked), (1, 4, 0));
        assert!(written.calls > 0);
        assert!(page.contains("Counted seven herons") && page.contains(&secret()));
        let lower = page.to_lowercase();
        for wrong in
            ["<script", "<img", "<link", "<iframe", "<object", "url(", "@import", "\u{1b}", "\u{202e}"]
        {
            assert!(!lower.contains(wrong), "{wrong}");
        }
        assert_eq!(lower.matches("</style>").count(), 1);
        assert!(page.contains("<svg") && page.contains("href=\"#s3\""), "chart and cover are in it");
    }

    #[test]
    fn a_masked_page_has_no_credential() {
        let (page, written) = page(true);
        assert!(!page.contains(&secret()));
        assert!(page.contains("[secret: aws-key]"));
        assert!(written.masked >= 3, "words, arguments, result: {written:?}");
        assert!(page.contains("Counted seven herons"));
    }
}
