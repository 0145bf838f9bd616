//! Numbers of one to five bytes, as HotSpot packs them (`unsigned5.hpp`; before JDK 20 `compressedStream.hpp`).

/// Bytes from here on say that another one follows; 6 bits of each count.
const GOES_ON: u32 = 192;

/// How a build of the JVM packs numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Any byte (to JDK 19).
    AnyByte,
    /// No byte is 0 (since JDK 20).
    NoZero,
}

/// Reads numbers one after the other.
pub struct Numbers<'b> {
    bytes: &'b [u8],
    packing: Packing,
}

impl<'b> Numbers<'b> {
    /// Those in `bytes`.
    pub fn new(bytes: &'b [u8], packing: Packing) -> Self {
        Self { bytes, packing }
    }

    /// The next byte as it is.
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    /// The next number; none at the end.
    pub fn next(&mut self) -> Option<u32> {
        let mut sum = 0u32;
        for shift in [0, 6, 12, 18, 24] {
            let byte = u32::from(self.byte()?);
            let counted = match self.packing {
                Packing::AnyByte => byte,
                Packing::NoZero => byte.checked_sub(1)?,
            };
            sum = sum.wrapping_add(counted << shift);
            if byte < GOES_ON {
                break;
            }
        }
        Some(sum)
    }

    /// The next number, which has its sign in its lowest bit.
    pub fn next_signed(&mut self) -> Option<i32> {
        let number = self.next()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], packing: Packing) -> Vec<u32> {
        let mut numbers = Numbers::new(bytes, packing);
        std::iter::from_fn(|| numbers.next()).collect()
    }

    #[test]
    fn numbers_have_one_to_five_bytes() {
        // 0, 190, 191, 254, 300 as unsigned5.hpp writes them.
        assert_eq!(read(&[1, 191, 192, 1, 255, 1, 237, 2, 0, 9], Packing::NoZero), [0, 190, 191, 254, 300]);
        // 0, 191, 192, 255, 300 as compressedStream.cpp wrote them.
        assert_eq!(read(&[0, 191, 192, 0, 255, 0, 236, 1], Packing::AnyByte), [0, 191, 192, 255, 300]);
        assert_eq!(read(&[255; 9], Packing::AnyByte).len(), 1, "the second one has no end");
    }

    #[test]
    fn signs_are_in_the_lowest_bit() {
        let mut numbers = Numbers::new(&[0, 1, 2, 3, 4], Packing::AnyByte);
        let signed: Vec<i32> = std::iter::from_fn(|| numbers.next_signed()).collect();
        assert_eq!(signed, [0, -1, 1, -2, 2]);
    }
}
