//! Which part of the kernel an address lies in: its core, or a module.
//!
//! `/proc/kallsyms` gives names, which two modules may share, and `/proc/modules` where each module lies. Both are of the
//! running kernel; callers make sure that it is the recorded one ([`is_this_boot`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use dwell_store::Manifest;

use crate::code::function::Function;

/// Where the running kernel tells its symbols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelFiles {
    /// `/proc/kallsyms` or a copy: who may not see addresses reads zeros there.
    pub kallsyms: PathBuf,
    /// `/proc/modules` or a copy.
    pub modules: PathBuf,
}

impl Default for KernelFiles {
    fn default() -> Self {
        Self { kallsyms: "/proc/kallsyms".into(), modules: "/proc/modules".into() }
    }
}

/// Where the kernel and its modules lie.
#[derive(Debug, Default)]
pub struct KernelMap {
    /// Start of the core's code; another one after each start of the machine. 0 when it is not told.
    text: u64,
    modules: Vec<Module>,
}

#[derive(Debug)]
struct Module {
    start: u64,
    bytes: u64,
    name: String,
}

impl KernelMap {
    /// The map of the running kernel, as far as this user may see it.
    pub fn read(files: &KernelFiles) -> Self {
        let modules = std::fs::read_to_string(&files.modules).unwrap_or_default();
        let symbols = File::open(&files.kallsyms).map(BufReader::new);
        Self::parse(&modules, symbols.into_iter().flat_map(BufRead::lines).map_while(Result::ok))
    }

    /// `name bytes uses users state 0xADDRESS` and `ADDRESS type name`, a line each.
    fn parse(modules: &str, mut symbols: impl Iterator<Item = String>) -> Self {
        let module = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let start = u64::from_str_radix(fields.get(5)?.strip_prefix("0x")?, 16).ok()?;
            let bytes = fields.get(1)?.parse().ok()?;
            Some(Module { start, bytes, name: (*fields.first()?).to_owned() }).filter(|module| module.start != 0)
        };
        let mut modules: Vec<Module> = modules.lines().filter_map(module).collect();
        modules.sort_by_key(|module| module.start);
        let text = symbols.find(|line| line.ends_with(" _stext"));
        let text = text.and_then(|line| u64::from_str_radix(line.split(' ').next()?, 16).ok());
        Self { text: text.unwrap_or(0), modules }
    }

    /// Whether this user is not told where the kernel's functions lie (`kernel.kptr_restrict`, CAP_SYSLOG).
    pub fn is_hidden(&self) -> bool {
        self.text == 0
    }

    fn module(&self, address: u64) -> Option<&Module> {
        let after = self.modules.partition_point(|module| module.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        (address - module.start < module.bytes).then_some(module)
    }

    /// Says which module the functions at `addresses` are of, and names those that have no symbol by their distance from
    /// the start of what they lie in.
    pub fn complete(&self, code: &mut [Vec<Function>], addresses: &[u64]) {
        for (functions, &address) in code.iter_mut().zip(addresses) {
            let module = self.module(address);
            match (functions.first_mut(), module) {
                (Some(outer), Some(module)) => outer.name = format!("{} [{}]", outer.name, module.name),
                (Some(_), None) => {}
                (None, Some(module)) => functions.push(unnamed(&module.name, address - module.start)),
                (None, None) if self.text != 0 && address >= self.text => {
                    functions.push(unnamed("kernel", address - self.text));
                }
                (None, None) => {}
            }
        }
    }
}

/// The names of the functions of the running kernel that begin at these addresses, as far as this user may see them.
pub fn names(addresses: &BTreeSet<u64>, files: &KernelFiles) -> BTreeMap<u64, String> {
    if addresses.is_empty() {
        return BTreeMap::new();
    }
    let lines = File::open(&files.kallsyms).map(BufReader::new).into_iter().flat_map(BufRead::lines);
    let named = |line: String| {
        let mut fields = line.split_whitespace();
        let address = u64::from_str_radix(fields.next()?, 16).ok().filter(|address| addresses.contains(address))?;
        Some((address, fields.nth(1)?.to_owned()))
    };
    lines.map_while(Result::ok).filter_map(named).collect()
}

/// Kernel addresses mean something only until the machine is started again.
pub fn is_this_boot(manifest: &Manifest) -> bool {
    let now = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    !manifest.boot_id.trim().is_empty() && now.trim() == manifest.boot_id.trim()
}

fn unnamed(part: &str, offset: u64) -> Function {
    Function { name: format!("[{part}]+{offset:#x}"), ..Function::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULES: &str = "nf_tables 4096 2 nft_compat, Live 0xffffffffc0002000 (E)\n\
                           ext4 8192 1 - Live 0xffffffffc0010000\nhidden 4096 0 - Live 0x0000000000000000\nrubbish\n";
    const SYMBOLS: &str = "ffffffff81000000 T startup_64\nffffffff81001000 T _stext\n";

    #[test]
    fn code_of_modules_says_so_and_nothing_is_a_bare_address() {
        let map = KernelMap::parse(MODULES, SYMBOLS.lines().map(str::to_owned));
        let named = |name: &str| vec![Function { name: name.into(), ..Function::default() }];
        let mut code = [named("nft_do_chain"), named("schedule"), Vec::new(), Vec::new(), Vec::new()];
        let addresses =
            [0xffff_ffff_c000_2010, 0xffff_ffff_8100_2000, 0xffff_ffff_c001_0020, 0xffff_ffff_8100_1234, 0x10];
        map.complete(&mut code, &addresses);
        let names = code.map(|functions| functions.first().map(|function| function.name.clone()).unwrap_or_default());
        assert_eq!(names, ["nft_do_chain [nf_tables]", "schedule", "[ext4]+0x20", "[kernel]+0x234", ""]);
    }

    #[test]
    fn a_kernel_that_hides_its_addresses_gives_none() {
        let map = KernelMap::parse(
            "ext4 8192 1 - Live 0x0000000000000000\n",
            ["0000000000000000 T _stext".to_owned()].into_iter(),
        );
        let mut code = [Vec::new()];
        map.complete(&mut code, &[0xffff_ffff_c001_0020]);
        assert!(code[0].is_empty());
    }
}
