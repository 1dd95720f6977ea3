//! Peak memory of this process, where the system tells: Linux.

/// Forgets the peak so far, so that the next one is that of what comes.
pub(super) fn forget_peak() {
    // Where it is refused the peak is that of the whole run, which is never too small.
    std::fs::write("/proc/self/clear_refs", "5").ok();
}

/// Peak resident memory in bytes since [`forget_peak`]; `None` where the system does not tell.
pub(super) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn the_peak_is_known() {
        assert!(super::peak().is_some_and(|bytes| bytes > 1 << 20));
    }
}
