//! Finds the place of a refused image in the request.

/// Message and block of `messages.7.content.2.image.source.base64: …`; only if the path names an image or a
/// document.
pub(super) fn place(message: &str) -> Option<(u32, u32)> {
    let path = message.split_once(": ")?.0;
    let mut steps = path.split('.');
    if path.contains(' ') || steps.next() != Some("messages") {
        return None;
    }
    let message = steps.next()?.parse().ok()?;
    let block = steps.next().filter(|step| *step == "content").and_then(|_| steps.next())?.parse().ok()?;
    steps.any(|step| matches!(step, "image" | "document")).then_some((message, block))
}

/// Message and block of a parameter such as `messages[3].content[1].image_url`.
pub(super) fn param_place(param: &str) -> Option<(u32, u32)> {
    let rest = param.strip_prefix("messages[").or_else(|| param.strip_prefix("input["))?;
    let (message, rest) = rest.split_once("].content[")?;
    let (block, _) = rest.split_once(']')?;
    Some((message.parse().ok()?, block.parse().ok()?))
}
