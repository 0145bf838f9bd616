//! How goroutines lie in memory, by version of Go.
//!
//! Taken from the debug information of programs that the newest release of each version built for x86-64; releases of one version
//! have had one layout.

/// Bytes of a `runtime.g` that are read.
pub const G_BYTES: usize = 336;

/// Where the fields are.
#[derive(Debug, PartialEq, Eq)]
pub struct Offsets {
    /// In `runtime.g`: m.
    pub thread: usize,
    /// sched.sp, behind which is sched.pc.
    pub sched_sp: usize,
    /// sched.bp.
    pub sched_bp: usize,
    /// syscallsp, behind which is syscallpc.
    pub call_sp: usize,
    /// syscallbp, since Go 1.23.
    pub call_bp: Option<usize>,
    /// atomicstatus.
    pub status: usize,
    /// goid.
    pub id: usize,
    /// parentGoid, since Go 1.21.
    pub parent: Option<usize>,
    /// gopc.
    pub created_at: usize,
    /// startpc.
    pub entry: usize,
    /// waiting.
    pub waiting: usize,
    /// In `runtime.m`: procid.
    pub thread_id: usize,
    /// In `runtime.m`: curg.
    pub current: usize,
    /// In `runtime.sudog`: g, next, prev, elem, waitlink, c.
    pub sudog_goroutine: usize,
    /// See above.
    pub sudog_next: usize,
    /// See above.
    pub sudog_previous: usize,
    /// See above.
    pub sudog_element: usize,
    /// See above.
    pub sudog_waitlink: usize,
    /// See above. It is the last.
    pub sudog_channel: usize,
}

const GO_1_18: Offsets = Offsets {
    thread: 48,
    sched_sp: 56,
    sched_bp: 104,
    call_sp: 112,
    call_bp: None,
    status: 144,
    id: 152,
    parent: None,
    created_at: 296,
    entry: 312,
    waiting: 328,
    thread_id: 72,
    current: 192,
    sudog_goroutine: 0,
    sudog_next: 8,
    sudog_previous: 16,
    sudog_element: 24,
    sudog_waitlink: 64,
    sudog_channel: 80,
};
const GO_1_21: Offsets = Offsets { parent: Some(272), created_at: 280, entry: 296, waiting: 312, ..GO_1_18 };
const GO_1_23: Offsets = Offsets {
    call_bp: Some(128),
    status: 152,
    id: 160,
    parent: Some(280),
    created_at: 288,
    entry: 304,
    waiting: 320,
    ..GO_1_18
};
const GO_1_25: Offsets = Offsets {
    sched_bp: 96,
    call_sp: 104,
    call_bp: Some(120),
    status: 144,
    id: 152,
    parent: Some(272),
    created_at: 280,
    entry: 296,
    waiting: 312,
    thread_id: 64,
    current: 184,
    ..GO_1_18
};
const GO_1_26: Offsets = Offsets {
    parent: Some(280),
    created_at: 288,
    entry: 304,
    waiting: 320,
    sudog_waitlink: 72,
    sudog_channel: 88,
    ..GO_1_25
};

/// The layout of a version such as `go1.26.1`, `go1.22`, `go1.27rc1`, or `go1.26.1 X:nodwarf5`; `None` where it is not known.
pub fn of_version(version: &str) -> Option<&'static Offsets> {
    let minor = version.strip_prefix("go1.")?;
    let digits = minor.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(minor.len());
    match minor[..digits].parse::<u32>().ok()? {
        18..=20 => Some(&GO_1_18),
        21 | 22 => Some(&GO_1_21),
        23 | 24 => Some(&GO_1_23),
        25 => Some(&GO_1_25),
        26 => Some(&GO_1_26),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_their_layouts() {
        for (version, layout) in [
            ("go1.18", Some(&GO_1_18)),
            ("go1.22.12", Some(&GO_1_21)),
            ("go1.24rc1", Some(&GO_1_23)),
            ("go1.26.8 X:jsonv2", Some(&GO_1_26)),
            ("go1.17.3", None),
            ("go1.27", None),
            ("go1.", None),
            ("devel go1.26-abc", None),
        ] {
            assert_eq!(of_version(version), layout, "{version}");
        }
    }

    #[test]
    fn every_field_is_within_what_is_read() {
        for layout in [GO_1_18, GO_1_21, GO_1_23, GO_1_25, GO_1_26] {
            let fields = [layout.waiting, layout.entry, layout.created_at, layout.id, layout.call_bp.unwrap_or(0)];
            assert!(fields.iter().all(|field| field + 8 <= G_BYTES), "{layout:?}");
        }
    }
}
