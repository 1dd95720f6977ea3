//! Reads a pinned file: regular files only, without waiting, and never more bytes than a pin may have.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

use unforget_core::pin::{Pins, Reading, Trouble};

/// Reads a file. Returns soon, whatever is at the path; anything but the text of a regular file is a [`Trouble`].
///
/// * `path` - absolute and with canonical folders, as [`super::pin_place`] returns it.
pub(super) fn read(path: &Path) -> Reading {
    match words(path) {
        Ok(words) => Reading::Words(words),
        Err(trouble) => Reading::Trouble(trouble),
    }
}

fn words(path: &Path) -> Result<String, Trouble> {
    // A folder that became a link since then would lead to a file that nobody named.
    let folder = path.parent().ok_or(Trouble::Folder)?;
    if fs::canonicalize(folder).map_err(|error| cause(&error))? != folder {
        return Err(Trouble::Link);
    }
    // Opening a device can have effects. The second check sees a file that was replaced in between.
    check(&fs::symlink_metadata(path).map_err(|error| cause(&error))?)?;
    let file = open(path).map_err(|error| cause(&error))?;
    check(&file.metadata().map_err(|error| cause(&error))?)?;
    let most = Pins::FILE_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| cause(&error))?;
    if bytes.len() > Pins::FILE_BYTES_MAX {
        return Err(Trouble::TooLarge);
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or(Trouble::NotText)
}

/// Checks that this is a regular file of at most the allowed size.
fn check(is: &Metadata) -> Result<(), Trouble> {
    let kind = is.file_type();
    if kind.is_symlink() {
        return Err(Trouble::Link);
    }
    if kind.is_dir() {
        return Err(Trouble::Folder);
    }
    if !kind.is_file() {
        return Err(Trouble::Special);
    }
    if is.len() > Pins::FILE_BYTES_MAX as u64 { Err(Trouble::TooLarge) } else { Ok(()) }
}

/// Opens for reading without waiting for a writer, and without following a link.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    options.open(path)
}

/// The trouble behind an error of the system.
fn cause(error: &io::Error) -> Trouble {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Trouble::Link;
    }
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Trouble::Gone,
        _ => Trouble::Unreadable,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn readings_table() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let put = |name: &str, bytes: &[u8]| fs::write(root.join(name), bytes).unwrap();
        put("rules", b"never push\n");
        put("most", &vec![b'x'; 32 * 1024]);
        put("more", &vec![b'x'; 32 * 1024 + 1]);
        put("latin", b"\xe4\n");
        put("null", b"a\0b");
        put("empty", b"");
        fs::create_dir(root.join("folder")).unwrap();
        let text = |text: &str| Reading::Words(text.to_owned());
        let table = [
            ("rules", text("never push\n"), "as it is"),
            ("most", text(&"x".repeat(Pins::FILE_BYTES_MAX)), "as large as it may be"),
            ("more", Reading::Trouble(Trouble::TooLarge), "a byte too many"),
            ("latin", Reading::Trouble(Trouble::NotText), "another encoding"),
            ("null", Reading::Trouble(Trouble::NotText), "bytes"),
            ("empty", text(""), "no words: core says so"),
            ("folder", Reading::Trouble(Trouble::Folder), "a folder"),
            ("nobody", Reading::Trouble(Trouble::Gone), "nothing"),
            ("rules/below", Reading::Trouble(Trouble::Gone), "a file is no folder"),
        ];
        for (name, want, why) in table {
            assert_eq!(read(&root.join(name)), want, "{why}: {name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_told_at_once() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        fs::write(root.join("folder/rules"), "x").unwrap();
        symlink(root.join("folder/rules"), root.join("link")).unwrap();
        symlink(root.join("nobody"), root.join("dangling")).unwrap();
        symlink(root.join("folder"), root.join("linked")).unwrap();
        symlink(root.join("loop"), root.join("loop")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            root.join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        let table = [
            ("link", Trouble::Link, "a link"),
            ("dangling", Trouble::Link, "a link to nothing"),
            ("loop", Trouble::Link, "a link to itself"),
            ("linked/rules", Trouble::Link, "a folder that is a link"),
            ("fifo", Trouble::Special, "a pipe without a writer"),
            ("socket", Trouble::Special, "a socket"),
        ];
        for (name, want, why) in table {
            assert_eq!(read(&root.join(name)), Reading::Trouble(want), "{why}: {name}");
        }
        assert_eq!(read(Path::new("/dev/null")), Reading::Trouble(Trouble::Special), "a device");
    }
}
