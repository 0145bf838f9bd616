//! Which script each process of an interpreter runs: two programs of Node or Python have one name, and are not one program.
//! It takes command lines; it gives the scripts' names where processes of one name run several.

use std::collections::{HashMap, HashSet};

use dwell_store::Trace;

/// Programs that run others' scripts, by how their files' names begin.
const INTERPRETERS: &[&str] =
    &["node", "python", "ruby", "perl", "java", "php", "deno", "bun", "lua", "Rscript", "pypy", "escript"];
/// Programs of which the arguments alone say what they do.
const BY_ARGUMENTS: &[&str] = &["sleep"];
/// Options of theirs that take a word, which is no script.
const WITH_WORD: &[&str] = &["-cp", "-classpath", "--class-path", "-X", "-W", "-r", "--require", "--import", "-I"];
/// Options after which the program comes.
const BEFORE_PROGRAM: &[&str] = &["-m", "-jar"];
/// Letters of a word that says what a script does.
const LONGEST_ROLE: usize = 12;
/// Scripts of one name of processes that are told apart; of more each is a piece of the same work.
const MOST: usize = 8;

/// Whether a program of this name runs others' scripts.
pub fn runs_scripts(program: &str) -> bool {
    INTERPRETERS.iter().any(|interpreter| program.starts_with(interpreter))
}

/// The script of each process by row, where processes of its name run several; a copy runs its parent's.
pub fn scripts(trace: &Trace) -> Vec<Option<String>> {
    let processes = &trace.processes;
    let mut scripts: Vec<Option<String>> = Vec::new();
    for (row, command) in processes.command_line.iter().enumerate() {
        let parent = processes.parent[row].get().filter(|parent| *parent < row);
        let of_parent = parent.filter(|parent| processes.executable[*parent] == processes.executable[row]);
        scripts.push(match of_parent {
            Some(parent) if command.is_empty() => scripts[parent].clone(),
            _ => script_of(command),
        });
    }
    let mut of_name: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (name, script) in processes.name.iter().zip(&scripts) {
        of_name.entry(name).or_default().extend(script.as_deref());
    }
    let are_told: Vec<bool> =
        processes.name.iter().map(|name| (2..=MOST).contains(&of_name[name.as_str()].len())).collect();
    scripts.into_iter().zip(are_told).map(|(script, is_told)| script.filter(|_| is_told)).collect()
}

/// `server.py` of `/usr/bin/python3 -u /srv/server.py --port 80`, `1.5` of `sleep 1.5`; none of what is no interpreter.
fn script_of(command: &str) -> Option<String> {
    let mut words = command.split_whitespace();
    let program = file_name(words.next()?);
    if BY_ARGUMENTS.contains(&program) {
        return words.next().map(str::to_owned);
    }
    if !runs_scripts(program) {
        return None;
    }
    while let Some(word) = words.next() {
        match word {
            _ if BEFORE_PROGRAM.contains(&word) => return words.next().map(|script| with_role(script, words.next())),
            _ if WITH_WORD.contains(&word) => drop(words.next()),
            "-c" | "-e" | "-" => return None,
            _ if word.starts_with('-') => {}
            _ => return Some(with_role(word, words.next())),
        }
    }
    None
}

/// A script, and the word behind it where that says what it does: `shop.py web` is no `shop.py batch`, but a number counts workers.
fn with_role(script: &str, next: Option<&str>) -> String {
    let is_role = |word: &&str| word.len() <= LONGEST_ROLE && word.chars().all(|letter| letter.is_ascii_lowercase());
    match next.filter(is_role) {
        Some(role) => format!("{} {role}", file_name(script)),
        None => file_name(script).to_owned(),
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Programs that start one process after the other, unless they are told to start several at once.
const RUNNERS: &[&str] = &["make", "gmake", "ninja", "xargs", "parallel", "meson", "cmake", "npm", "pre-commit"];

/// Whether a program of this name is one of these.
pub fn runs_programs(name: &str) -> bool {
    RUNNERS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_read_from_command_lines() {
        for (command, script) in [
            ("/usr/bin/python3 -u /srv/server.py --port 80", Some("server.py")),
            ("python -m gunicorn shop:app", Some("gunicorn")),
            ("python /srv/shop.py web --port 80", Some("shop.py web")),
            ("python /srv/shop.py 3", Some("shop.py")),
            ("node --max-old-space-size=400 --require ./trace.js app.js", Some("app.js")),
            ("/opt/java/bin/java -Xmx1g -cp /srv/lib shop.Main", Some("shop.Main")),
            ("java -jar /srv/shop.jar", Some("shop.jar")),
            ("python3 -c print(1)", None),
            ("python3", None),
            ("/usr/bin/sleep 1.5", Some("1.5")),
            ("gzip a.txt", None),
            ("", None),
        ] {
            assert_eq!(script_of(command).as_deref(), script, "{command}");
        }
    }
}
