//! A column in memory or in a mapped file; read the same way. What is read of a file is compared with its checksums first;
//! a damaged one gives arbitrary values, and the index says so ([`crate::Index::is_damaged`]).

#![allow(unsafe_code, reason = "the one place that reads mapped files")]

use std::fs::File;
use std::ops::{Deref, Range};
use std::slice::SliceIndex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytemuck::Pod;
use memmap2::Mmap;

use super::checked::CheckedIndex;

/// Who keeps the values alive.
enum ColumnOwner<T> {
    Memory { _values: Vec<T> },
    File { file: Arc<CheckedIndex>, at: usize },
}

/// Values of one type, in memory or in a mapped file.
pub struct Column<T> {
    start: *const T,
    len: usize,
    owner: ColumnOwner<T>,
    /// Whether all of it was compared with its checksums.
    is_checked: AtomicBool,
}

/// Which values a reader wants.
pub trait Values {
    /// Their numbers.
    fn numbers(&self) -> Range<usize>;
}

impl Values for usize {
    fn numbers(&self) -> Range<usize> {
        *self..self.saturating_add(1)
    }
}

impl Values for Range<usize> {
    fn numbers(&self) -> Range<usize> {
        self.clone()
    }
}

// SAFETY: the values are never written while a column has them, and are plain numbers.
unsafe impl<T: Pod + Send> Send for Column<T> {}
// SAFETY: as above.
unsafe impl<T: Pod + Sync> Sync for Column<T> {}

impl<T: Pod> Column<T> {
    /// `len` values at byte `at` of a mapped file; none when they are not all inside it, or not aligned.
    pub(crate) fn mapped(file: &Arc<CheckedIndex>, at: usize, len: usize) -> Self {
        let bytes = len.checked_mul(size_of::<T>()).and_then(|size| file.bytes().get(at..at.checked_add(size)?));
        let values: &[T] = bytes.and_then(|bytes| bytemuck::try_cast_slice(bytes).ok()).unwrap_or_default();
        let owner = ColumnOwner::File { file: file.clone(), at };
        Self { start: values.as_ptr(), len: values.len(), owner, is_checked: AtomicBool::new(false) }
    }

    /// A value or several; only these are compared with their checksums. `None` when not all are there.
    #[inline]
    pub fn get<I: Values + SliceIndex<[T]>>(&self, values: I) -> Option<&I::Output> {
        self.checked(values.numbers()).get(values)
    }

    /// All values; only `values` were surely compared with their checksums.
    #[inline]
    pub(crate) fn checked(&self, values: Range<usize>) -> &[T] {
        if let ColumnOwner::File { file, at } = &self.owner
            && !self.is_checked.load(Ordering::Relaxed)
        {
            let byte = |value: usize| at + value.min(self.len) * size_of::<T>();
            file.check(byte(values.start)..byte(values.end));
        }
        // SAFETY: `start` and `len` are those of a slice of the owner, which lives as long as `self` and whose values
        // do not move: a vector that nobody changes, or a map. Every bit pattern is a value of a `Pod`.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> Column<T> {
    /// How many values there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        let values = self.checked(0..self.len);
        self.is_checked.store(true, Ordering::Relaxed);
        values
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Self {
        let (start, len) = (values.as_ptr(), values.len());
        Self { start, len, owner: ColumnOwner::Memory { _values: values }, is_checked: AtomicBool::new(true) }
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

/// Maps a file for reading. A file that is cut off while it is mapped ends the program (SIGBUS): only files of this user are
/// mapped, into which nobody else may write, and the index is replaced whole and never written in place.
pub(crate) fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: see above; what other processes write into the file is only ever read as plain numbers.
    unsafe { Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_in_memory_has_the_values_of_its_vector() {
        let column = Column::from(vec![7u32, 8, 9]);
        let moved = Box::new(column);
        assert_eq!((moved.get(1), moved.get(3), moved.get(1..3)), (Some(&8), None, Some(&[8, 9][..])));
        assert!(moved.get(2..4).is_none() && moved.get(usize::MAX).is_none());
        assert_eq!((moved.len(), &moved[..]), (3, &[7, 8, 9][..]));
        assert!(Column::<u64>::default().is_empty() && Column::<u64>::default().iter().count() == 0);
    }

    #[test]
    fn threads_read_one_column() {
        let column = Arc::new(Column::from((0..100u64).collect::<Vec<_>>()));
        let sum = |column: Arc<Column<u64>>| move || column.iter().sum::<u64>();
        let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(sum(column.clone()))).collect();
        drop(column);
        assert!(threads.into_iter().all(|thread| thread.join().is_ok_and(|sum| sum == 4950)));
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps a file")]
    fn a_column_of_a_file_lies_inside_of_it_and_is_aligned() {
        let file = tempfile::tempfile().expect("file");
        std::io::Write::write_all(&mut &file, &[1; 64]).expect("bytes");
        let file = Arc::new(CheckedIndex::new(map(&file).expect("a map"), 64..64, Vec::new()).expect("covered"));
        let column = |at, len| Column::<u64>::mapped(&file, at, len);
        assert_eq!(column(0, 8).to_vec(), [0x0101_0101_0101_0101; 8]);
        let outside = [column(0, 9), column(64, 1), column(8, usize::MAX), column(usize::MAX, 1), column(4, 1)];
        assert!(outside.iter().all(Column::is_empty));
    }
}
