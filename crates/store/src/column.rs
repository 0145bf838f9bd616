//! A column in memory or in a mapped file; read the same way.

#![allow(unsafe_code, reason = "the one place that reads mapped files")]

use std::fs::File;
use std::ops::Deref;
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::Mmap;

/// Who keeps the values alive.
enum Owner<T> {
    Memory { _values: Vec<T> },
    File { _map: Arc<Mmap> },
}

/// Values of one type, in memory or in a mapped file.
pub struct Column<T> {
    start: *const T,
    len: usize,
    _owner: Owner<T>,
}

// SAFETY: the values are never written while a column has them, and are plain numbers.
unsafe impl<T: Pod + Send> Send for Column<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for Column<T> {}

impl<T: Pod> Column<T> {
    /// `len` values at byte `at` of a mapped file; none when they are not all inside it, or not aligned.
    pub(crate) fn mapped(map: &Arc<Mmap>, at: usize, len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).and_then(|size| map.get(at..at.checked_add(size)?));
        let values: &[T] = bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).unwrap_or_default();
        Self { start: values.as_ptr(), len: values.len(), _owner: Owner::File { _map: map.clone() } }
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `start` and `len` are those of a slice of the owner, which lives as long as `self` and whose values
        // do not move: a vector that nobody changes, or a map. Every bit pattern is a value of a `Pod`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        Self { start: values.as_ptr(), len: values.len(), _owner: Owner::Memory { _values: values } }
    }
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<T> std::fmt::Debug for Column<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.len)
    }
}

/// Gives back the memory that a map takes; what is read again comes from the page cache, or the file.
pub(crate) fn release(map: &Mmap) {
    // SAFETY: the map is shared and only read: a page that is dropped is read from the file again, with the same bytes.
    // It is no error that matters when the kernel keeps the pages.
    let _ = unsafe { map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
}

/// Maps a file for reading. A file that is cut off while it is mapped ends the program (SIGBUS): the index is replaced
/// whole and never written in place.
pub(crate) fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: see above; what other processes write into the file is only ever read as plain numbers.
    unsafe { Mmap::map(file) }
}
