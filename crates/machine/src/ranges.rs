//! Ranges of addresses as users write them, and what the kernel maps how.

use std::ops::RangeInclusive;

use crate::error::MachineError;

/// Where the kernel's half of the address space begins.
pub(crate) const KERNEL: u64 = 0xffff_8000_0000_0000;

/// "user", "kernel", or "BEGIN-END" in hexadecimal, the end not included.
pub(crate) fn parse(text: &str) -> Result<RangeInclusive<u64>, MachineError> {
    match text {
        "user" => return Ok(0..=KERNEL - 1),
        "kernel" => return Ok(KERNEL..=u64::MAX),
        _ => {}
    }
    let number = |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok();
    let range = text.split_once('-').and_then(|(begin, end)| Some((number(begin)?, number(end)?)));
    match range {
        Some((begin, end)) if begin < end => Ok(begin..=end - 1),
        _ => Err(MachineError::new(
            format!("no range of addresses: {text:?}"),
            "write \"user\", \"kernel\", or a range in hexadecimal such as \"7f0000000000-7fffffffffff\"",
        )),
    }
}

/// log2 of the bytes of the page that an address is in. The trace has no page tables: user memory is taken as mapped by
/// small pages; of the kernel, its text, direct map and page descriptors are mapped by large ones (Linux,
/// Documentation/arch/x86/x86_64/mm.rst).
#[inline]
pub(crate) fn page_shift(address: u64) -> u32 {
    if address < KERNEL {
        return 12;
    }
    match address {
        0xffff_8880_0000_0000..=0xffff_c87f_ffff_ffff => 30,
        0xffff_ea00_0000_0000..=0xffff_eaff_ffff_ffff | 0xffff_ffff_8000_0000..=0xffff_ffff_9fff_ffff => 21,
        _ => 12,
    }
}
