//! The guest's kernel and its modules: a Debian package, unpacked under a folder of caches, or what the user names.

use std::fs;
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
}

/// The kernel that was named, else that of a package in the folder of caches, else this machine's own.
pub fn find(named: Option<&Path>, caches: &Path) -> Result<Kernel, KernelError> {
    if let Some(path) = named {
        return of_path(path, caches);
    }
    let mut packages: Vec<PathBuf> = files(caches).filter(|path| is_package(path)).collect();
    packages.sort();
    if let Some(package) = packages.pop() {
        return of_package(&package, caches);
    }
    let mut images: Vec<PathBuf> = files(Path::new("/boot")).filter(|path| version(path).is_some()).collect();
    images.sort();
    let own = images.iter().rev().find_map(|image| of_image(image).ok());
    own.ok_or_else(|| KernelError::Missing { folder: caches.to_owned() })
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

impl Kernel {
    /// The files of a module and of what it needs, in the order in which they are loaded; what is built in has none.
    pub fn with_dependencies(&self, names: &[&str]) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let mut folders = vec![self.modules.join("kernel")];
        while let Some(folder) = folders.pop() {
            for path in files(&folder) {
                if path.is_dir() {
                    folders.push(path);
                } else {
                    all.push(path);
                }
            }
        }
        let stem = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().replace('-', "_");
        let find = |name: &str| all.iter().find(|path| stem(path) == format!("{name}.ko")).cloned();
        names.iter().filter_map(|name| find(name)).collect()
    }
}
