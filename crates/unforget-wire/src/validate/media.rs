//! The rules for images, alone and together.

use super::found::FoundViolations;
use crate::dialect::Dialect;
use crate::pixels;

/// The images of a body so far.
#[derive(Default)]
pub(super) struct Seen {
    count: usize,
    longest_side: u32,
}

impl FoundViolations {
    /// Checks an image's bytes: base64, of an accepted type that matches the label, not too large.
    pub(super) fn image(&mut self, label: &str, data: &str, place: &str) {
        let dialect = self.dialect();
        let megabytes = match dialect {
            Dialect::Anthropic | Dialect::Pi | Dialect::BedrockConverse => 5,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => 20,
            Dialect::Gemini => 9,
        };
        let start: &str = data.get(..16).unwrap_or(data);
        let real = match start {
            start if start.starts_with("iVBORw0KGgo") => "image/png",
            start if start.starts_with("/9j/") => "image/jpeg",
            start if start.starts_with("R0lGOD") && dialect != Dialect::Gemini => "image/gif",
            start if start.starts_with("UklGR") => "image/webp",
            _ => "",
        };
        let pad = data.bytes().rev().take_while(|byte| *byte == b'=').count();
        let body = data.as_bytes().get(..data.len() - pad).unwrap_or_default();
        let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
        let whole = !body.is_empty() && pad < 3 && data.len().is_multiple_of(4) && body.iter().all(base64);
        self.want(whole, "image-shape", place, "image data is no base64");
        let labelled = !real.is_empty() && real == label;
        self.want(labelled, "image-type", place, "image type is refused or not what the label says");
        self.want(data.len() <= megabytes * 1024 * 1024, "image-size", place, "image is too large");
        let side = pixels::of_base64(data).map_or(0, |(width, height)| width.max(height));
        self.want(side <= 8_000, "image-side", place, "image is wider or higher than 8000 pixels");
        self.media.longest_side = self.media.longest_side.max(side);
        self.media.count += 1;
    }

    /// Checks an image address by OpenAI's rules: `data:` with base64, or http.
    pub(super) fn image_url(&mut self, url: Option<&str>, place: &str) {
        let Some(url) = url else {
            return self.add("image-shape", place, "image has no address");
        };
        if let Some((label, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            return self.image(label, data, place);
        }
        self.image_elsewhere();
        let web = url.starts_with("https://") || url.starts_with("http://");
        self.want(web, "image-shape", place, "image address is neither data: with base64 nor http");
    }

    /// Counts an image whose bytes are outside the body.
    pub(super) fn image_elsewhere(&mut self) {
        self.media.count += 1;
    }

    /// Checks the limits on all images of the body.
    pub(super) fn media_together(&mut self) {
        let count_max = match self.dialect() {
            Dialect::Anthropic | Dialect::Pi => 100,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => 500,
            Dialect::Gemini => 3_000,
            Dialect::BedrockConverse => 20,
        };
        let Seen { count, longest_side } = self.media;
        self.want(count <= count_max, "image-count", "", "too many images");
        let small = count <= 20 || longest_side <= 2_000;
        self.want(small, "image-side-many", "", "more than 20 images, one above 2000 pixels");
    }
}
