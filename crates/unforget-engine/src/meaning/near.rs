//! How near entries are to a query, for a search.

use std::iter::Peekable;

use unforget_recall::meaning::{CODE_BYTES, CodedQuery, Nearness};
use unforget_recall::source::PostingSource as _;
use unforget_store::Conversation;

use super::MeaningReceipt;
use super::coverage::{VectorHead, VectorHeads};
use crate::index::{Corpus, CorpusDocument};
use crate::{Engine, EngineError};

/// What a search knows of meaning.
#[derive(Default)]
pub(crate) struct Meant {
    /// How near the documents are; `None` if the search ranks by words alone.
    pub(crate) nearness: Option<Nearness>,
    /// What the search says; `None` without a model.
    pub(crate) receipt: Option<MeaningReceipt>,
}

impl Engine {
    /// How near the documents of a corpus are to a query. The model is asked only if some entry has a vector.
    ///
    /// Cost: O(vectors), and one call of the model.
    pub(crate) fn meant(
        &self,
        query: &str,
        conversations: &[Conversation],
        corpus: &Corpus<'_>,
    ) -> Result<Meant, EngineError> {
        let Some(model) = self.meaning() else { return Ok(Meant::default()) };
        let mut receipt = MeaningReceipt {
            model: model.name().to_owned(),
            of: corpus.entries(),
            ..MeaningReceipt::default()
        };
        let mut heads = Vec::with_capacity(conversations.len());
        for conversation in conversations {
            heads.push(VectorHeads::read(self.store(), conversation.id, &model)?.ours);
        }
        let known = heads.iter().flatten().find(|one| one.meaning.codes > 0);
        let Some(dimension) = known.map(|one| one.meaning.model.dimension as usize) else {
            receipt.trouble = Some("no entry has a vector yet".to_owned());
            return Ok(Meant { nearness: None, receipt: Some(receipt) });
        };
        let query = match model.query(query, dimension) {
            Ok(vector) => CodedQuery::new(&vector),
            Err(why) => {
                receipt.entries = heads.iter().flatten().map(|one| one.meaning.entries).sum();
                receipt.trouble = Some(why);
                return Ok(Meant { nearness: None, receipt: Some(receipt) });
            }
        };
        let mut nearness = Nearness::none(corpus.docs());
        for (at, (conversation, heads)) in conversations.iter().zip(&heads).enumerate() {
            let mut documents = corpus.documents(at).peekable();
            for one in heads.iter().filter(|one| one.meaning.codes > 0) {
                let block = self.store().block(conversation.id, one.head.number, 0)?;
                if let Err(error) = add(one, &block, &query, &mut documents, &mut nearness) {
                    receipt.trouble = Some(error);
                }
            }
        }
        receipt.entries = nearness.known();
        let nearness = receipt.trouble.is_none().then_some(nearness);
        Ok(Meant { nearness, receipt: Some(receipt) })
    }
}

/// Adds the vectors of a segment.
fn add(
    one: &VectorHead,
    block: &[u8],
    query: &CodedQuery,
    documents: &mut Peekable<impl Iterator<Item = CorpusDocument>>,
    nearness: &mut Nearness,
) -> Result<(), String> {
    let each = &mut |seq: u64, code: &[u8; CODE_BYTES]| {
        while documents.next_if(|document| document.seq < seq).is_some() {}
        if let Some(document) = documents.peek().filter(|document| document.seq == seq) {
            nearness.add(document.number, query.nearness(code));
        }
    };
    one.meaning.each(one.head.seqs.start, block, each).map_err(|error| error.to_string())
}
