//! Texts that break software.

use unforget_bench::Random;

/// A kind of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Texts {
    Empty,
    Blank,
    Short,
    Prose,
    Code,
    Log,
    Json,
    Csv,
    Chinese,
    Japanese,
    Korean,
    Arabic,
    Emoji,
    Combining,
    Digits,
    Base64,
    Hex,
    OneLetter,
    Control,
    Escapes,
    Markup,
}

impl Texts {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::Empty,
        Self::Blank,
        Self::Short,
        Self::Prose,
        Self::Code,
        Self::Log,
        Self::Json,
        Self::Csv,
        Self::Chinese,
        Self::Japanese,
        Self::Korean,
        Self::Arabic,
        Self::Emoji,
        Self::Combining,
        Self::Digits,
        Self::Base64,
        Self::Hex,
        Self::OneLetter,
        Self::Control,
        Self::Escapes,
        Self::Markup,
    ];

    /// Building blocks of a text of this kind.
    const fn pieces(self) -> &'static [&'static str] {
        match self {
            Self::Empty => &[],
            Self::Blank => &[" ", "\n", "\t", "\r\n", "\u{a0}", "\u{3000}", "\u{feff}", "\u{2028}"],
            Self::Short => &["yes", "ok", "ping", "continue", "no", "thanks"],
            Self::Prose => {
                &["the build ", "fails ", "after ", "the last ", "commit, ", "so ", "please look. ", "It's "]
            }
            Self::Code => {
                &["fn main() {\n", "    let x = 1;\n", "}\n", "// why\n", "if (a !== \"b\") return;\n"]
            }
            Self::Log => {
                &["2026-01-02T03:04:05Z INFO [a] ready\n", "ERROR [db] timeout after 500 ms\n", "DEBUG x=1\n"]
            }
            Self::Json => &["{\"a\":1,", "\"b\":[true,null],", "\"c\":{\"d\":\"e\"}},"],
            Self::Csv => &["id,name,price\n", "1,apple,0.30\n", "2,\"pear, green\",0.45\n"],
            Self::Chinese => &["数据库", "迁移", "失败了", "，", "请检查", "日志", "。"],
            Self::Japanese => &["テスト", "が", "失敗", "しました", "。", "ファイル"],
            Self::Korean => &["데이터", "베이스", " ", "오류", "입니다", ". "],
            Self::Arabic => &["قاعدة", " ", "البيانات", "، ", "\u{200f}"],
            Self::Emoji => &["👩‍👩‍👧‍👦", "🏳️‍🌈", "🔥", "👍🏽", "🇩🇪", "e\u{301}"],
            Self::Combining => &["a\u{300}\u{301}\u{302}", "\u{0e33}", "\u{1100}\u{1161}", "z\u{334}\u{335}"],
            Self::Digits => &["0", "31415926535", "9999999999999999999", "-1e308"],
            Self::Base64 => &["iVBORw0KGgo", "AAAANSUhEUg", "/9j/4AAQSkZ", "QmFzZTY0+/=="],
            Self::Hex => &["deadbeef", "0123456789abcdef", "ffffffff"],
            Self::OneLetter => &["a"],
            Self::Control => &["\0", "\u{1b}[31m", "\u{7f}", "\u{85}", "\u{fffd}", "\u{202e}"],
            Self::Escapes => &["\\", "\"", "\\u0000", "\\ud800", "\n", "\\n", "'"],
            Self::Markup => &["</summary>", "<|im_end|>", "```\n", "<tool_result>", "[INST]", "]]>", "&amp;"],
        }
    }
}

/// A text of a kind, about `bytes` long (longer by at most one piece); empty for [`Texts::Empty`].
pub fn text(kind: Texts, bytes: usize, random: &mut Random) -> String {
    let mut out = String::new();
    while out.len() < bytes && kind != Texts::Empty {
        out.push_str(random.pick(kind.pieces()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reaches_its_length() {
        for kind in Texts::ALL {
            let made = text(kind, 100, &mut Random::new(1));
            let reached = (100..160).contains(&made.len());
            assert!(reached || kind == Texts::Empty && made.is_empty(), "{kind:?}: {} bytes", made.len());
        }
    }
}
