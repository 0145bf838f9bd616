//! Names of the guest's code: the kernel's as it told them itself, those of our own program from its file.

use std::sync::{Arc, Mutex};

use crate::stream::{Function, Module, Namer};

/// Bytes of symbols beyond which none are read.
pub const MOST_BYTES: u64 = 64 << 20;

/// The kernel's functions, sorted by address; filled while the guest runs.
#[derive(Clone, Default)]
pub struct KernelSymbols(Arc<Mutex<Vec<(u64, Function)>>>);

impl KernelSymbols {
    /// Takes over lines of /proc/kallsyms: `ADDRESS TYPE NAME`, and `[MODULE]` behind a tab for a module's.
    pub fn read(&self, text: &[u8]) {
        let mut symbols: Vec<(u64, Function)> = text.split(|&byte| byte == b'\n').filter_map(of_line).collect();
        symbols.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| weight(&a.1).cmp(&weight(&b.1))));
        symbols.dedup_by_key(|symbol| symbol.0);
        if let Ok(mut known) = self.0.lock() {
            *known = symbols;
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().map_or(0, |symbols| symbols.len())
    }

    fn find(&self, address: u64) -> Option<Function> {
        let symbols = self.0.lock().ok()?;
        let behind = symbols.partition_point(|symbol| symbol.0 <= address);
        symbols.get(behind.checked_sub(1)?).map(|symbol| symbol.1.clone())
    }
}

/// Of several names of one place, the one without prefixes of the compiler's and the tracer's is meant.
fn weight(function: &Function) -> (bool, usize) {
    (function.name.starts_with("__pfx_") || function.name.starts_with('.'), function.name.len())
}

fn of_line(line: &[u8]) -> Option<(u64, Function)> {
    let line = std::str::from_utf8(line).ok()?;
    let (place, module) = line.split_once('\t').unwrap_or((line, "[kernel]"));
    let mut words = place.split(' ');
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address >> 63 != 0)?;
    let name = words.nth(1)?.to_owned();
    let module = module.trim().trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((address, Function { name, module }))
}

/// Names of a whole machine's code.
pub struct GuestNames<'a> {
    /// The kernel's.
    pub kernel: KernelSymbols,
    /// Those of the program in the guest, by their addresses.
    pub program: &'a mut dyn FnMut(&[u64]) -> Vec<Option<String>>,
}

impl Namer for GuestNames<'_> {
    fn names(&mut self, _: Option<&Module>, addresses: &[u64]) -> Vec<Function> {
        let own = (self.program)(addresses);
        let unnamed = |address: u64| match address >> 63 {
            0 => Function { name: "[user]".to_owned(), module: "user".to_owned() },
            _ => Function { name: "[kernel]".to_owned(), module: "kernel".to_owned() },
        };
        let name = |(&address, own): (&u64, Option<String>)| match own {
            _ if address >> 63 != 0 => self.kernel.find(address).unwrap_or_else(|| unnamed(address)),
            Some(name) => Function { name, module: "guest".to_owned() },
            None => unnamed(address),
        };
        addresses.iter().zip(own.into_iter().chain(std::iter::repeat(None))).map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_any_of_their_addresses() {
        let symbols = KernelSymbols::default();
        symbols.read(
            b"ffffffff81000000 T _stext\nffffffff81000010 t tcp_rcv\nffffffff81000010 T __pfx_tcp_rcv\n\
              ffffffffc0001000 t e1000_clean\t[e1000]\nnonsense\n0 T zero\n",
        );
        let name = |address| symbols.find(address).map(|it| (it.name, it.module));
        assert_eq!(symbols.count(), 3);
        assert_eq!(name(0xffff_ffff_8100_0018), Some(("tcp_rcv".into(), "kernel".into())));
        assert_eq!(name(0xffff_ffff_c000_1fff), Some(("e1000_clean".into(), "e1000".into())));
        assert_eq!(name(0xffff_ffff_8000_0000), None);
    }
}
