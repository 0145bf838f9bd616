//! Whether a file was recorded since this machine was last started: addresses of the kernel mean the same then, and tell in which
//! system call a thread waits.

use std::io::{BufRead, BufReader, Read};

use dwell_model::SYSCALLS;

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

    /// The system calls of this kernel, if `symbols`, as `/proc/kallsyms` tells them, have it at the same place: it lies elsewhere each
    /// time that a machine is started.
    pub fn system_calls(&self, symbols: impl Read) -> Option<SystemCalls> {
        let symbol = |line: String| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?.to_owned()))
        };
        let lines = BufReader::new(symbols).lines().map_while(Result::ok);
        let mut symbols: Vec<(u64, String)> = lines.filter_map(symbol).collect();
        symbols.iter().find(|(address, name)| *address == self.address && *name == self.symbol)?;
        symbols.sort_unstable();
        Some(SystemCalls::of(&symbols))
    }
}

/// Where the kernel's system calls begin.
const ENTRY: &str = "__x64_sys_";

/// The kernel's functions for system calls.
#[derive(Debug, Default)]
pub struct SystemCalls {
    /// Begin, end and number of each, by address.
    functions: Vec<(u64, u64, i16)>,
}

impl SystemCalls {
    fn of(symbols: &[(u64, String)]) -> Self {
        let function = |pair: &[(u64, String)]| {
            let name = pair[0].1.strip_prefix(ENTRY)?;
            let call = SYSCALLS.iter().find(|call| call.name == name)?;
            Some((pair[0].0, pair[1].0, call.number))
        };
        Self { functions: symbols.windows(2).filter_map(function).collect() }
    }

    /// The number of the call that a stack of the kernel's, leaf first, is in.
    pub fn called_in(&self, stack: &[u64]) -> Option<i16> {
        let call_at = |address: &u64| {
            let behind = self.functions.partition_point(|(begin, ..)| begin <= address);
            let (_, end, number) = self.functions.get(behind.checked_sub(1)?)?;
            (address < end).then_some(*number)
        };
        stack.iter().rev().find_map(call_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_lies_elsewhere_is_another_one() {
        let place = KernelPlace::of_mapping(b"[kernel.kallsyms]_text", 0xffff_ffff_8100_0000).expect("a place");
        let symbols = |text: &str| format!("0000000000000000 A fixed\n{text} T _text\n{text} T _stext\n");
        assert!(place.system_calls(symbols("ffffffff81000000").as_bytes()).is_some());
        assert!(place.system_calls(symbols("ffffffffa1000000").as_bytes()).is_none());
        assert!(place.system_calls(&b""[..]).is_none());
        assert_eq!(KernelPlace::of_mapping(b"/lib/libc.so", 1), None);
    }

    #[test]
    fn stacks_tell_the_call() {
        let place = KernelPlace::of_mapping(b"[kernel.kallsyms]_text", 0x1000).expect("a place");
        let symbols =
            "1000 T _text\n3000 T do_futex\n2000 T __x64_sys_futex\n2100 t other\n2200 T __x64_sys_read\n2300 T x\n";
        let calls = place.system_calls(symbols.as_bytes()).expect("calls");
        assert_eq!(calls.called_in(&[0x1500, 0x3010, 0x2010, 0x1001]), Some(202));
        assert_eq!(calls.called_in(&[0x1500, 0x22ff]), Some(0));
        assert_eq!(calls.called_in(&[0x2100, 0x2300]), None);
        assert_eq!(calls.called_in(&[]), None);
    }
}
