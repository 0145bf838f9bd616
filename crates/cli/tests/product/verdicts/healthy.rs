//! Programs that do what they should: whatever Dwell tells is false, but for which end of a pipe is the slower one.

use anyhow::Result;

use super::{Program, Recorded};
use crate::recording::{Recording, needs_program};

pub const PROGRAMS: &[Program] = &[
    // It is fed line by line.
    Program {
        name: "xz",
        planted: "",
        cause: None,
        may_tell: &["fine-grained-waits", "single-threaded-phase", "waited for write(pipe"],
        quick: true,
        record: xz,
    },
    Program {
        name: "sort",
        planted: "",
        cause: None,
        may_tell: &["single-threaded-phase", "waited for write(pipe"],
        quick: true,
        record: sort,
    },
    Program {
        name: "pipeline",
        planted: "",
        cause: None,
        may_tell: &["waited for write(pipe"],
        quick: true,
        record: pipeline,
    },
    Program { name: "python", planted: "", cause: None, may_tell: &[], quick: true, record: python },
];

fn shell(line: &str) -> Result<Recorded> {
    Ok(Recording::of(&[], &["sh", "-c", line])?.into())
}

/// Two threads compress blocks.
fn xz() -> Result<Recorded> {
    needs_program("xz")?;
    shell("seq 1 900000 | xz -T2 --block-size=1MiB -1 > /dev/null")
}

/// Sorts in two threads; reading and the last merge are in one.
fn sort() -> Result<Recorded> {
    shell("seq 1 1500000 | sort -R --parallel=2 > /dev/null")
}

/// Each program waits for the one before it.
fn pipeline() -> Result<Recorded> {
    needs_program("gzip")?;
    shell("seq 1 2000000 | gzip -1 | gzip -d | wc -c > /dev/null")
}

/// One thread computes.
fn python() -> Result<Recorded> {
    Ok(Recording::of(&[], &["/usr/bin/python3", "-c", "print(sum(i * i for i in range(4_000_000)))"])?.into())
}
