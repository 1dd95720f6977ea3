//! A page that only a passphrase opens: AES-256-GCM under a key from PBKDF2, opened by a browser with its own cryptography.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, PreEscaped, html};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use ring::pbkdf2::{PBKDF2_HMAC_SHA256, derive};
use ring::rand::{SecureRandom, SystemRandom};

/// Rounds of the key derivation: what OWASP asked for of PBKDF2 with SHA-256 in 2023.
const ITERATIONS: std::num::NonZeroU32 = std::num::NonZeroU32::new(600_000).unwrap();

const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// The script that opens the page.
const SCRIPT: &str = include_str!("../assets/sealed.js");

/// No page could be encrypted: the system gave no random numbers, or the page is too large for the cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the page cannot be encrypted: no random numbers, or more than 64 GiB")]
pub struct SealError;

/// An HTML page as another one that asks for a passphrase and then shows it.
///
/// Who has the file can try passphrases on it as long as they like: only a long one keeps it shut.
///
/// # Errors
/// [`SealError`].
///
/// Cost: O(page), and some 0.2 s for the key.
pub fn sealed_page(page: Vec<u8>, passphrase: &str) -> Result<String, SealError> {
    let sealed = STANDARD.encode(seal(page, passphrase)?);
    let script = STANDARD.encode(digest(&SHA256, SCRIPT.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                title { "Encrypted page · Unforget" }
                style { (PreEscaped(include_str!("../assets/page.css"))) }
            }
            body {
                main {
                    h1 { "Encrypted page" }
                    form data-iterations=(ITERATIONS) {
                        label { "Passphrase " input name="passphrase" type="password" autocomplete="off" required autofocus; }
                        " " button type="submit" { "Open" }
                        p role="status" {}
                    }
                    noscript { p { "Decryption needs JavaScript. Nothing is sent anywhere." } }
                    pre id="sealed" hidden { (sealed) }
                }
                script type="module" { (PreEscaped(SCRIPT)) }
            }
        }
    };
    Ok(page.into_string())
}

/// Salt, nonce, and the encrypted page with its tag.
fn seal(mut page: Vec<u8>, passphrase: &str) -> Result<Vec<u8>, SealError> {
    let random = SystemRandom::new();
    let mut head = [0; SALT_BYTES + NONCE_LEN];
    random.fill(&mut head).map_err(|_| SealError)?;
    let (salt, nonce) = head.split_at(SALT_BYTES);
    let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| SealError)?;
    key(salt, passphrase)?.seal_in_place_append_tag(nonce, Aad::empty(), &mut page).map_err(|_| SealError)?;
    let mut sealed = head.to_vec();
    sealed.append(&mut page);
    Ok(sealed)
}

fn key(salt: &[u8], passphrase: &str) -> Result<LessSafeKey, SealError> {
    let mut key = [0; KEY_BYTES];
    derive(PBKDF2_HMAC_SHA256, ITERATIONS, salt, passphrase.as_bytes(), &mut key);
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &key).map_err(|_| SealError)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(sealed: &[u8], passphrase: &str) -> Option<Vec<u8>> {
        let (salt, rest) = sealed.split_at(SALT_BYTES);
        let (nonce, page) = rest.split_at(NONCE_LEN);
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut page = page.to_vec();
        let key = key(salt, passphrase).ok()?;
        key.open_in_place(nonce, Aad::empty(), &mut page).ok().map(|page| page.to_vec())
    }

    #[test]
    fn only_the_passphrase_opens_it() {
        let page = b"<p>the heron file</p>".to_vec();
        let sealed = seal(page.clone(), "nine blue herons").unwrap();
        assert_eq!(opened(&sealed, "nine blue herons"), Some(page.clone()));
        assert_eq!(opened(&sealed, "nine blue heron"), None);
        let mut other = sealed.clone();
        if let Some(last) = other.last_mut() {
            *last ^= 1;
        }
        assert_eq!(opened(&other, "nine blue herons"), None, "a changed byte is noticed");
        assert_ne!(seal(page, "nine blue herons").unwrap(), sealed, "and no two are alike");
        let shown = sealed_page(b"the heron file".to_vec(), "nine blue herons").unwrap();
        assert!(!shown.contains("heron"), "nothing of the page or the passphrase is readable");
    }
}
