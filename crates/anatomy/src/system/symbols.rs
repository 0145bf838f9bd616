//! Names of the guest's code: the kernel's as it told them itself, those of our own program from its file.

use std::sync::{Arc, Mutex};

use crate::stream::{Function, Module, Namer};

/// The module of code that is the kernel's own.
const KERNEL: &str = "kernel";
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
    let (place, module) = line.split_once('\t').unwrap_or((line, KERNEL));
    let mut words = place.split(' ');
    let address = u64::from_str_radix(words.next()?, 16).ok().filter(|&address| address >> 63 != 0)?;
    let name = words.nth(1)?.to_owned();
    let module = module.trim().trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((address, Function { name, module }))
}

/// The names of functions in a file, by their addresses.
pub type Names<'a> = &'a mut dyn FnMut(&[u64]) -> Vec<Option<String>>;

/// Names of a whole machine's code.
pub struct GuestNames<'a> {
    /// What the kernel told of itself and its modules.
    pub kernel: KernelSymbols,
    /// A file with the kernel's symbols, which knows better.
    pub vmlinux: Option<Names<'a>>,
    /// Those of the program in the guest.
    pub program: Names<'a>,
}

impl Namer for GuestNames<'_> {
    fn names(&mut self, _: Option<&Module>, addresses: &[u64]) -> Vec<Function> {
        let programs = (self.program)(addresses);
        let kernels = self.vmlinux.as_mut().map_or_else(Vec::new, |names| names(addresses));
        let name = |(at, &address): (usize, &u64)| {
            let of = |names: &[Option<String>], module: &str| {
                Some(Function { name: names.get(at)?.clone()?, module: module.to_owned() })
            };
            if address >> 63 == 0 {
                return of(&programs, "guest")
                    .unwrap_or_else(|| Function { name: "[user]".to_owned(), module: "user".to_owned() });
            }
            let told = self.kernel.find(address);
            let of_module = told.as_ref().is_some_and(|function| function.module != KERNEL);
            let better = if of_module { None } else { of(&kernels, KERNEL) };
            let unnamed = || Function { name: "[kernel]".to_owned(), module: KERNEL.to_owned() };
            better.or(told).unwrap_or_else(unnamed)
        };
        addresses.iter().enumerate().map(name).collect()
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

    #[test]
    fn a_file_with_symbols_knows_better_than_the_kernel_but_not_its_modules() {
        let kernel = KernelSymbols::default();
        kernel.read(b"ffffffff81000000 T told\nffffffffc0001000 t e1000_clean\t[e1000]\n");
        let mut of_file = |addresses: &[u64]| {
            let known = |&address: &u64| (address >= 0xffff_ffff_8100_0100).then(|| "of_file".to_owned());
            addresses.iter().map(known).collect()
        };
        let mut program = |addresses: &[u64]| vec![Some("begin".to_owned()); addresses.len()];
        let mut names = GuestNames { kernel, vmlinux: Some(&mut of_file), program: &mut program };
        let addresses = [0x40_0000, 0xffff_ffff_8100_0000, 0xffff_ffff_8100_0100, 0xffff_ffff_c000_1000];
        let named: Vec<String> = names.names(None, &addresses).into_iter().map(|it| it.name).collect();
        assert_eq!(named, ["begin", "told", "of_file", "e1000_clean"]);
    }
}
