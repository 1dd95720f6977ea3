//! Values as stored bytes: numbers take seven bits per byte; texts and lists are preceded by their length.

use std::collections::BTreeMap;

use unforget_core::digest::Digest;
use unforget_core::id::{Seq, Timestamp};

use crate::varint;

/// A value with a stored form.
pub(crate) trait StoredForm: Sized {
    /// Appends the stored form.
    fn put(&self, out: &mut Vec<u8>);
    /// Reads the stored form from the front. `None` for any other bytes.
    fn take(from: &mut &[u8]) -> Option<Self>;
}

impl StoredForm for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        varint::put(out, *self);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        varint::take(from)
    }
}

impl StoredForm for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        u64::from(*self).put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from)?.try_into().ok()
    }
}

impl StoredForm for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        // Zigzag: small numbers of either sign are short.
        ((*self << 1) ^ (*self >> 63)).cast_unsigned().put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let number = u64::take(from)?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

impl StoredForm for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        match u64::take(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl StoredForm for String {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        out.extend_from_slice(self.as_bytes());
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let (text, rest) = from_length(from)?;
        *from = rest;
        Self::from_utf8(text.to_vec()).ok()
    }
}

fn from_length<'a>(from: &mut &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let length = usize::try_from(u64::take(from)?).ok()?;
    from.split_at_checked(length)
}

impl StoredForm for Digest {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        let (digest, rest) = from.split_first_chunk()?;
        *from = rest;
        Some(Self(*digest))
    }
}

impl StoredForm for Seq {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        u64::take(from).map(Self)
    }
}

impl StoredForm for Timestamp {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        i64::take(from).map(Self)
    }
}

impl<T: StoredForm> StoredForm for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(from)? { Some(T::take(from)?) } else { None })
    }
}

impl<T: StoredForm, U: StoredForm> StoredForm for (T, U) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        Some((T::take(from)?, U::take(from)?))
    }
}

impl<T: StoredForm> StoredForm for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for value in self {
            value.put(out);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        // A damaged length must not reserve memory, hence no reservation.
        (0..u64::take(from)?).map(|_| T::take(from)).collect()
    }
}

impl<K: StoredForm + Ord, V: StoredForm> StoredForm for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }
    fn take(from: &mut &[u8]) -> Option<Self> {
        (0..u64::take(from)?).map(|_| <(K, V)>::take(from)).collect()
    }
}

/// Structs: the fields in this order.
macro_rules! fields {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl StoredForm for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                $(let $field = StoredForm::take(from)?;)*
                Some(Self { $($field),* })
            }
        }
    )*};
}

/// Enums without fields: the position in this list.
macro_rules! words {
    ($($name:ident: $($word:ident),*;)*) => {$(
        impl StoredForm for $name {
            fn put(&self, out: &mut Vec<u8>) {
                let all = [$(Self::$word),*];
                (all.iter().position(|word| word == self).unwrap_or(all.len()) as u64).put(out);
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                [$(Self::$word),*].get(usize::try_from(u64::take(from)?).ok()?).copied()
            }
        }
    )*};
}

pub(crate) use {fields, words};
