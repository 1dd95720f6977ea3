//! States to be looked at, made by keys and answers.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};

use crate::output::ScreenKey;
use crate::picker::{PickerRow, PickerState};
use crate::tui::rows::{CallPanel, GaugeShare, LineKind, MapCell, RowTarget, TuiLine, TuiRow};
use crate::tui::state::{CallFace, PageWanted, TuiAsk, TuiMessage, TuiState, TuiTold};
use crate::tui::steps::begin;
use crate::tui::update::update;
use crate::tui::view::view;

pub(super) const SIZES: [Size; 4] = [Size::new(60, 20), Size::new(80, 24), WIDE, Size::new(200, 60)];

pub(super) const WIDE: Size = Size::new(120, 40);

pub(super) fn conversation(at: usize) -> PickerRow {
    let titles = [
        "Mend the parser of the journal",
        "Why does the retry loop never end? 修复测试",
        "Herons nest in the reeds",
        "Add a --json option to the exporter",
    ];
    let hosts = ["claude-code", "codex", "pi", "claude-code"];
    let projects = ["journal", "loop", "reeds", "journal"];
    PickerRow {
        key: format!("{}:4a3{at}", hosts[at % 4]),
        name: format!("4a3{at}"),
        title: titles[at % 4].to_owned(),
        labels: if at == 1 { vec!["★".to_owned(), "#later".to_owned()] } else { Vec::new() },
        project: projects[at % 4].to_owned(),
        host: hosts[at % 4].to_owned(),
        when: "yesterday".to_owned(),
        last_ms: 1_000_000_000 - at as i64 * 200_000_000,
        words: titles[at % 4].to_lowercase(),
    }
}

pub(super) fn entry(key: &str, seq: u64) -> TuiRow {
    let (who, kind, text) = match seq % 4 {
        0 => ("you", LineKind::Person, "Why does the parser fail on an empty line?"),
        1 => ("model", LineKind::Model, "I read the file and run its tests first."),
        2 => ("call", LineKind::Tool, "cargo test parser"),
        _ => ("tool", LineKind::Tool, "✗ test result: FAILED. 11 passed; 1 failed"),
    };
    TuiRow {
        lead: seq.to_string(),
        who: who.to_owned(),
        kind,
        text: text.to_owned(),
        target: RowTarget::Entry { key: key.to_owned(), seq },
        about: Vec::new(),
    }
}

pub(super) fn key(state: &mut TuiState, key: ScreenKey) -> Vec<TuiAsk> {
    update(state, TuiMessage::Key(key))
}

pub(super) fn typed(state: &mut TuiState, text: &str) -> Vec<TuiAsk> {
    text.chars().flat_map(|one| key(state, ScreenKey::Char(one))).collect()
}

pub(super) fn told(state: &mut TuiState, told: TuiTold) -> Vec<TuiAsk> {
    update(state, TuiMessage::Told(told))
}

pub(super) fn page(
    state: &mut TuiState,
    wanted: PageWanted,
    seqs: std::ops::Range<u64>,
    more: (bool, bool),
) -> Vec<TuiAsk> {
    let open = state.open.clone();
    let rows = seqs.map(|seq| entry(&open, seq)).collect();
    told(state, TuiTold::Page { generation: state.generation, wanted, rows, more, total: 50_000 })
}

/// The text at the right, as the reader sends it.
pub(super) fn text(state: &mut TuiState) {
    let of = state.detail.of.clone();
    let lines = vec![
        TuiLine::new(LineKind::Tool, "→ cargo test parser"),
        TuiLine::new(LineKind::Code, "command: cargo test parser -- --nocapture"),
        TuiLine::default(),
        TuiLine::new(LineKind::Bad, "✗ failed bash, exit 101"),
        TuiLine::new(
            LineKind::Plain,
            "thread 'parser::empty_line' panicked at src/parser.rs:41:9: assertion `left == right` failed",
        ),
        TuiLine::new(LineKind::Good, "+    if line.is_empty() { return None; }"),
    ];
    let title = "s:50000 · tool · 2026-11-26 14:02".to_owned();
    told(state, TuiTold::Text { of, face: CallFace::Gauge, title, lines, panel: None });
}

/// A state with an open conversation of 50,000 entries, at its end.
pub(super) fn opened(size: Size) -> TuiState {
    let list = PickerState::new((0..4).map(conversation).collect());
    let mut state = TuiState { list, now_ms: 1_000_000_000, ..TuiState::default() };
    update(&mut state, TuiMessage::Area(Rect::new(0, 0, size.width, size.height)));
    begin(&mut state);
    page(&mut state, PageWanted::Newest, 49_880..50_000, (true, false));
    text(&mut state);
    state
}

pub(super) fn series(state: &mut TuiState) {
    key(state, ScreenKey::Char('c'));
    let row = |at: usize| TuiRow {
        lead: (at + 1).to_string(),
        who: format!("{}.0%", at % 90 + 10),
        kind: if at % 40 == 39 { LineKind::Warn } else { LineKind::Plain },
        text: if at % 40 == 39 { "171k → 42.1k · zone full".to_owned() } else { "61.2k".to_owned() },
        target: RowTarget::Call(at),
        about: Vec::new(),
    };
    let (generation, rows) = (state.generation, (0..200).map(row).collect());
    told(
        state,
        TuiTold::Table {
            generation,
            rows,
            about: "200, played for 168k of input; 5 breaks, 412k billed again".to_owned(),
        },
    );
    let share = |name, tokens| GaugeShare { name, tokens };
    let mut cells = vec![MapCell::Summary; 300];
    cells.extend([MapCell::Hidden; 20]);
    cells.extend([MapCell::Stub; 30]);
    cells.extend([MapCell::LeftOut; 4]);
    cells.extend([MapCell::Whole; 90]);
    let panel = CallPanel {
        shares: vec![
            share("system+tools", 12_400),
            share("pins", 310),
            share("summaries", 9_800),
            share("ledger", 1_150),
            share("carried", 0),
            share("tail", 37_000),
            share("frame", 540),
        ],
        room: 168_000,
        cells,
        facts: vec![
            TuiLine::new(LineKind::Warn, "break in the summaries: the zone of the newest entries was full"),
            TuiLine::new(LineKind::Plain, "61,200 tokens expected, 66,402 at most"),
            TuiLine::new(LineKind::Good, "cover proved; rung assembled"),
        ],
    };
    let of = state.detail.of.clone();
    told(
        state,
        TuiTold::Text {
            of,
            face: CallFace::Gauge,
            title: "call 200".to_owned(),
            lines: Vec::new(),
            panel: Some(panel),
        },
    );
}

pub(super) fn hits(state: &mut TuiState) {
    let hit = |at: u64| TuiRow {
        lead: format!("4a3{}", at % 4),
        who: "assistant".to_owned(),
        kind: LineKind::Model,
        text: format!("…the parser fails at line {at}, because the journal ends there"),
        target: RowTarget::Entry { key: conversation(at as usize % 4).key, seq: at * 10 },
        about: Vec::new(),
    };
    let generation = state.generation;
    let keys = vec!["codex:4a31".to_owned()];
    told(
        state,
        TuiTold::Found {
            generation,
            rows: (0..30).map(hit).collect(),
            keys,
            about: "30 of 412 found; 56,031 searched".to_owned(),
        },
    );
}

/// The cells of a frame.
pub(super) fn buffer(state: &TuiState) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(state.area.width, state.area.height)).unwrap();
    terminal.draw(|frame| view(state, frame)).unwrap();
    terminal.backend().buffer().clone()
}

pub(super) fn drawn(state: &TuiState) -> String {
    let (width, height) = (state.area.width, state.area.height);
    let buffer = buffer(state);
    let mut out = String::new();
    for y in 0..height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..width {
            let symbol = buffer.cell((x, y)).unwrap().symbol();
            if skip > 0 {
                skip -= 1;
                continue;
            }
            skip = unicode_width::UnicodeWidthStr::width(symbol).saturating_sub(1);
            line.push_str(symbol);
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}
