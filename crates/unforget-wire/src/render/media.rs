//! Converts images between dialects.

use std::borrow::Cow;
use std::fmt::Write;

use serde::Deserialize;
use unforget_core::entry::{Media, Part};
use unforget_core::message::{Block, Message, Request, Speaker};

use super::form::Piece;
use super::head::BodyHead;
use super::json::without_cache_control;
use crate::dialect::Dialect;
use crate::pixels;

/// A provider's limits for images. Source: F064 and the documentation of each provider.
#[derive(Clone, Copy)]
struct Limits {
    /// Base64 text of one image, in bytes.
    bytes: usize,
    /// Longest side in pixels.
    side: u32,
    /// Images in a request.
    count: usize,
    /// Base64 text of all images together, in bytes: less than a request may have, which leaves room for text.
    total: usize,
    /// Number of images from which the longest side is limited further, and that limit.
    many: (usize, u32),
}

const MIB: usize = 1 << 20;

const fn limits(dialect: Dialect) -> Limits {
    let none = u32::MAX;
    match dialect {
        Dialect::Anthropic | Dialect::Pi => {
            Limits { bytes: 5 * MIB, side: 8_000, count: 100, total: 24 * MIB, many: (21, 2_000) }
        }
        Dialect::OpenAiChat | Dialect::OpenAiResponses => {
            Limits { bytes: 20 * MIB, side: none, count: 500, total: 40 * MIB, many: (usize::MAX, none) }
        }
        Dialect::Gemini => {
            Limits { bytes: 9 * MIB, side: none, count: 3_000, total: 14 * MIB, many: (usize::MAX, none) }
        }
        Dialect::BedrockConverse => {
            Limits { bytes: 5 * MIB, side: 8_000, count: 20, total: 15 * MIB, many: (usize::MAX, none) }
        }
    }
}

/// The place of a medium in a user's message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaPlace {
    /// Among the blocks.
    Beside,
    /// In the result of a call.
    InResult,
}

/// A medium as the dialect accepts it at this place, considered alone; `None` if it does not.
pub(super) fn piece(media: &Media, place: MediaPlace, dialect: Dialect) -> Option<Piece<'_>> {
    let document = || (place == MediaPlace::Beside).then(|| document(media, dialect)).flatten();
    image(media, dialect).or_else(document)
}

/// Whether a user's message to this dialect can show a medium. Otherwise a note stands in its place.
pub fn is_sendable(media: &Media, dialect: Dialect) -> bool {
    piece(media, MediaPlace::Beside, dialect).is_some()
}

/// A document in Anthropic's own form.
fn document(media: &Media, dialect: Dialect) -> Option<Piece<'_>> {
    let head = BodyHead::of(&media.raw)?;
    let taken = dialect == Dialect::Anthropic && head.kind == "document";
    taken.then(|| without_cache_control(&media.raw).map(Piece::Raw)).flatten()
}

/// Which media of a request are sent: if there are too many or they are too large together, the oldest are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    /// Number of acceptable media still to skip.
    skip: usize,
    /// Longest side of sent images, in pixels.
    side: u32,
}

impl Keep {
    /// Sends every image that the dialect accepts alone.
    pub(super) const fn all() -> Self {
        Self { skip: 0, side: u32::MAX }
    }

    /// Chooses for a request. Images are left out in steps of a quarter of the limit, so that the beginning of the
    /// request stays stable for a while. Free of cost for a request far from the limits.
    pub(super) fn of(request: &Request, dialect: Dialect) -> Self {
        let limits = limits(dialect);
        let all: Vec<(&Media, MediaPlace)> = request.messages.iter().flat_map(sent_media).collect();
        let bytes: usize = all.iter().map(|(media, _)| media.raw.len()).sum();
        if all.len() < limits.count.min(limits.many.0) && bytes <= limits.total {
            return Self::all();
        }
        let sent = all.iter().filter_map(|(media, place)| piece(media, *place, dialect));
        let sizes: Vec<usize> = sent.map(|piece| weight(&piece)).collect();
        let skip = oldest(&sizes, limits);
        let side = if sizes.len() - skip >= limits.many.0 { limits.many.1 } else { u32::MAX };
        Self { skip, side }
    }

    /// Whether this medium is sent. Must be called once for each acceptable medium, in order.
    pub(super) fn takes(&mut self, piece: &Piece<'_>, media: &Media) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.side == u32::MAX || longest_side(piece, media).is_none_or(|side| side <= self.side)
    }
}

/// Number of the oldest images to leave out.
fn oldest(sizes: &[usize], limits: Limits) -> usize {
    let (mut skip, mut kept, mut total) = (sizes.len(), 0, 0);
    for size in sizes.iter().rev() {
        if kept == limits.count || total + size > limits.total {
            break;
        }
        (skip, kept, total) = (skip - 1, kept + 1, total + size);
    }
    if skip == 0 {
        return 0;
    }
    let step = (kept / 4).max(1);
    // The newest image is kept whenever it can be sent at all.
    skip.next_multiple_of(step).min((sizes.len() - 1).max(skip))
}

/// Sendable media of a message, in the order in which the form visits them.
fn sent_media(message: &Message) -> impl Iterator<Item = (&Media, MediaPlace)> {
    let is_user = message.speaker == Speaker::User;
    let parts = message.blocks.iter().filter(move |_| is_user).flat_map(|block| {
        let (parts, place) = match block {
            Block::Part(Part::ToolResult(result)) | Block::Result(result) => {
                (result.content.as_slice(), MediaPlace::InResult)
            }
            Block::Part(part) => (std::slice::from_ref(part), MediaPlace::Beside),
            Block::Call(_) | Block::Ours(_) => (&[][..], MediaPlace::Beside),
        };
        parts.iter().map(move |part| (part, place))
    });
    parts.filter_map(|(part, place)| match part {
        Part::Media(media) => Some((media, place)),
        _ => None,
    })
}

fn weight(image: &Piece<'_>) -> usize {
    match image {
        Piece::Image { data, .. } => data.len(),
        Piece::ImageUrl(text) | Piece::Raw(text) => text.len(),
        _ => 0,
    }
}

/// Longest side in pixels, from the image's bytes or else from the host's figures.
fn longest_side(image: &Piece<'_>, media: &Media) -> Option<u32> {
    let measured = match image {
        Piece::Image { data, .. } => pixels::of_base64(data),
        _ => None,
    };
    measured.or(media.size).map(|(width, height)| width.max(height))
}

/// An image block in any host's form.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AnyImage<'a> {
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    source: Option<AnySource<'a>>,
    #[serde(borrow)]
    image_url: Option<AnyUrl<'a>>,
    /// Gemini's form.
    #[serde(borrow, rename = "inlineData")]
    inline: Option<AnySource<'a>>,
    /// Bedrock's form.
    #[serde(borrow)]
    image: Option<Sourced<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Sourced<'a> {
    #[serde(borrow)]
    source: Option<AnySource<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AnySource<'a> {
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    bytes: Option<Cow<'a, str>>,
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

/// The image as the dialect accepts it. `None` if the block is unreadable, has a type that providers refuse, is too
/// large, or is an address where the dialect needs bytes.
fn image<'a>(media: &'a Media, dialect: Dialect) -> Option<Piece<'a>> {
    let block: AnyImage<'a> = serde_json::from_str(&media.raw).ok()?;
    let inner = block.inline.or(block.image.and_then(|image| image.source));
    let source = block.source.or(inner).unwrap_or_default();
    let url = block.image_url.map(|url| match url {
        AnyUrl::Plain(url) | AnyUrl::Wrapped { url } => url,
    });
    let data = match (block.data.or(source.data).or(source.bytes), url.or(source.url)) {
        (Some(data), _) => data,
        (None, Some(url)) => match data_of(&url) {
            Some(data) => Cow::Owned(data.to_owned()),
            None => return address(url, dialect),
        },
        (None, None) => return None,
    };
    let limits = limits(dialect);
    if data.len() > limits.bytes || !is_base64(&data) {
        return None;
    }
    let mime = mime_of(&data).filter(|mime| dialect != Dialect::Gemini || *mime != "image/gif")?;
    let image = Piece::Image { mime, data };
    longest_side(&image, media).is_none_or(|side| side <= limits.side).then_some(image)
}

/// Most characters of a name or an address in a note.
const NAME_CHARS: usize = 200;

/// Where a medium is that a host keeps outside of its transcript.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Elsewhere<'a> {
    #[serde(borrow, rename = "fileName")]
    file_name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    url: Option<Cow<'a, str>>,
}

/// The name and the address of a medium that is kept elsewhere, for a note; each on one line, and never bytes.
fn elsewhere(media: &Media) -> impl Iterator<Item = String> {
    let Elsewhere { file_name, url } = serde_json::from_str(&media.raw).unwrap_or_default();
    let is_shown = |text: &Cow<'_, str>| {
        !text.starts_with("data:")
            && text.chars().count() <= NAME_CHARS
            && !text.contains(|c: char| c.is_control() || matches!(c, '[' | ']'))
    };
    [file_name, url]
        .into_iter()
        .flatten()
        .filter(is_shown)
        .map(Cow::into_owned)
        .collect::<Vec<_>>()
        .into_iter()
}

/// A visible note in place of a medium: `[image: image/png 640x480]`, and where it is if its host keeps it elsewhere.
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
    for part in elsewhere(media) {
        text.extend([", ", &part]);
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
        Dialect::Pi | Dialect::Gemini | Dialect::BedrockConverse => false,
    };
    (taken && fits).then_some(Piece::ImageUrl(url))
}

/// Whether text is base64 in the standard alphabet, padded, not empty.
fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty()
        && data.len().is_multiple_of(4)
        && data.len() - body.len() <= 2
        && body.bytes().all(legal)
}

/// The type that the bytes show, whatever the host's label: Anthropic refuses a wrong label.
fn mime_of(data: &str) -> Option<&'static str> {
    const STARTS: [(&str, &str); 4] = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGOD", "image/gif"),
        ("UklGR", "image/webp"),
    ];
    STARTS.iter().find(|(start, _)| data.starts_with(start)).map(|(_, mime)| *mime)
}
