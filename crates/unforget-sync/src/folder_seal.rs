//! Encryption of a folder: AES-256-GCM for contents, HMAC-SHA256 for names, both under keys from one passphrase.

use std::fmt::Write as _;
use std::num::NonZeroU32;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use crate::error::{Result, SyncError};

/// Rounds of the key derivation: what OWASP asked for of PBKDF2 with SHA-256 in 2023.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(600_000).unwrap();

pub(crate) const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// Bytes of a name that stand in a file's name.
const NAME_BYTES: usize = 16;

/// How the contents and names of a folder are written.
pub(crate) enum FolderSeal {
    /// Readable by everyone who reads the folder.
    Open,
    /// Readable with the passphrase.
    Key {
        /// Of contents.
        content: Box<LessSafeKey>,
        /// Of names.
        name: hmac::Key,
    },
}

impl FolderSeal {
    /// The keys of a passphrase.
    ///
    /// Cost: some 0.2 s, on purpose.
    pub(crate) fn of(passphrase: &str, salt: &[u8]) -> Result<Self> {
        let mut keys = [0; 2 * KEY_BYTES];
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, ITERATIONS, salt, passphrase.as_bytes(), &mut keys);
        let (content, name) = keys.split_at(KEY_BYTES);
        let content = UnboundKey::new(&AES_256_GCM, content).map_err(|_| SyncError::NoRandom)?;
        Ok(Self::Key {
            content: Box::new(LessSafeKey::new(content)),
            name: hmac::Key::new(hmac::HMAC_SHA256, name),
        })
    }

    /// A new salt.
    pub(crate) fn salt() -> Result<[u8; SALT_BYTES]> {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).map_err(|_| SyncError::NoRandom)?;
        Ok(salt)
    }

    /// What stands in a file's name for this text.
    pub(crate) fn name(&self, text: &str) -> String {
        let hash = match self {
            Self::Open => digest::digest(&digest::SHA256, text.as_bytes()).as_ref().to_vec(),
            Self::Key { name, .. } => hmac::sign(name, text.as_bytes()).as_ref().to_vec(),
        };
        hash.iter().take(NAME_BYTES).fold(String::new(), |mut name, byte| {
            // Writing to a string cannot fail.
            write!(name, "{byte:02x}").ok();
            name
        })
    }

    /// Encrypts the content of a file.
    ///
    /// * `file` - name of the file, so that no file can stand for another one.
    pub(crate) fn seal(&self, file: &str, mut content: Vec<u8>) -> Result<Vec<u8>> {
        let Self::Key { content: key, .. } = self else { return Ok(content) };
        let mut sealed = vec![0; NONCE_LEN];
        SystemRandom::new().fill(&mut sealed).map_err(|_| SyncError::NoRandom)?;
        let nonce = Nonce::try_assume_unique_for_key(&sealed).map_err(|_| SyncError::NoRandom)?;
        let aad = Aad::from(file.as_bytes());
        key.seal_in_place_append_tag(nonce, aad, &mut content).map_err(|_| SyncError::NoRandom)?;
        sealed.append(&mut content);
        Ok(sealed)
    }

    /// Decrypts the content of a file; `None` if it was not written with this key under this name.
    pub(crate) fn open(&self, file: &str, mut sealed: Vec<u8>) -> Option<Vec<u8>> {
        let Self::Key { content: key, .. } = self else { return Some(sealed) };
        let mut content = if sealed.len() < NONCE_LEN { return None } else { sealed.split_off(NONCE_LEN) };
        let nonce = Nonce::try_assume_unique_for_key(&sealed).ok()?;
        let length = key.open_in_place(nonce, Aad::from(file.as_bytes()), &mut content).ok()?.len();
        content.truncate(length);
        Some(content)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_the_passphrase_opens_a_file_under_its_name() {
        let salt = [7; SALT_BYTES];
        let seal = FolderSeal::of("nine blue herons", &salt).unwrap();
        let sealed = seal.seal("a.part", b"what was said".to_vec()).unwrap();
        assert!(!sealed.windows(4).any(|window| window == b"said"));
        assert_eq!(seal.open("a.part", sealed.clone()).unwrap(), b"what was said");
        assert_eq!(seal.open("b.part", sealed.clone()), None, "a file in the place of another one");
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(seal.open("a.part", changed), None, "a changed bit");
        assert_eq!(seal.open("a.part", sealed.get(..5).unwrap().to_vec()), None, "a cut file");
        let other = FolderSeal::of("nine blue heron", &salt).unwrap();
        assert_eq!(other.open("a.part", sealed), None, "another passphrase");
        assert_eq!(seal.name("pi:1"), seal.name("pi:1"));
        assert_ne!(seal.name("pi:1"), other.name("pi:1"), "names tell nothing without the passphrase");
        assert_ne!(seal.name("pi:1"), FolderSeal::Open.name("pi:1"));
    }
}
