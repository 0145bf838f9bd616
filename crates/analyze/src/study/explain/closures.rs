//! Threads that begin with different closures of one function: `main` of a program in Rust may start all of its threads, and no symbol
//! tells one `main::{{closure}}` from another. Their lines do.

use std::collections::HashMap;

use dwell_store::Trace;

/// Most closures of one function that are told apart: where there are more, lines do not tell closures.
const MOST_CLOSURES: usize = 8;

/// Whether a function is a closure whose name does not say which.
pub fn is_closure(function: &str) -> bool {
    function.contains("{{closure}}") || function.contains("{lambda}") || function.ends_with("<lambda>")
}

/// Of threads with one role, those that begin with another closure get a role of their own, with the file and first line that was
/// seen of it. `closures_of` gives the frames of the closure that a thread begins with; none where it begins with another function.
pub fn tell_closures_apart(trace: &Trace, roles: &mut [String], closures_of: &dyn Fn(usize) -> Vec<usize>) {
    let mut by_role: HashMap<String, Vec<(Begin, usize)>> = HashMap::new();
    for (thread, role) in roles.iter().enumerate() {
        if let Some(begin) = Begin::of(trace, &closures_of(thread)) {
            by_role.entry(role.clone()).or_default().push((begin, thread));
        }
    }
    for mut threads in by_role.into_values() {
        threads.sort_unstable();
        let begins: Vec<&Begin> = threads.iter().map(|(begin, _)| begin).collect();
        let firsts = first_of_each(&begins);
        let number = firsts.iter().enumerate().filter(|(at, first)| at == *first).count();
        if !(2..=MOST_CLOSURES).contains(&number) {
            continue;
        }
        for ((_, thread), first) in threads.iter().zip(&firsts) {
            let Begin { file, lines, .. } = begins[*first];
            let file = file.rsplit('/').next().unwrap_or_default();
            roles[*thread].push_str(&format!(" ({file}:{})", lines.0));
        }
    }
}

/// Where a thread begins, as far as its stacks tell.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Begin {
    function: String,
    file: String,
    /// The first line of the closure that was seen, and the last.
    lines: (u32, u32),
}

impl Begin {
    fn of(trace: &Trace, frames: &[usize]) -> Option<Self> {
        let table = &trace.frames;
        let first = *frames.first()?;
        let (function, file) = (&table.function[first], &table.file[first]);
        let same = |frame: &&usize| table.function[**frame] == *function && table.file[**frame] == *file;
        let lines = frames.iter().filter(same).map(|frame| table.line[*frame]).filter(|line| *line != 0);
        let lines = (lines.clone().min()?, lines.max()?);
        Some(Self { function: function.clone(), file: file.clone(), lines })
    }
}

/// For each of these, in their order, the first one that is the same closure: of one function, with lines among one another. Closures
/// in one function do not overlap.
fn first_of_each(begins: &[&Begin]) -> Vec<usize> {
    let (mut firsts, mut last_line) = (Vec::new(), 0);
    for (at, begin) in begins.iter().enumerate() {
        let same = firsts.last().copied().filter(|first: &usize| {
            let first = begins[*first];
            (&first.function, &first.file) == (&begin.function, &begin.file) && begin.lines.0 <= last_line
        });
        last_line = if same.is_some() { last_line.max(begin.lines.1) } else { begin.lines.1 };
        firsts.push(same.unwrap_or(at));
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(function: &str, lines: (u32, u32)) -> Begin {
        Begin { function: function.into(), file: "/src/main.rs".into(), lines }
    }

    #[test]
    fn lines_tell_closures_of_one_function_apart() {
        let closure = "app::main::{{closure}}";
        let begins = [
            begin(closure, (5, 7)),
            begin(closure, (6, 6)),
            begin(closure, (7, 9)),
            begin(closure, (13, 14)),
            begin(closure, (14, 14)),
            begin("app::main::{{closure}}::{{closure}}", (14, 14)),
        ];
        assert_eq!(first_of_each(&begins.iter().collect::<Vec<_>>()), [0, 0, 0, 3, 3, 5]);
    }

    #[test]
    fn a_role_of_two_closures_is_two_roles() {
        let mut trace = dwell_trace_dsl::trace("a: #");
        let frames: Vec<usize> = [6, 7, 14]
            .map(|line| {
                trace.frames.push(dwell_store::tables::FrameRow {
                    module: dwell_model::ModuleId::NONE,
                    offset: 0,
                    function: "app::main::{{closure}}".into(),
                    file: "/src/main.rs".into(),
                    line,
                    inlined: false,
                    kernel: false,
                    after_call: false,
                    script: false,
                })
            })
            .to_vec();
        let mut roles = vec!["app thread app::main".to_owned(); 3];
        let of = [vec![frames[0], frames[1]], vec![frames[2]], vec![frames[1]]];
        tell_closures_apart(&trace, &mut roles, &|thread| of[thread].clone());
        assert_eq!(
            roles,
            [
                "app thread app::main (main.rs:6)",
                "app thread app::main (main.rs:14)",
                "app thread app::main (main.rs:6)"
            ]
        );
        let mut one = vec!["app thread app::main".to_owned(); 2];
        tell_closures_apart(&trace, &mut one, &|_| vec![frames[0]]);
        assert_eq!(one, ["app thread app::main", "app thread app::main"]);
    }
}
