//! Numbers and texts one after the other, of bytes that may end too early. Numbers are little-endian, as on x86-64.

/// What is left of some bytes.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'b>(pub &'b [u8]);

impl<'b> Cursor<'b> {
    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    /// The next two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// The next four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// The next eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// The next eight bytes as a length in memory.
    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.u64()?).ok()
    }

    /// What stands before the next zero byte, which is passed over.
    pub fn text(&mut self) -> Option<&'b [u8]> {
        let length = self.0.iter().position(|&byte| byte == 0)?;
        let text = self.bytes(length)?;
        self.0 = &self.0[1..];
        Some(text)
    }
}

/// What stands before the first zero byte, or all.
pub fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}
