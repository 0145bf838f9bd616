//! Which source is asked for, and how it is written.

/// How instructions are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Syntax {
    /// `mov rax, [rbx]`.
    #[default]
    Intel,
    /// `mov (%rbx),%rax`.
    Att,
}

/// Which source is asked for.
#[derive(Clone, Debug, Default)]
pub struct SourceQuery {
    /// Function, exact or with `*`; or `FILE:LINE` for the function there; or a file, when `whole_file`.
    pub name: String,
    /// File that the code is in, by path or base name, exact or with `*`; none: any.
    pub module: Option<String>,
    /// Whether `name` is a source file.
    pub whole_file: bool,
    /// How instructions are written.
    pub syntax: Syntax,
}
