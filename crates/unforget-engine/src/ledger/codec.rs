//! Encodes a ledger as stored bytes.
//!
//! Numbers take seven bits per byte; texts and lists are preceded by their length. Bytes that are not a valid ledger
//! are refused as a whole; the ledger is then folded again from the log.

use std::collections::BTreeMap;

use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::ledger::{
    Called, Command, CommandRow, Commit, CommitRow, Deed, Failure, FileChange, FileRow, Lines, Look, Outcome,
    Put, Rows, Subject, TaskDeed, TaskRow, TaskState, Telling, Tells, TestCounts, UrlRow, WorkPlace,
};

use crate::varint;

/// Version of the encoding and of the facts behind it; other versions are not read.
const VERSION: u64 = 1;

/// Encodes the rows of a ledger and its newest entry.
pub(super) fn encode(rows: &Rows, head: Seq) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + rows.len() * 128);
    VERSION.put(&mut bytes);
    head.0.put(&mut bytes);
    rows.put(&mut bytes);
    bytes
}

/// Decodes the output of [`encode`]; `None` for all other bytes.
pub(super) fn decode(mut bytes: &[u8]) -> Option<(Rows, Seq)> {
    let from = &mut bytes;
    if u64::take(from)? != VERSION {
        return None;
    }
    let head = Seq(u64::take(from)?);
    let rows = Rows::take(from)?;
    from.is_empty().then_some((rows, head))
}

/// A value with a stored form.
trait StoredForm: Sized {
    fn put(&self, out: &mut Vec<u8>);
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

fields! {
    Rows { files, commands, failing, cleared, urls, commits, tasks, pending, dropped }
    FileRow { looks, put, reads, writes }
    Look { lines, content, at }
    Lines { first, last }
    WorkPlace { call, answer }
    Put { change, content, at }
    CommandRow { text, runs, outcome, exit, tests, is_test, at }
    TestCounts { passed, failed, skipped }
    Failure { what, told, times, first, last, cleared }
    UrlRow { times, outcome, at }
    CommitRow { commit, at }
    Commit { hash, subject }
    TaskRow { id, text, state, opened, changed }
    Called { id, what, print, telling, deeds }
    Command { text, same, work, tests, commits, tells }
    Tells { asks, hides }
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

words! {
    FileChange: Whole, Part, Gone;
    Outcome: Done, Failed, NotRun;
    TaskState: Open, Active, Done, Dropped;
    Telling: Once, Again, Shows;
}

/// Enums with fields: a number and the fields.
macro_rules! kinds {
    ($($name:ident: $($number:literal $kind:ident $(($value:ident))? $({ $($field:ident),* })?,)*;)*) => {$(
        impl StoredForm for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$kind $(($value))? $({ $($field),* })? => {
                        out.push($number);
                        $($value.put(out);)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn take(from: &mut &[u8]) -> Option<Self> {
                match u64::take(from)? {
                    $($number => {
                        $(let $value = StoredForm::take(from)?;)?
                        $($(let $field = StoredForm::take(from)?;)*)?
                        Some(Self::$kind $(($value))? $({ $($field),* })?)
                    })*
                    _ => None,
                }
            }
        }
    )*};
}

kinds! {
    Subject: 0 Read(path), 1 Write(path), 2 Work(work), 3 Url(url), 4 Call(print),;
    Deed: 0 Read { path, lines }, 1 Wrote { path, change, content }, 2 Ran(command), 3 Fetched(url), 4 Tasks(deed),;
    TaskDeed: 0 List(list), 1 Open(text), 2 Mark { id, text, state },;
}
