//! A Unix socket that belongs to one server.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::connection::Ended;
use super::server::Server;

/// Why a socket could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketError {
    /// Another server answers there.
    #[error("{} belongs to a server that is running", path.display())]
    Live {
        /// The socket.
        path: PathBuf,
    },
    /// The path holds something other than a socket.
    #[error("{} exists and is not a socket", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// A listening socket, removed when dropped.
pub struct Listening {
    listener: UnixListener,
    path: PathBuf,
    inode: u64,
    /// Locked while the socket is ours.
    _lock: File,
}

/// Opens a socket for this user only. A socket left by a dead server is replaced.
///
/// The file `PATH.lock` stays beside it: it tells a live server from a dead one.
pub fn listen(path: &Path) -> Result<Listening, SocketError> {
    let failed = |source| SocketError::Io { path: path.to_path_buf(), source };
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&lock_path).map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(SocketError::Live { path: path.to_path_buf() }),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    match fs::symlink_metadata(path) {
        Ok(facts) if !facts.file_type().is_socket() => {
            return Err(SocketError::NotASocket { path: path.to_path_buf() });
        }
        // The socket belongs to a program without our lock.
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(SocketError::Live { path: path.to_path_buf() });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Nobody can open the socket before its mode is set: it is created in a private folder, then moved.
    let private = tempfile::Builder::new().prefix(".u").rand_bytes(4).tempdir_in(folder).map_err(failed)?;
    fs::set_permissions(private.path(), fs::Permissions::from_mode(0o700)).map_err(failed)?;
    let made = private.path().join("s");
    let listener = UnixListener::bind(&made).map_err(failed)?;
    fs::set_permissions(&made, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let inode = fs::symlink_metadata(&made).map_err(failed)?.ino();
    fs::rename(&made, path).map_err(failed)?;
    Ok(Listening { listener, path: path.to_path_buf(), inode, _lock: lock })
}

impl Drop for Listening {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path).is_ok_and(|facts| facts.ino() == self.inode);
        if is_ours {
            // If it stays, the next server replaces it.
            fs::remove_file(&self.path).ok();
        }
    }
}

impl Listening {
    /// Serves connections until one of them asks the server to end.
    ///
    /// If no file handle is left for a connection, it is refused; the others continue.
    ///
    /// # Errors
    /// If no connection can be accepted any more. Open connections are served to their end first.
    pub fn serve(&self, server: &Arc<Server>) -> io::Result<()> {
        let open: Mutex<HashMap<u64, UnixStream>> = Mutex::default();
        let (is_ending, next) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut spare = Spare::new();
        thread::scope(|scope| {
            for stream in self.listener.incoming() {
                if is_ending.load(Ordering::Acquire) {
                    break;
                }
                let stream = match stream {
                    Ok(stream) => stream,
                    Err(error) if is_gone(&error) => continue,
                    Err(error) => {
                        if !spare.refuse_one(&self.listener) {
                            return Err(error);
                        }
                        if is_ending.load(Ordering::Acquire) {
                            break;
                        }
                        continue;
                    }
                };
                let Ok(handle) = stream.try_clone() else { continue };
                let number = next.fetch_add(1, Ordering::Relaxed);
                {
                    let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                    if open.len() >= server.limits.connections {
                        refuse(
                            stream,
                            &format!("there are {} connections already", server.limits.connections),
                        );
                        continue;
                    }
                    open.insert(number, handle);
                }
                let (open, is_ending) = (&open, &is_ending);
                let serve = move || {
                    let ended =
                        stream.try_clone().map_or(Ended::Broken, |output| server.serve(&stream, output));
                    // The peer must see the end, even if another handle of ours still exists.
                    stream.shutdown(Shutdown::Both).ok();
                    open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                    if ended == Ended::Shutdown {
                        is_ending.store(true, Ordering::Release);
                        for other in open.lock().unwrap_or_else(PoisonError::into_inner).values() {
                            other.shutdown(Shutdown::Read).ok();
                        }
                        // Wakes the loop above.
                        UnixStream::connect(&self.path).ok();
                    }
                };
                if thread::Builder::new().name("unforget-peer".to_owned()).spawn_scoped(scope, serve).is_err()
                {
                    open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                }
            }
            Ok(())
        })
    }
}

/// Whether only the connection about to be accepted failed, because it has gone away.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}

/// A reserved file handle for times without free handles.
///
/// Without free handles, accepting fails at once and repeatedly, while the connecting client waits without an answer.
/// Releasing this handle for a moment is enough to refuse the client.
struct Spare(Option<File>);

impl Spare {
    fn new() -> Self {
        Self(File::open("/dev/null").ok())
    }

    /// Refuses the longest waiting connection. Returns false if that fails too.
    fn refuse_one(&mut self, listener: &UnixListener) -> bool {
        if self.0.take().is_none() {
            return false;
        }
        let refused =
            listener.accept().map(|(stream, _)| refuse(stream, "the server has no file handles left"));
        *self = Self::new();
        refused.is_ok()
    }
}

fn refuse(mut stream: UnixStream, why: &str) {
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":1007,"message":"{why}","data":{{"kind":"busy","stored":false,"hint":"close one"}}}}}}"#
    );
    stream.set_write_timeout(Some(Duration::from_millis(100))).ok();
    stream.write_all(text.as_bytes()).and_then(|()| stream.write_all(b"\n")).ok();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::io::Read as _;

    use super::*;

    #[test]
    fn without_file_handles_whoever_waits_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let mut spare = Spare::new();
        for _ in 0..2 {
            let mut waiting = UnixStream::connect(folder.path().join("s")).unwrap();
            assert!(spare.refuse_one(&listener));
            let mut told = String::new();
            waiting.read_to_string(&mut told).unwrap();
            assert!(told.contains(r#""kind":"busy""#) && told.ends_with('\n'), "{told}");
            assert!(spare.0.is_some(), "for the next one");
        }
        listener.set_nonblocking(true).unwrap();
        assert!(!spare.refuse_one(&listener), "that fails too: the server ends with the error");
        assert!(!Spare(None).refuse_one(&listener));
    }

    #[test]
    fn a_socket_is_private_and_belongs_to_one_server() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let first = listen(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(listen(&path), Err(SocketError::Live { .. })), "it is not stolen");
        drop(first);
        assert!(!path.exists());
        // The remains of a killed server.
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let second = listen(&path).unwrap();
        assert!(UnixStream::connect(&path).is_ok());
        drop(second);
        let foreign = UnixListener::bind(&path).unwrap();
        assert!(matches!(listen(&path), Err(SocketError::Live { .. })), "another program's is not stolen");
        drop(foreign);
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        assert!(matches!(listen(&path), Err(SocketError::NotASocket { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "the file and the lock: {left:?}");
    }
}
