//! Names for code.
//! It takes the addresses of raw stacks; it gives modules, functions with what is inlined into them, lines, and stacks.
//! It does not know what threads wait for.

pub mod access;
pub mod code_names;
pub mod debug_files;
pub mod debuginfod;
pub mod demangle;
pub mod files;
pub mod function;
mod go_table;
pub mod jit;
pub mod kernel;
pub mod machine_code;
pub mod mappings;
pub mod modules;
pub mod scopes;
pub mod scripts;
pub mod sites;
pub mod stacks;
pub mod symbol_reader;
pub mod symbol_table;
pub mod symbols;
