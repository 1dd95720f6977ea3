//! How near entries are to a query, for a search.

use std::iter::Peekable;

use unforget_recall::meaning::{CODE_BYTES, CodedQuery, Nearness};
use unforget_recall::source::PostingSource as _;
use unforget_store::Conversation;

use super::charge::Charge;
use super::coverage::{LengthConflict, VectorHead, VectorHeads};
use super::{MeaningModel, MeaningReceipt};
use crate::index::{Corpus, CorpusDocument};
use crate::meaning_model::QueryVector;
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
        let heads: Vec<VectorHeads> =
            (0..conversations.len()).map(|at| VectorHeads::of(corpus.meaning_heads(at), &model)).collect();
        receipt.entries = heads.iter().flat_map(|one| &one.ours).map(|one| one.meaning.entries).sum();
        if heads.iter().all(|one| one.dimension().is_none()) {
            receipt.trouble = Some("no entry has a vector yet".to_owned());
            return Ok(Meant { nearness: None, receipt: Some(receipt) });
        }
        let vector = match self.query_vector(&model, query, conversations) {
            Ok(vector) => vector,
            Err(why) => {
                receipt.trouble = Some(why);
                return Ok(Meant { nearness: None, receipt: Some(receipt) });
            }
        };
        let made = vector.len() as u32;
        let mut stored = heads.iter().flat_map(|one| &one.ours).filter(|one| one.meaning.codes > 0);
        if let Some(other) = stored.find(|one| one.meaning.model.dimension != made) {
            let stored = other.meaning.model.dimension;
            let conflict = LengthConflict { model: model.name().to_owned(), stored, made };
            receipt.trouble = Some(conflict.to_string());
            return Ok(Meant { nearness: None, receipt: Some(receipt) });
        }
        let query = CodedQuery::new(&vector);
        let mut nearness = Nearness::none(corpus.docs());
        for (at, (conversation, heads)) in conversations.iter().zip(&heads).enumerate() {
            let mut documents = corpus.documents(at).peekable();
            for one in heads.ours.iter().filter(|one| one.meaning.codes > 0) {
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

    /// The vector of a query, charged to the newest of the conversations; or why there is none, for a person.
    fn query_vector(
        &self,
        model: &MeaningModel,
        query: &str,
        conversations: &[Conversation],
    ) -> Result<Vec<f32>, String> {
        if let Some(known) = model.known_query(query) {
            return known;
        }
        let newest = conversations.iter().max_by_key(|one| (one.time.map(|(_, last)| last), one.id));
        let Some(newest) = newest else { return Err("no conversation is searched".to_owned()) };
        let sent = model.sent_query(query);
        let charge = Charge::of(model, std::slice::from_ref(&sent), 1, model.now());
        match charge.is_taken(self, model, newest.id) {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("the spending limit of this hour is reached for {}", newest.key));
            }
            // On a full disk, words still rank.
            Err(error) => return Err(format!("the cost of the query cannot be counted: {error}")),
        }
        match model.ask_query(query, &sent) {
            Ok(QueryVector { vector, tokens }) => {
                // Where nothing can be given back, the query counts for more than it cost.
                charge.settle(self, newest.id, 1, tokens).ok();
                Ok(vector)
            }
            Err(why) => Err(why),
        }
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
