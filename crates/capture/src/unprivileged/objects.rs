//! What descriptors of the profiled processes stand for, as /proc tells: files, pipes, sockets with their addresses, and the
//! kernel's own kinds. Looked at when a thread waits for one, once a round: by then it may be another. One that cannot be
//! looked at any more is taken for what it was the last time.
#![allow(unsafe_code, reason = "statx")]

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use bytemuck::{Zeroable, bytes_of};
use dwell_store::raw::wire::{MAX_MEMBERS, NAME_BYTES, ObjectRecord, RecordHeader, TEXT_BYTES, kind, object_kind};
use foldhash::{HashMap, HashSet};

use super::sockets::SocketTable;
use super::stacks::mix;

/// What a set's key begins with, as in object.bpf.h.
const SET: u64 = 0x706f_6c6c;

/// Descriptors whose last object is remembered, and objects and sets that are not written again.
const MOST_REMEMBERED: usize = 1 << 16;

/// Whose descriptor, and when.
#[derive(Clone, Copy)]
pub struct DescriptorUser {
    /// Process.
    pub tgid: u32,
    /// Thread.
    pub tid: u32,
    /// CLOCK_MONOTONIC, ns.
    pub time_ns: u64,
}

/// A descriptor, as looked at.
#[derive(Clone, Copy, Default)]
pub struct Object {
    /// Key of its record, 0 = it has none.
    pub key: u64,
    /// `object_kind`.
    pub kind: u8,
    /// Key of the other end of a socket, 0 = not known.
    pub peer: u64,
}

impl Object {
    /// Whether a call of one thread on it can end the wait of another: pipes, sockets, and counters (eventfd).
    pub fn can_wake(&self) -> bool {
        matches!(self.kind, object_kind::PIPE | object_kind::SOCKET | object_kind::ANONYMOUS)
    }
}

/// Descriptors and their objects.
#[derive(Default)]
pub struct Objects {
    round: HashMap<(u32, i32), Object>,
    last: HashMap<(u32, i32), Object>,
    written: HashMap<u64, Vec<u8>>,
    sets: HashSet<u64>,
    sockets: SocketTable,
}

impl Objects {
    /// Descriptors may be others from now on.
    pub fn begin_round(&mut self) {
        self.round.clear();
    }

    /// The object behind descriptor `fd`; a record of what is new goes to `out`.
    pub fn of(&mut self, user: DescriptorUser, fd: i32, out: &mut dyn FnMut(&[u8])) -> Object {
        if let Some(&object) = self.round.get(&(user.tgid, fd)) {
            return object;
        }
        // One that has just been closed was most likely what it was before.
        let found = self.look(user, fd, out).or_else(|| self.last.get(&(user.tgid, fd)).copied());
        let object = found.unwrap_or_default();
        self.round.insert((user.tgid, fd), object);
        if self.last.len() >= MOST_REMEMBERED {
            self.last.clear();
        }
        self.last.insert((user.tgid, fd), object);
        object
    }

    /// The object of a set of descriptors; the first ones are known.
    pub fn set(&mut self, user: DescriptorUser, fds: &[i32], count: u32, out: &mut dyn FnMut(&[u8])) -> u64 {
        let mut record = record(user, object_kind::POLL_SET, -1);
        record.member_count = count;
        record.key = mix(count.into(), SET);
        for (member, &fd) in record.members.iter_mut().zip(fds.iter().take(MAX_MEMBERS)) {
            *member = self.of(user, fd, out).key;
            record.key = mix(record.key, *member);
        }
        if self.sets.len() >= MOST_REMEMBERED {
            self.sets.clear();
        }
        if self.sets.insert(record.key) {
            out(bytes_of(&record));
        }
        record.key
    }

    fn look(&mut self, user: DescriptorUser, fd: i32, out: &mut dyn FnMut(&[u8])) -> Option<Object> {
        let path = format!("/proc/{}/fd/{fd}", user.tgid);
        let link = fs::read_link(&path).ok()?.into_os_string().into_vec();
        let file = File::of(&path)?;
        let mut record = record(user, file.kind(&link), fd);
        record.inode = file.inode;
        record.device = file.device;
        record.key = mix(mix(file.inode, file.device.into()), record.kind.into());
        let mut peer = 0;
        match record.kind {
            object_kind::SOCKET => {
                if let Some(socket) = self.sockets.find(user.tgid, file.inode) {
                    socket.describe(&mut record);
                    record.key = mix(mix(file.inode, record.local_port.into()), record.remote_port.into());
                    peer = self.sockets.peer(file.inode, &socket).unwrap_or(0);
                }
            }
            object_kind::ANONYMOUS => {
                let name = link.strip_prefix(b"anon_inode:").unwrap_or(&link);
                set_text(&mut record, name);
                record.key = mix(mix(user.tgid.into(), fd.cast_unsigned().into()), hash(name));
            }
            _ => set_path(&mut record, &link),
        }
        record.key = record.key.max(1);
        self.write(&record, out);
        if record.kind == object_kind::SOCKET {
            self.sockets.keep(file.inode, record.key);
        }
        Some(Object { key: record.key, kind: record.kind, peer })
    }

    /// Writes the record unless it says what was said before.
    fn write(&mut self, record: &ObjectRecord, out: &mut dyn FnMut(&[u8])) {
        let said = bytes_of(record)[size_of::<RecordHeader>()..].to_vec();
        // Who holds it, and as what, is not what it is.
        let same = |before: &Vec<u8>| before.get(24..) == said.get(24..);
        if !self.written.get(&record.key).is_some_and(same) {
            out(bytes_of(record));
            if self.written.len() >= MOST_REMEMBERED {
                self.written.clear();
            }
            self.written.insert(record.key, said);
        }
    }
}

fn record(user: DescriptorUser, kind: u8, fd: i32) -> ObjectRecord {
    let size = size_of::<ObjectRecord>() as u16;
    let h = RecordHeader { kind: kind::OBJECT, size, tid: user.tid, time_ns: user.time_ns };
    ObjectRecord { h, tgid: user.tgid, kind, fd, ..ObjectRecord::zeroed() }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(1, |hash, &byte| mix(hash, byte.into()))
}

fn set_text(record: &mut ObjectRecord, text: &[u8]) {
    let kept = text.len().min(NAME_BYTES - 1);
    record.text[..kept].copy_from_slice(&text[..kept]);
    record.text_bytes = kept as u16 + 1;
}

/// The path's components, leaf first, each ended by a zero byte. What is no path has none.
fn set_path(record: &mut ObjectRecord, link: &[u8]) {
    let Some(path) = link.strip_prefix(b"/") else { return };
    let path = path.strip_suffix(b" (deleted)").unwrap_or(path);
    let mut at = 0;
    for part in path.rsplit(|&byte| byte == b'/').filter(|part| !part.is_empty()) {
        if at > TEXT_BYTES - NAME_BYTES {
            break;
        }
        let kept = part.len().min(NAME_BYTES - 1);
        record.text[at..at + kept].copy_from_slice(&part[..kept]);
        at += kept + 1;
    }
    record.text_bytes = at as u16;
}

/// What a file is, without asking another machine that may not answer.
struct File {
    mode: u32,
    inode: u64,
    device: u32,
}

impl File {
    fn of(path: &str) -> Option<Self> {
        let path = CString::new(path).ok()?;
        let flags = libc::AT_STATX_DONT_SYNC | libc::AT_NO_AUTOMOUNT;
        // SAFETY: an all-zero statx is valid, and the call fills it.
        let found = unsafe {
            let mut found: libc::statx = std::mem::zeroed();
            let mask = libc::STATX_TYPE | libc::STATX_INO;
            (libc::statx(libc::AT_FDCWD, path.as_ptr(), flags, mask, &raw mut found) == 0).then_some(found)
        }?;
        let device = found.stx_dev_major << 20 | found.stx_dev_minor;
        Some(Self { mode: u32::from(found.stx_mode), inode: found.stx_ino, device })
    }

    fn kind(&self, link: &[u8]) -> u8 {
        match self.mode & libc::S_IFMT {
            libc::S_IFSOCK => object_kind::SOCKET,
            libc::S_IFIFO => object_kind::PIPE,
            libc::S_IFCHR => object_kind::CHARACTER_DEVICE,
            0 => object_kind::ANONYMOUS,
            _ if link.starts_with(b"anon_inode:") => object_kind::ANONYMOUS,
            _ => object_kind::FILE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    fn look(objects: &mut Objects, fd: i32) -> (Object, Vec<ObjectRecord>) {
        let mut records = Vec::new();
        let user = DescriptorUser { tgid: std::process::id(), tid: 1, time_ns: 5 };
        objects.begin_round();
        let object = objects.of(user, fd, &mut |bytes| records.push(bytemuck::pod_read_unaligned(bytes)));
        (object, records)
    }

    #[test]
    fn files_have_paths_and_are_told_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut file = fs::File::create(folder.path().join("log")).expect("a file");
        file.write_all(b"x").expect("written");
        let mut objects = Objects::default();
        let (object, records) = look(&mut objects, file.as_raw_fd());
        assert_eq!((object.kind, records.len()), (object_kind::FILE, 1));
        assert!(records[0].text.starts_with(b"log\0"), "{:?}", &records[0].text[..20]);
        assert_eq!(look(&mut objects, file.as_raw_fd()).1.len(), 0);
        assert_eq!(look(&mut objects, 987_654).0.key, 0);
    }

    #[test]
    fn connections_have_both_ends_and_know_each_other() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let near = std::net::TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (far, _) = listener.accept().expect("accepted");
        let mut objects = Objects::default();
        let (first, records) = look(&mut objects, near.as_raw_fd());
        assert_eq!(records[0].remote_port, listener.local_addr().expect("bound").port());
        assert_eq!(records[0].remote_address[..4], [127, 0, 0, 1]);
        let (second, _) = look(&mut objects, far.as_raw_fd());
        let (again, _) = look(&mut objects, near.as_raw_fd());
        assert_eq!((second.peer, again.peer), (first.key, second.key));
        assert_eq!(look(&mut objects, listener.as_raw_fd()).1[0].socket_state, 10);
    }

    #[test]
    fn unix_sockets_know_each_other() {
        let (near, far) = std::os::unix::net::UnixStream::pair().expect("a pair");
        let mut objects = Objects::default();
        let (first, _) = look(&mut objects, near.as_raw_fd());
        assert_eq!(look(&mut objects, far.as_raw_fd()).0.peer, first.key);
    }

    #[test]
    fn ends_of_a_pipe_are_one_object() {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut objects = Objects::default();
        let (first, records) = look(&mut objects, reader.as_raw_fd());
        assert_eq!((records[0].kind, records[0].text_bytes), (object_kind::PIPE, 0));
        assert_eq!(look(&mut objects, writer.as_raw_fd()).0.key, first.key);
    }
}
