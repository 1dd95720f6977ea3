//! Files with named tensors, in the safetensors format: the length of a JSON header, the header, the numbers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::LocalError;

/// Most bytes of a header.
const HEADER_BYTES_MAX: u64 = 16 << 20;

/// An open file with tensors.
pub(super) struct Tensors {
    path: PathBuf,
    file: Mutex<File>,
    /// Place of the numbers in the file.
    start: u64,
    by_name: HashMap<String, Tensor>,
    /// The header as it stands in the file.
    header: Vec<u8>,
    /// Bytes of the whole file.
    bytes: u64,
}

/// Places, evenly spread, and bytes at each that stand for the numbers of a file.
const SAMPLES: u64 = 16;
const SAMPLE_BYTES: u64 = 4 << 10;

/// Where the numbers of a tensor are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    kind: NumberKind,
    pub(super) shape: Vec<usize>,
    /// First byte, from the start of the numbers.
    from: u64,
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKind {
    F32,
    F16,
    Bf16,
}

impl NumberKind {
    const fn bytes(self) -> u64 {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

impl Tensors {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// [`LocalError`] if the file cannot be read, or is not whole.
    pub(super) fn open(path: &Path) -> Result<Self, LocalError> {
        let unread = |source| LocalError::Unread { path: path.to_path_buf(), source };
        let wrong = |what: String| LocalError::Wrong { path: path.to_path_buf(), what };
        let mut file = File::open(path).map_err(unread)?;
        let bytes = file.metadata().map_err(unread)?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(unread)?;
        let length = u64::from_le_bytes(length);
        if length > HEADER_BYTES_MAX || length > bytes.saturating_sub(8) {
            return Err(wrong(format!("its header cannot have {length} bytes: it is no safetensors file")));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(unread)?;
        let fields: HashMap<String, Value> =
            serde_json::from_slice(&header).map_err(|error| wrong(format!("its header: {error}")))?;
        let start = 8 + length;
        let mut tensors = HashMap::new();
        for (name, value) in fields.into_iter().filter(|(name, _)| name != "__metadata__") {
            // Tensors of other kinds, such as numbers of positions, are not needed.
            let Some(tensor) = tensor(&value).map_err(|what| wrong(format!("{name}: {what}")))? else {
                continue;
            };
            let end = tensor.from.checked_add(tensor.bytes());
            if end.is_none_or(|end| end > bytes - start) {
                return Err(wrong(format!("{name} ends behind the end of the file: it is not whole")));
            }
            tensors.insert(name, tensor);
        }
        Ok(Self { path: path.to_path_buf(), file: Mutex::new(file), start, by_name: tensors, header, bytes })
    }

    /// The header and numbers from all over the file: what tells this file from others.
    pub(super) fn sample(&self) -> Result<Vec<u8>, LocalError> {
        let mut sample = self.header.clone();
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let step = (self.bytes.saturating_sub(self.start) / SAMPLES).max(1);
        for number in 0..SAMPLES {
            let from = (self.start + number * step).min(self.bytes);
            let read = file
                .seek(SeekFrom::Start(from))
                .and_then(|_| file.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample));
            read.map_err(|source| LocalError::Unread { path: self.path.clone(), source })?;
        }
        drop(file);
        Ok(sample)
    }

    /// A tensor by its name, with or without one of the usual prefixes.
    pub(super) fn find(&self, name: &str) -> Result<&Tensor, LocalError> {
        let names = [
            name.to_owned(),
            format!("bert.{name}"),
            format!("model.{name}"),
            format!("0.auto_model.{name}"),
        ];
        let found = names.iter().find_map(|name| self.by_name.get(name));
        found.ok_or_else(|| self.wrong(format!("there is no tensor {name}")))
    }

    /// The numbers of a tensor of this shape.
    pub(super) fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LocalError> {
        let tensor = self.find(name)?;
        if tensor.shape != shape {
            return Err(self.wrong(format!("{name} has the shape {:?} and not {shape:?}", tensor.shape)));
        }
        let mut out = Vec::new();
        self.numbers(tensor, 0, tensor.count(), &mut out)?;
        Ok(out)
    }

    /// Appends some numbers of a tensor, from a place on.
    pub(super) fn numbers(
        &self,
        tensor: &Tensor,
        from: usize,
        count: usize,
        out: &mut Vec<f32>,
    ) -> Result<(), LocalError> {
        let size = tensor.kind.bytes();
        let mut bytes = vec![0; count * size as usize];
        {
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            let place = self.start + tensor.from + from as u64 * size;
            let read = file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(&mut bytes));
            read.map_err(|source| LocalError::Unread { path: self.path.clone(), source })?;
        }
        match tensor.kind {
            NumberKind::F32 => {
                out.extend(bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            NumberKind::F16 => {
                out.extend(bytes.as_chunks::<2>().0.iter().map(|bytes| half(u16::from_le_bytes(*bytes))));
            }
            NumberKind::Bf16 => {
                let number = |bytes: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*bytes)) << 16);
                out.extend(bytes.as_chunks::<2>().0.iter().map(number));
            }
        }
        Ok(())
    }

    pub(super) fn wrong(&self, what: String) -> LocalError {
        LocalError::Wrong { path: self.path.clone(), what }
    }
}

impl Tensor {
    /// How many numbers there are.
    fn count(&self) -> usize {
        self.shape.iter().product()
    }

    fn bytes(&self) -> u64 {
        (self.count() as u64).saturating_mul(self.kind.bytes())
    }
}

/// A tensor from its description; `None` if its numbers are of no kind that is needed.
fn tensor(value: &Value) -> Result<Option<Tensor>, String> {
    let kind = match value.get("dtype").and_then(Value::as_str) {
        Some("F32") => NumberKind::F32,
        Some("F16") => NumberKind::F16,
        Some("BF16") => NumberKind::Bf16,
        Some(_) => return Ok(None),
        None => return Err("no dtype".to_owned()),
    };
    let number = |value: &Value| value.as_u64();
    let shape: Option<Vec<u64>> =
        value.get("shape").and_then(Value::as_array).and_then(|all| all.iter().map(number).collect());
    let shape = shape.ok_or("its shape is no list of numbers")?;
    let offsets: Option<Vec<u64>> =
        value.get("data_offsets").and_then(Value::as_array).and_then(|all| all.iter().map(number).collect());
    let Some(&[from, end]) = offsets.as_deref() else {
        return Err("its data_offsets are not two numbers".to_owned());
    };
    let bytes = shape.iter().try_fold(kind.bytes(), |bytes, length| bytes.checked_mul(*length));
    if bytes != end.checked_sub(from) {
        return Err(format!("its shape {shape:?} does not fit its bytes {from} to {end}"));
    }
    let shape = shape.into_iter().map(|length| length as usize).collect();
    Ok(Some(Tensor { kind, shape, from }))
}

/// A number of 16 bits, as IEEE 754 has it.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) =
        (u32::from(bits >> 15), u32::from(bits >> 10) & 31, u32::from(bits) & 1023);
    let size = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 => f32::from_bits(0x7F80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    if sign == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn halves_table() {
        let table =
            [(0x3C00, 1.0), (0xC000, -2.0), (0x3555, 0.333_251_95), (0x0001, 5.960_464_5e-8), (0, 0.0)];
        for (bits, want) in table {
            assert!((half(bits) - want).abs() < 1e-12, "{bits:x}");
        }
        assert!(half(0x7C00).is_infinite() && half(0x7C01).is_nan());
    }

    #[test]
    fn hostile_files_are_refused_with_their_place() {
        let with = |header: &str, numbers: usize| {
            let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
            bytes.extend(header.as_bytes());
            bytes.resize(bytes.len() + numbers, 0);
            bytes
        };
        let one = r#"{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}"#;
        let table: [(Vec<u8>, &str, &str); 8] = [
            (with(one, 16), "", "whole"),
            (with(one, 15), "a ends behind", "cut off"),
            (b"{}".to_vec(), "", "shorter than a length"),
            (u64::MAX.to_le_bytes().to_vec(), "its header cannot have", "a length beyond the file"),
            (with("{", 0), "its header", "no JSON"),
            (with(&one.replace("16]", "12]"), 16), "does not fit", "shape and bytes differ"),
            (
                with(&one.replace("[2,2]", "[18446744073709551615,2]"), 16),
                "does not fit",
                "more than there is",
            ),
            (
                with(&one.replace("[0,16]", "[18446744073709551600,18446744073709551615]"), 16),
                "",
                "far behind",
            ),
        ];
        let folder = tempfile::tempdir().unwrap();
        for (number, (bytes, want, why)) in table.into_iter().enumerate() {
            let path = folder.path().join(number.to_string());
            std::fs::write(&path, bytes).unwrap();
            let opened = Tensors::open(&path);
            if number == 0 {
                assert_eq!(opened.unwrap().read("a", &[2, 2]).unwrap(), [0.0; 4]);
                continue;
            }
            let told = opened.err().map(|error| error.to_string()).unwrap();
            assert!(told.contains(want) && told.contains(path.to_str().unwrap()), "{why}: {told}");
        }
    }
}
