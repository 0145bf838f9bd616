use bytemuck::Zeroable;

use super::*;

#[test]
fn ids_of_a_container_are_no_ids_outside() {
    let mut thread_table = ThreadTable::default();
    let mut begin = |tid: u32, inner_tid: u32| {
        let mut record = ThreadNewRecord { tgid: tid, inner_tid, ..ThreadNewRecord::zeroed() };
        record.h.tid = tid;
        record.pid_namespace = if inner_tid == 0 { 0 } else { 5 };
        thread_table.begin(&record, 0);
    };
    begin(100, 1);
    begin(101, 7);
    begin(9, 0);
    assert_eq!(thread_table.outer_id(100, 7), Some(101));
    // Thread 9 outside is another one than what 9 is in the container.
    assert_eq!(thread_table.outer_id(100, 9), None);
    assert_eq!(thread_table.outer_id(9, 100), Some(100));
}
