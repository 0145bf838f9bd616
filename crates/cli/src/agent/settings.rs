//! What an agent is to do: the command line, then the configuration, then what is usual.

use std::io;
use std::path::{self, Path, PathBuf};

use dwell_fleet::{BUFFERS, BufferChoice, FleetStore, StoreLocation, StoreState, StoreWriter};
use sha2::{Digest, Sha256};

use super::configuration::AgentConfiguration;
use super::rules::ServiceRules;
use crate::args::AgentArgs;
use crate::error::{Hinted, Result};
use crate::terminal;

/// Time that a row has unless somebody says otherwise: five minutes.
const USUAL_ROW_NS: u64 = 300_000_000_000;

/// What may wait for a store unless somebody says otherwise.
const USUAL_BUFFER_MIB: u64 = 64;

/// Length of windows unless somebody says otherwise …
const USUAL_WINDOW_NS: u64 = 1_000_000_000;
/// … and what they take of one CPU.
const USUAL_CPU_PERCENT: f64 = 1.0;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSettings {
    /// Where the files are written to.
    pub store: StoreLocation,
    /// Where they wait while it is away.
    pub buffer: BufferChoice,
    /// Time that a row has, ns.
    pub row_ns: u64,
    /// How long it goes on, ns; `None`: until a signal comes.
    pub duration_ns: Option<u64>,
    /// Name of this host in the rows.
    pub host: String,
    /// Length of windows of exact recording, ns; 0: there are none.
    pub window_ns: u64,
    /// What they may take of one CPU, percent.
    pub cpu_percent: f64,
    /// What services are called.
    pub rules: ServiceRules,
}

impl AgentSettings {
    /// Reads the configuration where the command line names one.
    pub fn of(args: &AgentArgs) -> Result<Self> {
        let configuration =
            args.config.as_deref().map_or_else(|| Ok(AgentConfiguration::default()), AgentConfiguration::read)?;
        Self::from_both(args, configuration)
    }

    /// The store, which is made where it is a folder and missing.
    pub fn open_store(&self) -> Result<StoreWriter> {
        let opened = StoreWriter::open(&self.store, &self.buffer, |sentence| terminal::print_line(sentence));
        opened.map_err(|error| self.store_error(&error))
    }

    /// Whether the store can be opened; leaves nothing there.
    pub fn try_store(&self) -> Result<StoreState> {
        FleetStore::try_at(&self.store).map_err(|error| self.store_error(&error))
    }

    fn store_error(&self, error: &io::Error) -> Hinted {
        let error = Hinted::new(format!("the store {} cannot be written: {error}", self.store));
        error.hint(match self.store {
            StoreLocation::Folder(_) => "--store names a folder that you may write to, --buffer DIR one for what waits",
            StoreLocation::Bucket { .. } => {
                "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL say who may write where; \
                 under sudo they need sudo --preserve-env"
            }
        })
    }

    fn from_both(args: &AgentArgs, configuration: AgentConfiguration) -> Result<Self> {
        let AgentConfiguration { store, buffer, buffer_mib, row_ns, duration_ns, host, window_ns, cpu_percent, rules } =
            configuration;
        let store = args.store.clone().or(store).ok_or_else(|| {
            Hinted::new("neither the configuration nor the command line names a store")
                .hint("store = \"/var/lib/dwell/fleet\" in the configuration names one; so does --store DIR")
        })?;
        let store = StoreLocation::of(&store).map_err(|why| {
            Hinted::new(format!("the store {} {why}", store.display()))
                .hint("dwell agent --store DIR writes to a folder, --store s3://BUCKET/PREFIX to a bucket")
        })?;
        let buffer = BufferChoice {
            folder: args.buffer.clone().or(buffer).map_or_else(|| usual_buffer(&store), Ok)?,
            most_bytes: args.buffer_mib.or(buffer_mib).unwrap_or(USUAL_BUFFER_MIB) << 20,
        };
        Ok(Self {
            store,
            buffer,
            row_ns: args.row.or(row_ns).unwrap_or(USUAL_ROW_NS),
            duration_ns: args.duration.or(duration_ns),
            host: args.host.clone().or(host).map_or_else(own_name, Ok)?,
            window_ns: args.window.or(window_ns).unwrap_or(USUAL_WINDOW_NS),
            cpu_percent: args.cpu_percent.or(cpu_percent).unwrap_or(USUAL_CPU_PERCENT),
            rules,
        })
    }
}

/// A folder for this store: what waits for one never comes into another.
fn usual_buffer(store: &StoreLocation) -> Result<PathBuf> {
    let name = match store {
        StoreLocation::Folder(folder) => path::absolute(folder).map_err(Hinted::new)?.display().to_string(),
        bucket @ StoreLocation::Bucket { .. } => bucket.to_string(),
    };
    let digits: String = Sha256::digest(name.as_bytes()).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let last = name.rsplit('/').next().unwrap_or_default();
    let kept: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).take(50).collect();
    Ok(Path::new(BUFFERS).join(format!("{kept}-{digits}")))
}

fn own_name() -> Result<String> {
    let name = dwell_capture::host();
    if name.is_empty() {
        return Err(Hinted::new("this machine has no name").hint("--host NAME says how it is called in the rows"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> AgentArgs {
        AgentArgs {
            store: None,
            buffer: None,
            buffer_mib: None,
            row: None,
            duration: None,
            host: None,
            window: None,
            cpu_percent: None,
            config: None,
            check: false,
        }
    }

    #[test]
    fn the_command_line_comes_first() {
        let file = || AgentConfiguration {
            store: Some("/file".into()),
            buffer: Some("/b".into()),
            buffer_mib: Some(8),
            row_ns: Some(1),
            host: Some("of-file".into()),
            window_ns: Some(0),
            cpu_percent: Some(0.5),
            ..AgentConfiguration::default()
        };
        let of_file = AgentSettings::from_both(&args(), file()).unwrap();
        let folder = |path: &str| StoreLocation::Folder(path.into());
        assert_eq!((of_file.store, of_file.row_ns, of_file.host), (folder("/file"), 1, "of-file".into()));
        assert_eq!(of_file.buffer, BufferChoice { folder: "/b".into(), most_bytes: 8 << 20 });
        assert_eq!((of_file.window_ns, of_file.cpu_percent), (0, 0.5));
        let typed = AgentArgs {
            store: Some("/typed".into()),
            row: Some(2),
            duration: Some(3),
            window: Some(7),
            cpu_percent: Some(2.0),
            ..args()
        };
        let both = AgentSettings::from_both(&typed, file()).unwrap();
        assert_eq!((both.window_ns, both.cpu_percent), (7, 2.0));
        assert_eq!((both.store, both.row_ns, both.duration_ns), (folder("/typed"), 2, Some(3)));
        assert!(AgentSettings::from_both(&args(), AgentConfiguration::default()).is_err(), "there is no store");
        let usual = AgentSettings::from_both(&typed, AgentConfiguration::default()).unwrap();
        assert!(!usual.host.is_empty() && usual.window_ns == 7);
        let of = |store: &str| usual_buffer(&StoreLocation::of(Path::new(store)).unwrap()).unwrap();
        assert!(usual.buffer.folder == of("/typed") && usual.buffer.most_bytes == 64 << 20);
        assert!(of("/a/fleet") != of("/b/fleet") && of("s3://a/b") != of("s3://a/c"));
        assert!(of("/a/fleet").starts_with(BUFFERS), "{}", of("/a/fleet").display());
        let unknown = AgentArgs { store: Some("gs://a".into()), ..args() };
        assert!(AgentSettings::from_both(&unknown, AgentConfiguration::default()).is_err());
    }
}
