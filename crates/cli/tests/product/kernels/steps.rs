//! What a guest records, and what has to be seen of it.

use anyhow::{Result, bail, ensure};
use dwell_model::{Delay, Reason};
use dwell_store::{ResultFolder, Trace};

use super::table::Cell;
use super::{line, notices};
use crate::guest::{Done, Job, PYTHON};
use crate::python::PRIMITIVES;
use crate::recording::{Recording, sample};
use crate::{itt, latency, python, sockets, system, task_probes, truth};

/// One recording in a guest.
pub struct Step {
    pub name: &'static str,
    /// What of Dwell it shows: a column of the table.
    pub capability: &'static str,
    /// Also for `make test`.
    pub usual: bool,
    user: User,
    /// Of `dwell collect threading`.
    options: &'static [&'static str],
    program: Program,
    seen: Seen,
}

/// Who records.
enum User {
    Root,
    /// Nobody, of the group that `dwell install` lets record: by BPF, its own processes.
    Member,
    /// Nobody, without rights: by perf events.
    Nobody,
}

impl User {
    /// Lines of a shell that ends as this user, who runs `$@`, in which the program comes first.
    const fn shell(&self) -> Option<&'static str> {
        match self {
            Self::Root => None,
            Self::Member => Some(MEMBER),
            Self::Nobody => Some(NOBODY),
        }
    }
}

/// The path keeps busybox from taking its own setpriv.
const MEMBER: &str =
    "mkdir -p /opt && dwell install --group daemon --prefix /opt > /dev/null && chown 65534 . && shift &&
exec /usr/bin/setpriv --reuid 65534 --regid 65534 --groups 1 sh -c 'exec \"$0\" \"$@\"' /opt/bin/dwell \"$@\"";
const NOBODY: &str = "echo 2 > /proc/sys/kernel/perf_event_paranoid && chown 65534 . &&
exec /usr/bin/setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \"$@\"";

enum Program {
    /// A sample with its arguments.
    Sample(&'static [&'static str]),
    Python(&'static str),
    /// A program of busybox.
    Command(&'static [&'static str]),
}

/// What is compared.
enum Seen {
    /// The sample's truth file, counts and names.
    Truth,
    /// Looks at the finalized result.
    Result(fn(Recording) -> Result<()>),
    /// Looks at the raw trace.
    Raw(fn(Recording) -> Result<()>),
}

const THREADS: &str = "threads and waits";

const fn of_truth(name: &'static str, sample: &'static [&'static str], usual: bool) -> Step {
    let (program, seen) = (Program::Sample(sample), Seen::Truth);
    Step { name, capability: THREADS, usual, user: User::Root, options: &[], program, seen }
}

/// The first one is all that a kernel does on which Dwell refuses to record.
pub const STEPS: &[Step] = &[
    // Without BPF it would be recorded by perf events.
    Step { options: &["--source", "bpf"], ..of_truth("convoy", &["convoy"], true) },
    of_truth("barrier_imbalance", &["barrier_imbalance"], false),
    of_truth("condvar_queue", &["condvar_queue"], false),
    of_truth("rwlock", &["rwlock"], false),
    of_truth("join", &["join"], false),
    of_truth("pipe", &["pipe"], false),
    of_truth("timer", &["timer"], false),
    of_truth("epoll_server", &["epoll_server"], false),
    of_truth("fork_wait", &["fork_wait"], false),
    of_truth("children", &["children"], false),
    Step {
        name: "wakers",
        capability: "who ended a wait",
        usual: false,
        user: User::Root,
        options: &[],
        program: Program::Sample(&["condvar_queue"]),
        seen: Seen::Result(|recording| wakers_are_known(&recording)),
    },
    Step {
        name: "samples",
        capability: "CPU samples",
        usual: true,
        user: User::Root,
        options: &[],
        program: Program::Sample(&["spin_lock"]),
        seen: Seen::Result(|recording| running_time_is_split(&recording)),
    },
    Step {
        name: "python",
        capability: "Python",
        usual: true,
        user: User::Root,
        options: &[],
        program: Program::Python(PRIMITIVES),
        seen: Seen::Result(|recording| python::primitives_are_named(&recording)),
    },
    Step {
        name: "itt",
        capability: "ITT",
        usual: false,
        user: User::Root,
        options: &["--finalization-mode", "none"],
        program: Program::Sample(&["announce", "threads", "2000"]),
        seen: Seen::Raw(|recording| itt::two_threads(&recording, 2000)),
    },
    Step {
        name: "probe",
        capability: "task probes",
        usual: false,
        user: User::Root,
        options: &["--task-probe", "push=uprobe:push_item"],
        program: Program::Sample(&["convoy"]),
        seen: Seen::Raw(|recording| task_probes::all_passes(&recording)),
    },
    Step {
        name: "system",
        capability: "system",
        usual: false,
        user: User::Root,
        options: &["--analyze", "system"],
        program: Program::Command(&["sleep", "2"]),
        seen: Seen::Result(|recording| system::adds_up(&recording)),
    },
    of_sockets("bytes", "sockets: bytes", &["sockets", "every-way"], |recording| {
        sockets::all_is_counted(&sockets::Recorded::read(recording)?)
    }),
    of_sockets("polls", "sockets: polls", &["sockets", "epoll"], |recording| {
        sockets::polls_are_told(&sockets::Recorded::read(recording)?)
    }),
    of_sockets("holds", "sockets: held data", &["sockets", "nagle"], |recording| {
        sockets::holds_are_counted(&sockets::Recorded::read(recording)?)
    }),
    of_sockets("io_uring", "io_uring", &["uring"], |recording| {
        sockets::polls_are_told(&sockets::Recorded::read(recording)?)
    }),
    of_latency("fault", &["delays", "fault", "100", "10"], |recording| {
        latency::delays_are_seen(recording, Delay::MinorFault, 100)
    }),
    of_latency("signal", &["delays", "signal", "100", "10"], |recording| {
        latency::delays_are_seen(recording, Delay::Signal, 100)
    }),
    of_latency("lock", &["delays", "lock", "100", "10"], |recording| {
        latency::delays_are_seen(recording, Delay::Lock, 100)
    }),
    Step {
        capability: "members of the group",
        user: User::Member,
        options: &["--source", "bpf"],
        ..of_truth("member", &["condvar_queue"], false)
    },
    Step {
        capability: "without rights",
        user: User::Nobody,
        options: &["--source", "perf"],
        ..of_truth("nobody", &["condvar_queue"], false)
    },
];

const fn of_sockets(
    name: &'static str,
    capability: &'static str,
    sample: &'static [&'static str],
    seen: fn(Recording) -> Result<()>,
) -> Step {
    let (program, seen) = (Program::Sample(sample), Seen::Result(seen));
    Step { name, capability, usual: false, user: User::Root, options: &["--analyze", "sockets"], program, seen }
}

const fn of_latency(name: &'static str, sample: &'static [&'static str], seen: fn(Recording) -> Result<()>) -> Step {
    let (program, seen) = (Program::Sample(sample), Seen::Result(seen));
    Step {
        name,
        capability: "latency",
        usual: false,
        user: User::Root,
        options: &["--analyze", "latency"],
        program,
        seen,
    }
}

impl Step {
    pub fn job(&self) -> Result<Job> {
        let collect = ["dwell", "collect", "threading", "--finalization-mode", "none", "--result-dir", "result"];
        let options = self.options.iter().filter(|option| !collect.contains(option));
        let shell = self.user.shell().map(|lines| ["sh", "-c", lines, "sh"]);
        let words = shell.iter().flatten().chain(&collect).chain(options);
        let mut command: Vec<String> = words.map(|word| (*word).to_owned()).collect();
        command.push("--".to_owned());
        let mut environment = Vec::new();
        match self.program {
            Program::Sample(words) => {
                let program = std::fs::canonicalize(sample(words[0])?)?;
                command.push(program.display().to_string());
                command.extend(words[1..].iter().map(|word| (*word).to_owned()));
                if matches!(self.seen, Seen::Truth) {
                    environment.extend(truth::environment(words[0])?);
                }
            }
            Program::Command(words) => command.extend(words.iter().map(|word| (*word).to_owned())),
            Program::Python(text) => command.extend([PYTHON, "-c", text].map(str::to_owned)),
        }
        Ok(Job { name: self.name, command, environment })
    }

    /// What the table says of this step.
    pub fn judge(&self, done: Done) -> Cell {
        let stderr = done.output.stderr.clone();
        let mut left_out = Vec::new();
        match self.compare(done, &mut left_out) {
            Ok(()) => Cell::Yes,
            Err(error) => match left_out.is_empty() {
                true => Cell::No(format!("{}: {}; {stderr}", self.name, line(&error))),
                false => Cell::LeftOut(left_out.join(" ")),
            },
        }
    }

    fn compare(&self, done: Done, left_out: &mut Vec<String>) -> Result<()> {
        let recording = match self.seen {
            Seen::Raw(_) => done.raw()?,
            Seen::Truth | Seen::Result(_) => done.finalized()?,
        };
        let told = notices(&recording)?;
        left_out.extend(told.into_iter().filter(|notice| notice.contains("on this kernel")));
        match (&self.seen, &self.program) {
            (Seen::Truth, Program::Sample(words)) => truth::check_counts(&recording, words[0]),
            (Seen::Result(look) | Seen::Raw(look), _) => {
                let code = recording.output.code();
                ensure!(code == 0, "exit status {code}");
                look(recording)
            }
            (Seen::Truth, _) => bail!("only samples have truth files"),
        }
    }
}

/// Nearly every wait on the queue was ended by the producer.
fn wakers_are_known(recording: &Recording) -> Result<()> {
    let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let rows = &trace.off_cpu;
    let on_queue = |row: &usize| {
        let object = rows.object[*row].get();
        rows.reason[*row] == Reason::Waiting.code()
            && object.is_some_and(|object| trace.objects.name[object] == "queue_ready")
    };
    let waits: Vec<usize> = (0..rows.thread.len()).filter(on_queue).collect();
    let woken = waits.iter().filter(|&&row| rows.waker[row].is_some()).count();
    ensure!(waits.len() >= 10 && woken * 10 >= waits.len() * 9, "the waker is known of {woken} of {}", waits.len());
    Ok(())
}

/// A thread that spins has samples there.
fn running_time_is_split(recording: &Recording) -> Result<()> {
    let trace = Trace::read(&ResultFolder::open(&recording.path())?)?;
    let named = |stack: dwell_model::StackId| {
        let frame = stack.get().and_then(|stack| trace.stacks.frame[stack].get());
        frame.is_some_and(|frame| trace.frames.function[frame].contains("spin_lock"))
    };
    let spinning = trace.samples.stack.iter().filter(|&&stack| named(stack)).count();
    ensure!(spinning >= 20, "{spinning} of {} samples are where the program spins", trace.samples.stack.len());
    Ok(())
}
