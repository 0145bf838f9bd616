//! A whole machine in QEMU: a kernel, one program of ours, and a scenario whose part between two marks is recorded.
//! It takes a kernel and a scenario, and gives the guest's command line, its first files, and its peer on the network.
//! It does not run QEMU: `recorder.rs` does.

mod initramfs;
mod kernel;
mod peer;
mod symbols;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

pub use kernel::{Kernel, KernelError, check_symbols, find as find_kernel};
pub use peer::{Ports, serve};
pub use symbols::{GuestNames, KernelSymbols, Names};

pub use initramfs::Initramfs;

/// The emulator of a whole machine.
pub const EMULATOR: &str = "qemu-system-x86_64";

/// The guest's program, as build.rs made it.
pub static GUEST: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/guest"));

/// In the folder of a guest: its program, for whoever names its code.
pub const PROGRAM: &str = "guest";
/// What it says.
pub const CONSOLE: &str = "console";
/// What it boots.
const ARCHIVE: &str = "initramfs";

/// What happens in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scenario {
    /// Receives by TCP from this machine, in buffers of 64 to 65536 bytes.
    TcpReceive,
    /// Sends by TCP.
    TcpSend,
    /// Asks for datagrams by UDP, up to 16384 bytes.
    Udp,
    /// Receives through a pair of sockets, within the guest.
    Unix,
    /// Receives by TCP, within the guest.
    Loopback,
    /// A script for busybox's shell.
    Script(PathBuf),
}

impl Scenario {
    /// The scenarios that have names.
    pub const NAMES: [&str; 5] = ["tcp-receive", "tcp-send", "udp", "unix", "loopback"];

    /// The scenario of this name; anything else is the path of a script.
    pub fn parse(text: &str) -> Self {
        match text {
            "tcp-receive" => Self::TcpReceive,
            "tcp-send" => Self::TcpSend,
            "udp" => Self::Udp,
            "unix" => Self::Unix,
            "loopback" => Self::Loopback,
            path => Self::Script(PathBuf::from(path)),
        }
    }

    /// What the guest's program calls it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::TcpReceive => "tcp-receive",
            Self::TcpSend => "tcp-send",
            Self::Udp => "udp",
            Self::Unix => "unix",
            Self::Loopback => "loopback",
            Self::Script(_) => "script",
        }
    }
}

/// The guest's network card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Card {
    /// Intel's 82540EM.
    #[default]
    E1000,
    /// A virtual one.
    Virtio,
}

impl Card {
    /// QEMU's name of the device.
    fn device(self) -> &'static str {
        match self {
            Self::E1000 => "e1000",
            Self::Virtio => "virtio-net-pci",
        }
    }

    /// The modules that drive it.
    fn modules(self) -> &'static [&'static str] {
        match self {
            Self::E1000 => &["e1000"],
            Self::Virtio => &["virtio_pci", "virtio_net"],
        }
    }
}

/// A guest.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its kernel.
    pub kernel: Kernel,
    /// What it does.
    pub scenario: Scenario,
    /// Its card.
    pub card: Card,
    /// `SO_RCVBUF` of the receiving socket in bytes; 0 leaves it alone.
    pub receive_buffer: u32,
    /// The stack joins packets of a connection (GRO).
    pub gro: bool,
    /// busybox, for a script.
    pub busybox: Option<PathBuf>,
}

impl Guest {
    /// Writes what the guest boots, and its program for whoever names its code, into a folder.
    pub fn prepare(&self, folder: &Path) -> io::Result<()> {
        let mut files = Initramfs::default();
        files.folder("dev");
        files.console();
        files.file("init", GUEST, true);
        files.folder("modules");
        for (at, module) in self.kernel.load_order(self.card.modules())?.iter().enumerate() {
            files.file(&format!("modules/{at:02}.ko"), module, false);
        }
        if let (Scenario::Script(script), Some(busybox)) = (&self.scenario, &self.busybox) {
            files.folder("bin");
            files.file("bin/busybox", &fs::read(busybox)?, true);
            files.file("scenario", &fs::read(script)?, false);
        }
        fs::write(folder.join(ARCHIVE), files.finish())?;
        fs::write(folder.join(PROGRAM), GUEST)
    }

    /// The command line of QEMU for what was prepared in a folder. There the guest's console is a file.
    pub fn command(&self, emulator: &Path, folder: &Path, ports: Ports, plugin: &str) -> Command {
        let Ports { data, symbols } = ports;
        let mut command = Command::new(emulator);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-machine", "pc"]);
        // Without 5-level page tables: a word has room for 48 bits of an address.
        command.args(["-accel", "tcg", "-cpu", "max,-la57", "-smp", "1", "-m", "512"]);
        command.arg("-kernel").arg(&self.kernel.image).arg("-initrd").arg(folder.join(ARCHIVE));
        command.arg("-append").arg(format!(
            "console=ttyS0 quiet nokaslr mitigations=off panic=-1 no_timer_check -- {} {data} {symbols} {} {}",
            self.scenario.name(),
            self.receive_buffer,
            u8::from(self.gro)
        ));
        let mut serial = std::ffi::OsString::from("file:");
        serial.push(folder.join(CONSOLE));
        command.arg("-serial").arg(serial);
        command.args(["-netdev", "user,id=net", "-device"]);
        command.arg(format!("{},netdev=net,romfile=", self.card.device()));
        command.arg("-plugin").arg(plugin).stdin(std::process::Stdio::null());
        command
    }
}
