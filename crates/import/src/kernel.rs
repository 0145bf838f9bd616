//! Whether a file was recorded since this machine was last started: addresses of the kernel mean the same then.

use std::io::{BufRead, BufReader, Read};

/// What a file says of the recorded kernel: `[kernel.kallsyms]_text` was mapped at such an offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelPlace {
    symbol: String,
    address: u64,
}

const MAPPING: &str = "[kernel.kallsyms]";

impl KernelPlace {
    /// From the path and file offset of a mapping of the kernel's.
    pub fn of_mapping(path: &[u8], offset: u64) -> Option<Self> {
        let symbol = std::str::from_utf8(path).ok()?.strip_prefix(MAPPING)?;
        (!symbol.is_empty() && offset != 0).then(|| Self { symbol: symbol.to_owned(), address: offset })
    }

    /// Whether the symbols of a kernel, as `/proc/kallsyms` tells them, have it at the same place. The kernel lies elsewhere each
    /// time that a machine is started.
    pub fn is_of(&self, symbols: impl Read) -> bool {
        let mut lines = BufReader::new(symbols).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let mut words = line.split_whitespace();
            let (address, name) = (words.next()?, words.nth(1)?);
            (name == self.symbol).then(|| u64::from_str_radix(address, 16).ok())?
        });
        address == Some(self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_lies_elsewhere_is_another_one() {
        let place = KernelPlace::of_mapping(b"[kernel.kallsyms]_text", 0xffff_ffff_8100_0000).expect("a place");
        let symbols = |text: &str| format!("0000000000000000 A fixed\n{text} T _text\n{text} T _stext\n");
        assert!(place.is_of(symbols("ffffffff81000000").as_bytes()));
        assert!(!place.is_of(symbols("ffffffffa1000000").as_bytes()));
        assert!(!place.is_of(&b""[..]));
        assert_eq!(KernelPlace::of_mapping(b"/lib/libc.so", 1), None);
    }
}
