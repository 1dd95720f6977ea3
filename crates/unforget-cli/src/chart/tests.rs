//! Tests of the chart.

use super::*;

fn saw(calls: usize) -> Chart {
    let ours = (0..calls).map(|at| 12_000 + (at as u64 * 900) % 12_000).collect();
    let everything = (0..calls).map(|at| 900 * at as u64).collect();
    let sliding = (0..calls).map(|at| (900 * at as u64).min(27_000)).collect();
    Chart { ours, everything, sliding, breaks: vec![calls / 3, calls / 2], window: 32_000 }
}

#[test]
fn no_line_is_wider_than_asked_for() {
    for (calls, width) in [(1, 40), (3, 80), (57, 80), (5_000, 120), (200, 32)] {
        let text = draw(&saw(calls), Palette::default(), ChartSize { columns: width, rows: 12 });
        for line in text.lines().take(14) {
            assert!(line.chars().count() <= width, "{calls} calls, {width} columns: {line:?}");
        }
    }
}

#[test]
fn without_colours_there_is_no_escape_and_with_them_the_same_text() {
    let plain = draw(&saw(200), Palette::default(), ChartSize { columns: 100, rows: 16 });
    assert!(!plain.contains('\u{1b}'));
    let drawn = draw(&saw(200), Palette::colours(), ChartSize { columns: 100, rows: 16 });
    let coloured = crate::output::rendered(&drawn);
    let mut stripped = String::new();
    let mut rest = coloured.as_str();
    while let Some((text, escaped)) = rest.split_once('\u{1b}') {
        stripped.push_str(text);
        rest = escaped.split_once('m').map_or("", |(_, rest)| rest);
    }
    stripped.push_str(rest);
    assert_eq!(stripped, plain);
}

#[test]
fn what_leaves_the_chart_is_said() {
    let text = draw(&saw(200), Palette::default(), ChartSize { columns: 100, rows: 16 });
    assert!(text.contains("everything leaves the chart at call"), "{text}");
    let small = Chart { everything: vec![10; 5], ours: vec![10; 5], sliding: vec![10; 5], ..saw(5) };
    assert!(!draw(&small, Palette::default(), ChartSize { columns: 100, rows: 16 }).contains("leaves"));
}

#[test]
fn an_empty_chart_is_drawn() {
    let text = draw(
        &Chart { window: 1_000, ..Chart::default() },
        Palette::default(),
        ChartSize { columns: 80, rows: 8 },
    );
    assert!(text.contains("window 1k"), "{text}");
}
