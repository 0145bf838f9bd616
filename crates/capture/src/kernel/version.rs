//! Which Linux runs, and what depends on that alone.

use crate::machine;

/// Major and minor number of the running Linux; (0, 0) when it does not tell.
pub fn version() -> (u32, u32) {
    parse(&machine::kernel())
}

fn parse(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

/// Whether the kernel sets the probes of a file by one link (`uprobe.multi`), for which CAP_BPF and CAP_PERFMON suffice: as perf
/// events they need CAP_SYS_ADMIN since Linux 6.17, and in the stable series of then. It is there since Linux 6.6, and from
/// 6.10 on it tells all threads of a process from those of others.
pub fn sets_probes_at_once() -> bool {
    version() >= (6, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_have_two_numbers() {
        assert_eq!(parse("6.1.0-50-amd64"), (6, 1));
        assert_eq!(parse("5.19-rc3+"), (5, 19));
        assert_eq!(parse(""), (0, 0));
    }
}
