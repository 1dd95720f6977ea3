//! A request as items of OpenAI Responses: those that are sent whole as they are stored, the rest rendered.

use unforget_core::entry::Part;
use unforget_core::id::Seq;
use unforget_core::message::{Block, Message};
use unforget_core::pair::is_blank;
use unforget_wire::{Target, render_message, whole_item};

use super::{StoredMessage, split, take};

/// What an item is, as far as its neighbours care; outputs go first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ItemKind {
    Output,
    Other,
    /// Means something only in front of what it led to.
    Reasoning,
}

/// Items of one message, with the place of their first block in it.
struct PlacedItems {
    kind: ItemKind,
    at: usize,
    items: Vec<String>,
}

/// The items of one message, in the order of its blocks.
pub(super) fn items(
    message: &Message,
    target: Target,
    stored: &dyn Fn(Seq) -> Option<StoredMessage>,
) -> Vec<String> {
    let mut left: Vec<Option<&Block>> = message.blocks.iter().map(Some).collect();
    let mut placed = Vec::new();
    for (text, entry) in message.seqs.iter().filter_map(|seq| stored(*seq)) {
        let Some(item) = whole_item(&text, &entry, target, message.model.as_deref()) else { continue };
        if let Some(at) = take(&mut left, &entry) {
            let kind = match entry.parts.first() {
                Some(Part::ToolResult(_)) => ItemKind::Output,
                Some(Part::Thinking { .. }) => ItemKind::Reasoning,
                _ => ItemKind::Other,
            };
            placed.push(PlacedItems { kind, at, items: vec![item] });
        }
    }
    if placed.is_empty() {
        return split(&render_message(message, target));
    }
    for (at, blocks) in runs(&left) {
        if blocks.iter().any(says_something) {
            let kind = if blocks.iter().all(is_result) { ItemKind::Output } else { ItemKind::Other };
            let part = Message { blocks, ..message.clone() };
            placed.push(PlacedItems { kind, at, items: split(&render_message(&part, target)) });
        }
    }
    placed.sort_by_key(|placed| (placed.kind != ItemKind::Output, placed.at));
    while placed.last().is_some_and(|last| last.kind == ItemKind::Reasoning) {
        placed.pop();
    }
    if placed.is_empty() {
        return split(&render_message(message, target));
    }
    placed.into_iter().flat_map(|placed| placed.items).collect()
}

/// Neighbouring blocks that are left, results apart from others.
fn runs(left: &[Option<&Block>]) -> Vec<(usize, Vec<Block>)> {
    let mut runs: Vec<(usize, Vec<Block>)> = Vec::new();
    for (at, block) in left.iter().enumerate() {
        let Some(block) = block else { continue };
        match runs.last_mut() {
            Some((first, blocks))
                if *first + blocks.len() == at && blocks.iter().all(is_result) == is_result(block) =>
            {
                blocks.push((*block).clone());
            }
            _ => runs.push((at, vec![(*block).clone()])),
        }
    }
    runs
}

const fn is_result(block: &Block) -> bool {
    matches!(block, Block::Result(_) | Block::Part(Part::ToolResult(_)))
}

/// Whether the renderer makes more of a block than something in place of nothing. Reasoning and opaque blocks that it
/// takes are whole items.
fn says_something(block: &Block) -> bool {
    match block {
        Block::Part(Part::Thinking { .. } | Part::Opaque { .. }) => false,
        Block::Part(part) => !is_blank(part),
        Block::Ours(_) | Block::Call(_) | Block::Result(_) => true,
    }
}
