//! Numbers and sizes for people, the same in a terminal and on a page.

/// A number with separated thousands: `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number to three digits: `950`, `12.3k`, `4.56M`.
pub fn short(number: u64) -> String {
    let value = number as f64;
    match number {
        0..1_000 => number.to_string(),
        1_000..999_500 => format!("{}k", three(value / 1e3)),
        999_500..999_500_000 => format!("{}M", three(value / 1e6)),
        _ => format!("{}G", three(value / 1e9)),
    }
}

/// Bytes in powers of ten: `950 B`, `12.3 kB`.
pub fn bytes(number: u64) -> String {
    if number < 1_000 {
        format!("{number} B")
    } else {
        format!("{}B", short(number).replace(['k'], " k").replace('M', " M").replace('G', " G"))
    }
}

/// A time span given in microseconds: `850 µs`, `1.25 ms`, `3.4 s`.
pub fn micros(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", three(us as f64 / 1e3)),
        _ => format!("{} s", three(us as f64 / 1e6)),
    }
}

/// Three significant digits of a number from 1 to 999.
fn three(value: f64) -> String {
    let places = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A share in per cent: `91.3%`; never 100% unless it is whole.
pub fn percent(share: f64) -> String {
    let share = share * 100.0;
    let shown = if share < 100.0 { share.min(99.9) } else { share };
    format!("{shown:.1}%")
}

/// A number with its unit: `1 call`, `7 calls`.
pub fn plural(number: u64, one: &str) -> String {
    let many = match one.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if one.ends_with("ch") => format!("{one}es"),
        _ => format!("{one}s"),
    };
    format!("{} {}", count(number), if number == 1 { one } else { &many })
}

/// Text on one line without control characters, cut to `width` characters.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        if line.chars().count() > width {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if line.chars().count() <= width {
        return line;
    }
    let mut cut: String = line.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plural_table() {
        for (number, one, want) in [
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
            (30, "day", "30 days"),
            (2, "search", "2 searches"),
            (0, "file", "0 files"),
        ] {
            assert_eq!(plural(number, one), want);
        }
    }
}
