//! For tests: files of the repository that are made of the program's tables, such as `docs/metrics.md` and the page's types.
//!
//! A test makes the text and calls [`is_current`], or [`known`] where it judges itself how far the file may be off. `make generate`
//! runs these tests so that they write the files instead.

use std::fs;
use std::path::Path;

/// The text of the file at `path`, from the root of the repository, empty when there is none; writes `text` into it first where
/// `UPDATE` is set.
///
/// # Panics
///
/// When the file cannot be written.
#[must_use]
pub fn known(path: &str, text: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("UPDATE").is_some() {
        let written = fs::write(&file, text);
        assert!(written.is_ok(), "{path}: {written:?}");
    }
    fs::read_to_string(&file).unwrap_or_default()
}

/// Panics when the file at `path`, from the root of the repository, is not `text`; writes it first where `UPDATE` is set.
///
/// # Panics
///
/// When the file is stale or cannot be written.
pub fn is_current(path: &str, text: &str) {
    assert!(known(path, text) == text, "{path} is stale: `make generate` writes it");
}
