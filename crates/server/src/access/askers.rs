//! Whose program is at the other end of a connection within this machine: the kernel tells it by sock_diag(7), for the socket
//! with these two addresses.
//!
//! Other users can make a browser show them a token that stays: they need only listen on its port while nobody else does.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, sendto, socket_with};
use rustix::process::geteuid;

/// A user by number.
type Uid = u32;

const ROOT: Uid = 0;

/// The user at the other end of a connection; `None` where the kernel does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerUser(pub Option<Uid>);

/// Who may ask a server that answers only this machine.
#[derive(Debug)]
pub struct Trusted(BTreeSet<Uid>);

impl Trusted {
    /// The user of this process and root, who may read all of it anyway; for a server of root's also who logged in and
    /// became root, whose browser runs as that user.
    pub fn of_this_process() -> Self {
        let own = geteuid().as_raw();
        let login = (own == ROOT).then(login_user).flatten();
        Self([own, ROOT].into_iter().chain(login).collect())
    }

    pub fn has(&self, user: Uid) -> bool {
        self.0.contains(&user)
    }
}

/// Who logged in, whoever this process has become since: only root can change it.
fn login_user() -> Option<Uid> {
    const NOBODY_LOGGED_IN: Uid = Uid::MAX;
    let text = fs::read_to_string("/proc/self/loginuid").ok()?;
    text.trim().parse().ok().filter(|&user| user != NOBODY_LOGGED_IN)
}

/// Asks the kernel for users. Opened before the process is confined, which opens no sockets after.
#[derive(Debug)]
pub struct Askers(OwnedFd);

impl Askers {
    /// `None` on a kernel that does not tell: where it does not know whose a connection is that this process makes.
    pub fn open() -> Option<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let protocol = Some(netlink::SOCK_DIAG);
        let askers = Self(socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol).ok()?);
        let told = askers.of_own_connection().ok()?;
        (told == PeerUser(Some(geteuid().as_raw()))).then_some(askers)
    }

    fn of_own_connection(&self) -> io::Result<PeerUser> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (_server, peer) = listener.accept()?;
        Ok(self.of(peer, client.peer_addr()?))
    }

    /// Who is at `peer`, connected with `here`.
    pub fn of(&self, peer: SocketAddr, here: SocketAddr) -> PeerUser {
        PeerUser(self.ask(&Question::of(peer, here)))
    }

    fn ask(&self, question: &Question) -> Option<Uid> {
        let kernel = netlink::SocketAddrNetlink::new(0, 0);
        sendto(&self.0, &question.bytes(), SendFlags::empty(), &kernel).ok()?;
        // The kernel has answered when sendto returns: with a refusal, after which there is nothing, or with a socket.
        let mut answer = [0; 1024];
        loop {
            let (_, length) = recv(&self.0, &mut answer[..], RecvFlags::empty()).ok()?;
            if let Some(user) = question.user_in(answer.get(..length)?) {
                return Some(user);
            }
        }
    }
}

/// `SOCK_DIAG_BY_FAMILY` of linux/sock_diag.h.
const BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const IPPROTO_TCP: u8 = 6;
const FAMILY_V4: u8 = AddressFamily::INET.as_raw() as u8;
const FAMILY_V6: u8 = AddressFamily::INET6.as_raw() as u8;
/// Bytes of `struct nlmsghdr`, `inet_diag_sockid`, `inet_diag_req_v2`.
const HEAD: usize = 16;
const PLACE: usize = 48;
const REQUEST: usize = 8 + PLACE;
/// Where things are in `struct inet_diag_msg`.
const STATE: usize = 1;
const ANSWERED_PLACE: usize = 4;
const USER: usize = ANSWERED_PLACE + PLACE + 12;
const INODE: usize = USER + 4;
/// Bytes of a place without the interface and the cookie, which a question leaves open.
const ADDRESSES: usize = 36;
/// `TCP_ESTABLISHED`, `_FIN_WAIT1`, `_FIN_WAIT2` and `_CLOSE_WAIT`: sockets that can still receive, which have a user.
const CONNECTED: [u8; 4] = [1, 4, 5, 8];

/// The socket that is asked about.
struct Question {
    family: u8,
    /// `struct inet_diag_sockid`: its ports and addresses.
    place: [u8; PLACE],
}

impl Question {
    fn of(peer: SocketAddr, here: SocketAddr) -> Self {
        let (peer_ip, here_ip) = (peer.ip().to_canonical(), here.ip().to_canonical());
        let mut place = [0; PLACE];
        place[0..2].copy_from_slice(&peer.port().to_be_bytes());
        place[2..4].copy_from_slice(&here.port().to_be_bytes());
        put_address(&mut place[4..20], peer_ip);
        put_address(&mut place[20..36], here_ip);
        // No cookie: INET_DIAG_NOCOOKIE.
        place[40..48].fill(0xff);
        Self { family: if peer_ip.is_ipv4() { FAMILY_V4 } else { FAMILY_V6 }, place }
    }

    /// The question as a netlink message: `struct nlmsghdr` and `struct inet_diag_req_v2`.
    fn bytes(&self) -> [u8; HEAD + REQUEST] {
        let mut bytes = [0; HEAD + REQUEST];
        bytes[0..4].copy_from_slice(&((HEAD + REQUEST) as u32).to_ne_bytes());
        bytes[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
        bytes[6..8].copy_from_slice(&NLM_F_REQUEST.to_ne_bytes());
        bytes[HEAD] = self.family;
        bytes[HEAD + 1] = IPPROTO_TCP;
        bytes[HEAD + 4..HEAD + 8].fill(0xff); // in any state
        bytes[HEAD + 8..].copy_from_slice(&self.place);
        bytes
    }

    /// The user in the kernel's answer. One about another socket, such as what listens on the same port, or about a socket that
    /// its program has closed, has none: the kernel calls that one root's.
    fn user_in(&self, answer: &[u8]) -> Option<Uid> {
        if answer.get(4..6)? != BY_FAMILY.to_ne_bytes() {
            return None;
        }
        let socket = answer.get(HEAD..)?;
        let addresses = socket.get(ANSWERED_PLACE..ANSWERED_PLACE + ADDRESSES)?;
        let is_it = self.is_at(addresses) && CONNECTED.contains(socket.get(STATE)?);
        let number = |at: usize| Some(u32::from_ne_bytes(socket.get(at..at + 4)?.try_into().ok()?));
        (is_it && number(INODE)? != 0).then(|| number(USER)).flatten()
    }

    /// Whether these are the socket's addresses. A client's IPv6 socket that talks to an IPv4 address is told with mapped ones.
    fn is_at(&self, addresses: &[u8]) -> bool {
        let own = |at: usize| &self.place[at..at + 16];
        let is_same = |at: usize| {
            let told = &addresses[at..at + 16];
            told == own(at) || (self.family == FAMILY_V4 && told == mapped(own(at)))
        };
        addresses[..4] == self.place[..4] && is_same(4) && is_same(20)
    }
}

fn put_address(place: &mut [u8], address: IpAddr) {
    match address {
        IpAddr::V4(address) => place[..4].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => place.copy_from_slice(&address.octets()),
    }
}

/// An IPv4 address, the first four bytes, as IPv6 writes it.
fn mapped(address: &[u8]) -> [u8; 16] {
    let octets = [address[0], address[1], address[2], address[3]];
    Ipv4Addr::from(octets).to_ipv6_mapped().octets()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    fn own() -> PeerUser {
        PeerUser(Some(geteuid().as_raw()))
    }

    #[test]
    fn the_user_of_each_connection_is_told() {
        let Some(askers) = Askers::open() else { return };
        for (listens, connects) in [
            ("127.0.0.1:0", IpAddr::from(Ipv4Addr::LOCALHOST)),
            ("127.0.0.1:0", Ipv4Addr::LOCALHOST.to_ipv6_mapped().into()),
            ("[::1]:0", Ipv6Addr::LOCALHOST.into()),
        ] {
            let Ok(listener) = TcpListener::bind(listens) else { continue };
            let here = listener.local_addr().unwrap();
            let client = TcpStream::connect((connects, here.port())).unwrap();
            let (_stream, peer) = listener.accept().unwrap();
            assert_eq!(askers.of(peer, here), own(), "{connects}");
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(askers.of(peer, here), own(), "who has said all still listens");
            drop(client);
            assert_eq!(askers.of(peer, here), PeerUser(None), "a closed socket is nobody's, not root's");
        }
    }

    #[test]
    fn who_listens_on_the_port_of_a_client_is_not_the_client() {
        let Some(askers) = Askers::open() else { return };
        let (here, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
        assert_eq!(askers.of(other.local_addr().unwrap(), here.local_addr().unwrap()), PeerUser(None));
    }

    #[test]
    fn another_user_is_told_from_this_one() {
        let Some(askers) = Askers::open().filter(|_| geteuid().is_root()) else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let script = format!("exec 3<>/dev/tcp/127.0.0.1/{}; read -u 3", here.port());
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", &script]);
        let Ok(mut other) = other.stderr(Stdio::null()).spawn() else { return };
        let (stream, peer) = listener.accept().unwrap();
        assert_eq!(askers.of(peer, here), PeerUser(Some(65_534)));
        drop(stream);
        other.wait().unwrap();
        assert!(!Trusted::of_this_process().has(65_534) && Trusted::of_this_process().has(ROOT));
    }

    #[test]
    fn damaged_answers_tell_nobody() {
        let question = Question::of("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let mut good = question.bytes()[..HEAD].to_vec();
        good.extend([FAMILY_V4, CONNECTED[2], 0, 0]);
        good.extend(question.place);
        good.extend([0; 12]);
        good.extend(7_u32.to_ne_bytes());
        good.extend(9_u32.to_ne_bytes());
        assert_eq!(question.user_in(&good), Some(7));
        for length in 0..good.len() {
            assert_eq!(question.user_in(&good[..length]), None, "{length}");
        }
        for at in [4, HEAD + STATE, HEAD + ANSWERED_PLACE, HEAD + ANSWERED_PLACE + 20, HEAD + INODE] {
            let mut bad = good.clone();
            bad[at] ^= 9;
            assert_eq!(question.user_in(&bad), None, "{at}");
        }
    }

    /// Said with --nocapture: what asking costs.
    #[test]
    fn asking_is_cheap() {
        let Some(askers) = Askers::open() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap();
        let _client = TcpStream::connect(here).unwrap();
        let (_stream, peer) = listener.accept().unwrap();
        let (begin, times) = (Instant::now(), 1_000);
        for _ in 0..times {
            assert_eq!(askers.of(peer, here), own());
        }
        let each = begin.elapsed() / times;
        println!("{each:?} for each connection");
        assert!(each < Duration::from_millis(5), "{each:?}");
    }
}
