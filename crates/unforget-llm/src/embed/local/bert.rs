//! The forward pass of a small BERT: pieces of a text to one vector.

use fearless_simd::Level;
use serde_json::Value;

use super::LocalError;
use super::matrix::{Interleaved, NormBy, Packed, add_bias, gelu, multiply, normalise, softmax};
use super::tensors::{Tensor, Tensors};

/// Most layers, width and positions of a network that is loaded: beyond them it is no small one, or its settings are wrong.
const LAYERS_MAX: usize = 48;
const WIDTH_MAX: usize = 4096;
const POSITIONS_MAX: usize = 8192;

/// The sizes of a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sizes {
    /// Length of a vector.
    pub(super) width: usize,
    heads: usize,
    layers: usize,
    /// Length of the vectors inside a layer.
    inner: usize,
    /// Most pieces of a text.
    pub(super) positions: usize,
    /// Pieces of the vocabulary.
    pub(super) vocabulary: usize,
    epsilon: f32,
}

impl Sizes {
    /// The sizes in a `config.json`.
    ///
    /// # Errors
    /// What is wrong.
    pub(super) fn of(config: &Value) -> Result<Self, String> {
        let size = |name: &str, most: usize| {
            let size = config.get(name).and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
            size.filter(|size| (1..=most).contains(size))
                .ok_or_else(|| format!("{name} is not between 1 and {most}"))
        };
        match config.get("model_type").and_then(Value::as_str) {
            Some("bert") => {}
            other => return Err(format!("model_type is {other:?} and not \"bert\"")),
        }
        match config.get("hidden_act").and_then(Value::as_str) {
            Some("gelu") => {}
            other => return Err(format!("hidden_act is {other:?} and not \"gelu\"")),
        }
        let sizes = Self {
            width: size("hidden_size", WIDTH_MAX)?,
            heads: size("num_attention_heads", WIDTH_MAX)?,
            layers: size("num_hidden_layers", LAYERS_MAX)?,
            inner: size("intermediate_size", 4 * WIDTH_MAX)?,
            positions: size("max_position_embeddings", POSITIONS_MAX)?,
            vocabulary: size("vocab_size", 1 << 20)?,
            epsilon: config.get("layer_norm_eps").and_then(Value::as_f64).unwrap_or(1e-12) as f32,
        };
        if sizes.width.is_multiple_of(sizes.heads) {
            Ok(sizes)
        } else {
            Err(format!("hidden_size {} is no multiple of num_attention_heads {}", sizes.width, sizes.heads))
        }
    }
}

/// A matrix with its bias.
struct Dense {
    weights: Packed,
    bias: Vec<f32>,
}

/// Scale and shift after a normalisation.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

struct Layer {
    /// Queries, keys and values, side by side.
    asked: Dense,
    attended: Dense,
    attended_norm: Norm,
    inner: Dense,
    outer: Dense,
    outer_norm: Norm,
}

/// A network. The vectors of its words stay in the file.
pub(super) struct Bert {
    sizes: Sizes,
    tensors: Tensors,
    words: Tensor,
    /// Vectors of the positions, each with that of the only type of text that is used.
    positions: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    level: Level,
}

/// Memory of a pass, used again.
#[derive(Default)]
struct Scratch {
    interleaved: Interleaved,
    asked: Vec<f32>,
    attended: Vec<f32>,
    inner: Vec<f32>,
    out: Vec<f32>,
    head: HeadScratch,
}

#[derive(Default)]
struct HeadScratch {
    queries: Vec<f32>,
    keys: Vec<f32>,
    values: Vec<f32>,
    shares: Vec<f32>,
    out: Vec<f32>,
}

impl Bert {
    /// Reads a network.
    ///
    /// Cost: all numbers but those of the words are read once.
    ///
    /// # Errors
    /// [`LocalError`] if a tensor is missing or has another shape.
    pub(super) fn new(sizes: Sizes, tensors: Tensors) -> Result<Self, LocalError> {
        let Sizes { width, positions, vocabulary, .. } = sizes;
        let words = tensors.find("embeddings.word_embeddings.weight")?.clone();
        if words.shape != [vocabulary, width] {
            return Err(tensors.wrong(format!(
                "the words have the shape {:?}, not {:?}",
                words.shape,
                [vocabulary, width]
            )));
        }
        let mut places = tensors.read("embeddings.position_embeddings.weight", &[positions, width])?;
        let types = tensors.find("embeddings.token_type_embeddings.weight")?.clone();
        if types.shape.get(1) != Some(&width) || types.shape.first() == Some(&0) {
            return Err(tensors.wrong(format!("the types of texts have the shape {:?}", types.shape)));
        }
        let mut first = Vec::new();
        tensors.numbers(&types, 0, width, &mut first)?;
        add_bias(&mut places, &first);
        let norm = Norm::read(&tensors, "embeddings.LayerNorm", width)?;
        let layers = (0..sizes.layers)
            .map(|number| Layer::read(&tensors, number, &sizes))
            .collect::<Result<_, _>>()?;
        Ok(Self { sizes, tensors, words, positions: places, norm, layers, level: Level::new() })
    }

    pub(super) const fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The vectors of all pieces after the last layer, one after another.
    ///
    /// * `pieces` - at most as many as the network has positions.
    ///
    /// # Errors
    /// [`LocalError`] if the vector of a word cannot be read.
    pub(super) fn forward(&self, pieces: &[u32]) -> Result<Vec<f32>, LocalError> {
        let width = self.sizes.width;
        let mut rows = Vec::with_capacity(pieces.len() * width);
        for piece in pieces.iter().take(self.sizes.positions) {
            let number = (*piece as usize).min(self.sizes.vocabulary - 1);
            self.tensors.numbers(&self.words, number * width, width, &mut rows)?;
        }
        rows.iter_mut().zip(&self.positions).for_each(|(value, place)| *value += place);
        normalise(self.level, &mut rows, self.norm.by(self.sizes.epsilon));
        let mut scratch = Scratch::default();
        for layer in &self.layers {
            self.layer(layer, &mut rows, &mut scratch);
        }
        Ok(rows)
    }

    fn layer(&self, layer: &Layer, rows: &mut [f32], scratch: &mut Scratch) {
        let (level, epsilon) = (self.level, self.sizes.epsilon);
        layer.asked.apply(level, rows, &mut scratch.interleaved, &mut scratch.asked);
        scratch.attended.clear();
        scratch.attended.resize(rows.len(), 0.0);
        for number in 0..self.sizes.heads {
            self.head(number, scratch);
        }
        let Scratch { interleaved, attended, inner, out, .. } = scratch;
        layer.attended.apply(level, attended, interleaved, out);
        add(rows, out);
        normalise(level, rows, layer.attended_norm.by(epsilon));
        layer.inner.apply(level, rows, interleaved, inner);
        gelu(level, inner);
        layer.outer.apply(level, inner, interleaved, out);
        add(rows, out);
        normalise(level, rows, layer.outer_norm.by(epsilon));
    }

    /// The attention of one head.
    fn head(&self, number: usize, scratch: &mut Scratch) {
        let (width, size) = (self.sizes.width, self.sizes.width / self.sizes.heads);
        let Scratch { interleaved, asked, attended, head, .. } = scratch;
        let count = asked.len() / (3 * width);
        let HeadScratch { queries, keys, values, shares, out } = head;
        for list in [&mut *queries, &mut *keys, &mut *values] {
            list.clear();
        }
        values.resize(count * size, 0.0);
        for (place, row) in asked.chunks_exact(3 * width).enumerate() {
            let part =
                |third: usize| row.get(third * width + number * size..).and_then(|rest| rest.get(..size));
            queries.extend_from_slice(part(0).unwrap_or_default());
            keys.extend_from_slice(part(1).unwrap_or_default());
            // A row for each number of a value, since a product takes the weights of each result in a row.
            let slots = values.get_mut(place..).unwrap_or_default().iter_mut().step_by(count.max(1));
            slots.zip(part(2).unwrap_or_default()).for_each(|(slot, value)| *slot = *value);
        }
        multiply(self.level, queries, &Packed::new(keys, size, count), interleaved, shares);
        softmax(self.level, shares, count, 1.0 / (size as f32).sqrt());
        multiply(self.level, shares, &Packed::new(values, count, size), interleaved, out);
        for (row, found) in attended.chunks_exact_mut(width).zip(out.chunks_exact(size)) {
            let slots = row.get_mut(number * size..).unwrap_or_default();
            slots.iter_mut().zip(found).for_each(|(slot, value)| *slot = *value);
        }
    }
}

impl Layer {
    fn read(tensors: &Tensors, number: usize, sizes: &Sizes) -> Result<Self, LocalError> {
        let Sizes { width, inner, .. } = *sizes;
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let name = name(&format!("attention.self.{part}"));
            weights.extend(tensors.read(&format!("{name}.weight"), &[width, width])?);
            bias.extend(tensors.read(&format!("{name}.bias"), &[width])?);
        }
        Ok(Self {
            asked: Dense { weights: Packed::new(&weights, width, 3 * width), bias },
            attended: Dense::read(tensors, &name("attention.output.dense"), width, width)?,
            attended_norm: Norm::read(tensors, &name("attention.output.LayerNorm"), width)?,
            inner: Dense::read(tensors, &name("intermediate.dense"), width, inner)?,
            outer: Dense::read(tensors, &name("output.dense"), inner, width)?,
            outer_norm: Norm::read(tensors, &name("output.LayerNorm"), width)?,
        })
    }
}

impl Dense {
    fn read(tensors: &Tensors, name: &str, inputs: usize, outputs: usize) -> Result<Self, LocalError> {
        let weights = tensors.read(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = tensors.read(&format!("{name}.bias"), &[outputs])?;
        Ok(Self { weights: Packed::new(&weights, inputs, outputs), bias })
    }

    fn apply(&self, level: Level, rows: &[f32], interleaved: &mut Interleaved, out: &mut Vec<f32>) {
        multiply(level, rows, &self.weights, interleaved, out);
        add_bias(out, &self.bias);
    }
}

impl Norm {
    fn read(tensors: &Tensors, name: &str, width: usize) -> Result<Self, LocalError> {
        let scale = tensors.read(&format!("{name}.weight"), &[width])?;
        Ok(Self { scale, shift: tensors.read(&format!("{name}.bias"), &[width])? })
    }

    fn by(&self, epsilon: f32) -> NormBy<'_> {
        NormBy { scale: &self.scale, shift: &self.shift, epsilon }
    }
}

/// Adds what a layer found to its input.
fn add(rows: &mut [f32], found: &[f32]) {
    rows.iter_mut().zip(found).for_each(|(value, found)| *value += found);
}
