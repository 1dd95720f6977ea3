//! Markdown of a transcript as HTML. Raw HTML stays text, images become links to nowhere, and only web addresses are links.

use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html::push_html};
use unforget_text::visible;

/// Longest text that is read as Markdown, in bytes; longer ones are shown as they are.
const BYTES_MAX: usize = 256 << 10;

/// Deepest nesting of quotes and lists that is shown as such.
const DEPTH_MAX: usize = 24;

/// Markdown as HTML. Controls and marks of direction become visible first.
pub(crate) fn markdown(text: &str) -> Markup {
    let text = visible(text);
    if text.len() > BYTES_MAX || depth(&text) > DEPTH_MAX {
        return html! { pre class="plain" { (text) } };
    }
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut tags = Vec::new();
    let events = Parser::new_ext(&text, options).map(|event| harmless(event, &mut tags));
    let mut out = String::with_capacity(text.len() * 2);
    push_html(&mut out, events);
    html! { div class="md" { (PreEscaped(out)) } }
}

/// Most signs that open a level, on any line.
fn depth(text: &str) -> usize {
    let signs =
        |line: &str| line.chars().take(256).filter(|c| matches!(c, '>' | '*' | '-' | '+' | '[')).count();
    text.lines().map(signs).max().unwrap_or(0).min(DEPTH_MAX * 8) / 8
}

/// What stands in the place of a link or an image.
enum Stand {
    Link,
    Words,
}

fn harmless<'a>(event: Event<'a>, tags: &mut Vec<Stand>) -> Event<'a> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let is_web = ["https://", "http://"].iter().any(|start| dest_url.starts_with(start));
            tags.push(if is_web { Stand::Link } else { Stand::Words });
            let open = if is_web {
                let open =
                    html! { a href=(&*dest_url) rel="noreferrer noopener nofollow" target="_blank" {} };
                open.into_string().replace("</a>", "")
            } else {
                "<span class=\"nolink\">".to_owned()
            };
            Event::InlineHtml(CowStr::from(open))
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let close = if matches!(tags.pop(), Some(Stand::Link)) { "</a>" } else { "</span>" };
            Event::InlineHtml(CowStr::from(close))
        }
        // The name of a language becomes a class of ours, or none.
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(kind))) => {
            let is_plain = kind.len() <= 20 && kind.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let kind = if is_plain { CodeBlockKind::Fenced(kind) } else { CodeBlockKind::Indented };
            Event::Start(Tag::CodeBlock(kind))
        }
        // A heading of a transcript is none of the page.
        Event::Start(Tag::Heading { .. }) => Event::InlineHtml(CowStr::from("<p class=\"heading\">")),
        Event::End(TagEnd::Heading(_)) => Event::InlineHtml(CowStr::from("</p>\n")),
        Event::TaskListMarker(is_done) => Event::Text(CowStr::from(if is_done { "☑ " } else { "☐ " })),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_transcript_becomes_markup() {
        let table = [
            ("<script>alert(1)</script>", "a script"),
            ("<img src=x onerror=alert(1)>", "an image with a handler"),
            ("a <b onclick=alert(1)>b</b>", "a tag in a line"),
            ("[x](javascript:alert(1))", "a link that runs"),
            ("[x](JaVaScRiPt:alert(1))", "the same in other letters"),
            ("[x](data:text/html;base64,PHNjcmlwdD4=)", "a link with a page in it"),
            ("![x](https://evil.example/a.png)", "an image from elsewhere"),
            ("[x](https://a.example/\"onmouseover=\"alert(1))", "a quote in an address"),
            ("```\"><script>\nx\n```", "a language that ends its tag"),
            ("<style>body{display:none}</style>", "a style"),
            ("<https://a.example/\"><script>>", "an address that ends its tag"),
            ("| a |\n|---|\n| <script> |", "in a table"),
        ];
        for (text, why) in table {
            let made = markdown(text).into_string();
            for wrong in
                ["<script", "<img", "<style", "javascript:a", "data:text/html;base64,PHNjcmlwdD4=\"", "<b "]
            {
                assert!(!made.to_lowercase().contains(&format!("href=\"{wrong}")), "{why}: {made}");
                let is_tag = wrong.starts_with('<');
                assert!(!is_tag || !made.to_lowercase().contains(wrong), "{why}: {made}");
            }
            assert!(!made.contains("\"onmouseover=\""), "{why}: {made}");
        }
    }

    #[test]
    fn markdown_is_read() {
        let made =
            markdown("# Head\n\nA *word* and `code`, [a link](https://a.example).\n\n- [x] done\n\u{202e}x")
                .into_string();
        for part in [
            "<p class=\"heading\">Head</p>",
            "<em>word</em>",
            "<code>code</code>",
            "<a href=\"https://a.example\" rel=\"noreferrer noopener nofollow\" target=\"_blank\">a link</a>",
            "☑ done",
            "&lt;U+202E&gt;x",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
    }
}
