//! The other end of the guest's connections, on this machine's loopback: QEMU's user network leads there.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;

use super::Scenario;
use super::symbols::{KernelSymbols, MOST_BYTES};

/// Where the guest finds its peers.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// Data of the scenario.
    pub data: u16,
    /// Where the kernel's symbols go.
    pub symbols: u16,
}

const LOOPBACK: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// The largest datagram that is answered.
const MOST_DATAGRAM: usize = 1 << 15;

/// Serves one guest, by threads that end with it or with this process.
pub fn serve(scenario: &Scenario, symbols: &KernelSymbols) -> io::Result<Ports> {
    let listener = TcpListener::bind(LOOPBACK)?;
    let symbol_port = listener.local_addr()?.port();
    let symbols = symbols.clone();
    spawn("symbols", move || {
        let (connection, _) = listener.accept()?;
        let mut text = Vec::new();
        (&connection).take(MOST_BYTES).read_to_end(&mut text)?;
        symbols.read(&text);
        // The guest goes on when the connection ends: what it records has names from the first block on.
        drop(connection);
        Ok(())
    })?;
    let data = match scenario {
        Scenario::TcpReceive => tcp("sender", send)?,
        Scenario::TcpSend => tcp("receiver", take)?,
        Scenario::Udp => udp()?,
        Scenario::Unix | Scenario::Loopback | Scenario::Script(_) => 0,
    };
    Ok(Ports { data, symbols: symbol_port })
}

fn spawn(name: &str, work: impl FnOnce() -> io::Result<()> + Send + 'static) -> io::Result<()> {
    // What fails here is the guest's end: it says so itself.
    thread::Builder::new().name(name.to_owned()).spawn(move || drop(work())).map(drop)
}

fn tcp(name: &'static str, work: fn(&mut TcpStream) -> io::Result<()>) -> io::Result<u16> {
    let listener = TcpListener::bind(LOOPBACK)?;
    let port = listener.local_addr()?.port();
    spawn(name, move || {
        let mut connection = listener.accept()?.0;
        connection.set_nodelay(true)?;
        work(&mut connection)
    })?;
    Ok(port)
}

/// Sends as many bytes as the guest announces, round by round.
fn send(connection: &mut TcpStream) -> io::Result<()> {
    loop {
        let bytes = announced(connection)?;
        io::copy(&mut io::repeat(b'x').take(bytes), connection)?;
    }
}

/// Takes as many bytes as the guest announces, and answers by one when it has them.
fn take(connection: &mut TcpStream) -> io::Result<()> {
    loop {
        let bytes = announced(connection)?;
        io::copy(&mut connection.take(bytes), &mut io::sink())?;
        connection.write_all(b"x")?;
    }
}

/// How many bytes the next round has.
fn announced(connection: &mut TcpStream) -> io::Result<u64> {
    let mut bytes = [0u8; 4];
    connection.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes).into())
}

/// Answers each request of four bytes by a datagram of the size that it names.
fn udp() -> io::Result<u16> {
    let socket = UdpSocket::bind(LOOPBACK)?;
    let port = socket.local_addr()?.port();
    spawn("datagrams", move || {
        let data = vec![b'x'; MOST_DATAGRAM];
        let mut request = [0u8; 4];
        loop {
            let (_, from) = socket.recv_from(&mut request)?;
            let bytes = u32::from_le_bytes(request) as usize;
            socket.send_to(&data[..bytes.min(MOST_DATAGRAM)], from)?;
        }
    })?;
    Ok(port)
}
