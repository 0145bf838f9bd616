//! Where a store lies: in a folder, or in a bucket of an object store.

use std::fmt;
use std::path::{Path, PathBuf};

/// How the address of a bucket begins.
const S3: &str = "s3://";
/// Bytes of a prefix; a key has 1,024 at most, of which the file takes up to 400.
const MOST_PREFIX_BYTES: usize = 600;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// A folder of a file system.
    Folder(PathBuf),
    /// `s3://BUCKET/PREFIX`.
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// What keys of the store begin with, without a slash at either end; may be empty.
        prefix: String,
    },
}

impl StoreLocation {
    /// What `--store` says: a bucket where it begins with `s3://`, else a folder.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without a subject.
    pub fn of(named: &Path) -> Result<Self, &'static str> {
        let text = named.to_str().unwrap_or_default();
        let Some(rest) = text.strip_prefix(S3) else {
            return if text.contains("://") {
                Err("is neither a folder nor s3://BUCKET/PREFIX")
            } else {
                Ok(Self::Folder(named.to_owned()))
            };
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            return Err("names no bucket");
        }
        if prefix.len() > MOST_PREFIX_BYTES {
            return Err("has a prefix of more than 600 bytes");
        }
        if prefix.split('/').any(|part| matches!(part, "." | "..")) || prefix.contains(char::is_control) {
            return Err("has a prefix that is no path");
        }
        Ok(Self::Bucket { bucket: bucket.into(), prefix: prefix.into() })
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "{S3}{bucket}"),
            Self::Bucket { bucket, prefix } => write!(f, "{S3}{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_a_folder_or_a_bucket() {
        let of = |text: &str| StoreLocation::of(Path::new(text));
        let bucket =
            |bucket: &str, prefix: &str| StoreLocation::Bucket { bucket: bucket.into(), prefix: prefix.into() };
        assert_eq!(of("/var/lib/dwell"), Ok(StoreLocation::Folder("/var/lib/dwell".into())));
        assert_eq!(of("s3://fleet"), Ok(bucket("fleet", "")));
        assert_eq!(of("s3://fleet//a/b c/"), Ok(bucket("fleet", "a/b c")));
        assert_eq!(bucket("fleet", "a/b").to_string(), "s3://fleet/a/b");
        for wrong in ["s3://", "s3:///a", "s3://a?b/c", "gs://a/b", "https://a/b", "s3://a/../b"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert!(of(&format!("s3://a/{}", "x".repeat(601))).is_err());
    }
}
