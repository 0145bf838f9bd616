//! What a recorder says beside the words: little-endian, each message behind its kind and length (32 bits each).

use std::io::{self, Read};

/// The version of the messages and the ring.
pub const VERSION: u32 = 2;
/// No module: code that no file has.
pub const NO_MODULE: u32 = u32::MAX;
/// The longest message: a block of 512 instructions of 15 bytes fits, and so does the longest path.
const MOST_BYTES: u32 = 1 << 14;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first one.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Where the shared memory begins in the recorder.
        memory: u64,
        /// A whole machine is emulated, not one program.
        system: bool,
    },
    /// A file is mapped with code that is about to be executed. Numbers count up from 0.
    Module {
        /// First and behind the last guest address.
        start: u64,
        /// See `start`.
        end: u64,
        /// What part of the file is mapped at `start`.
        offset: u64,
        /// Its path, as the kernel names it.
        path: Vec<u8>,
    },
    /// A block is translated. Numbers count up from 0.
    Block {
        /// Guest address.
        address: u64,
        /// The number of its module, or [`NO_MODULE`].
        module: u32,
        /// The length of each instruction in bytes.
        lengths: Vec<u8>,
        /// The bytes of all.
        code: Vec<u8>,
    },
    /// A chunk is filled.
    Chunk {
        /// The virtual CPU.
        cpu: u32,
        /// The chunk's number.
        chunk: u32,
        /// How many words it has.
        words: u32,
    },
    /// The thread of a virtual CPU has ended; another thread can have the CPU's number.
    End {
        /// The virtual CPU.
        cpu: u32,
    },
    /// Something is not recorded.
    Lost {
        /// What.
        what: Lost,
    },
    /// The last one of a program that ended in the emulator. One that was killed, or that started another program in its
    /// place, says nothing.
    Bye,
}

/// What a recorder cannot record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Lost {
    /// A thread beyond the number of lanes.
    Thread = 0,
    /// A block that is too long, or whose bytes cannot be read.
    Block = 1,
    /// A child process.
    Child = 2,
}

impl Lost {
    /// Every loss, by number.
    pub const ALL: [Self; 3] = [Self::Thread, Self::Block, Self::Child];
}

impl Message {
    /// Whether it may stand in the outbox until another one is sent: words that need it are announced later. Modules are rare,
    /// and the reader has work to do for them.
    pub const fn can_wait(&self) -> bool {
        matches!(self, Self::Block { .. } | Self::Lost { .. })
    }

    /// The bytes, for one write.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![0; 8];
        let kind = self.body(&mut out);
        let length = (out.len() - 8) as u32;
        out[..4].copy_from_slice(&kind.to_le_bytes());
        out[4..8].copy_from_slice(&length.to_le_bytes());
        out
    }

    fn body(&self, out: &mut Vec<u8>) -> u32 {
        let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
        match self {
            Self::Hello { version, memory, system } => {
                put(&version.to_le_bytes());
                put(&memory.to_le_bytes());
                put(&[u8::from(*system)]);
                0
            }
            Self::Module { start, end, offset, path } => {
                [start, end, offset].into_iter().for_each(|it| put(&it.to_le_bytes()));
                put(path);
                1
            }
            Self::Block { address, module, lengths, code } => {
                put(&address.to_le_bytes());
                put(&module.to_le_bytes());
                put(&(lengths.len() as u32).to_le_bytes());
                put(lengths);
                put(code);
                2
            }
            Self::Chunk { cpu, chunk, words } => {
                [cpu, chunk, words].into_iter().for_each(|it| put(&it.to_le_bytes()));
                3
            }
            Self::End { cpu } => {
                put(&cpu.to_le_bytes());
                4
            }
            Self::Lost { what } => {
                put(&(*what as u32).to_le_bytes());
                5
            }
            Self::Bye => 6,
        }
    }

    /// The next message; none at the end. What is no message is [`io::ErrorKind::InvalidData`], what ends within one
    /// [`io::ErrorKind::UnexpectedEof`].
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 8];
        let mut filled = 0;
        while let Some(rest) = head.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match from.read(rest) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut head = Fields(&head);
        let (Some(kind), Some(length)) = (head.u32(), head.u32()) else { return Err(invalid()) };
        if length > MOST_BYTES {
            return Err(invalid());
        }
        let mut body = vec![0; length as usize];
        from.read_exact(&mut body)?;
        Self::decode(kind, &body).map(Some).ok_or_else(invalid)
    }

    /// The message of a kind with this body; none when there is no such message.
    fn decode(kind: u32, body: &[u8]) -> Option<Self> {
        let mut fields = Fields(body);
        let message = match kind {
            0 => Self::Hello { version: fields.u32()?, memory: fields.u64()?, system: fields.take(1)? == [1] },
            1 => Self::Module {
                start: fields.u64()?,
                end: fields.u64()?,
                offset: fields.u64()?,
                path: fields.rest().to_vec(),
            },
            2 => {
                let (address, module, count) = (fields.u64()?, fields.u32()?, fields.u32()?);
                let lengths = fields.take(count as usize)?.to_vec();
                Self::Block { address, module, lengths, code: fields.rest().to_vec() }
            }
            3 => Self::Chunk { cpu: fields.u32()?, chunk: fields.u32()?, words: fields.u32()? },
            4 => Self::End { cpu: fields.u32()? },
            5 => Self::Lost { what: *Lost::ALL.get(fields.u32()? as usize)? },
            6 => Self::Bye,
            _ => return None,
        };
        fields.0.is_empty().then_some(message)
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "no message of a recorder")
}

/// What is left of a body.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.first_chunk().map(|it| u32::from_le_bytes(*it))
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.first_chunk().map(|it| u64::from_le_bytes(*it))
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all() -> Vec<Message> {
        let mut all = vec![
            Message::Hello { version: VERSION, memory: 0x7f00_0000_0000, system: true },
            Message::Module { start: 1, end: 2, offset: 3, path: b"/bin/ls".to_vec() },
            Message::Block { address: 7, module: NO_MODULE, lengths: vec![1, 2], code: vec![0x90, 0x66, 0x90] },
            Message::Chunk { cpu: 1, chunk: 2, words: 3 },
            Message::End { cpu: 9 },
            Message::Bye,
        ];
        all.extend(Lost::ALL.map(|what| Message::Lost { what }));
        all
    }

    #[test]
    fn messages_come_back() {
        let bytes: Vec<u8> = all().iter().flat_map(Message::encode).collect();
        let mut from = &bytes[..];
        let read: Vec<Message> = std::iter::from_fn(|| Message::read(&mut from).unwrap()).collect();
        assert_eq!(read, all());
    }

    #[test]
    fn a_cut_message_is_an_error() {
        for message in all() {
            let bytes = message.encode();
            for length in 1..bytes.len() {
                assert!(Message::read(&mut &bytes[..length]).is_err(), "{message:?} cut to {length}");
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut from = &bytes[..];
            while let Ok(Some(message)) = Message::read(&mut from) {
                prop_assert_eq!(Message::read(&mut &message.encode()[..]).unwrap(), Some(message));
            }
        }
    }
}
