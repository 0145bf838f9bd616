//! Names of code: from the files that it is in.

use std::path::Path;

use dwell_anatomy::{Function, Module, Namer};
use dwell_resolve::CodeNames;

/// Names of a program's functions.
#[derive(Default)]
pub struct FileNames {
    names: CodeNames,
}

impl Namer for FileNames {
    fn names(&mut self, module: Option<&Module>, addresses: &[u64]) -> Vec<Function> {
        let Some(module) = module else {
            let made = Function { name: "[run-time code]".to_owned(), module: "[anonymous]".to_owned() };
            return vec![made; addresses.len()];
        };
        let path = module.path.strip_suffix(" (deleted)").unwrap_or(&module.path);
        let base = Path::new(path).file_name().map_or_else(|| path.into(), |name| name.to_string_lossy());
        let offset = |address: &u64| address.wrapping_sub(module.start).wrapping_add(module.offset);
        let offsets: Vec<u64> = addresses.iter().map(offset).collect();
        let name = |name: Option<String>| Function {
            name: name.unwrap_or_else(|| format!("[{base}]")),
            module: base.clone().into_owned(),
        };
        self.names.names(Path::new(path), &offsets).into_iter().map(name).collect()
    }
}
