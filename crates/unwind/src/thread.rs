//! A thread that stands still: the registers of its frames, and its memory.

use gimli::Register;

/// The user registers of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Instruction pointer.
    pub ip: u64,
    /// The others, as DWARF numbers them; none where the value is lost.
    pub all: [Option<u64>; 16],
}

const RBP: usize = 6;
pub(crate) const RSP: usize = 7;

impl Registers {
    /// What a walk by rows needs.
    pub fn of(ip: u64, sp: u64, bp: u64) -> Self {
        let mut all = [None; 16];
        (all[RSP], all[RBP]) = (Some(sp), Some(bp));
        Self { ip, all }
    }

    /// The register of this number; 16 is the instruction pointer.
    pub(crate) fn get(&self, register: Register) -> Option<u64> {
        match register.0 {
            16 => Some(self.ip),
            number => self.all.get(usize::from(number)).copied().flatten(),
        }
    }

    pub(crate) fn sp(&self) -> u64 {
        self.all[RSP].unwrap_or(0)
    }

    /// 0 where it is lost.
    pub(crate) fn bp(&self) -> u64 {
        self.all[RBP].unwrap_or(0)
    }
}

/// The memory of the thread.
pub trait Memory {
    /// The 64-bit word at `address`, which need not be aligned; none when it cannot be read.
    fn word(&mut self, address: u64) -> Option<u64>;
}
