//! A lock of a folder: while `cargo check` waits for this script, which sleeps, `cargo build` waits for the first cargo's lock.

use std::thread::sleep;
use std::time::Duration;

fn main() {
    println!("cargo:rerun-if-env-changed=ROUND");
    if std::env::var_os("ROUND").is_some() {
        sleep(Duration::from_millis(2000));
    }
}
