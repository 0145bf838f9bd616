//! What /proc tells of the descriptors of processes: files, the addresses of sockets, and the members of epoll sets.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Members of a set that are looked up; its name has room for a few.
const MOST_MEMBERS: usize = 1_024;
/// State of a TCP socket that listens (`enum` in `include/net/tcp_states.h`), as /proc writes it.
const LISTENS: &str = "0A";

/// What the members of an epoll set are, a line each, best effort: the set may have changed or gone.
pub fn epoll_members(pid: u32, fd: i32) -> Vec<u8> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).unwrap_or_default();
    let members = info.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok());
    let targets: Vec<String> = members.take(MOST_MEMBERS).map(|member| target(pid, member)).collect();
    described(pid, targets).join("\n").into_bytes()
}

/// What a descriptor of a process stands for: a path, or the addresses of a socket.
pub fn describe_fd(pid: u32, fd: i32) -> String {
    described(pid, vec![target(pid, fd)]).pop().unwrap_or_default()
}

fn target(pid: u32, fd: i32) -> String {
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}"));
    link.map_or_else(|_| format!("fd {fd}"), |path| path.to_string_lossy().into_owned())
}

/// The targets with the addresses of their sockets; the kernel's tables are read once for all, if there are any.
fn described(pid: u32, targets: Vec<String>) -> Vec<String> {
    let has_sockets = targets.iter().any(|target| inode_of(target).is_some());
    let sockets = if has_sockets { sockets(pid) } else { HashMap::new() };
    let name = |target: String| inode_of(&target).and_then(|inode| sockets.get(inode)).cloned().unwrap_or(target);
    targets.into_iter().map(name).collect()
}

fn inode_of(target: &str) -> Option<&str> {
    target.strip_prefix("socket:[")?.strip_suffix(']')
}

/// The inode of the socket for which a descriptor of a process stands.
pub fn socket_inode(pid: u32, fd: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()?;
    inode_of(link.to_str()?)?.parse().ok()
}

/// The TCP and Unix sockets in the network namespace of a process, by inode.
fn sockets(pid: u32) -> HashMap<String, String> {
    let name = |TcpSocket { own, other, listens }: TcpSocket| {
        if listens { format!("TCP listen {own}") } else { format!("TCP {own} -> {other}") }
    };
    let mut sockets: HashMap<String, String> =
        tcp_sockets(pid).into_iter().map(|(inode, socket)| (inode.to_string(), name(socket))).collect();
    let unix = fs::read_to_string(format!("/proc/{pid}/net/unix")).unwrap_or_default();
    sockets.extend(unix.lines().filter_map(unix_socket));
    sockets
}

/// A TCP socket.
#[derive(Clone, Copy, Debug)]
pub struct TcpSocket {
    /// Its address.
    pub own: SocketAddr,
    /// That of the other end.
    pub other: SocketAddr,
    /// Whether it has no other end, but waits for connections.
    pub listens: bool,
}

/// The TCP sockets in the network namespace of a process, by inode.
pub fn tcp_sockets(pid: u32) -> HashMap<u64, TcpSocket> {
    let mut sockets = HashMap::new();
    for name in ["tcp", "tcp6"] {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{name}")).unwrap_or_default();
        sockets.extend(table.lines().filter_map(tcp_socket));
    }
    sockets
}

/// A line of `/proc/net/tcp` or `tcp6`: its inode, and its addresses.
fn tcp_socket(line: &str) -> Option<(u64, TcpSocket)> {
    let fields: Vec<&str> = line.split_whitespace().take(10).collect();
    let (own, other) = (address(fields.get(1)?)?, address(fields.get(2)?)?);
    let listens = *fields.get(3)? == LISTENS;
    Some((fields.get(9)?.parse().ok()?, TcpSocket { own, other, listens }))
}

/// A line of `/proc/net/unix`: its inode, and its path.
fn unix_socket(line: &str) -> Option<(String, String)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let name = fields.get(7).map_or("Unix pair".into(), |path| format!("Unix {path}"));
    fields.get(6).map(|inode| ((*inode).to_owned(), name))
}

/// `0100007F:1F90`: words of the address as they lie in memory, and the port. An IPv4 address in an IPv6 one is what it is.
fn address(field: &str) -> Option<SocketAddr> {
    let (words, port) = field.split_once(':')?;
    let word = |start: usize| u32::from_str_radix(words.get(start..start + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match words.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            bytes.chunks_exact_mut(4).zip([0, 8, 16, 24]).try_for_each(|(four, start)| {
                four.copy_from_slice(&word(start)?);
                Some(())
            })?;
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn addresses_are_read_as_the_kernel_writes_them() {
        let read = |field| address(field).map(|address| address.to_string());
        assert_eq!(read("0100007F:1F90").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(read("00000000000000000000000001000000:0050").as_deref(), Some("[::1]:80"));
        assert_eq!(read("0000000000000000FFFF00000100007F:0050").as_deref(), Some("127.0.0.1:80"));
        for bad in ["", "0100007F", "0100007F:", "XX00007F:1F90", "01:1F90", "é100007:1F90"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn sockets_of_this_process_have_their_addresses() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(host) else { continue };
            let address = listener.local_addr().expect("an address");
            let stream = TcpStream::connect(address).expect("connected");
            let (own, listening) = (std::process::id(), format!("TCP listen {address}"));
            assert_eq!(describe_fd(own, listener.as_raw_fd()), listening);
            let connection = format!("TCP {} -> {address}", stream.local_addr().expect("an address"));
            assert_eq!(describe_fd(own, stream.as_raw_fd()), connection);
        }
    }
}
