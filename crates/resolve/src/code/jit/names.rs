//! What runtimes call their code, made the name, file and line that other code has.
//!
//! Tiers of a compiler are one function: a reader of a profile does not care that it is interpreted in one second and
//! compiled in the next. Argument lists are left out, as they are for C++. An unknown form is left as it is.

use crate::code::function::Function;

/// Longest name that is kept.
const MOST_CHARS: usize = 500;
/// What V8 puts before a function of JavaScript, and the marks of its tiers behind that.
const V8_KINDS: &[&str] = &["JS:", "LazyCompile:", "Function:", "Script:", "Eval:"];
const V8_TIERS: &[char] = &['~', '^', '*', '+', '-', '\''];
/// How the place of a V8 function begins.
const PLACES: &[&str] = &[" /", " file:", " node:", " http:", " https:", " webpack"];

/// How programs are started so that a runtime tells what its code is called, by the beginning of the program's name.
const ADVICE: &[(&str, &str)] = &[
    (
        "node",
        "Dwell reads the names of Node.js 18 to 24 itself where it may trace the process and use BPF; elsewhere start node with \
         --perf-basic-prof, or set NODE_OPTIONS=--perf-basic-prof",
    ),
    (
        "java",
        "Dwell reads the names of OpenJDK 17, 21 and 25 itself where it may trace the process; other JVMs need \
         -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
    ),
    ("dotnet", "set DOTNET_PerfMapEnabled=1"),
    ("python3", "start Python 3.12 or newer with -X perf"),
    ("beam", "start Erlang or Elixir with ERL_FLAGS=\"+JPperf true\""),
];

/// What to do so that the run-time code of a process of this name has names.
pub fn how_to_name(process: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(name, _)| process.starts_with(name)).map(|(_, advice)| *advice)
}

/// The function that a runtime calls `name`.
pub fn readable(name: &str) -> Function {
    let name = shown(name);
    v8(&name).or_else(|| python(&name)).or_else(|| jvm(&name)).or_else(|| dotnet(&name)).unwrap_or_else(|| named(&name))
}

/// Text without control characters, and not without bound.
pub fn shown(text: &str) -> String {
    text.chars().take(MOST_CHARS).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// Whether text can be the name of a source file. What V8 logs for one is, in versions seen (11.3), often memory that it
/// has freed.
pub fn is_file(text: &str) -> bool {
    !text.contains('\u{fffd}') && text.contains(['/', ':', '.'])
}

fn named(name: &str) -> Function {
    Function { name: name.to_owned(), ..Function::default() }
}

/// `JS:*name /file.js:12:3`
fn v8(name: &str) -> Option<Function> {
    let rest = V8_KINDS.iter().find_map(|kind| name.strip_prefix(kind))?;
    let rest = rest.strip_prefix(V8_TIERS).unwrap_or(rest);
    let begin = PLACES.iter().filter_map(|mark| rest.find(mark)).min().or_else(|| rest.rfind(' '));
    let (function, place) = begin.map_or((rest, ""), |at| (&rest[..at], &rest[at + 1..]));
    let (file, line) = file_and_line(place);
    let name = if function.is_empty() { "(anonymous)" } else { function };
    Some(Function { name: name.to_owned(), file: file.trim_start_matches("file://").to_owned(), line })
}

/// `file:LINE:COLUMN`; a place that has none is a file.
fn file_and_line(place: &str) -> (&str, u32) {
    let split = || {
        let (rest, _column) = place.rsplit_once(':').filter(|(_, digits)| is_number(digits))?;
        let (file, line) = rest.rsplit_once(':')?;
        Some((file, line.parse().ok()?))
    };
    split().unwrap_or((place, 0))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `py::name:/file.py`
fn python(name: &str) -> Option<Function> {
    let (function, file) = name.strip_prefix("py::")?.split_once(':')?;
    Some(Function { name: function.to_owned(), file: file.to_owned(), line: 0 })
}

/// `type package.Class.method(types)` as HotSpot's maps have it, `Lpackage/Class;method(types)type` as its agents.
fn jvm(name: &str) -> Option<Function> {
    let (head, _arguments) = name.split_once('(')?;
    if let Some((class, method)) = head.strip_prefix('L').and_then(|rest| rest.split_once(';')) {
        return Some(named(&format!("{}.{}", class.replace('/', "."), method.trim_start_matches(['.', ':']))));
    }
    if !name.ends_with(')') || head.contains("::") {
        return None;
    }
    let (_type, method) = head.rsplit_once(' ')?;
    let plain = method.contains('.') && !method.ends_with('.');
    plain.then(|| named(method))
}

/// `type [assembly] Namespace.Class::method(types)[Tier]`
fn dotnet(name: &str) -> Option<Function> {
    let (head, _arguments) = name.split_once('(')?;
    let (_assembly, method) = head.rsplit_once("] ")?;
    method.contains("::").then(|| named(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_runtimes_are_read() {
        let cases = [
            ("JS:*fib /tmp/a.js:1:13", ("fib", "/tmp/a.js", 1)),
            ("JS:~ /tmp/my files/a.js:2:1", ("(anonymous)", "/tmp/my files/a.js", 2)),
            ("JS:^get size file:///srv/b.mjs:30:7", ("get size", "/srv/b.mjs", 30)),
            ("LazyCompile:*processTimers node:internal/timers:507:25", ("processTimers", "node:internal/timers", 507)),
            ("JS:*wasm", ("wasm", "", 0)),
            ("Builtin:ArrayMap", ("Builtin:ArrayMap", "", 0)),
            ("py::Pool.run:/srv/a.py", ("Pool.run", "/srv/a.py", 0)),
            ("int Fib.fib(int)", ("Fib.fib", "", 0)),
            ("void java.util.HashMap.resize()", ("java.util.HashMap.resize", "", 0)),
            ("Ljava/lang/String;hashCode()I", ("java.lang.String.hashCode", "", 0)),
            ("StubRoutines (1)", ("StubRoutines (1)", "", 0)),
            ("Interpreter", ("Interpreter", "", 0)),
            (
                "instance void [System.Private.CoreLib] System.Threading.Monitor::Wait(object,int32)[OptimizedTier1]",
                ("System.Threading.Monitor::Wait", "", 0),
            ),
            ("std::vector<int>::push_back(int)", ("std::vector<int>::push_back(int)", "", 0)),
            ("bad\u{1b}[2J", ("bad\u{fffd}[2J", "", 0)),
        ];
        for (name, (function, file, line)) in cases {
            let expected = Function { name: function.into(), file: file.into(), line };
            assert_eq!(readable(name), expected, "{name}");
        }
        assert_eq!(readable(&"x".repeat(9999)).name.len(), MOST_CHARS);
    }
}
