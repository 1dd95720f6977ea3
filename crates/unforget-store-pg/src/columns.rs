//! Columns of a row as values.

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_store::backend::{digest, uint};

use crate::fault::{Fault, Outcome};

/// Reads columns by their places.
pub(crate) trait Columns {
    /// A column of the type that the statement gives it.
    fn at<'a, T: FromSql<'a>>(&'a self, at: usize) -> Outcome<T>;

    /// A number.
    fn number(&self, at: usize) -> Outcome<u64> {
        self.at::<i64>(at).map(uint)
    }

    /// A number, or none.
    fn number_if(&self, at: usize) -> Outcome<Option<u64>> {
        Ok(self.at::<Option<i64>>(at)?.map(uint))
    }

    /// A seq.
    fn seq(&self, at: usize) -> Outcome<Seq> {
        self.number(at).map(Seq)
    }

    /// Words: bytes of UTF-8.
    fn words(&self, at: usize) -> Outcome<String> {
        self.at::<&[u8]>(at).and_then(words)
    }

    /// Words, or none.
    fn words_if(&self, at: usize) -> Outcome<Option<String>> {
        self.at::<Option<&[u8]>>(at)?.map(words).transpose()
    }

    /// 32 bytes.
    fn digest(&self, at: usize) -> Outcome<Digest> {
        digest(self.at::<&[u8]>(at)?).ok_or(Fault::Column("digest"))
    }

    /// 16 bytes.
    fn half_digest(&self, at: usize) -> Outcome<[u8; 16]> {
        self.at::<&[u8]>(at)?.try_into().map_err(|_| Fault::Column("name"))
    }
}

impl Columns for Row {
    fn at<'a, T: FromSql<'a>>(&'a self, at: usize) -> Outcome<T> {
        Ok(self.try_get(at)?)
    }
}

fn words(bytes: &[u8]) -> Outcome<String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Fault::Column("words"))
}
