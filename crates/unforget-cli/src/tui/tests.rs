//! The interface without a terminal: keys and answers in, frames out.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod held;
mod labels;
mod scenes;
mod stored;

use std::fs;
use std::path::Path;

use ratatui::layout::Size;

use super::keys::{KEYS, TuiCommand, command_of, commands_for};
use super::rows::{LineKind, RowTarget, TuiLine};
use super::state::{
    CallFace, MiddleKind, PageWanted, TuiAsk, TuiEnd, TuiMessage, TuiOverlay, TuiPane, TuiState, TuiTold,
};
use super::theme::ThemeName;
use super::update::update;
use crate::output::{MouseDeed, ScreenKey};
use scenes::{SIZES, WIDE, drawn, entry, hits, key, opened, page, series, told, typed};

/// Compares frames with the files in `golden/`; `UNFORGET_WRITE=1` writes them.
fn golden(name: &str, make: fn(Size) -> TuiState) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui/golden");
    for size in SIZES {
        let path = folder.join(format!("{name}-{}x{}.txt", size.width, size.height));
        let frame = drawn(&make(size));
        if std::env::var_os("UNFORGET_WRITE").is_some() {
            fs::write(&path, &frame).unwrap();
        }
        let want = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(frame, want, "{}: UNFORGET_WRITE=1 writes it", path.display());
    }
}

#[test]
fn entries_look_so() {
    golden("entries", |size| {
        let mut state = opened(size);
        key(&mut state, ScreenKey::Tab);
        state
    });
}

#[test]
fn conversations_look_so() {
    golden("conversations", opened);
}

#[test]
fn a_text_looks_so() {
    golden("detail", |size| {
        let mut state = opened(size);
        key(&mut state, ScreenKey::Tab);
        key(&mut state, ScreenKey::Enter);
        state
    });
}

#[test]
fn a_search_looks_so() {
    golden("search", |size| {
        let mut state = opened(size);
        key(&mut state, ScreenKey::Char('1'));
        typed(&mut state, "/parser");
        hits(&mut state);
        key(&mut state, ScreenKey::Tab);
        state
    });
}

#[test]
fn the_context_looks_so() {
    golden("context", |size| {
        let mut state = opened(size);
        series(&mut state);
        if size.width < 76 {
            key(&mut state, ScreenKey::Tab);
        }
        state
    });
}

#[test]
fn the_help_and_the_palette_look_so() {
    golden("help", |size| {
        let mut state = opened(size);
        key(&mut state, ScreenKey::Char('?'));
        state
    });
    golden("palette", |size| {
        let mut state = opened(size);
        typed(&mut state, ":pin");
        state
    });
}

#[test]
fn a_long_conversation_is_read_by_pages() {
    let mut state = opened(WIDE);
    assert_eq!((state.middle.rows.len(), state.middle.chosen), (120, 119), "one page, at its end");
    key(&mut state, ScreenKey::Tab);
    let mut asked = Vec::new();
    for _ in 0..3 {
        asked.extend(key(&mut state, ScreenKey::PageUp));
    }
    let pages: Vec<_> = asked.iter().filter(|ask| matches!(ask, TuiAsk::Page { .. })).collect();
    assert_eq!(pages.len(), 1, "near the beginning of the page, and once: {asked:?}");
    let chosen = state.middle.choice().unwrap().lead.clone();
    page(&mut state, PageWanted::Before(49_880), 49_760..49_880, (true, true));
    assert_eq!(
        (state.middle.rows.len(), &state.middle.choice().unwrap().lead),
        (240, &chosen),
        "the choice stays"
    );
    for from in (0..12u64).rev().map(|at| 48_320 + at * 120) {
        key(&mut state, ScreenKey::Char('k'));
        state.middle.chosen = 10;
        page(&mut state, PageWanted::Before(from + 120), from..from + 120, (true, true));
        assert!(state.middle.rows.len() <= 1_200, "never the whole");
    }
    assert!(state.middle.has_newer, "what was let go can be read again");
    let asks = key(&mut state, ScreenKey::Char('g'));
    assert!(matches!(asks[..], [TuiAsk::Page { wanted: PageWanted::From(0), .. }]), "{asks:?}");
    page(&mut state, PageWanted::From(0), 0..120, (false, true));
    assert_eq!((state.middle.chosen, state.middle.rows[0].lead.as_str()), (0, "0"));
    let asks = key(&mut state, ScreenKey::Char('G'));
    assert!(matches!(asks[..], [TuiAsk::Page { wanted: PageWanted::Newest, .. }]), "{asks:?}");
}

#[test]
fn what_failed_is_told_and_not_asked_for_again() {
    let failed = |state: &mut TuiState, of: &TuiAsk| {
        told(state, TuiTold::Failed { of: of.clone(), what: "the database is gone".to_owned() })
    };
    let mut state = opened(WIDE);
    key(&mut state, ScreenKey::Tab);
    state.middle.chosen = 5;
    let asks = key(&mut state, ScreenKey::Char('k'));
    let [entry, older @ TuiAsk::Page { wanted: PageWanted::Before(49_880), .. }] = &asks[..] else {
        panic!("{asks:?}")
    };
    assert_eq!(failed(&mut state, older), [], "not by itself");
    assert_eq!((state.remark.as_str(), state.middle.rows.len()), ("the database is gone", 120));
    assert!(drawn(&state).contains("entries ✗ the database is gone"), "{}", drawn(&state));
    assert_eq!(failed(&mut state, entry), []);
    assert_eq!(
        state.detail.lines,
        [TuiLine::new(LineKind::Bad, "the database is gone")],
        "the right pane waits no more"
    );
    let asks = key(&mut state, ScreenKey::Char('k'));
    let asks = asks.iter().filter(|ask| matches!(ask, TuiAsk::Page { wanted: PageWanted::Before(_), .. }));
    assert_eq!(asks.count(), 1, "who moves asks again");
    state.remark.clear();
    failed(&mut state, older);
    assert_eq!((state.remark.as_str(), state.middle.is_waiting), ("", true), "an older question");
    page(&mut state, PageWanted::Before(49_880), 49_760..49_880, (true, true));
    assert_eq!((state.middle.rows.len(), state.middle.failure.as_str()), (240, ""));

    let mut state = opened(WIDE);
    let asks = key(&mut state, ScreenKey::Char('j'));
    assert!(state.middle.rows.is_empty(), "rows of another conversation");
    failed(&mut state, asks.last().unwrap());
    assert!(
        drawn(&state).contains("the database is gone") && !drawn(&state).contains("reading"),
        "{}",
        drawn(&state)
    );
    let asks = typed(&mut state, "/heron");
    hits(&mut state);
    failed(&mut state, asks.last().unwrap());
    assert!(state.middle.rows.is_empty() && !state.middle.is_waiting, "hits of another query");

    let mut empty = TuiState::default();
    update(&mut empty, TuiMessage::Area(ratatui::layout::Rect::new(0, 0, 80, 24)));
    for letter in "cfPxyeYr[]w".chars() {
        assert_eq!(key(&mut empty, ScreenKey::Char(letter)), [], "{letter} in an empty store");
    }
}

#[test]
fn what_is_written_meanwhile_is_followed_at_the_end() {
    let mut state = opened(WIDE);
    let asks = update(&mut state, TuiMessage::Changed);
    let wanted = PageWanted::From(50_000);
    assert!(
        matches!(&asks[..], [TuiAsk::Conversations, TuiAsk::Page { wanted: asked, .. }] if *asked == wanted)
    );
    let asks = page(&mut state, wanted, 50_000..50_003, (true, false));
    assert_eq!((state.middle.rows.len(), state.middle.chosen), (123, 122), "a person at the end stays there");
    assert!(matches!(asks[..], [TuiAsk::Entry { seq: 50_002, .. }]), "{asks:?}");
    key(&mut state, ScreenKey::Tab);
    key(&mut state, ScreenKey::Char('k'));
    update(&mut state, TuiMessage::Changed);
    page(&mut state, PageWanted::From(50_003), 50_003..50_004, (true, false));
    assert_eq!((state.middle.rows.len(), state.middle.chosen), (124, 121), "one who reads is left alone");
    typed(&mut state, "/heron");
    assert_eq!(update(&mut state, TuiMessage::Changed), [], "hits stay as they are");
    assert!(
        !key(&mut state, ScreenKey::Backspace).contains(&TuiAsk::Conversations),
        "while there is a query"
    );
    let mut other = state.clone();
    for (state, key_of_end) in [(&mut state, ScreenKey::Ctrl('u')), (&mut other, ScreenKey::Esc)] {
        assert!(
            key(state, key_of_end).contains(&TuiAsk::Conversations),
            "{key_of_end:?}: new conversations come"
        );
        assert!(!key(state, ScreenKey::Char('t')).contains(&TuiAsk::Conversations), "once");
    }
}

#[test]
fn answers_to_older_questions_are_dropped() {
    let mut state = opened(WIDE);
    typed(&mut state, "/par");
    let old = state.generation;
    let asks = typed(&mut state, "s");
    assert!(matches!(&asks[..], [TuiAsk::Search { text, .. }] if text == "pars"), "{asks:?}");
    let row = entry("pi:4a32", 7);
    told(
        &mut state,
        TuiTold::Found { generation: old, rows: vec![row.clone()], keys: vec![], about: "old".into() },
    );
    assert!(state.middle.rows.is_empty() && state.middle.is_waiting);
    let generation = state.generation;
    told(&mut state, TuiTold::Found { generation, rows: vec![row], keys: vec![], about: "new".into() });
    assert_eq!((state.middle.rows.len(), state.middle.about.as_str()), (1, "new"));
    // A page that was asked for before the search must not come among the hits.
    let generation = state.generation;
    told(
        &mut state,
        TuiTold::Page {
            generation,
            wanted: PageWanted::Newest,
            rows: vec![],
            more: (false, false),
            total: 0,
        },
    );
    assert_eq!(state.middle.rows.len(), 1);
    let asks = key(&mut state, ScreenKey::Enter);
    assert!(
        matches!(&asks[..], [TuiAsk::Page { wanted: PageWanted::Around(7), key, .. }] if key == "pi:4a32"),
        "{asks:?}"
    );
    page(&mut state, PageWanted::Around(7), 0..20, (false, true));
    assert_eq!(state.middle.choice().unwrap().lead, "7", "at the entry");
    let stale = TuiTold::Text {
        of: RowTarget::Entry { key: "pi:4a32".into(), seq: 3 },
        face: CallFace::Gauge,
        title: "s:3".into(),
        lines: vec![],
        panel: None,
    };
    told(&mut state, stale);
    assert_ne!(state.detail.title, "s:3", "the text of another entry");
}

#[test]
fn keys_table() {
    type Holds = fn(&TuiState) -> bool;
    let table: [(&str, Holds, &str); 18] = [
        ("", |state| state.pane == TuiPane::List && state.middle.chosen == 119, "it opens at the end"),
        ("j", |state| state.list.chosen() == 1 && state.open == "codex:4a31", "down opens the conversation"),
        ("jjjjjj", |state| state.list.chosen() == 3, "not beyond the end"),
        ("jk", |state| state.list.chosen() == 0, "and back"),
        ("G", |state| state.list.chosen() == 3, "to the last"),
        ("Gg", |state| state.list.chosen() == 0, "to the first"),
        ("l", |state| state.pane == TuiPane::Middle, "to the middle"),
        ("ll", |state| state.pane == TuiPane::Detail, "to the right"),
        ("lll", |state| state.pane == TuiPane::List, "and around"),
        ("h", |state| state.pane == TuiPane::Detail, "the other way"),
        ("1", |state| state.list.shown().len() == 2, "the first host"),
        ("11", |state| state.list.filter().host.as_deref() == Some("codex"), "the next host"),
        ("1110", |state| state.list.shown().len() == 4, "no filter"),
        ("3", |state| state.list.shown().len() == 1, "the last day"),
        ("t", |state| state.theme == ThemeName::Light, "the next theme"),
        ("?", |state| state.overlay == TuiOverlay::Help(0), "the keys"),
        ("p", |state| state.remark.contains("c shows the calls"), "a key of the context elsewhere"),
        ("é", |state| state.remark.contains('?'), "a key that means nothing"),
    ];
    for (keys, holds, why) in table {
        let mut state = opened(WIDE);
        typed(&mut state, keys);
        assert!(holds(&state), "{keys}: {why}");
    }
}

#[test]
fn the_context_is_stepped_through() {
    let mut state = opened(WIDE);
    series(&mut state);
    assert_eq!((state.middle.kind, state.middle.chosen), (MiddleKind::Context, 199));
    let asks = key(&mut state, ScreenKey::Char('['));
    assert!(matches!(&asks[..], [TuiAsk::Call { at: 159, face: CallFace::Gauge, .. }]), "{asks:?}");
    for (letter, face) in [('p', CallFace::Prompt), ('d', CallFace::Diff), ('x', CallFace::Left)] {
        let asks = key(&mut state, ScreenKey::Char(letter));
        assert!(
            matches!(&asks[..], [TuiAsk::Call { face: asked, .. }] if *asked == face),
            "{letter}: {asks:?}"
        );
    }
    key(&mut state, ScreenKey::Esc);
    assert_eq!(state.face, CallFace::Gauge, "back to the gauge");
    let asks = key(&mut state, ScreenKey::Char('w'));
    assert!(matches!(&asks[..], [TuiAsk::Series { window: Some(32_000), .. }]), "{asks:?}");
    key(&mut state, ScreenKey::Esc);
    assert_eq!(
        (state.middle.kind, state.middle.rows.len()),
        (MiddleKind::Entries, 120),
        "the entries are still there"
    );
}

#[test]
fn commands_end_copy_and_are_chosen_by_name() {
    let mut state = opened(WIDE);
    assert_eq!(key(&mut state, ScreenKey::Char('q')), [TuiAsk::End(TuiEnd::Quit)]);
    assert_eq!(
        key(&mut state, ScreenKey::Char('r')),
        [TuiAsk::End(TuiEnd::Resume("claude-code:4a30".into()))]
    );
    assert_eq!(key(&mut state, ScreenKey::Char('Y')), [TuiAsk::Copy("4a30".into())]);
    let asks = key(&mut state, ScreenKey::Char('y'));
    assert!(
        matches!(&asks[..], [TuiAsk::Copy(text)] if text.starts_with("→ cargo test parser\ncommand:")),
        "{asks:?}"
    );
    assert!(matches!(key(&mut state, ScreenKey::Char('e'))[..], [TuiAsk::End(TuiEnd::Edit(_))]));
    typed(&mut state, ":ledger");
    let asks = key(&mut state, ScreenKey::Enter);
    assert!(matches!(asks[..], [TuiAsk::Table { kind: MiddleKind::Ledger, .. }]), "{asks:?}");
    typed(&mut state, ":nothing is called so");
    assert_eq!(key(&mut state, ScreenKey::Enter), []);
}

#[test]
fn the_mouse_chooses_and_scrolls() {
    let mut state = opened(WIDE);
    update(&mut state, TuiMessage::Mouse(MouseDeed::Press, 4, 4));
    assert_eq!((state.pane, state.list.chosen()), (TuiPane::List, 2), "the third line below the heading");
    let mut state = opened(WIDE);
    update(&mut state, TuiMessage::Mouse(MouseDeed::WheelUp, 50, 10));
    assert_eq!((state.pane, state.middle.chosen), (TuiPane::Middle, 116));
    assert_eq!(update(&mut state, TuiMessage::Mouse(MouseDeed::Press, 500, 500)), [], "outside");
}

#[test]
fn every_size_is_drawn() {
    for (width, height) in [(1, 1), (2, 2), (10, 3), (59, 19), (76, 5), (110, 2), (400, 120)] {
        let mut state = opened(Size::new(width, height));
        drawn(&state);
        series(&mut state);
        drawn(&state);
        for keys in ["?", ":", "/x"] {
            let mut state = state.clone();
            typed(&mut state, keys);
            drawn(&state);
        }
    }
}

#[test]
fn hostile_text_stays_in_its_cells() {
    let hostile = "a\u{1b}[2J\u{1b}]52;c;eA==\u{7}b\u{9b}31m\u{202e}cba\u{2066}x\u{200b}\r\u{8} 修复 👩\u{200d}💻 e\u{301}\u{fdd0}";
    let harmless = crate::text::harmless(hostile);
    for size in SIZES {
        let mut state = opened(size);
        let mut row = entry("pi:4a32", 1);
        row.text = crate::text::one_line(&harmless, 300);
        row.lead.clone_from(&row.text);
        row.who.clone_from(&row.text);
        let generation = state.generation;
        told(
            &mut state,
            TuiTold::Page {
                generation,
                wanted: PageWanted::Newest,
                rows: vec![row.clone()],
                more: (false, false),
                total: 1,
            },
        );
        let lines =
            vec![TuiLine::new(LineKind::Plain, hostile), TuiLine::new(LineKind::Code, "修".repeat(300))];
        let of = state.detail.of.clone();
        told(
            &mut state,
            TuiTold::Text { of, face: CallFace::Gauge, title: harmless.clone(), lines, panel: None },
        );
        for _ in 0..3 {
            let frame = drawn(&state);
            assert!(!frame.contains(|one: char| unforget_text::is_harmful(one) && one != '\n'), "{frame}");
            for line in frame.lines() {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= usize::from(size.width), "{line:?}");
            }
            key(&mut state, ScreenKey::Tab);
        }
    }
}

#[test]
fn every_key_means_one_thing_and_the_document_says_the_same() {
    let mut known = std::collections::BTreeMap::new();
    for row in KEYS {
        for one in row.keys.split(' ') {
            assert_eq!(known.insert(one, row.name), None, "{one} is a key of two commands");
        }
        assert_eq!(
            commands_for(row.name)[0].command,
            row.command,
            "{}: the palette finds it by its name",
            row.name
        );
    }
    assert_eq!(command_of(ScreenKey::Ctrl('c')), Some(TuiCommand::Quit));
    assert_eq!(command_of(ScreenKey::BackTab), Some(TuiCommand::PaneBefore));
    assert_eq!(command_of(ScreenKey::PageDown), Some(TuiCommand::PageDown));
    let rows: Vec<String> = KEYS
        .iter()
        .map(|row| {
            let keys: Vec<String> = row.keys.split(' ').map(|one| format!("`{one}`")).collect();
            format!("| {} | {} | {} |", keys.join(" "), row.name, row.what)
        })
        .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tui.md");
    let doc = fs::read_to_string(&path).unwrap();
    let frame =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tui/golden/context-80x24.txt"))
            .unwrap();
    assert!(doc.contains(&format!("```text\n{frame}```")), "docs/tui.md shows golden/context-80x24.txt");
    let start = doc.find("| keys | command | what it does |").unwrap();
    let written: Vec<&str> = doc[start..].lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    assert_eq!(written, rows, "docs/tui.md: the table should be\n{}", rows.join("\n"));
}

#[test]
fn themes_keep_their_promises() {
    use ratatui::style::{Color, Modifier};
    for theme in [ThemeName::Dark, ThemeName::Light, ThemeName::Contrast, ThemeName::Plain] {
        let mut state = opened(Size::new(200, 60));
        state.theme = theme;
        series(&mut state);
        let cells = scenes::buffer(&state).content;
        let has_colours = cells.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        assert_eq!(has_colours, theme != ThemeName::Plain, "{}", theme.name());
        let has_dim = cells.iter().any(|cell| cell.modifier.contains(Modifier::DIM));
        assert_eq!(has_dim, theme == ThemeName::Dark, "{}", theme.name());
    }
}
