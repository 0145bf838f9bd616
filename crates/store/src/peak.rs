//! What this process took of memory.

/// The largest resident set of this process so far; 0 when /proc does not tell. That of getrusage(2) begins with what
/// the parent had when it started this program.
pub fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse::<u64>().ok());
    peak.unwrap_or(0) * 1024
}
