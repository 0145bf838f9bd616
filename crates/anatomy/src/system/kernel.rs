//! The guest's kernel and its modules: a Debian package, unpacked under a folder of caches, or what the user names.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A kernel with its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The image that is booted.
    pub image: PathBuf,
    /// The folder with `modules.dep`.
    pub modules: PathBuf,
}

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// None is there.
    #[error("there is no kernel for the guest")]
    Missing {
        /// Where a package would be found.
        folder: PathBuf,
    },
    /// A package cannot be unpacked.
    #[error("{} cannot be unpacked: {why}", package.display())]
    Package {
        /// The package.
        package: PathBuf,
        /// Why not.
        why: String,
    },
    /// What was named is no kernel, or has no modules.
    #[error("{}: {why}", path.display())]
    Unusable {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file with symbols cannot be read, or is of another kernel.
    #[error("{} {why}", file.display())]
    Symbols {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

/// The kernel that was named, else that of a package in the folder of caches, else this machine's own.
pub fn find(named: Option<&Path>, caches: &Path) -> Result<Kernel, KernelError> {
    if let Some(path) = named {
        return of_path(path, caches);
    }
    let mut packages: Vec<PathBuf> = files(caches).filter(|path| is_package(path)).collect();
    packages.sort_by_key(|path| by_version(path));
    if let Some(package) = packages.pop() {
        return of_package(&package, caches);
    }
    let mut images: Vec<PathBuf> = files(Path::new("/boot")).filter(|path| version(path).is_some()).collect();
    images.sort_by_key(|path| by_version(path));
    let own = images.iter().rev().find_map(|image| of_image(image).ok());
    own.ok_or_else(|| KernelError::Missing { folder: caches.to_owned() })
}

/// What sorts file names by the versions in them: 6.9 before 6.12.
fn by_version(path: &Path) -> Vec<(u64, String)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let are_alike = |a: char, b: char| a.is_ascii_digit() == b.is_ascii_digit();
    let letters: Vec<char> = name.chars().collect();
    let parts = letters.chunk_by(|&a, &b| are_alike(a, b)).map(|part| part.iter().collect::<String>());
    parts.map(|part| part.parse().map_or_else(|_| (0, part.clone()), |number| (number, String::new()))).collect()
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

fn is_package(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("linux-image-") && name.ends_with(".deb")
}

/// The version in the name of an image.
fn version(image: &Path) -> Option<String> {
    image.file_name()?.to_str()?.strip_prefix("vmlinuz-").map(str::to_owned)
}

fn of_path(path: &Path, caches: &Path) -> Result<Kernel, KernelError> {
    if !path.is_file() {
        return Err(KernelError::Unusable { path: path.to_owned(), why: "there is no such file".to_owned() });
    }
    if path.extension().is_some_and(|extension| extension == "deb") { of_package(path, caches) } else { of_image(path) }
}

/// The image `…/boot/vmlinuz-VERSION` with the modules of `…/lib/modules/VERSION`.
fn of_image(image: &Path) -> Result<Kernel, KernelError> {
    let unusable = |why: &str| KernelError::Unusable { path: image.to_owned(), why: why.to_owned() };
    let version = version(image).ok_or_else(|| unusable("its name is not vmlinuz-VERSION"))?;
    let root = image.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
    let modules = root.join("lib/modules").join(version);
    // Packages are unpacked, not installed: the list of dependencies is made at the installation.
    if !modules.join("kernel").is_dir() {
        return Err(unusable(&format!("it has no modules in {}", modules.display())));
    }
    // Ubuntu's are for root alone.
    File::open(image).map_err(|error| unusable(&format!("it cannot be read: {error}")))?;
    Ok(Kernel { image: image.to_owned(), modules })
}

fn of_package(package: &Path, caches: &Path) -> Result<Kernel, KernelError> {
    let failed = |why: String| KernelError::Package { package: package.to_owned(), why };
    let name = package.file_stem().unwrap_or_default();
    let folder = caches.join("unpacked").join(name);
    if !folder.join("boot").is_dir() {
        let new = caches.join("unpacked").join(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
        fs::create_dir_all(&new).map_err(|error| failed(error.to_string()))?;
        let unpacked = Command::new("dpkg-deb").arg("-x").args([package, &new]).stdin(Stdio::null()).output();
        let unpacked = unpacked.map_err(|error| failed(format!("dpkg-deb: {error}")))?;
        if !unpacked.status.success() {
            let _ = fs::remove_dir_all(&new);
            return Err(failed(String::from_utf8_lossy(&unpacked.stderr).trim().to_owned()));
        }
        if fs::rename(&new, &folder).is_err() {
            let _ = fs::remove_dir_all(&new); // another Dwell was faster
        }
    }
    let image = files(&folder.join("boot")).find(|path| version(path).is_some());
    of_image(&image.ok_or_else(|| failed("it has no vmlinuz".to_owned()))?)
}

/// Whether a file with symbols (`vmlinux`) is of the kernel in an image: both name the release, who built it, and when.
pub fn check_symbols(image: &Path, symbols: &Path) -> Result<(), KernelError> {
    let unusable = |why: String| KernelError::Unusable { path: image.to_owned(), why };
    let wrong = |why: String| KernelError::Symbols { file: symbols.to_owned(), why };
    let head = first_bytes(image).map_err(|error| unusable(error.to_string()))?;
    let version = banner(&head).ok_or_else(|| unusable("it does not tell its version".to_owned()))?;
    if !symbols.is_file() {
        return Err(wrong("is no file".to_owned()));
    }
    let file = File::open(symbols).map(|file| BufReader::with_capacity(1 << 20, file));
    match file.and_then(|file| says(file, &version)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(wrong(format!("is not of the kernel that is booted, {version}"))),
        Err(error) => Err(wrong(format!("cannot be read: {error}"))),
    }
}

fn first_bytes(image: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(image)?.take(1 << 16).read_to_end(&mut head)?;
    Ok(head)
}

/// What an image says of itself: `RELEASE (USER@HOST) BUILD` (Documentation/arch/x86/boot.rst, `kernel_version`).
fn banner(image: &[u8]) -> Option<String> {
    let at = usize::from(u16::from_le_bytes(*image.get(0x20e..)?.first_chunk()?)) + 0x200;
    let text = image.get(at..)?.split(|&byte| byte == 0).next()?;
    std::str::from_utf8(text).ok().filter(|text| text.contains(") ")).map(str::to_owned)
}

/// Whether a kernel says the same of itself: `Linux version RELEASE (USER@HOST) (COMPILER) BUILD`.
fn says(mut symbols: impl BufRead, version: &str) -> io::Result<bool> {
    let Some((begin, build)) = version.split_once(") ") else { return Ok(false) };
    let begin = format!("Linux version {begin}) ").into_bytes();
    let mut line = Vec::new();
    while symbols.by_ref().take(1 << 20).read_until(b'\n', &mut line)? > 0 {
        let found = line.windows(begin.len()).position(|bytes| bytes == begin);
        if found.is_some_and(|at| line[at..].trim_ascii_end().ends_with(build.as_bytes())) {
            return Ok(true);
        }
        // A banner that is cut in two by the limit is whole in what is kept of the line before.
        let kept = line.len().saturating_sub(1 << 10);
        line.drain(..if line.ends_with(b"\n") { line.len() } else { kept });
    }
    Ok(false)
}

impl Kernel {
    /// The modules of these names and those that they need, each behind what it needs; what is built in has none.
    pub fn load_order(&self, names: &[&str]) -> io::Result<Vec<Vec<u8>>> {
        let mut modules = Modules { files: module_files(&self.modules.join("kernel")), ordered: Vec::new() };
        names.iter().try_for_each(|name| modules.take(name))?;
        Ok(modules.ordered)
    }
}

/// Modules that are brought into the order in which they can be loaded.
struct Modules {
    /// By name; those that were taken are out.
    files: HashMap<String, PathBuf>,
    ordered: Vec<Vec<u8>>,
}

impl Modules {
    fn take(&mut self, name: &str) -> io::Result<()> {
        let Some(path) = self.files.remove(name) else { return Ok(()) };
        let module = unpacked(File::open(&path)?, &path)?;
        needs(&module).iter().try_for_each(|needed| self.take(needed))?;
        self.ordered.push(module);
        Ok(())
    }
}

/// The longest module, packed or not: amdgpu has 20 MB, and those of guests a hundredth of it.
const MOST_MODULE_BYTES: u64 = 64 << 20;
/// The most memory for unpacking, in KiB.
const MOST_MEMORY_KIB: u32 = 128 << 10;

/// A module as its file's name says that it is packed.
fn unpacked(packed: impl Read, path: &Path) -> io::Result<Vec<u8>> {
    match path.extension().and_then(|it| it.to_str()) {
        Some("zst") => whole(zstd::stream::Decoder::new(packed)?, path),
        Some("xz") => whole(lzma_rust2::XzReader::new_mem_limit(packed, true, MOST_MEMORY_KIB), path),
        Some("gz") => whole(flate2::read::GzDecoder::new(packed), path),
        _ => whole(packed, path),
    }
}

/// What is read, when that is no more than a module has.
fn whole(from: impl Read, path: &Path) -> io::Result<Vec<u8>> {
    let mut module = Vec::new();
    if from.take(MOST_MODULE_BYTES + 1).read_to_end(&mut module)? as u64 > MOST_MODULE_BYTES {
        let why = format!("{} has more than {} MiB: it is no module", path.display(), MOST_MODULE_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(module)
}

/// The modules below a folder, by name.
fn module_files(folder: &Path) -> HashMap<String, PathBuf> {
    let mut modules = HashMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in files(&folder) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let file = path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
            if let Some((name, "" | ".zst" | ".xz" | ".gz")) = file.split_once(".ko") {
                modules.insert(name.to_owned(), path);
            }
        }
    }
    modules
}

/// The names of the modules that a module needs, as it says itself (`depends=a,b` in its section `.modinfo`).
fn needs(module: &[u8]) -> Vec<String> {
    const FIELD: &[u8] = b"\0depends=";
    let Some(at) = module.windows(FIELD.len()).position(|bytes| bytes == FIELD) else { return Vec::new() };
    let list = module[at + FIELD.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = list.split(|&byte| byte == b',').filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).replace('-', "_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_kernel_is_the_one_of_the_highest_version() {
        let mut names = ["linux-image-6.12.1.deb", "linux-image-6.9.10.deb", "linux-image-6.12.0.deb"];
        names.sort_by_key(|name| by_version(Path::new(name)));
        assert_eq!(names, ["linux-image-6.9.10.deb", "linux-image-6.12.0.deb", "linux-image-6.12.1.deb"]);
    }

    #[test]
    fn symbols_of_another_build_are_told() {
        let version = "6.1.0-56-amd64 (debian@lists) #1 SMP Debian 6.1.192-2 (2026-10-01)";
        let mut image = vec![0; 0x1000];
        image[0x20e..0x210].copy_from_slice(&0x300u16.to_le_bytes());
        image[0x500..0x500 + version.len()].copy_from_slice(version.as_bytes());
        assert_eq!(banner(&image).as_deref(), Some(version));
        let says = |text: &str| {
            let symbols = [&vec![1; (1 << 20) - 20][..], text.as_bytes(), b"\n\0more"].concat();
            says(&symbols[..], version).unwrap()
        };
        let own = "Linux version 6.1.0-56-amd64 (debian@lists) (gcc-12) #1 SMP Debian 6.1.192-2 (2026-10-01)";
        assert!(says(own));
        assert!(!says(&own.replace("192-2", "192-3")) && !says(&own.replace("-56-", "-57-")) && !says(""));
    }

    #[test]
    fn a_module_comes_behind_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let drivers = folder.path().join("kernel/drivers");
        fs::create_dir_all(&drivers).unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(drivers.join(name), bytes).unwrap();
        write("card.ko", b"\0license=GPL\0depends=bus-lib,built_in,ring\0code");
        write("bus-lib.ko.zst", &zstd::encode_all(&b"bus\0depends=ring\0"[..], 1).unwrap());
        write("ring.ko", b"ring\0depends=\0");
        write("other.ko", b"other\0depends=card\0");
        let kernel = Kernel { image: PathBuf::new(), modules: folder.path().to_owned() };
        let order = kernel.load_order(&["bus_lib", "card", "built_in"]).unwrap();
        let begins: Vec<&[u8]> = order.iter().map(|module| &module[..4]).collect();
        assert_eq!(begins, [&b"ring"[..], b"bus\0", b"\0lic"]);
    }

    #[test]
    fn what_unpacks_to_more_than_a_module_is_refused() {
        let zeros = vec![0u8; MOST_MODULE_BYTES as usize + 1];
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, &zeros).unwrap();
        for (name, packed) in [
            ("a.ko.zst", zstd::encode_all(&zeros[..], 1).unwrap()),
            ("a.ko.gz", gzip.finish().unwrap()),
            ("a.ko", zeros),
        ] {
            let refused = unpacked(&packed[..], Path::new(name)).unwrap_err().to_string();
            assert!(refused.starts_with(name) && refused.contains("64 MiB"), "{refused}");
        }
    }
}
