//! Functions, blocks and losses as bytes, little-endian, each behind a byte that tells which.

use dwell_itrace::{Block, Lost, MAX_INSTRUCTIONS};

use crate::stream::Function;

const FUNCTION: u8 = 0;
const BLOCK: u8 = 1;
const LOST: u8 = 2;

/// What words name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Definition {
    /// The next function.
    Function(Function),
    /// The next block, and its function.
    Block(Block, u32),
    /// Something was not recorded.
    Lost(Lost),
}

impl Definition {
    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Function(Function { name, module }) => {
                out.push(FUNCTION);
                [name, module].into_iter().for_each(|text| put_text(out, text));
            }
            Self::Block(block, function) => {
                out.push(BLOCK);
                out.extend(block.address().to_le_bytes());
                out.extend(function.to_le_bytes());
                out.extend((block.count() as u16).to_le_bytes());
                out.extend_from_slice(block.lengths());
                out.extend_from_slice(block.code());
            }
            Self::Lost(what) => out.extend([LOST, *what as u8]),
        }
    }
}

/// The next definition; none when there is none.
pub fn next(from: &mut &[u8]) -> Option<Definition> {
    Some(match take(from, 1)?[0] {
        FUNCTION => Definition::Function(Function { name: text(from)?, module: text(from)? }),
        BLOCK => {
            let address = u64::from_le_bytes(take(from, 8)?.try_into().ok()?);
            let function = u32::from_le_bytes(take(from, 4)?.try_into().ok()?);
            let count = usize::from(u16::from_le_bytes(take(from, 2)?.try_into().ok()?));
            let lengths = take(from, Some(count).filter(|&count| count <= MAX_INSTRUCTIONS)?)?;
            let bytes = lengths.iter().map(|&length| usize::from(length)).sum();
            Definition::Block(Block::new(address, take(from, bytes)?, lengths).ok()?, function)
        }
        LOST => {
            let number = u32::from(take(from, 1)?[0]);
            Definition::Lost(Lost::ALL.into_iter().find(|&lost| lost as u32 == number)?)
        }
        _ => return None,
    })
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    let most = text.len().min(usize::from(u16::MAX));
    let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    out.extend((end as u16).to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..end]);
}

fn text(from: &mut &[u8]) -> Option<String> {
    let bytes = u16::from_le_bytes(take(from, 2)?.try_into().ok()?);
    String::from_utf8(take(from, usize::from(bytes))?.to_vec()).ok()
}

fn take<'a>(from: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(bytes)?;
    *from = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn definitions_come_back_and_cut_ones_do_not() {
        let function = Function { name: "main".into(), module: "app".into() };
        let block = Block::new(0x1000, &[0x90, 0x66, 0x90], &[1, 2]).unwrap();
        for definition in [Definition::Function(function), Definition::Block(block, 3), Definition::Lost(Lost::Child)] {
            let mut bytes = Vec::new();
            definition.encode(&mut bytes);
            assert_eq!(next(&mut &bytes[..]), Some(definition));
            assert!((0..bytes.len()).all(|length| next(&mut &bytes[..length]).is_none()));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let mut from = &bytes[..];
            while let Some(definition) = next(&mut from) {
                let mut again = Vec::new();
                definition.encode(&mut again);
                prop_assert_eq!(next(&mut &again[..]), Some(definition));
            }
        }
    }
}
