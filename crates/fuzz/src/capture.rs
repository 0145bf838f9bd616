//! What the kernel tells of a profiled program, which chose the names in it.

use dwell_capture::readers;

/// Records of perf events.
pub fn perf_records(bytes: &[u8]) {
    let _ = readers::perf_records(bytes);
}

/// Tables of `/proc/PID/net`.
const TABLES: &[&str] = &["tcp", "tcp6", "udp", "udp6", "unix", "netlink", "packet"];

/// A text of `/proc`: the first byte tells which.
pub fn proc_texts(bytes: &[u8]) {
    let Some((&which, text)) = bytes.split_first() else { return };
    match usize::from(which).checked_sub(b'0'.into()).and_then(|number| TABLES.get(number)) {
        Some(table) => drop(readers::sockets(table, &String::from_utf8_lossy(text))),
        None if which == b't' => drop(readers::thread(&String::from_utf8_lossy(text))),
        None if which == b'e' => drop(dwell_itt_wire::State::parse_variable(text)),
        None => {
            let _ = (dwell_unwind::parse_maps(1, text), readers::memory_maps(text));
        }
    }
}

/// What is told of this process.
pub(crate) fn texts() -> Vec<Vec<u8>> {
    let table = |(number, name): (usize, &&str)| {
        let text = std::fs::read(format!("/proc/self/net/{name}")).unwrap_or_default();
        [format!("{number}").into_bytes(), text.get(..4096).unwrap_or(&text).to_vec()].concat()
    };
    let own =
        |which: &[u8], name: &str| [which, &std::fs::read(format!("/proc/self/{name}")).unwrap_or_default()].concat();
    let mut all: Vec<Vec<u8>> = TABLES.iter().enumerate().map(table).collect();
    all.extend([own(b"t", "syscall"), own(b"t", "status"), own(b"m", "maps")]);
    all.extend(
        [&b"t202 0x1 0x80 0x2 0x0 0x0 0x0 0x7ffd10 0x7f1234\n"[..], b"t-1 0x7ffd10 0x7f1234\n"].map(<[u8]>::to_vec),
    );
    all.push(b"erecording:/dev/shm/dwell-0123456789abcdef".to_vec());
    all
}

/// Of each sort one record: as the kernel writes them with `sample_id_all`.
pub(crate) fn some_perf_records() -> Vec<Vec<u8>> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let trailer = words(&[7 << 32 | 7, 1_000, 0, 1]);
    let record = |ty: u32, misc: u16, body: &[u8]| {
        let size = (body.len() + 8) as u16;
        [&ty.to_le_bytes()[..], &misc.to_le_bytes(), &size.to_le_bytes(), body].concat()
    };
    let told = |ty: u32, misc: u16, body: &[u64]| record(ty, misc, &[words(body), trailer.clone()].concat());
    let path = u64::from_le_bytes(*b"/bin/app");
    let map = [7 << 32 | 7, 0x1000, 0x2000, 0, 8 << 32 | 1, 99, 0, 5 << 32 | 5, path, 0];
    let mut clock = vec![7, 0x1000, 7 << 32 | 7, 1_000, 0, 2]; // identifier, ip, thread, time, CPU; then registers
    clock.extend(0..17);
    clock.extend([16, 1, 2, 16]);
    let mut enter = vec![1, 0x1000, 7 << 32 | 7, 1_000, 0, 3, 0xffff_ffff_8100_0000, u64::MAX - 127, 0x1000];
    enter.extend([64 | 1 << 32, 202 << 32, 1 << 32, 2, 3, 4, 5, 6, 7]);
    let all = [
        told(14, 1 << 13, &[]),
        told(14, 0, &[]),
        told(7, 0, &[7 | 1 << 32, 8 | 7 << 32, 0]),
        told(4, 0, &[7 | 1 << 32, 8 | 7 << 32, 0]),
        told(3, 1 << 13, &[7 << 32 | 7, path, 0]),
        told(10, 2, &map),
        told(10, 1 << 14 | 2, &[7 << 32 | 7, 0x1000, 0x2000, 0, 20, 1, 2, 5 << 32 | 5, path, 0]),
        told(2, 0, &[1, 9]),
        record(9, 2, &words(&clock)),
        record(9, 2, &words(&enter)),
    ];
    all.iter().cloned().chain([all.concat()]).collect()
}
