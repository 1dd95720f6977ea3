//! TLS of the daemon's own listener.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// A certificate and its key, ready to serve.
#[derive(Clone)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

/// Why a certificate is unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file is unreadable or lacks the expected content.
    #[error("{}: {what}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The defect, without any of the file's content.
        what: String,
    },
    /// Certificate and key do not match, or their kind is unknown.
    #[error("certificate {} with key {}: {source}", cert.display(), key.display())]
    Pair {
        /// The certificate's file.
        cert: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// The error of rustls.
        source: rustls::Error,
    },
}

impl Tls {
    /// Reads a certificate chain and its private key, both in PEM. They are read once: a new certificate requires a
    /// restart.
    ///
    /// * `cert` - the server's certificate first, then those that lead to a trusted one.
    ///
    /// # Errors
    /// [`TlsError`] if a file is unreadable or the two do not match.
    pub fn load(cert: &Path, key: &Path) -> Result<Self, TlsError> {
        unforget_gateway::install_crypto();
        let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let chain = chain.map_err(|error| unread(cert, &error, "certificate"))?;
        if chain.is_empty() {
            return Err(unread(cert, &PemError::NoItemsFound, "certificate"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, &error, "private key"))?;
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, secret);
        let mut config =
            config.map_err(|source| TlsError::Pair { cert: cert.to_owned(), key: key.to_owned(), source })?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { config: Arc::new(config) })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Tls(…)")
    }
}

fn unread(path: &Path, error: &PemError, what: &str) -> TlsError {
    let what = match error {
        PemError::NoItemsFound => format!("there is no {what} in it (PEM is read)"),
        PemError::Io(error) => error.to_string(),
        // Its error text might quote the file, which may be the key.
        _ => format!("the {what} in it is not sound PEM"),
    };
    TlsError::File { path: path.to_owned(), what }
}
