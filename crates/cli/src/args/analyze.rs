//! `--analyze LIST`: what a collection records beside what threads do, and how.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use dwell_model::Topic;

use super::parse;

/// What is recorded, and how often.
#[derive(Args, Debug)]
pub struct AnalyzeArgs {
    /// What to record; several with commas, such as threading,system.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "threading", value_parser = topics(), help_heading = "How to record")]
    pub analyze: Vec<Topic>,
    /// Time between readings of the machine's counters, 10ms to 1s; for --analyze system.
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = parse::system_interval, help_heading = "How to record")]
    pub system_interval: u64,
}

impl AnalyzeArgs {
    /// What is recorded, each once; threading always is.
    pub fn topics(&self) -> Vec<Topic> {
        let asked = |topic: &Topic| *topic == Topic::Threading || self.analyze.contains(topic);
        Topic::ALL.iter().copied().filter(asked).collect()
    }

    /// Whether it is the latency analysis.
    pub fn is_latency(&self) -> bool {
        self.analyze.contains(&Topic::Latency)
    }
}

fn topics() -> impl TypedValueParser<Value = Topic> {
    let value = |topic: &Topic| PossibleValue::new(topic.id()).help(topic.help());
    let parser = PossibleValuesParser::new(Topic::ALL.iter().map(value));
    parser.try_map(|id| Topic::parse(&id).ok_or("no such topic"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Analysis, Cli, Command};

    fn asked(line: &str) -> Result<AnalyzeArgs, clap::Error> {
        let Command::Collect { analysis: Analysis::Threading(args) } =
            Cli::try_parse_from(line.split_whitespace())?.command
        else {
            panic!()
        };
        Ok(args.analyze)
    }

    #[test]
    fn threading_is_always_recorded_and_each_topic_once() {
        let topics = |options: &str| asked(&format!("dwell collect threading {options} -- ls")).unwrap().topics();
        assert_eq!(topics(""), [Topic::Threading]);
        assert_eq!(topics("--analyze system"), [Topic::Threading, Topic::System]);
        let all = [Topic::Threading, Topic::Sockets, Topic::System, Topic::Latency];
        assert_eq!(topics("--analyze system,sockets,latency --analyze system"), all);
        assert!(asked("dwell collect threading --analyze network -- ls").is_err());
    }

    #[test]
    fn the_interval_has_bounds() {
        let interval = |word: &str| asked(&format!("dwell collect threading --system-interval {word} -- ls"));
        assert_eq!(interval("10ms").unwrap().system_interval, 10_000_000);
        assert_eq!(interval("250").unwrap().system_interval, 250_000_000);
        assert!(interval("9ms").is_err() && interval("2s").is_err());
    }
}
