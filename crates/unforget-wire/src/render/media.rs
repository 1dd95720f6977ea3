//! Images between dialects.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;
use unforget_core::entry::Media;

use super::form::Piece;
use crate::dialect::Dialect;

/// Longest base64 text of an image that Anthropic takes. Source: F064, Anthropic vision limits.
const ANTHROPIC_BYTES_MAX: usize = 5 * 1024 * 1024;

/// The same for OpenAI.
const OPENAI_BYTES_MAX: usize = 20 * 1024 * 1024;

/// Longest side in pixels that Anthropic takes.
const SIDE_MAX: u32 = 8000;

/// An image block in any of the forms that hosts write.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AnyImage<'a> {
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<AnySource<'a>>,
    #[serde(borrow)]
    image_url: Option<AnyUrl<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnySource<'a> {
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    url: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnyUrl<'a> {
    Plain(#[serde(borrow)] Cow<'a, str>),
    Wrapped {
        #[serde(borrow)]
        url: Cow<'a, str>,
    },
}

/// The image as the dialect takes it, `None` if it cannot: not an image that we can read, of a type that
/// providers refuse, too large, or an address where the dialect wants bytes.
pub(super) fn image<'a>(media: &'a Media, dialect: Dialect) -> Option<Piece<'a>> {
    let block: AnyImage<'a> = serde_json::from_str(&media.raw).ok()?;
    let source = block.source.unwrap_or_default();
    let url = block.image_url.map(|url| match url {
        AnyUrl::Plain(url) | AnyUrl::Wrapped { url } => url,
    });
    let data = match (block.data.or(source.data), url.or(source.url)) {
        (Some(data), _) => data,
        (None, Some(url)) => match data_of(&url) {
            Some(data) => Cow::Owned(data.to_owned()),
            None => return address(url, dialect),
        },
        (None, None) => return None,
    };
    let bytes_max = match dialect {
        Dialect::Anthropic | Dialect::Pi => ANTHROPIC_BYTES_MAX,
        Dialect::OpenAiChat | Dialect::OpenAiResponses => OPENAI_BYTES_MAX,
    };
    let too_wide = media.size.is_some_and(|(width, height)| width.max(height) > SIDE_MAX);
    if data.len() > bytes_max || too_wide || !is_base64(&data) {
        return None;
    }
    Some(Piece::Image { mime: mime_of(&data)?, data })
}

/// A visible note in place of media: `[image: image/png 640x480]`.
pub(super) fn note(media: &Media) -> String {
    let family = media.mime.split('/').next().unwrap_or_default();
    let word = match family {
        "image" | "audio" | "video" => family,
        "" => "image",
        _ => "file",
    };
    let mut text = format!("[{word}");
    if !media.mime.is_empty() {
        text.push_str(": ");
        text.extend(media.mime.chars().take(80));
    }
    if let Some((width, height)) = media.size {
        // Writing to a String cannot fail.
        write!(text, " {width}x{height}").ok();
    }
    text.push(']');
    text
}

/// The base64 text of a `data:` address.
fn data_of(url: &str) -> Option<&str> {
    url.strip_prefix("data:")?.split_once(";base64,").map(|(_, data)| data)
}

fn address(url: Cow<'_, str>, dialect: Dialect) -> Option<Piece<'_>> {
    let secure = url.starts_with("https://");
    let plain = url.starts_with("http://");
    let fits = url.len() <= 2048 && url.bytes().all(|byte| byte.is_ascii_graphic());
    let taken = match dialect {
        Dialect::Anthropic => secure,
        Dialect::OpenAiChat | Dialect::OpenAiResponses => secure || plain,
        Dialect::Pi => false,
    };
    (taken && fits).then_some(Piece::ImageUrl(url))
}

/// Standard alphabet, padded, not empty.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(legal)
}

/// The type that the bytes have, whatever the host says: Anthropic refuses a wrong label.
fn mime_of(data: &str) -> Option<&'static str> {
    const STARTS: [(&str, &str); 4] = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    STARTS.iter().find(|(start, _)| data.starts_with(start)).map(|(_, mime)| *mime)
}
