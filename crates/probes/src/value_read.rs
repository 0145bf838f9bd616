//! How the hook reads a value: where it lies, the addresses that lead to it, and which bits of what is read are the value.

use crate::probe_value::ValueType;
use crate::usdt_arguments::ArgumentPlace;

/// Most addresses that are followed to a value.
pub const MOST_STEPS: usize = 4;

/// How a value is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueRead {
    /// Where the value lies, or the first address.
    pub place: ArgumentPlace,
    /// The addresses that are followed from there: what is added to each before.
    pub steps: Vec<i64>,
    /// What is added to the last address, of a text that lies there.
    pub end: i64,
    /// Bytes that are read at last, 1 to 8.
    pub bytes: u8,
    /// Bits that are cut off the front of them.
    pub left: u8,
    /// Bits by which they are shifted back then.
    pub right: u8,
    /// Whether what is left has a sign.
    pub is_signed: bool,
    /// Of a text: bytes of its array; 255 when it has no such end.
    pub text_bytes: u8,
    /// How it is shown.
    pub ty: ValueType,
    /// Names of its numbers.
    pub enumerators: Vec<(String, i128)>,
}

impl ValueRead {
    /// What lies at `place`.
    pub(crate) fn of(place: ArgumentPlace, ty: ValueType) -> Self {
        let (bytes, is_signed) = match place {
            ArgumentPlace::Register { bytes, is_signed, .. } | ArgumentPlace::Memory { bytes, is_signed, .. } => {
                (bytes, is_signed)
            }
            ArgumentPlace::Event { bytes, is_signed, .. } => (bytes, is_signed),
            ArgumentPlace::Constant(_) => (8, true),
            ArgumentPlace::EventAddress { .. } | ArgumentPlace::EventOffset { .. } => (8, false),
        };
        let (steps, enumerators) = (Vec::new(), Vec::new());
        let mut read =
            Self { place, steps, end: 0, bytes, left: 0, right: 0, is_signed, text_bytes: u8::MAX, ty, enumerators };
        read.narrow(bytes, is_signed);
        read
    }

    /// Reads so many bytes. What is as wide as they are, or narrower, has its own sign; what is wider has theirs.
    pub(crate) fn narrow(&mut self, bytes: u8, is_signed: bool) {
        let kept = self.ty.bytes().min(bytes);
        let own_sign = matches!(self.ty, ValueType::Signed { .. });
        self.bytes = bytes;
        (self.left, self.right) = (64 - 8 * kept, 64 - 8 * kept);
        self.is_signed = if kept == self.ty.bytes() { own_sign } else { is_signed };
    }

    /// Keeps only `bits` of what is read, from bit `first` on.
    pub(crate) fn take_bits(&mut self, first: u8, bits: u8) {
        let bits = bits.min(64 - first);
        (self.left, self.right) = (64 - first - bits, 64 - bits);
    }
}
