//! The rows that the replay makes, by column: those of the result's tables, with numbers where those have ids.

use dwell_model::ThreadId;

use super::numbers::{StackNumber, SyncNumber, TaskNumber, TypeNumber, WaitNumber};
use crate::input::texts::TextId;

/// Declares tables whose columns `dwell_store::tables` describes.
macro_rules! raw_tables {
    ($($(#[$doc:meta])* $name:ident $row:ident { $($column:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Default)]
        #[allow(missing_docs, reason = "named and described as in the result")]
        pub struct $name { $(pub $column: Vec<$ty>,)* }

        #[doc = concat!("A row of [`", stringify!($name), "`].")]
        #[allow(missing_docs, reason = "named and described as in the result")]
        pub struct $row { $(pub $column: $ty,)* }

        #[allow(dead_code, reason = "not every table needs all")]
        impl $name {
            /// Number of rows.
            pub fn len(&self) -> usize {
                [$(self.$column.len(),)*][0]
            }

            /// Appends a row; returns its number.
            pub fn push(&mut self, row: $row) -> usize {
                $(self.$column.push(row.$column);)*
                self.len() - 1
            }

            /// The rows by the times of the column `times`; those of one time stay in their order.
            pub fn in_order_of(self, times: impl Fn(&Self) -> &[u64]) -> Self {
                if times(&self).is_sorted() {
                    return self;
                }
                let mut order: Vec<usize> = (0..self.len()).collect();
                order.sort_by_key(|&row| times(&self)[row]);
                self.permuted(&order)
            }

            /// The rows `order`, in this order. Each column's memory is given back before the next one is copied.
            pub fn permuted(self, order: &[usize]) -> Self {
                Self {
                    $($column: {
                        let column = self.$column;
                        order.iter().map(|&row| column[row]).collect()
                    },)*
                }
            }
        }
    )*};
}

raw_tables! {
    /// Intervals off the CPU. `owner` is the thread of a [`LockOwner`](super::lock_owner::LockOwner), whose source the wait's key has.
    RawOffCpu RawOffCpuRow {
        thread: ThreadId,
        start_ns: u64,
        wait_ns: u64,
        runnable_ns: u64,
        cpu: u16,
        reason: u8,
        outcome: u8,
        syscall: i16,
        wait: WaitNumber,
        stack: StackNumber,
        waker: ThreadId,
        waker_kind: u8,
        waker_stack: StackNumber,
        owner: ThreadId,
        same_call: bool,
    }
    /// Samples.
    RawSamples RawSampleRow {
        thread: ThreadId,
        time_ns: u64,
        weight_ns: u64,
        cpu: u16,
        stack: StackNumber,
        estimated: bool,
    }
    /// Tasks, without what they are nested in.
    RawTasks RawTaskRow {
        task_type: TypeNumber,
        thread: ThreadId,
        end_thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
        id: u64,
        finished: bool,
    }
    /// Data of tasks.
    RawMetadata RawMetadatumRow {
        task: TaskNumber,
        thread: ThreadId,
        time_ns: u64,
        key: TextId,
        number: f64,
        text: TextId,
    }
    /// Markers.
    RawMarkers RawMarkerRow {
        task_type: TypeNumber,
        thread: ThreadId,
        time_ns: u64,
        scope: u8,
    }
    /// Values of probes' hits.
    RawMarkerValues RawMarkerValueRow {
        task_type: TypeNumber,
        thread: ThreadId,
        time_ns: u64,
        probe: u16,
        place: u8,
        kind: u8,
        bits: u64,
        text: TextId,
    }
    /// Announced waits.
    RawSyncWaits RawSyncWaitRow {
        thread: ThreadId,
        object: SyncNumber,
        start_ns: u64,
        end_ns: u64,
        outcome: u8,
    }
}
