//! Peak memory of this process, where the system provides it: on Linux.

/// Resets the peak, so that the next reading covers only later work.
pub(super) fn forget_peak() {
    // A refusal leaves the peak of the whole run, which is never too small.
    std::fs::write("/proc/self/clear_refs", "5").ok();
}

/// Peak resident memory in bytes since [`forget_peak`]; `None` where the system does not provide it.
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
