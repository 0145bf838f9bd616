//! Arrays of the hooks that are read where they lie, without a system call.
#![allow(unsafe_code, reason = "the kernel writes the memory that is read")]

use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd};

use bytemuck::Pod;
use libbpf_rs::{MapCore, MapHandle};

use crate::error::{Error, Result};

/// An array of `T` in the kernel's memory (`BPF_F_MMAPABLE`), to be read while the hooks write it.
pub struct MappedArray<T> {
    base: *const T,
    count: usize,
    values: PhantomData<T>,
}

impl<T: Pod> MappedArray<T> {
    /// Maps `map`, whose values must be as large as a `T`.
    pub fn of(map: &MapHandle) -> Result<Self> {
        if map.value_size() as usize != size_of::<T>() || !size_of::<T>().is_multiple_of(8) {
            return Err(Error::unsupported("an array with values of another size"));
        }
        let count = map.max_entries() as usize;
        // SAFETY: a new shared mapping of the array, readable only; BPF arrays lay values of whole words side by side.
        let base = unsafe {
            let (bytes, fd) = (count * size_of::<T>(), map.as_fd().as_raw_fd());
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0)
        };
        if base == libc::MAP_FAILED {
            return Err(Error::last_os("mapping an array of the hooks"));
        }
        Ok(Self { base: base.cast(), count, values: PhantomData })
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// The value as it is now; a hook that runs meanwhile may have written a part of it.
    pub fn at(&self, place: usize) -> Option<T> {
        // SAFETY: place < count, and every bit pattern is a T. The kernel may write meanwhile: a volatile read.
        (place < self.count).then(|| unsafe { self.base.add(place).read_volatile() })
    }
}

impl<T> Drop for MappedArray<T> {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what `of` mapped.
        unsafe { libc::munmap(self.base.cast_mut().cast(), self.count * size_of::<T>()) };
    }
}
