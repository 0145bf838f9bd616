//! What lies in the memory of a program with a runtime: its code, its goroutines. The program may lie, and changes while it is read.

use dwell_goroutines::example::{self, ChangingByte, ExampleProgram, SEMAPHORE_TABLE_BYTES};
use dwell_goroutines::{GoroutineReader, MOST_FRAMES};
use dwell_hotspot::example::{ExampleJvm, ExampleMemory, exports};
use dwell_hotspot::{CodeBlob, CodeCache, RemoteMemory};

/// Versions of Go, one for each layout of its structures.
const GO_VERSIONS: [&str; 5] = ["go1.26.1", "go1.18", "go1.22", "go1.24", "go1.25"];
/// Bytes that change: this many at most, each described by four bytes.
const MOST_CHANGES: usize = 15;
const CHANGE_BYTES: usize = 4;
const PASSES: usize = 3;

/// The memory of a JVM, from the variables on that its library exports.
pub fn code_cache(bytes: &[u8]) {
    let mut memory = ExampleMemory::new(bytes.to_vec());
    let Ok(mut cache) = CodeCache::open(&mut memory, &exports()) else { return };
    check_scan(&mut cache, &mut memory);
    check_scan(&mut cache, &mut memory);
    assert!(memory.asked_bytes() < 2 << 30, "{} bytes read", memory.asked_bytes());
    // Another program in the same place: all that was is gone.
    let mut replaced: Vec<u8> = bytes.iter().map(|byte| byte.rotate_left(1)).collect();
    replaced.truncate(bytes.len() / 2);
    check_scan(&mut cache, &mut ExampleMemory::new(replaced));
}

fn check_scan(cache: &mut CodeCache, memory: &mut impl RemoteMemory) {
    let before = cache.blobs().count();
    let Ok(scan) = cache.scan(memory) else { return };
    let is_whole = |blob: &CodeBlob| {
        blob.start <= blob.code_start && blob.code_start <= blob.frame_from && blob.code_start < blob.end
    };
    assert!(scan.appeared.iter().all(is_whole), "a piece of code without code");
    assert!(scan.appeared.iter().all(|blob| blob.frame_from <= blob.end), "a frame that is never complete");
    assert!(scan.regions.len() <= 16 && scan.appeared.len() <= 4096, "a scan without bound");
    assert_eq!(cache.blobs().count(), before - scan.gone + scan.appeared.len());
}

/// A JVM before and since JDK 23.
pub(crate) fn code_caches() -> Vec<Vec<u8>> {
    let jvm = ExampleJvm::default();
    vec![jvm.bytes(), ExampleJvm { is_new: true, ..jvm }.bytes()]
}

/// The memory of a Go program: which version it is, how many bytes change and when, then all bytes.
pub fn goroutines(bytes: &[u8]) {
    let [version, changing, rest @ ..] = bytes else { return };
    let version = GO_VERSIONS[usize::from(*version) % GO_VERSIONS.len()];
    let changing = usize::from(*changing).min(MOST_CHANGES) * CHANGE_BYTES;
    let (changes, image) = rest.split_at(changing.min(rest.len()));
    let changes = changes.as_chunks::<CHANGE_BYTES>().0.iter().map(|&[read, low, high, value]| ChangingByte {
        before_read: read.into(),
        at: u16::from_le_bytes([low, high]).into(),
        value,
    });
    let mut memory = example::ExampleMemory::new(image.to_vec(), changes.collect());
    let Some(mut reader) = example::reader(version) else { return };
    // Pointers in one stretch of memory are the most that a pass can add to the list.
    let most = PASSES * image.len().max(SEMAPHORE_TABLE_BYTES).div_ceil(8);
    for _ in 0..PASSES {
        check_pass(&mut reader, &mut memory, most);
    }
    reader.forget_stacks();
    check_pass(&mut reader, &mut memory, most + most / PASSES);
}

/// A pass over `most` goroutines at most.
fn check_pass(reader: &mut GoroutineReader, memory: &mut example::ExampleMemory, most: usize) {
    let before = memory.asked_bytes();
    let mut seen = 0;
    let counts = reader.pass(memory, &mut |goroutine| {
        seen += 1;
        assert!(goroutine.id != 0 && goroutine.stack.is_none_or(|stack| stack.len() <= MOST_FRAMES));
    });
    let asked = memory.asked_bytes() - before;
    // A list of a million, semaphores; of each goroutine itself, twice, a thread, a channel, a connection and the whole stack.
    let most_asked = (8 << 20) + (2 << 20) + most * (2 * 1360 + 8 + 96 + 416 + (33 << 10));
    assert!(asked <= most_asked, "{asked} bytes read in a pass over {most} goroutines");
    let Some(counts) = counts else { return };
    assert_eq!(counts.seen, seen);
    assert!(counts.seen + counts.torn + counts.unreadable <= most as u64, "{counts:?} of {most}");
}

/// An old version of Go and the newest: goroutines of each state, one of which moves while it is read.
pub(crate) fn go_programs() -> Vec<Vec<u8>> {
    [0, 1].into_iter().filter_map(go_program).collect()
}

/// For which the last goroutine of the program waits.
const DESCRIPTOR: u32 = 7;

fn go_program(version: u8) -> Option<Vec<u8>> {
    let mut program = ExampleProgram::new(GO_VERSIONS[usize::from(version)])?;
    let goroutines: Vec<u64> =
        (1..).zip([1, 2, 3, 4, 4, 4, 4, 6]).map(|(id, status)| program.goroutine(id, status, 64)).collect();
    program.wait_at_channel(goroutines[3], 0x5000);
    program.wait_for_semaphore(goroutines[4], 0x6000);
    program.wait_for_semaphore(goroutines[5], 0x7000);
    let deep = program.goroutine(9, 4, 1200);
    let reads = program.goroutine(10, 4, 256);
    program.wait_for_network(reads, DESCRIPTOR);
    program.list(&[&goroutines[..], &[deep, reads]].concat());
    let [low, high, ..] = program.place_of_pc(goroutines[6]).to_le_bytes();
    let head = [version, 1, 4, low, high, 0x10];
    Some([&head[..], program.bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_programs_are_read_and_one_goroutine_moves() {
        for seed in go_programs() {
            let image = seed[2 + CHANGE_BYTES..].to_vec();
            let change = ChangingByte {
                before_read: seed[2].into(),
                at: u16::from_le_bytes([seed[3], seed[4]]).into(),
                value: seed[5],
            };
            let mut reader = example::reader(GO_VERSIONS[usize::from(seed[0])]).expect("a layout");
            let mut memory = example::ExampleMemory::new(image, vec![change]);
            let (mut depths, mut objects, mut descriptors) = (Vec::new(), Vec::new(), Vec::new());
            let counts = reader.pass(&mut memory, &mut |it| {
                depths.push(it.stack.map_or(0, <[u64]>::len));
                objects.push(it.object);
                descriptors.extend(it.descriptor);
            });
            let counts = counts.expect("a list");
            assert_eq!((counts.seen, counts.torn, counts.unreadable), (8, 1, 0));
            assert_eq!(depths.iter().filter(|depth| **depth == 3).count(), 7);
            assert_eq!(descriptors, [DESCRIPTOR]);
            assert!([0x5000, 0x6000, 0x7000].iter().all(|object| objects.contains(object)));
        }
    }
}
