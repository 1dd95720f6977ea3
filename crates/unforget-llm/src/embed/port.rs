//! The port: texts to vectors.

use std::time::Duration;

use crate::fault::{Account, Cause, Fault};

/// Most numbers of a vector that is taken.
pub const DIMENSION_MAX: usize = 8192;

/// What a model made of some texts, as it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    /// A vector for each text, in the order of the texts.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of the texts by the model's count, if it counts.
    pub tokens: Option<u64>,
}

/// A model that turns texts into vectors: texts that mean nearly the same get vectors in nearly the same direction.
///
/// Vectors of two models say nothing about each other, so what is stored of a vector belongs to the name and the length
/// of its model.
pub trait Embedder: Send + Sync {
    /// The account whose calls these are.
    fn account(&self) -> &Account;

    /// The name of the model: equal names mean comparable vectors.
    fn name(&self) -> &str;

    /// Whether the model runs in this process: nothing leaves it, and nothing is paid.
    fn is_local(&self) -> bool {
        false
    }

    /// Makes one call and waits for its end, without retries. The answer is taken as it comes: see [`unit_vectors`].
    ///
    /// # Errors
    /// [`Fault`] if there is no answer. The call returns within `within`, but for the time of one text.
    fn embed(&self, texts: &[&str], within: Duration) -> Result<Embedded, Fault>;
}

/// Calls a model and checks its answer: a vector for each text, all of one length, of numbers, and not all 0. They are
/// returned with length 1.
///
/// * `dimension` - the length that the vectors must have, if it is known.
///
/// # Errors
/// The model's, and [`Cause::BadAnswer`] with the place of what is wrong.
pub fn unit_vectors(
    embedder: &dyn Embedder,
    texts: &[&str],
    dimension: Option<usize>,
    within: Duration,
) -> Result<Embedded, Fault> {
    let mut embedded = embedder.embed(texts, within)?;
    let bad =
        |place: String| Fault::told(Cause::BadAnswer { place }, embedder.account(), embedder.name(), "");
    let (found, wanted) = (embedded.vectors.len(), texts.len());
    if found != wanted {
        return Err(bad(format!("its vectors: {found} for {wanted} texts")));
    }
    let first = embedded.vectors.first().map_or(0, Vec::len);
    let length = dimension.unwrap_or(first);
    for (number, vector) in embedded.vectors.iter_mut().enumerate() {
        if vector.len() != length || !(1..=DIMENSION_MAX).contains(&length) {
            let found = vector.len();
            return Err(bad(format!("vector {number}, which has {found} numbers instead of {length}")));
        }
        let square: f64 = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
        if !square.is_finite() || square <= 0.0 {
            return Err(bad(format!("vector {number}, which has no direction")));
        }
        let by = 1.0 / square.sqrt();
        for value in vector.iter_mut() {
            *value = (f64::from(*value) * by) as f32;
        }
    }
    Ok(embedded)
}
