//! The places of a task probe in a file.

use std::path::Path;

use object::read::elf::Sym as _;
use object::{LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _};

use crate::debug_files::separate_file;
use crate::elf::{Data, Elf};
use crate::error::{Error, Result};
use crate::exits::{Piece, exits};
use crate::spec::{At, TaskPlaces};
use crate::symbols::{Function, find, functions};
use crate::usdt;

/// A function of more code is not searched for its ends.
const MOST_CODE_BYTES: u64 = 4 << 20;

/// Where to set a uprobe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Site {
    /// Offset of the instruction in the file.
    pub offset: u64,
    /// Offset in the file of the counter to be raised while somebody listens; 0 = none.
    pub semaphore: u64,
    /// What happens to the task here.
    pub edge: Edge,
}

/// What happens to a task at a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Edge {
    /// It begins.
    Begin,
    /// It ends.
    End,
    /// The one that is open ends, and the next one begins.
    Next,
}

/// The places of `place` in the file at `path`, in the order of the file.
///
/// # Errors
///
/// Says what the file has not, and what there is instead.
pub fn sites(path: &Path, place: &TaskPlaces) -> Result<Vec<Site>> {
    let data = Data::open(path)?;
    let elf = Elf::parse(&data, path)?;
    let mut sites = match place {
        TaskPlaces::Usdt { provider, begin, end } => {
            let mut sites = usdt_sites(&elf, path, (provider, begin), Edge::Begin)?;
            sites.extend(usdt_sites(&elf, path, (provider, end), Edge::End)?);
            sites
        }
        TaskPlaces::Function(name) => Named::of(&elf, path, &[name])?.whole(name)?,
        TaskPlaces::Between { begin, end } => {
            let named = Named::of(&elf, path, &[begin, end])?;
            vec![named.point(begin, Edge::Begin)?, named.point(end, Edge::End)?]
        }
        TaskPlaces::Period(name) => vec![Named::of(&elf, path, &[name])?.point(name, Edge::Next)?],
        TaskPlaces::Points { .. } => Vec::new(), // each has a file of its own: see `point_sites`
    };
    sites.sort_unstable();
    sites.dedup();
    Ok(sites)
}

/// The places of one end of an interval in the file at `path`; none of a system call, which is in no file.
///
/// # Errors
///
/// As [`sites`].
pub fn point_sites(path: &Path, at: &At, edge: Edge) -> Result<Vec<Site>> {
    let data = Data::open(path)?;
    let elf = Elf::parse(&data, path)?;
    match at {
        At::Function(name) => Ok(vec![Named::of(&elf, path, &[name])?.point(name, edge)?]),
        At::Usdt { provider, name } => usdt_sites(&elf, path, (provider, name), edge),
        At::Call(_) => Ok(Vec::new()),
    }
}

/// The entry of the function `name` of the file at `path`.
///
/// # Errors
///
/// As [`sites`].
pub fn entry(path: &Path, name: &str) -> Result<Site> {
    let data = Data::open(path)?;
    Named::of(&Elf::parse(&data, path)?, path, &[name])?.point(name, Edge::Begin)
}

/// The entries of those functions of `names` that the library at `path` exports.
///
/// # Errors
///
/// The file cannot be read, or is no ELF file.
pub fn exported(path: &Path, names: &[&str]) -> Result<Vec<Site>> {
    let data = Data::open(path)?;
    let elf = Elf::parse(&data, path)?;
    // Read at once: to read each of thousands of names takes longer than all else.
    let texts = elf.file.section_by_name(".dynstr").and_then(|section| section.data().ok()).unwrap_or_default();
    let name = |at: u32| texts.get(at as usize..)?.split(|byte| *byte == 0).next();
    let is_wanted = |at: u32| name(at).is_some_and(|name| names.iter().any(|wanted| wanted.as_bytes() == name));
    let symbols = elf.file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    let wanted = symbols.filter(|symbol| is_wanted(symbol.elf_symbol().st_name(LittleEndian)));
    let site = |address| Some(Site { offset: elf.code_offset(address)?, semaphore: 0, edge: Edge::Begin });
    let mut sites: Vec<Site> = wanted.filter_map(|symbol| site(symbol.address())).collect();
    sites.sort_unstable();
    sites.dedup();
    Ok(sites)
}

pub(crate) fn usdt_sites(elf: &Elf<'_>, path: &Path, (provider, name): (&str, &str), edge: Edge) -> Result<Vec<Site>> {
    let all = usdt::probes(elf);
    let named = all.iter().filter(|usdt| usdt.provider == provider && usdt.name == name);
    let site = |usdt: &usdt::Usdt| {
        let semaphore = if usdt.semaphore == 0 { Some(0) } else { elf.file_offset(usdt.semaphore) };
        Some(Site { offset: elf.code_offset(usdt.address)?, semaphore: semaphore?, edge })
    };
    let sites: Vec<Site> = named.filter_map(site).collect();
    if sites.is_empty() {
        let mut known: Vec<String> = all.iter().map(|usdt| format!("{}:{}", usdt.provider, usdt.name)).collect();
        known.sort_unstable();
        known.dedup();
        known.truncate(40);
        let (provider, name) = (provider.to_owned(), name.to_owned());
        return Err(Error::NoSuchUsdt { provider, name, file: path.to_owned(), known });
    }
    Ok(sites)
}

/// Functions and addresses of one file.
pub(crate) struct Named<'e, 'd> {
    elf: &'e Elf<'d>,
    path: &'e Path,
    functions: Vec<Function>,
}

impl<'e, 'd> Named<'e, 'd> {
    /// Reads the symbol tables unless all of `names` are addresses.
    pub(crate) fn of(elf: &'e Elf<'d>, path: &'e Path, names: &[&str]) -> Result<Self> {
        let mut named = Self { elf, path, functions: Vec::new() };
        if names.iter().any(|name| address(name).is_none()) {
            named.functions = functions(std::slice::from_ref(elf));
            // A damaged debug file says nothing; the program's own table may do.
            if let Some(debug_file) = separate_file(path, elf)
                && let Ok(data) = Data::open(&debug_file)
                && let Ok(debug_elf) = Elf::parse(&data, &debug_file)
            {
                named.functions.extend(functions(&[debug_elf]));
            }
        }
        Ok(named)
    }

    /// Entry and ends of a function.
    pub(crate) fn whole(&self, name: &str) -> Result<Vec<Site>> {
        let no_end = |why| Error::NoEnd { name: name.to_owned(), file: self.path.to_owned(), why };
        if address(name).is_some() {
            return Err(no_end("is an address, not a function"));
        }
        let function = find(&self.functions, name, self.path)?;
        if function.size == 0 {
            return Err(no_end("has no size in the symbol table"));
        }
        if function.size > MOST_CODE_BYTES {
            return Err(no_end("has too much code"));
        }
        let entry = self.site(function.address, Edge::Begin)?;
        let ends = exits(&self.pieces(&function));
        if ends.is_empty() {
            return Err(no_end("never returns"));
        }
        let ends = ends.into_iter().map(|address| self.site(address, Edge::End));
        std::iter::once(Ok(entry)).chain(ends).collect()
    }

    /// The function, and what the compiler split off it.
    fn pieces(&self, function: &Function) -> Vec<Piece<'d>> {
        let cold = format!("{}.cold", function.symbol);
        let is_cold = |other: &&Function| {
            other.symbol.strip_prefix(&cold).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let parts = std::iter::once(function.clone()).chain(self.functions.iter().filter(is_cold).cloned());
        let piece = |part: Function| {
            let code = self.elf.code(part.address, part.size.min(MOST_CODE_BYTES))?;
            Some(Piece { address: part.address, code })
        };
        parts.filter_map(piece).collect()
    }

    /// A function's entry, or an address.
    pub(crate) fn point(&self, name: &str, edge: Edge) -> Result<Site> {
        match address(name) {
            Some(address) => self.site(address, edge),
            None => self.site(find(&self.functions, name, self.path)?.address, edge),
        }
    }

    fn site(&self, address: u64, edge: Edge) -> Result<Site> {
        let offset = self.elf.code_offset(address);
        let offset = offset.ok_or_else(|| Error::NoCode { address, file: self.path.to_owned() })?;
        Ok(Site { offset, semaphore: 0, edge })
    }
}

/// `+0x1234`, as nm and objdump print it.
fn address(name: &str) -> Option<u64> {
    u64::from_str_radix(name.strip_prefix("+0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBC: &str = "/lib/x86_64-linux-gnu/libc.so.6";

    fn libc() -> Option<&'static Path> {
        Some(Path::new(LIBC)).filter(|path| path.is_file())
    }

    #[test]
    fn a_function_has_an_entry_and_ends() {
        let Some(libc) = libc() else { return };
        let sites = sites(libc, &TaskPlaces::Function("malloc".into())).expect("malloc");
        assert_eq!(sites.iter().filter(|site| site.edge == Edge::Begin).count(), 1);
        assert!(sites.iter().filter(|site| site.edge == Edge::End).count() >= 2, "{sites:?}");
    }

    #[test]
    fn what_is_not_there_is_said() {
        let Some(libc) = libc() else { return };
        let error = sites(libc, &TaskPlaces::Function("mallok".into())).expect_err("misspelled");
        assert!(error.hint().contains("malloc"), "{}", error.hint());
        let between = TaskPlaces::Between { begin: "+0x0".into(), end: "free".into() };
        assert!(matches!(sites(libc, &between), Err(Error::NoCode { address: 0, .. })));
        let usdt = TaskPlaces::Usdt { provider: "libstdcxx".into(), begin: "throw".into(), end: "none".into() };
        let error = sites(libc, &usdt).expect_err("no such probe");
        assert!(matches!(error, Error::NoSuchUsdt { .. }), "{error}");
        let cxx = Path::new("/usr/lib/x86_64-linux-gnu/libstdc++.so.6");
        if cxx.is_file() {
            let error = sites(cxx, &usdt).expect_err("no such probe");
            assert!(error.hint().contains("libstdcxx:catch"), "{}", error.hint());
        }
        assert!(matches!(sites(Path::new("/etc/passwd"), &usdt), Err(Error::Elf { .. })));
        assert!(matches!(sites(Path::new("/no/such"), &usdt), Err(Error::Io { .. })));
        assert!(matches!(sites(Path::new("/dev/null"), &usdt), Err(Error::Io { .. })));
    }

    #[test]
    fn damaged_files_are_refused() {
        let Some(libc) = libc() else { return };
        let whole = std::fs::read(libc).expect("libc");
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("damaged");
        let usdt = TaskPlaces::Usdt { provider: "libc".into(), begin: "setjmp".into(), end: "longjmp".into() };
        for step in 0..40usize {
            let mut bytes = whole.clone();
            bytes.truncate(whole.len() / 40 * step);
            for at in (step * 7..bytes.len()).step_by(4099) {
                bytes[at] ^= 0x5a;
            }
            std::fs::write(&path, bytes).expect("write");
            // Any answer will do that is one.
            let _ = sites(&path, &TaskPlaces::Function("malloc".into()));
            let _ = sites(&path, &usdt);
        }
    }
}
