//! A model in this process: a tiny network with weights by a rule, its vectors once computed in double precision by numpy.
use std::fs;
use std::path::Path;
use std::time::Duration;

use unforget_llm::embed::{Embedder, LocalEmbedder, unit_vectors};
use unforget_llm::{Cause, Fault};

const LONG: Duration = Duration::from_mins(1);
const WORDS: [&str; 13] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "sat", "##s", "on", "mat", ".", "dog", "ran"];
const WIDTH: usize = 8;
const INNER: usize = 16;
const LAYERS: usize = 2;
const POSITIONS: usize = 16;

/// Number `at` of the tensor `number`: between -0.5 and 0.5, exact in 32 bits.
fn weight(number: u32, at: u32) -> f32 {
    let mixed =
        (at + 1).wrapping_mul(2_654_435_761).wrapping_add(number.wrapping_mul(40_503).wrapping_mul(65_537));
    let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(2_246_822_519);
    (mixed >> 16) as f32 / 65_536.0 - 0.5
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let embeddings = [
        ("word_embeddings.weight", vec![WORDS.len(), WIDTH]),
        ("position_embeddings.weight", vec![POSITIONS, WIDTH]),
        ("token_type_embeddings.weight", vec![2, WIDTH]),
        ("LayerNorm.weight", vec![WIDTH]),
        ("LayerNorm.bias", vec![WIDTH]),
    ];
    let mut shapes: Vec<_> =
        embeddings.into_iter().map(|(name, shape)| (format!("embeddings.{name}"), shape)).collect();
    for layer in 0..LAYERS {
        let mut add = |name: &str, shape: &[usize]| {
            shapes.push((format!("encoder.layer.{layer}.{name}"), shape.to_vec()));
        };
        for part in ["query", "key", "value"] {
            add(&format!("attention.self.{part}.weight"), &[WIDTH, WIDTH]);
            add(&format!("attention.self.{part}.bias"), &[WIDTH]);
        }
        add("attention.output.dense.weight", &[WIDTH, WIDTH]);
        add("attention.output.dense.bias", &[WIDTH]);
        add("attention.output.LayerNorm.weight", &[WIDTH]);
        add("attention.output.LayerNorm.bias", &[WIDTH]);
        add("intermediate.dense.weight", &[INNER, WIDTH]);
        add("intermediate.dense.bias", &[INNER]);
        add("output.dense.weight", &[WIDTH, INNER]);
        add("output.dense.bias", &[WIDTH]);
        add("output.LayerNorm.weight", &[WIDTH]);
        add("output.LayerNorm.bias", &[WIDTH]);
    }
    shapes
}

/// Writes the model, as Hugging Face lays it out.
fn write(folder: &Path) {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (number, (name, shape)) in (0..).zip(shapes()) {
        let start = data.len();
        for at in 0..shape.iter().product::<usize>() as u32 {
            let value = weight(number, at);
            let value = if name.ends_with("LayerNorm.weight") { 1.0 + value / 2.0 } else { value };
            data.extend(value.to_le_bytes());
        }
        let place = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]});
        header.insert(name, place);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let whole = [&(header.len() as u64).to_le_bytes(), header.as_slice(), data.as_slice()].concat();
    fs::write(folder.join("model.safetensors"), whole).unwrap();
    fs::write(folder.join("vocab.txt"), WORDS.join("\n")).unwrap();
    fs::write(folder.join("config.json"), config().to_string()).unwrap();
}

fn config() -> serde_json::Value {
    serde_json::json!({
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": WIDTH, "num_attention_heads": 2,
        "num_hidden_layers": LAYERS, "intermediate_size": INNER, "max_position_embeddings": POSITIONS,
        "vocab_size": WORDS.len(), "layer_norm_eps": 1e-12,
    })
}

#[test]
fn vectors_are_those_of_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path());
    let model = LocalEmbedder::new(folder.path(), Some("tiny")).unwrap();
    assert!(model.is_local() && model.name().starts_with("tiny#"), "{}", model.name());
    let table = [
        (
            "The cats sat on the mat.",
            10,
            [-0.605_533, -0.288_589, -0.260_008, 0.433_208, 0.253_048, -0.187_486, 0.222_248, 0.382_354],
        ),
        (
            "dog",
            3,
            [-0.571_147, -0.210_357, -0.224_668, 0.641_234, 0.328_882, -0.212_947, 0.002_22, 0.119_87],
        ),
        (
            "zebra ran",
            4,
            [-0.544_194, -0.321_815, -0.270_125, 0.480_123, 0.339_083, -0.213_669, 0.129_891, 0.345_397],
        ),
    ];
    for (text, tokens, want) in table {
        let made = unit_vectors(&model, &[text], Some(WIDTH), LONG).unwrap();
        assert_eq!(made.tokens, Some(tokens), "{text}");
        for (found, want) in made.vectors[0].iter().zip(want) {
            assert!((found - want).abs() < 2e-6, "{text}: {:?}", made.vectors[0]);
        }
    }
    let both = unit_vectors(&model, &["dog", "zebra ran"], None, LONG).unwrap();
    let alone = unit_vectors(&model, &["zebra ran"], None, LONG).unwrap();
    assert_eq!(both.vectors[1], alone.vectors[0], "a text has the same vector in any company");
    let long = unit_vectors(&model, &["cat ".repeat(5000).as_str()], None, LONG).unwrap();
    assert_eq!(long.tokens, Some(POSITIONS as u64), "what is too long is cut off");
    let late = unit_vectors(&model, &["dog"], None, Duration::ZERO).unwrap_err();
    assert_eq!(late.cause, Cause::Timeout);
}

#[test]
fn a_broken_model_is_told_with_its_file() {
    let loaded = |spoil: &dyn Fn(&Path)| -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path());
        spoil(folder.path());
        let model = LocalEmbedder::new(folder.path(), None).map_err(|error| error.to_string())?;
        unit_vectors(&model, &["dog"], None, LONG).map_err(|fault: Fault| fault.to_string())?;
        Ok(())
    };
    let set = |name: &'static str, value: serde_json::Value| {
        move |folder: &Path| {
            let mut config = config();
            config[name] = value.clone();
            fs::write(folder.join("config.json"), config.to_string()).unwrap();
        }
    };
    loaded(&|_| ()).unwrap();
    let cut = |folder: &Path| {
        let path = folder.join("model.safetensors");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    };
    #[allow(clippy::type_complexity, reason = "a table")]
    let table: [(&dyn Fn(&Path), &str); 9] = [
        (&|folder| fs::remove_file(folder.join("vocab.txt")).unwrap(), "vocab.txt"),
        (&|folder| fs::remove_file(folder.join("model.safetensors")).unwrap(), "model.safetensors"),
        (&|folder| fs::write(folder.join("vocab.txt"), "a\nb").unwrap(), "[UNK]"),
        (&|folder| fs::write(folder.join("config.json"), "{").unwrap(), "config.json"),
        (&cut, "ends behind the end"),
        (&set("model_type", "llama".into()), "model_type"),
        (&set("hidden_size", 16.into()), "shape"),
        (&set("num_hidden_layers", 3.into()), "encoder.layer.2"),
        (&set("num_attention_heads", 3.into()), "multiple"),
    ];
    for (spoil, want) in table {
        let told = loaded(spoil).unwrap_err();
        assert!(told.contains(want), "{want}: {told}");
    }
}
