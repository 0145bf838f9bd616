//! Readable names for mangled symbols of C++ and Rust.
//!
//! A name of C is left as it is, although many would be read as a type of C++: `a` is not `signed char`. Argument lists
//! and return types are left out, as debug information that has no mangled names leaves them out.

use std::fmt::{self, Write as _};

use cpp_demangle::DemangleOptions;

/// Longest readable name; those of compilers have some ten thousand bytes at most. A mangled name can say that it doubles what it has,
/// again and again: 300 bytes stand for more than there is memory for.
const MOST_BYTES: usize = 64 << 10;

/// What a dot is in Go's symbols where it is in the last part of a package's path (cmd/internal/objabi/path.go).
const GO_DOT: &str = "%2e";

/// What every hash of Rust's old mangling begins with.
const LEGACY_RUST_HASH: &str = "17h";

/// What may follow an argument list, last first.
const QUALIFIERS: &[&str] = &[" &&", " &", " volatile", " const"];

/// Whether `name` is a mangled one.
fn is_mangled(name: &str) -> bool {
    ["_Z", "__Z", "_R", "__R"].iter().any(|prefix| name.starts_with(prefix))
}

/// The readable form of a symbol.
pub fn readable(name: String) -> String {
    if let Some(public) = of_glibc(&name) {
        return public.to_owned();
    }
    if name.contains(GO_DOT) {
        return name.replace(GO_DOT, ".");
    }
    if !is_mangled(&name) {
        return name;
    }
    rust(&name).or_else(|| cpp(&name)).unwrap_or(name)
}

/// glibc's debug symbols have functions under names for its own use: `__GI_X` (a hidden alias, include/libc-symbols.h) and
/// `___X` (one of several versions, include/shlib-compat.h). The name that a manual has is X.
fn of_glibc(name: &str) -> Option<&str> {
    name.strip_prefix("__GI_").or_else(|| name.strip_prefix("___").filter(|rest| rest.starts_with("pthread_")))
}

fn rust(name: &str) -> Option<String> {
    let current = name.trim_start_matches('_').starts_with('R');
    if !current && !name.contains(LEGACY_RUST_HASH) {
        return None; // the old mangling without a hash is C++'s
    }
    let name = rustc_demangle::try_demangle(name).ok()?;
    let mut readable = Bounded::default();
    write!(readable, "{name:#}").ok()?;
    Some(readable.0)
}

fn cpp(name: &str) -> Option<String> {
    // What the compiler split off a function is the function: `_Z1fv.cold`.
    let whole = name.split_once('.').map_or(name, |(whole, _)| whole);
    let symbol = cpp_demangle::Symbol::new(whole).ok()?;
    let mut readable = Bounded::default();
    symbol.structured_demangle(&mut readable, &DemangleOptions::new().no_params().no_return_type()).ok()?;
    let bare = QUALIFIERS.iter().fold(readable.0.as_str(), |name, qualifier| name.trim_end_matches(qualifier));
    Some(bare.to_owned())
}

/// A text that takes no more than [`MOST_BYTES`].
#[derive(Default)]
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if text.len() > MOST_BYTES - self.0.len() {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

fn without_template_arguments(name: &str) -> &str {
    name.split_once('<').map_or(name, |(plain, _)| plain)
}

/// Whether a readable name tells no scope.
pub fn is_bare(name: &str) -> bool {
    !without_template_arguments(name).contains("::")
}

/// Debug information names a function that is only visible in its file without its scope: `run`. The name with it,
/// when `symbol`, the mangled one at the same address, is of that function.
pub fn qualified(bare: &str, symbol: &str) -> Option<String> {
    if !is_mangled(symbol) {
        return None;
    }
    let name = readable(symbol.to_owned());
    let plain = without_template_arguments(bare);
    let at = name.rfind(plain).filter(|_| !plain.is_empty())?;
    let (scope, own) = name.split_at(at);
    let same = own.len() == plain.len() || own[plain.len()..].starts_with(['<', '[']);
    (same && scope.ends_with("::")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_glibc_are_those_of_the_manual() {
        assert_eq!(readable("___pthread_mutex_lock".into()), "pthread_mutex_lock");
        assert_eq!(readable("__GI___libc_write".into()), "__libc_write");
        assert_eq!(readable("___own".into()), "___own");
    }

    #[test]
    fn dots_in_packages_of_go_are_dots() {
        assert_eq!(readable("gopkg.in/yaml%2ev3.Unmarshal".into()), "gopkg.in/yaml.v3.Unmarshal");
    }

    #[test]
    fn names_of_c_are_not_types_of_cpp() {
        for name in ["a", "b", "i", "main", "_ITM", "PyEval_RestoreThread", ""] {
            assert_eq!(readable(name.into()), name);
        }
    }

    #[test]
    fn mangled_names_are_read_without_arguments() {
        let names = [
            ("_ZN2ns3runEi", "ns::run"),
            ("_ZN2ns3mtxE", "ns::mtx"),
            ("_ZN12_GLOBAL__N_112OutputModule3runEv", "(anonymous namespace)::OutputModule::run"),
            ("_ZN12_GLOBAL__N_15mutexE", "(anonymous namespace)::mutex"),
            ("_Z1fIiEvT_", "f<int>"),
            ("_ZNSt8functionIFviEEclEi", "std::function<void (int)>::operator()"),
            ("_ZL6workerPv.cold", "worker"),
            ("_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvC5crate4main", "crate::main"),
            ("_Zbroken", "_Zbroken"),
        ];
        for (mangled, expected) in names {
            assert_eq!(readable(mangled.into()), expected, "{mangled}");
        }
    }

    /// A type whose two template arguments are the one before, so often.
    fn doubled(times: usize) -> String {
        let reference = |number: usize| {
            let digit = |number: usize| char::from_digit(number as u32, 36).expect("a digit").to_ascii_uppercase();
            format!("S{}{}_", digit(number / 36), digit(number % 36))
        };
        let types = (0..times).map(|turn| format!("2t{}I{1}{1}E", turn % 10, reference(2 * turn)));
        format!("_Z1fI1A{}Evv", types.collect::<String>()).replace("S0", "S")
    }

    #[test]
    fn a_name_that_doubles_what_it_has_stays_as_it_is() {
        let short = readable(doubled(3));
        assert!(short.starts_with("f<A, t0<A, A>, t1<t0<A, A>"), "{short}");
        for times in [20, 60, 300] {
            let name = doubled(times);
            assert_eq!(readable(name.clone()), name);
            assert_eq!(qualified("f", &name), None);
        }
    }

    #[test]
    fn a_bare_name_gets_its_scope_from_its_own_symbol_only() {
        let symbol = "_ZN12_GLOBAL__N_112OutputModule3runEv";
        assert_eq!(qualified("run", symbol).as_deref(), Some("(anonymous namespace)::OutputModule::run"));
        assert_eq!(qualified("un", symbol), None);
        assert_eq!(qualified("start", symbol), None);
        assert_eq!(qualified("run", "run"), None);
        assert_eq!(qualified("", symbol), None);
        let template = qualified("put<(Kind)1>", "_ZN12_GLOBAL__N_13putILi1EEEvv");
        assert_eq!(template.as_deref(), Some("(anonymous namespace)::put<1>"));
    }
}
