//! Which Unix sockets are connected with each other: what the kernel's monitoring of sockets tells anybody of the network namespace
//! that this process is in (sock_diag(7), `linux/unix_diag.h`).

use std::io;

use bytemuck::{Pod, Zeroable, bytes_of, pod_read_unaligned};
use dwell_wire::AF_UNIX;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// `NLMSG_ERROR`.
const ERROR: u16 = 2;
/// `SOCK_DIAG_BY_FAMILY`: a request, and each answer to it.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST | NLM_F_DUMP`.
const ALL: u16 = 0x301;
/// `UDIAG_SHOW_PEER`.
const SHOW_PEER: u32 = 4;
/// `UNIX_DIAG_PEER`.
const PEER: u16 = 2;
/// A reply's pieces are no longer (netlink(7)).
const PIECE_BYTES: usize = 32 << 10;

/// `struct nlmsghdr`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Header {
    bytes: u32,
    kind: u16,
    flags: u16,
    sequence: u32,
    port: u32,
}

/// `struct unix_diag_req` behind its header.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Request {
    header: Header,
    family: u8,
    protocol: u8,
    pad: u16,
    states: u32,
    inode: u32,
    show: u32,
    cookie: [u32; 2],
}

/// `struct unix_diag_msg`; attributes follow.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Answer {
    family: u8,
    kind: u8,
    state: u8,
    pad: u8,
    inode: u32,
    cookie: [u32; 2],
}

/// `struct nlattr`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Attribute {
    bytes: u16,
    kind: u16,
}

/// Calls `found` with the inodes of each socket and of its peer.
///
/// # Errors
///
/// Those of socket(2), send(2) and recv(2): a container's filter may refuse such sockets, a kernel may lack the monitoring.
pub fn each(found: &mut dyn FnMut(u64, u64)) -> io::Result<()> {
    let monitor = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(SOCK_DIAG))?;
    let header = Header { bytes: size_of::<Request>() as u32, kind: BY_FAMILY, flags: ALL, ..Header::zeroed() };
    let request = Request { header, family: AF_UNIX as u8, states: u32::MAX, show: SHOW_PEER, ..Request::zeroed() };
    sendto(&monitor, bytes_of(&request), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let (bytes, _) = recv(&monitor, piece.as_mut_slice(), RecvFlags::empty())?;
        let piece = &piece[..bytes];
        if take::<Header>(piece).is_some_and(|(header, _)| header.kind == ERROR) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        if !answers(piece, found) {
            return Ok(());
        }
    }
}

/// The answers of one piece. Returns whether there is another piece: none after the end, an error, or what is no answer.
fn answers(mut piece: &[u8], found: &mut dyn FnMut(u64, u64)) -> bool {
    let is_piece = !piece.is_empty();
    while let Some((header, rest)) = take::<Header>(piece) {
        let bytes = header.bytes as usize;
        let Some(body) = bytes.checked_sub(size_of::<Header>()).and_then(|bytes| rest.get(..bytes)) else {
            return false;
        };
        let Some((answer, attributes)) = take::<Answer>(body).filter(|_| header.kind == BY_FAMILY) else {
            return false;
        };
        // A connection that was not accepted yet has an end without an inode.
        if let Some(peer) = peer(attributes).filter(|peer| *peer != 0) {
            found(answer.inode.into(), peer.into());
        }
        piece = piece.get(bytes.next_multiple_of(4)..).unwrap_or_default();
    }
    is_piece && piece.is_empty()
}

fn peer(mut attributes: &[u8]) -> Option<u32> {
    loop {
        let (attribute, rest) = take::<Attribute>(attributes)?;
        let bytes = usize::from(attribute.bytes).checked_sub(size_of::<Attribute>())?;
        if attribute.kind == PEER {
            return take::<u32>(rest.get(..bytes)?).map(|(inode, _)| inode);
        }
        attributes = rest.get(bytes.next_multiple_of(4)..)?;
    }
}

fn take<T: Pod>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    Some((pod_read_unaligned(head), rest))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn both_ends_of_a_pair_are_told() {
        let (one, other) = UnixStream::pair().expect("a pair");
        let inode = |end: &UnixStream| rustix::fs::fstat(end.as_fd()).expect("a socket").st_ino;
        let mut found = HashMap::new();
        each(&mut |inode, peer| {
            found.insert(inode, peer);
        })
        .expect("the kernel tells");
        assert_eq!(found.get(&inode(&one)), Some(&inode(&other)));
        assert_eq!(found.get(&inode(&other)), Some(&inode(&one)));
    }

    #[test]
    fn what_is_no_answer_ends_the_list() {
        for bytes in [&[][..], &[0; 15], &[0; 64], &[255; 64]] {
            assert!(!answers(bytes, &mut |_, _| panic!("nothing was told")), "{bytes:?}");
        }
        let header = Header { bytes: 40, kind: BY_FAMILY, ..Header::zeroed() };
        let answer = Answer { inode: 7, ..Answer::zeroed() };
        let whole = [bytes_of(&header), bytes_of(&answer), &[8, 0, 2, 0, 9, 0, 0, 0]].concat();
        let mut found = Vec::new();
        assert!(answers(&[&*whole, &whole].concat(), &mut |inode, peer| found.push((inode, peer))));
        assert!(!answers(&whole[..38], &mut |_, _| ()), "cut");
        assert_eq!(found, [(7, 9), (7, 9)]);
    }
}
