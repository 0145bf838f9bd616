//! What compiled code does at an address: the method that it is of, and those that are inlined there, each at a place in its
//! bytecode (`pcDesc.hpp`, `debugInfoRec.hpp`).

use crate::blobs::BlobHeader;
use crate::bytecodes::{Bytecode, BytecodePlace};
use crate::error::Result;
use crate::layout::Description;
use crate::memory::{RemoteMemory, number, word, words_at};
use crate::unsigned5::{Numbers, Packing};

/// Of a method's descriptions of addresses, and of its scopes, bytes that are read at most.
const MOST_TABLE_BYTES: u64 = 8 << 20;
/// An address with more inlined calls has the innermost ones.
const MOST_CALLS: usize = 64;
/// No method refers to more.
const MOST_METADATA: u32 = 1 << 20;
/// Of an index of bytecode, to what is packed: the entry of a method is the smallest one.
const ENTRY_INDEX: i64 = 1;

/// Code between two of its descriptions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledCalls {
    /// Its first byte …
    pub start: u64,
    /// … and the one behind its last. Its last instruction is a call, or where threads may stop.
    pub end: u64,
    /// What it is of, outermost first.
    pub calls: Vec<BytecodePlace>,
}

/// Where a compiled method has its descriptions. Offsets in bytes from its blob.
#[derive(Clone, Copy, Debug)]
enum Tables {
    /// In the blob (JDK 17 to 22).
    InBlob { scopes_address: u64, pcs_offset: u64, pcs_end_offset: u64, metadata_offset: u64 },
    /// Beside it (since JDK 25).
    Beside {
        immutable: u64,
        immutable_bytes: u64,
        pcs_offset: u64,
        scopes_offset: u64,
        mutable: u64,
        relocation_bytes: u64,
    },
}

/// How a JVM describes its compiled methods.
#[derive(Clone, Copy, Debug)]
pub struct CallLayout {
    tables: Tables,
    header_bytes: u64,
    method: u64,
    pc_bytes: u64,
    pc_offset: u64,
    scope_offset: u64,
}

/// A place in the bytecode of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Scope {
    /// The method's number among the metadata, from 1 on.
    method: u32,
    /// Index of the bytecode.
    bytecode: u32,
}

/// Code between two of its descriptions, and where it is, innermost first.
struct DescribedCode {
    start: u64,
    end: u64,
    scopes: Vec<Scope>,
}

/// A method's tables in the JVM's memory: begin and bytes.
struct FoundTables {
    pcs: (u64, usize),
    scopes: (u64, usize),
    metadata: u64,
}

impl CallLayout {
    /// As the JVM describes it.
    pub fn of(is: &Description) -> Result<Self> {
        Ok(Self {
            tables: tables(is)?,
            header_bytes: is.size("nmethod")?,
            method: is.offset("CompiledMethod::_method").or_else(|_| is.offset("nmethod::_method"))?,
            pc_bytes: is.size("PcDesc")?,
            pc_offset: is.offset("PcDesc::_pc_offset")?,
            scope_offset: is.offset("PcDesc::_scope_decode_offset")?,
        })
    }

    /// What the compiled method in the blob at `start` does at each of `addresses`; none where it does not tell.
    pub fn calls(
        &self,
        memory: &mut impl RemoteMemory,
        (start, header): (u64, &BlobHeader),
        addresses: &[u64],
        packing: Packing,
    ) -> Vec<Option<CompiledCalls>> {
        let record = memory.read_pieces(&[(start, self.header_bytes as usize)]);
        // Another method may lie there by now.
        let is_same = word(&record, self.method) == header.method;
        let Some(tables) = self.tables.find(&record, start).filter(|_| is_same) else {
            return vec![None; addresses.len()];
        };
        let bytes = memory.read_pieces(&[tables.pcs, tables.scopes]);
        let (pcs, scopes) = bytes.split_at(tables.pcs.1.min(bytes.len()));
        let pcs: Vec<(i64, u32)> = pcs.chunks_exact((self.pc_bytes as usize).max(1)).map(|pc| self.pc(pc)).collect();
        let described: Vec<Option<DescribedCode>> =
            addresses.iter().map(|address| described(&pcs, scopes, (header.code_start, *address), packing)).collect();
        let scopes = described.iter().flatten().flat_map(|code| &code.scopes);
        let place = |scope: &Scope| tables.metadata.wrapping_add((u64::from(scope.method) - 1) * 8);
        let places: Vec<u64> = scopes.map(place).collect();
        let mut methods = words_at(memory, &places, 0).into_iter();
        let mut named = |DescribedCode { start, end, scopes }: DescribedCode| {
            let call = |scope: Scope| BytecodePlace {
                method: methods.next().unwrap_or(0),
                at: Bytecode::Index(scope.bytecode),
            };
            let mut calls: Vec<BytecodePlace> = scopes.into_iter().map(call).collect();
            calls.reverse();
            CompiledCalls { start, end, calls }
        };
        described.into_iter().map(|found| found.map(&mut named)).collect()
    }

    /// Distance of an address from the code's begin, and where its scope lies.
    fn pc(&self, description: &[u8]) -> (i64, u32) {
        (i64::from(number(description, self.pc_offset).cast_signed()), number(description, self.scope_offset))
    }
}

fn tables(is: &Description) -> Result<Tables> {
    let pcs_offset = is.offset("nmethod::_scopes_pcs_offset")?;
    if let Ok(immutable) = is.offset("nmethod::_immutable_data") {
        return Ok(Tables::Beside {
            immutable,
            immutable_bytes: is.offset("nmethod::_immutable_data_size")?,
            pcs_offset,
            scopes_offset: is.offset("nmethod::_scopes_data_offset")?,
            mutable: is.offset("CodeBlob::_mutable_data")?,
            relocation_bytes: is.offset("CodeBlob::_relocation_size")?,
        });
    }
    Ok(Tables::InBlob {
        scopes_address: is.offset("CompiledMethod::_scopes_data_begin")?,
        pcs_offset,
        pcs_end_offset: is.offset("nmethod::_dependencies_offset")?,
        metadata_offset: is.offset("nmethod::_metadata_offset")?,
    })
}

impl Tables {
    /// Those of the method whose blob is at `start` and begins with `record`.
    fn find(&self, record: &[u8], start: u64) -> Option<FoundTables> {
        let bytes = |from: u64, to: u64| {
            to.checked_sub(from).filter(|bytes| *bytes <= MOST_TABLE_BYTES).map(|bytes| (from, bytes as usize))
        };
        let offset = |at: u64| u64::from(number(record, at));
        match *self {
            Self::InBlob { scopes_address, pcs_offset, pcs_end_offset, metadata_offset } => {
                let pcs = start.checked_add(offset(pcs_offset))?;
                Some(FoundTables {
                    pcs: bytes(pcs, start.checked_add(offset(pcs_end_offset))?)?,
                    scopes: bytes(word(record, scopes_address), pcs)?,
                    metadata: start.checked_add(offset(metadata_offset))?,
                })
            }
            Self::Beside { immutable, immutable_bytes, pcs_offset, scopes_offset, mutable, relocation_bytes } => {
                let data = word(record, immutable);
                let scopes = data.checked_add(offset(scopes_offset))?;
                Some(FoundTables {
                    pcs: bytes(data.checked_add(offset(pcs_offset))?, scopes)?,
                    scopes: bytes(scopes, data.checked_add(offset(immutable_bytes))?)?,
                    metadata: word(record, mutable).checked_add(offset(relocation_bytes))?,
                })
            }
        }
    }
}

/// The code around `address` of a method whose code begins at `code_start`, by the descriptions of its addresses: their distance from that,
/// and where their scopes lie.
fn described(
    pcs: &[(i64, u32)],
    scopes: &[u8],
    (code_start, address): (u64, u64),
    packing: Packing,
) -> Option<DescribedCode> {
    let offset = i64::try_from(address.checked_sub(code_start)?).ok()?;
    let after = pcs.partition_point(|(pc, _)| *pc <= offset);
    let (end, scope) = *pcs.get(after)?;
    let begin = after.checked_sub(1).and_then(|before| pcs.get(before)).map_or(0, |(pc, _)| (*pc).max(0));
    let place = |offset: i64| code_start.checked_add(u64::try_from(offset).ok()?);
    let code = DescribedCode { start: place(begin)?, end: place(end)?, scopes: scopes_at(scopes, scope, packing) };
    (code.start < code.end && !code.scopes.is_empty()).then_some(code)
}

/// The scopes at `offset`, innermost first.
fn scopes_at(scopes: &[u8], mut offset: u32, packing: Packing) -> Vec<Scope> {
    let mut found = Vec::new();
    while offset != 0 && found.len() < MOST_CALLS {
        let mut numbers = Numbers::new(scopes.get(offset as usize..).unwrap_or_default(), packing);
        let (Some(sender), Some(method), Some(index)) = (numbers.next(), numbers.next(), numbers.next()) else { break };
        if !(1..=MOST_METADATA).contains(&method) {
            break;
        }
        found.push(Scope { method, bytecode: u32::try_from(i64::from(index) - ENTRY_INDEX).unwrap_or(0) });
        // Senders are described before.
        if sender >= offset {
            break;
        }
        offset = sender;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_lead_from_what_is_inlined_to_its_callers() {
        // At 1 method 1 at its bytecode 4; at 4 method 2, inlined there, at its entry.
        let scopes = [9, 1, 2, 6, 2, 3, 1];
        let (outer, inner) = (Scope { method: 1, bytecode: 4 }, Scope { method: 2, bytecode: 0 });
        assert_eq!(scopes_at(&scopes, 4, Packing::NoZero), [inner, outer]);
        assert_eq!(scopes_at(&scopes, 1, Packing::NoZero), [outer]);
        assert_eq!(scopes_at(&scopes, 0, Packing::NoZero), []);
        assert_eq!(scopes_at(&scopes, 99, Packing::NoZero), []);
    }

    #[test]
    fn scopes_in_a_circle_end() {
        assert_eq!(scopes_at(&[9, 2, 2, 2], 1, Packing::NoZero), [Scope { method: 1, bytecode: 0 }]);
    }
}
