//! Names of what the kernel keeps: files, pipes, sockets, event files and sets of them.
//!
//! A name is the same from run to run: no inode, no descriptor number, no port that the kernel chose. Those are in the
//! detail.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dwell_model::ObjectType;
use dwell_store::raw::wire::{
    AF_INET, AF_INET6, AF_UNIX, IPPROTO_TCP, IPPROTO_UDP, ObjectRecord, TCP_LISTEN, TEXT_BYTES, object_kind,
};
use dwell_store::raw::{c_string, unix_socket_name};

use crate::input::meta::Meta;

/// Ports from here on are chosen by the kernel (ip_local_port_range).
const EPHEMERAL: u16 = 32768;
/// Members of a set that its name tells.
const MOST_MEMBERS: usize = 4;

/// What an object record stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its type.
    pub kind: ObjectType,
    /// Its name; one that does not tell objects apart when `anonymous`.
    pub name: String,
    /// What else is known.
    pub detail: String,
    /// Whether the name needs the place of the first wait to mean something.
    pub anonymous: bool,
}

/// Describes the object of `key` as of `time_ns`.
pub fn describe(meta: &Meta, key: u64, time_ns: u64) -> Option<Described> {
    let record = meta.object(key, time_ns)?;
    Some(match record.kind {
        object_kind::POLL_SET => poll_set(meta, record, time_ns),
        object_kind::ANONYMOUS => anonymous(meta, record, key),
        object_kind::PATH => given(record),
        object_kind::JAVA_MONITOR | object_kind::JAVA_LOCK => java_lock(record),
        _ => single(meta, record),
    })
}

/// The path of a file's record, empty when it has none.
pub fn path(record: &ObjectRecord) -> String {
    let text = record.text.get(..usize::from(record.text_bytes)).unwrap_or(&record.text);
    let mut parts: Vec<String> = text
        .split(|&byte| byte == 0)
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into())
        .collect();
    parts.reverse();
    if parts.is_empty() { String::new() } else { format!("/{}", parts.join("/")) }
}

/// The path of a PATH's record as its program gave it, behind its directory where that is known; empty when it has none.
pub fn given_path(record: &ObjectRecord) -> String {
    let text = record.text.get(..usize::from(record.text_bytes)).unwrap_or(&record.text);
    let leaf = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let in_directory = leaf.len() + 1 < text.len();
    let path =
        if leaf.starts_with(b"/") || !in_directory { String::from_utf8_lossy(leaf).into() } else { path(record) };
    if leaf.len() + 1 == TEXT_BYTES { format!("{path}…") } else { path }
}

fn given(record: &ObjectRecord) -> Described {
    match given_path(record) {
        path if path.is_empty() => nameless(ObjectType::Stream, "File", String::new()),
        path => named(ObjectType::Stream, format!("file {path}"), String::new()),
    }
}

/// What the record of a stop says; a signal that the kernel sends has no sender.
pub fn stop(record: &ObjectRecord) -> String {
    let signal = match record.fd {
        19 => "SIGSTOP",
        20 => "SIGTSTP",
        21 => "SIGTTIN",
        22 => "SIGTTOU",
        _ => "a signal",
    };
    let sender = c_string(&record.text);
    if sender.is_empty() { format!("Stopped by {signal}") } else { format!("Stopped by {signal} from {sender}") }
}

/// A monitor by the class of its object, a lock by the class that programs use, of which its own is a part.
fn java_lock(record: &ObjectRecord) -> Described {
    let class = c_string(&record.text);
    let detail = format!("at {:#x}", record.inode);
    if record.kind == object_kind::JAVA_MONITOR {
        let name = if class.is_empty() { "Java monitor".into() } else { format!("{class} monitor") };
        return named(ObjectType::JvmMonitor, name, detail);
    }
    let outer = class.strip_prefix("java.util.concurrent.").and_then(|_| class.split_once('$')).map(|(outer, _)| outer);
    let kind = match outer {
        Some("java.util.concurrent.Semaphore") => ObjectType::Semaphore,
        Some("java.util.concurrent.CountDownLatch") => ObjectType::Event,
        Some("java.util.concurrent.locks.ReentrantReadWriteLock") => ObjectType::RwLock,
        _ => ObjectType::JvmMonitor,
    };
    let name = if class.is_empty() { "Java lock" } else { outer.unwrap_or(&class) };
    named(kind, name.into(), detail)
}

fn named(kind: ObjectType, name: String, detail: String) -> Described {
    Described { kind, name, detail, anonymous: false }
}

fn nameless(kind: ObjectType, name: &str, detail: String) -> Described {
    Described { kind, name: name.into(), detail, anonymous: true }
}

fn single(meta: &Meta, record: &ObjectRecord) -> Described {
    let path = path(record);
    match record.kind {
        object_kind::SOCKET => socket(meta, record),
        object_kind::PIPE if path.is_empty() => {
            nameless(ObjectType::Stream, "pipe", format!("pipe:[{}]", record.inode))
        }
        object_kind::PIPE => named(ObjectType::Stream, format!("pipe {path}"), String::new()),
        _ if path.is_empty() => nameless(ObjectType::Stream, "File", format!("inode {}", record.inode)),
        _ => named(ObjectType::Stream, path, String::new()),
    }
}

fn anonymous(meta: &Meta, record: &ObjectRecord, key: u64) -> Described {
    let text = c_string(&record.text);
    let what = text.trim_start_matches("anon_inode:").trim_matches(['[', ']']).to_owned();
    let detail = format!("descriptor {}", record.fd);
    match what.as_str() {
        "eventpoll" => epoll(meta, meta.members(key).unwrap_or_default()),
        "eventfd" => nameless(ObjectType::Event, "eventfd", detail),
        "timerfd" => nameless(ObjectType::Timer, "timerfd", detail),
        "signalfd" => nameless(ObjectType::Signal, "signalfd", detail),
        "io_uring" => nameless(ObjectType::IoUring, "io_uring", detail),
        "pidfd" => nameless(ObjectType::ChildProcess, "pidfd", detail),
        "inotify" | "fanotify" => nameless(ObjectType::Stream, &what, detail),
        "" => nameless(ObjectType::Event, "anonymous file", detail),
        _ => nameless(ObjectType::Event, &what, detail),
    }
}

fn epoll(meta: &Meta, members: &str) -> Described {
    let names: Vec<String> = members.lines().map(|line| member_name(meta, line)).collect();
    let name = if names.is_empty() { "epoll".into() } else { format!("epoll {}", set_of(names)) };
    Described { kind: ObjectType::Event, name, detail: members.replace('\n', ", "), anonymous: members.is_empty() }
}

/// A member as /proc told it, without what changes from run to run.
fn member_name(meta: &Meta, line: &str) -> String {
    let what = line.trim_start_matches("anon_inode:").trim_matches(['[', ']']);
    match line {
        _ if line.starts_with("TCP ") && line.contains("->") => connection(meta, line),
        _ if line.starts_with("pipe:") => "pipe".into(),
        _ if line.starts_with("socket:") => "socket".into(),
        _ if line.starts_with("fd ") => "closed file".into(),
        _ => what.into(),
    }
}

/// `TCP 127.0.0.1:40312 -> 127.0.0.1:80` as sockets are called by themselves, where only the own port is one that the kernel chose: this
/// end asks the other one.
fn connection(meta: &Meta, line: &str) -> String {
    let name = line.split_once(" -> ").and_then(|(own, other)| {
        let (address, port) = own.rsplit_once(':')?;
        (is_chosen(meta, port) && !is_chosen(meta, other)).then(|| format!("{address}:* -> {other}"))
    });
    name.unwrap_or_else(|| "connections".into())
}

/// A connection that somebody else opened has nothing in its name that stays the same.
fn set_member(meta: &Meta, name: &str) -> String {
    let accepted =
        name.contains(" -> ") && (name.ends_with(":*") || name.matches(":*").count() == 0 || is_chosen(meta, name));
    if accepted { "connections".into() } else { name.to_owned() }
}

/// Whether the port that a name ends with is one that the kernel chose for whoever connected: nobody listened at it.
fn is_chosen(meta: &Meta, name: &str) -> bool {
    let port = name.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    port.is_some_and(|port| port >= EPHEMERAL && !meta.listening.contains(&port))
}

fn set_of(mut names: Vec<String>) -> String {
    names.sort();
    names.dedup();
    let more = names.len().saturating_sub(MOST_MEMBERS);
    names.truncate(MOST_MEMBERS);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    format!("{{{}}}", names.join(", "))
}

fn poll_set(meta: &Meta, record: &ObjectRecord, time_ns: u64) -> Described {
    let keys = record.members.iter().filter(|&&key| key != 0);
    let members = keys.filter_map(|&key| meta.object(key, time_ns));
    // A set within a set would be an epoll's record: it is named by what it is, not by its members.
    let described: Vec<Described> = members
        .filter(|member| member.kind != object_kind::POLL_SET)
        .map(|member| match member.kind {
            object_kind::ANONYMOUS => anonymous(meta, member, member.key),
            _ => single(meta, member),
        })
        .collect();
    let details: Vec<&str> = described.iter().map(|member| member.detail.as_str()).filter(|d| !d.is_empty()).collect();
    let known = record.members.iter().filter(|&&key| key != 0).count();
    let mut detail = details.join(", ");
    if record.member_count as usize > known && known > 0 {
        detail = format!("{known} of {} members; {detail}", record.member_count);
    }
    let names: Vec<String> = described.iter().map(|member| set_member(meta, &member.name)).collect();
    let name = if names.is_empty() { "poll".into() } else { format!("poll {}", set_of(names)) };
    Described { kind: ObjectType::Event, name, detail, anonymous: described.is_empty() }
}

fn socket(meta: &Meta, record: &ObjectRecord) -> Described {
    let kind = ObjectType::Socket;
    let protocol = match (record.family, record.protocol) {
        (AF_UNIX, _) => return unix_socket(record),
        (AF_INET | AF_INET6, IPPROTO_TCP) => "TCP".to_owned(),
        (AF_INET | AF_INET6, IPPROTO_UDP) => "UDP".to_owned(),
        (AF_INET | AF_INET6, other) => format!("IP protocol {other}"),
        (16, _) => return nameless(kind, "Netlink", String::new()),
        (17, _) => return nameless(kind, "Packet socket", String::new()),
        (40, _) => return nameless(kind, "Vsock", String::new()),
        (family, _) => return nameless(kind, &format!("Socket of family {family}"), String::new()),
    };
    let local = address(record.family, &record.local_address);
    let remote = address(record.family, &record.remote_address);
    let (near, far) = (end(&local, record.local_port), end(&remote, record.remote_port));
    if record.socket_state == TCP_LISTEN && record.protocol == IPPROTO_TCP {
        return named(kind, format!("{protocol} listen {near}"), String::new());
    }
    if record.remote_port == 0 {
        let near = stable_end(&local, record.local_port, true);
        return named(kind, format!("{protocol} {near}"), String::new());
    }
    // Of two ports that the kernel may have chosen, it chose the connecting side's: not the one that was listened at.
    let local_chosen = record.local_port >= EPHEMERAL && !meta.listening.contains(&record.local_port);
    let remote_chosen = record.remote_port >= EPHEMERAL && !local_chosen;
    let name = format!(
        "{protocol} {} -> {}",
        stable_end(&local, record.local_port, local_chosen),
        stable_end(&remote, record.remote_port, remote_chosen)
    );
    named(kind, name, format!("{protocol} {near} -> {far}"))
}

fn unix_socket(record: &ObjectRecord) -> Described {
    let text = &record.text[..usize::from(record.text_bytes).min(record.text.len())];
    let name = unix_socket_name(text);
    if name.is_empty() || name == "@" {
        return nameless(ObjectType::Socket, "Unix pair", String::new());
    }
    named(ObjectType::Socket, format!("Unix {name}"), String::new())
}

/// `ADDRESS:PORT` of an end.
pub fn socket_address(family: u16, bytes: &[u8; 16], port: u16) -> String {
    end(&address(family, bytes), port)
}

fn address(family: u16, bytes: &[u8; 16]) -> String {
    let v4 = Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]);
    let address = if family == AF_INET6 { IpAddr::V6(Ipv6Addr::from(*bytes)).to_canonical() } else { IpAddr::V4(v4) };
    if address.is_ipv6() { format!("[{address}]") } else { address.to_string() }
}

fn end(address: &str, port: u16) -> String {
    format!("{address}:{port}")
}

fn stable_end(address: &str, port: u16, chosen: bool) -> String {
    if chosen && (port >= EPHEMERAL || port == 0) { format!("{address}:*") } else { end(address, port) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_store::raw::wire::RecordHeader;

    fn record(kind: u8, text: &[u8]) -> ObjectRecord {
        let mut bytes = [0; TEXT_BYTES];
        bytes[..text.len()].copy_from_slice(text);
        ObjectRecord {
            h: RecordHeader { kind: 4, size: 0, tid: 1, time_ns: 0 },
            key: 1,
            inode: 77,
            tgid: 1,
            fd: 3,
            kind,
            socket_state: 1,
            family: 0,
            protocol: 0,
            local_port: 0,
            remote_port: 0,
            text_bytes: text.len() as u16,
            local_address: [0; 16],
            remote_address: [0; 16],
            member_count: 0,
            device: 0,
            reserved: 0,
            members: [0; 8],
            text: bytes,
        }
    }

    fn named_alone(record: &ObjectRecord) -> Described {
        single(&Meta::default(), record)
    }

    fn tcp(local_port: u16, remote_port: u16, state: u8) -> ObjectRecord {
        let mut address = [0; 16];
        address[..4].copy_from_slice(&[127, 0, 0, 1]);
        ObjectRecord {
            family: AF_INET,
            protocol: IPPROTO_TCP,
            socket_state: state,
            local_port,
            remote_port,
            local_address: address,
            remote_address: address,
            ..record(object_kind::SOCKET, b"")
        }
    }

    #[test]
    fn sockets_are_named_by_what_does_not_change() {
        let client = named_alone(&tcp(41234, 6379, 1));
        assert_eq!(client.name, "TCP 127.0.0.1:* -> 127.0.0.1:6379");
        assert_eq!(client.detail, "TCP 127.0.0.1:41234 -> 127.0.0.1:6379");
        assert_eq!(named_alone(&tcp(6379, 41234, 1)).name, "TCP 127.0.0.1:6379 -> 127.0.0.1:*");
        let mut listening = Meta::default();
        listening.listening.insert(41000);
        assert_eq!(single(&listening, &tcp(41000, 51000, 1)).name, "TCP 127.0.0.1:41000 -> 127.0.0.1:*");
        assert_eq!(single(&listening, &tcp(51000, 41000, 1)).name, "TCP 127.0.0.1:* -> 127.0.0.1:41000");
        assert_eq!(named_alone(&tcp(6379, 0, TCP_LISTEN)).name, "TCP listen 127.0.0.1:6379");
        let unix = ObjectRecord { family: AF_UNIX, ..record(object_kind::SOCKET, b"/run/x.sock\0\0") };
        assert_eq!(named_alone(&unix).name, "Unix /run/x.sock");
        let hidden = ObjectRecord { family: AF_UNIX, ..record(object_kind::SOCKET, b"\0bus\0") };
        assert_eq!(named_alone(&hidden).name, "Unix @bus");
        let in_parts = ObjectRecord { family: AF_UNIX, ..record(object_kind::SOCKET, b"\0a\0b") };
        assert_eq!(named_alone(&in_parts).name, "Unix @a@b");
        let pair = ObjectRecord { family: AF_UNIX, ..record(object_kind::SOCKET, b"") };
        assert_eq!(named_alone(&pair).name, "Unix pair");
    }

    #[test]
    fn paths_are_put_together_from_their_parts() {
        assert_eq!(named_alone(&record(object_kind::FILE, b"log\0var\0")).name, "/var/log");
        let pipe = named_alone(&record(object_kind::PIPE, b""));
        assert_eq!((pipe.name.as_str(), pipe.detail.as_str(), pipe.anonymous), ("pipe", "pipe:[77]", true));
    }

    #[test]
    fn given_paths_start_at_their_directory() {
        let path = |text: &[u8]| given_path(&record(object_kind::PATH, text));
        assert_eq!(path(b"/etc/passwd\0"), "/etc/passwd");
        assert_eq!(path(b"data/x\0run\0srv\0"), "/srv/run/data/x");
        assert_eq!(path(b"data/x\0"), "data/x");
        assert_eq!(path(b"\0run\0srv\0"), "/srv/run");
        assert_eq!(path(b""), "");
        let long = [b"/".as_slice(), &[b'x'; TEXT_BYTES - 2], b"\0"].concat();
        assert!(path(&long).ends_with("x…"));
        let mut bad = record(object_kind::PATH, b"x");
        bad.text_bytes = u16::MAX;
        assert_eq!(given_path(&bad), "/x");
    }

    #[test]
    fn a_java_lock_is_called_by_its_class() {
        let lock = |kind, class: &[u8]| {
            let found = java_lock(&record(kind, class));
            (found.kind, found.name)
        };
        let (monitor, own) = (object_kind::JAVA_MONITOR, object_kind::JAVA_LOCK);
        let cases: [(u8, &[u8], _, _); 6] = [
            (monitor, b"java.util.ArrayList", ObjectType::JvmMonitor, "java.util.ArrayList monitor"),
            (monitor, b"", ObjectType::JvmMonitor, "Java monitor"),
            (
                own,
                b"java.util.concurrent.locks.ReentrantLock$NonfairSync",
                ObjectType::JvmMonitor,
                "java.util.concurrent.locks.ReentrantLock",
            ),
            (own, b"java.util.concurrent.Semaphore$FairSync", ObjectType::Semaphore, "java.util.concurrent.Semaphore"),
            (own, b"com.example.Gate$Sync", ObjectType::JvmMonitor, "com.example.Gate$Sync"),
            (own, b"", ObjectType::JvmMonitor, "Java lock"),
        ];
        for (kind, class, expected, name) in cases {
            assert_eq!(lock(kind, class), (expected, name.to_owned()));
        }
    }

    #[test]
    fn stops_tell_their_signal_and_sender() {
        let mut stopped = record(object_kind::STOP, b"bash\0");
        stopped.fd = 19;
        assert_eq!(stop(&stopped), "Stopped by SIGSTOP from bash");
        let by_kernel = ObjectRecord { fd: 21, ..record(object_kind::STOP, b"") };
        assert_eq!(stop(&by_kernel), "Stopped by SIGTTIN");
    }

    #[test]
    fn epoll_sets_tell_their_members() {
        let set = epoll(
            &Meta::default(),
            "TCP listen 0.0.0.0:80\nTCP 1.1.1.1:80 -> 2.2.2.2:5\nTCP 1.1.1.1:80 -> 2.2.2.2:6\nanon_inode:[eventfd]",
        );
        assert_eq!(set.name, "epoll {TCP listen 0.0.0.0:80, connections, eventfd}");
        let mut meta = Meta::default();
        let ends = "TCP 1.1.1.1:51000 -> 1.1.1.1:41000\nTCP 1.1.1.1:41000 -> 1.1.1.1:51000";
        assert_eq!(epoll(&meta, ends).name, "epoll {connections}");
        meta.listening.insert(41000);
        assert_eq!(epoll(&meta, ends).name, "epoll {TCP 1.1.1.1:* -> 1.1.1.1:41000, connections}");
    }

    #[test]
    fn damaged_lengths_are_no_panic() {
        let mut bad = record(object_kind::SOCKET, b"x");
        bad.text_bytes = u16::MAX;
        bad.family = AF_UNIX;
        named_alone(&bad);
        bad.kind = object_kind::FILE;
        named_alone(&bad);
    }
}
