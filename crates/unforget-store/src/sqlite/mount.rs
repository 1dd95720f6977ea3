//! Recognises file systems on which SQLite's locks and shared memory do not work.

use std::path::Path;

/// The kind of file system that holds `path`, if it works over a network or in user space.
///
/// Reads `/proc/self/mountinfo`; without it (on systems other than Linux) nothing is refused.
///
/// * `path` - absolute.
pub(super) fn untrusted_filesystem(path: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind = filesystem_of(&mounts, path)?;
    is_untrusted(&kind).then_some(kind)
}

/// Type of the file system that holds `path`: that of the longest mount point above it, the later of equals.
fn filesystem_of(mounts: &str, path: &Path) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        let Some((place, kind)) = mount(line) else { continue };
        let place = unescape(place);
        if path.starts_with(&place) && best.is_none_or(|(length, _)| place.len() >= length) {
            best = Some((place.len(), kind));
        }
    }
    best.map(|(_, kind)| kind.to_owned())
}

/// Mount point and type of a line: the fifth field, and the first after ` - `.
fn mount(line: &str) -> Option<(&str, &str)> {
    let (left, right) = line.split_once(" - ")?;
    Some((left.split(' ').nth(4)?, right.split(' ').next()?))
}

/// Decodes the kernel's octal escapes for space, tab, newline and backslash.
fn unescape(place: &str) -> String {
    place.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

fn is_untrusted(kind: &str) -> bool {
    const KINDS: [&str; 18] = [
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "lustre",
        "glusterfs",
        "ocfs2",
        "gfs2",
        "ncpfs",
        "vboxsf",
        "prl_fs",
        "virtiofs",
        "vmhgfs",
        "fuse",
    ];
    KINDS.contains(&kind) || kind.starts_with("fuse.")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n\
        31 27 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw\n\
        32 31 0:41 / /home/me/local\\040disk rw - xfs /dev/vdb rw\n\
        33 27 0:42 / /mnt/share rw - fuse.sshfs host: rw\n\
        34 27 0:43 / /mnt/ntfs rw - fuseblk /dev/sdc rw\n\
        35 27 0:44 / /srv rw - virtiofs work rw\n\
        36 35 0:45 / /srv rw - ext4 /dev/vdc rw\n\
        broken line";

    #[test]
    fn f083_network_filesystems_are_told_apart() {
        let table = [
            ("/var/db", None, "plain disk"),
            ("/home/me/db", Some("nfs4"), "network mount"),
            ("/homework/db", None, "a longer name is not below the mount"),
            ("/home/me/local disk/db", None, "a disk mounted inside a network mount"),
            ("/mnt/share/db", Some("fuse.sshfs"), "user space"),
            ("/mnt/ntfs/db", None, "a block device, if through fuse"),
            ("/srv/db", None, "the later mount hides the earlier"),
        ];
        for (path, want, why) in table {
            let kind = filesystem_of(MOUNTS, Path::new(path)).filter(|kind| is_untrusted(kind));
            assert_eq!(kind.as_deref(), want, "{why}: {path}");
        }
    }

    #[test]
    fn f083_hostile_mount_tables_are_harmless() {
        for mounts in ["", " - ", "a - b", "\n\n - - - ", "1 2 3 4 / - "] {
            filesystem_of(mounts, Path::new("/x"));
        }
    }
}
