//! The command line: the one place from which parser, help, man page and shell completions come.
//! It takes words and gives a [`Command`] with its options, each command's in a file of its own.
//! It does nothing of what the commands do. Options are called as VTune's where it has one.

mod agent;
mod analyze;
mod anatomy;
mod belonging;
mod bench;
mod collect;
mod compare;
mod control;
mod doctor;
mod env;
mod events;
mod export;
mod finalize;
mod fleet;
mod format;
mod gate;
mod habits;
mod import;
mod install;
mod intervals;
mod mcp;
mod merge;
mod pack;
mod parse;
mod pt;
mod question;
mod report;
mod report_words;
mod source;
mod sql;
mod start_at;
mod suggestions;
mod target;
mod top;
mod view;

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use agent::AgentArgs;
pub use analyze::AnalyzeArgs;
pub use anatomy::{
    AnatomyCommand, AnatomyCompareArgs, AnatomyReportArgs, CardArg, CompareBy, ModelArgs, RecordedArgs, RunArgs,
    ShownArgs, SystemArgs,
};
pub use belonging::BelongingArgs;
pub use bench::{Benchmark, SpscArgs};
use collect::COLLECT_EXAMPLES;
pub use collect::{Analysis, CollectArgs, FinalizationMode};
pub use compare::CompareArgs;
pub use control::{ControlArgs, ControlWord};
pub use doctor::DoctorArgs;
pub use env::{EnvArgs, EnvFormat};
pub use events::EventList;
pub use export::{ExportArgs, ExportFormat, ExportWeight};
pub use finalize::{FinalizeArgs, NamingArgs};
pub use fleet::{
    FleetCommand, FleetCompactArgs, FleetCompareArgs, FleetEngine, FleetReportArgs, FleetSqlArgs, FleetTrendArgs,
    StoreArgs, TrendBy,
};
pub use format::Format;
pub use gate::{FLEET_NAMES, FleetGate, GateArg};
pub use habits::{MeantCommand, is_program, meaning_of, nearest_word};
pub use import::ImportArgs;
pub use install::{InstallArgs, UninstallArgs};
pub use intervals::IntervalArg;
pub use mcp::McpArgs;
pub use merge::MergeArgs;
pub use pack::{PackArgs, UnpackArgs};
pub use parse::{cpu_percent, mebibytes, positive_seconds, time_before, window};
pub use pt::PtArgs;
pub use report::{ReportArgs, ReportFormat};
pub use report_words::{Asked, ReportSubject};
use source::SOURCE_EXAMPLES;
pub use source::{AssemblySyntax, SourceArgs, SourcePart};
pub use sql::SqlArgs;
pub use start_at::StartAt;
pub use suggestions::{Refused, explain};
pub use target::SshTarget;
pub use top::TopArgs;
pub use view::ViewArgs;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "dwell",
    version,
    about = "Where the threads of a Linux program spend their time, running or waiting, and why",
    after_help = DWELL_EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const DWELL_EXAMPLES: &str = "\
Examples:
  sudo dwell collect threading -- ./app --its args
                    # profile a program, and see what is wrong with it
  dwell report waits
                    # what threads waited on, from the newest result here
  dwell report waits r000th --group-by object,function --filter thread=worker*
                    # the same of one result, by place, for some threads
  dwell report blame queue_lock
                    # what the others did while threads waited on queue_lock
  sudo dwell top    # who runs and who waits on this machine, right now
  dwell view        # the same in the browser, to look around in
  dwell doctor      # what this machine lets Dwell see, and what it does to latency

Exit status: 0 done, 1 failed, 2 wrong usage, 77 privileges or kernel features
missing. `collect` passes on the status of the program that it ran, and 128 + N
when signal N ended it.";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run or attach to a program and record what its threads do; then print what is wrong with it.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = COLLECT_EXAMPLES)]
    Collect {
        /// Which analysis [default: threading].
        #[command(subcommand)]
        analysis: Analysis,
    },
    /// Show who runs and who waits right now, for what, because of whom: a screen, or one interval.
    #[command(after_help = top::EXAMPLES)]
    Top(Box<TopArgs>),
    /// Write what all processes of this host wait for to the store of a fleet, row of time by row of time.
    #[command(arg_required_else_help = true, after_help = agent::EXAMPLES)]
    Agent(AgentArgs),
    /// Ask the store of a fleet: what the processes of many hosts waited for, and since when.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = fleet::EXAMPLES)]
    Fleet {
        /// What to do.
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// Steer a collection that runs: pause, resume, stop, cancel, mark, snapshot.
    #[command(arg_required_else_help = true, override_usage = "dwell control [RESULT] WORD [TEXT]", after_help = control::EXAMPLES)]
    Control(ControlArgs),
    /// Show a report of a result: as text, CSV or JSON.
    #[command(
        arg_required_else_help = true,
        override_usage = "dwell report [OPTIONS] NAME [OBJECT] [RESULT]",
        after_help = report_words::help()
    )]
    Report(Box<ReportArgs>),
    /// Show two results side by side, and fail when the second one exceeds a limit.
    #[command(arg_required_else_help = true, after_help = compare::EXAMPLES)]
    Compare(Box<CompareArgs>),
    /// Show a result, or all results of a folder, in the browser.
    #[command(after_help = view::EXAMPLES)]
    View(ViewArgs),
    /// Write a result as other tools read it.
    #[command(arg_required_else_help = true, after_help = export::EXAMPLES)]
    Export(Box<ExportArgs>),
    /// Ask a result a question in SQL, with DuckDB's library where there is one.
    #[command(arg_required_else_help = true, after_help = sql::EXAMPLES)]
    Sql(SqlArgs),
    /// Show a function's source lines and machine code, with the time spent at each.
    #[command(
        arg_required_else_help = true,
        override_usage = "dwell source [OPTIONS] [RESULT] FUNCTION|FILE:LINE",
        after_help = SOURCE_EXAMPLES
    )]
    Source(Box<SourceArgs>),
    /// Serve the results of a folder to an agent: a Model Context Protocol server on standard input and output.
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(McpArgs),
    /// Print what an agent should know: the questions in order, and the command that answers each.
    #[command(after_help = SKILL_EXAMPLES)]
    Skill,
    /// Trace every instruction of a program, and replay it on a model of a machine.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = anatomy::EXAMPLES)]
    Anatomy {
        /// What to do.
        #[command(subcommand)]
        command: AnatomyCommand,
    },
    /// Join the results of two hosts into one, their clocks aligned.
    #[command(arg_required_else_help = true, after_help = merge::EXAMPLES)]
    Merge(MergeArgs),
    /// Make a result of what `perf record` wrote, into a file or a pipe.
    #[command(arg_required_else_help = true, after_help = import::EXAMPLES)]
    Import(ImportArgs),
    /// Make one file of a result, to be sent to somebody, with or without its private parts.
    #[command(after_help = pack::PACK_EXAMPLES)]
    Pack(PackArgs),
    /// Make a result's folder of a packed result.
    #[command(arg_required_else_help = true, after_help = pack::UNPACK_EXAMPLES)]
    Unpack(UnpackArgs),
    /// Make a result of what a deferred or interrupted collection recorded.
    #[command(arg_required_else_help = true, after_help = finalize::EXAMPLES)]
    Finalize(FinalizeArgs),
    /// Say what can be recorded on this machine and what delays threads on it, with the exact command that changes it.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(DoctorArgs),
    /// Put this program where the members of a group can record with it, without root.
    #[command(after_help = install::INSTALL_EXAMPLES)]
    Install(InstallArgs),
    /// Undo what `install` did.
    #[command(after_help = install::UNINSTALL_EXAMPLES)]
    Uninstall(UninstallArgs),
    /// Measure how long packets take from one thread to another on this machine.
    #[command(subcommand_required = true, arg_required_else_help = true, after_help = bench::EXAMPLES)]
    Bench {
        /// Which benchmark.
        #[command(subcommand)]
        benchmark: Benchmark,
    },
    /// Show an Intel PT trace that `perf record` wrote as a timeline of functions, counted by instructions.
    #[command(arg_required_else_help = true, after_help = pt::EXAMPLES)]
    Pt(PtArgs),
    /// Print the environment in which a program announces its ITT tasks and counters to a collection that attaches to it.
    #[command(after_help = env::EXAMPLES)]
    Env(EnvArgs),
    /// Print the completions of a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page, of all commands together.
    #[command(after_help = MAN_EXAMPLES)]
    Man,
    /// Make collections for the page of `dwell view --collect`, which asks on standard input.
    #[command(hide = true)]
    Collector {
        /// The results' folder.
        folder: std::path::PathBuf,
    },
    /// Run a command in a window of exact recording, which `dwell agent` makes.
    #[command(hide = true)]
    Window {
        /// The agent: the command ends with it.
        #[arg(long)]
        agent: u32,
        /// The command.
        #[arg(last = true)]
        words: Vec<std::ffi::OsString>,
    },
    /// Print the stacks of threads as they stand now, for `dwell top`.
    #[command(hide = true)]
    Stacks {
        /// Each a process and a thread: 12:34.
        #[arg(required = true, num_args = 1..=16, value_parser = crate::top::thread_of_process)]
        threads: Vec<(u32, u32)>,
    },
    /// Print a part of the documentation that is made from the program's tables.
    #[command(hide = true)]
    Docs {
        /// Which part.
        part: DocsPart,
    },
}

impl Command {
    /// Whether it may use the capabilities of Dwell's own file; the others give them up at once.
    pub fn uses_rights(&self) -> bool {
        matches!(
            self,
            Self::Collect { .. } | Self::Window { .. } | Self::Finalize(_) | Self::Import(_) | Self::Doctor(_)
        )
    }
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  dwell completions bash > ~/.local/share/bash-completion/completions/dwell
  dwell completions zsh > ~/.zfunc/_dwell
  dwell completions fish > ~/.config/fish/completions/dwell.fish";

const SKILL_EXAMPLES: &str = "\
Examples:
  mkdir -p .claude/skills/dwell && dwell skill > .claude/skills/dwell/SKILL.md
  dwell skill >> AGENTS.md";

const MAN_EXAMPLES: &str = "\
Examples:
  dwell man | man -l -
  dwell man > ~/.local/share/man/man1/dwell.1";

/// A part of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DocsPart {
    /// docs/trace-format.md.
    TraceFormat,
    /// docs/metrics.md.
    Metrics,
    /// docs/system.md.
    System,
}

/// What the words of a command line mean, the program's name first: Dwell's own, or another tool's. The analysis is named
/// where `collect` is followed by options at once: `dwell collect -- ./app` is `dwell collect threading -- ./app`.
pub fn meant(words: Vec<OsString>) -> MeantCommand {
    habits::meant(words, &Cli::command())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(words.split_whitespace())
    }

    #[test]
    fn definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_teaches_by_example() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:"), "{} has no examples", command.get_name());
            command.get_subcommands().filter(|sub| !sub.is_hide_set()).for_each(check);
        }
        check(&Cli::command());
    }

    #[test]
    fn the_programs_arguments_are_its_own() {
        let cli = parse("dwell collect threading --duration 10 -- ls --quiet -- x").unwrap();
        let Command::Collect { analysis: Analysis::Threading(args) } = cli.command else { panic!() };
        assert_eq!(args.command, ["ls", "--quiet", "--", "x"]);
        assert_eq!(args.duration, Some(10_000_000_000));
        assert!(!args.quiet);
    }

    #[test]
    fn the_usual_analysis_needs_no_name() {
        let words = |line: &str| match meant(line.split_whitespace().map(OsString::from).collect()) {
            MeantCommand::Own(words) => words,
            other => panic!("{line}: {other:?}"),
        };
        for line in ["dwell collect -- ls", "dwell collect -p 1", "dwell collect --all -d 1"] {
            assert!(Cli::try_parse_from(words(line)).is_ok(), "{line}");
            assert_eq!(words(line)[2], "threading");
        }
        for line in ["dwell collect --help", "dwell collect", "dwell collect latency -- ls", "dwell report -h"] {
            assert_eq!(words(line).len(), line.split_whitespace().count(), "{line}");
        }
    }

    #[test]
    fn a_program_and_a_process_exclude_each_other() {
        assert!(parse("dwell collect threading --target-pid 1 -- ls").is_err());
        assert!(parse("dwell collect threading --target-pid 1 --target-pid 2").is_ok());
    }

    #[test]
    fn options_of_a_report_stand_anywhere() {
        for line in ["dwell report waits r000th --limit 3", "dwell report --limit 3 waits r000th"] {
            let Command::Report(args) = parse(line).unwrap().command else { panic!() };
            assert_eq!(args.words, ["waits", "r000th"]);
            assert_eq!(args.question.query().unwrap().limit, Some(3));
        }
    }
}
