//! What processes are called, and which service each belongs to; those that ended in the row of time, too.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

use dwell_capture::SumReading;
use dwell_cgroups::{Engines, container_id, of_process, unit};

use super::rules::{ProcessTraits, ServiceRules};
use super::versions::{BuildIds, version_name};

/// What a process is called that ended so fast that nobody saw its name.
const UNNAMED: &str = "(ended)";
/// Id of the control group that all others lie in.
const FIRST_GROUP: u64 = 1;
/// Digits of a container's id that stand for its name.
const SHORT_ID: usize = 12;
/// What is read of the environment of a process.
const MOST_ENVIRONMENT_BYTES: u64 = 1 << 20;

/// A process in the rows of a fleet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedProcess {
    /// The kernel's name of its first thread.
    pub name: String,
    /// As a rule says, else its unit of systemd, else its container, else its name.
    pub service: String,
    /// As the variable says that a rule names, else the image of its container, else the build id of its program; may be empty.
    pub version: String,
}

/// The processes of a row of time.
#[derive(Debug, Default)]
pub struct Processes {
    known: HashMap<u32, KnownProcess>,
}

#[derive(Clone, Debug)]
struct KnownProcess {
    named: NamedProcess,
    /// Id of its control group.
    group: u64,
    /// Whether it was there when the row ended.
    lives: bool,
}

/// Finds names and services of processes.
pub struct ProcessNames<'r> {
    rules: &'r ServiceRules,
    engines: Engines,
    build_ids: &'r BuildIds,
}

impl Processes {
    /// Those that the kernel summed. What ended since the last row, whose processes are `before`, is called as it was then.
    pub fn of(read: &SumReading, names: &ProcessNames<'_>, before: &Self) -> Self {
        let keys = read.closed.iter().map(|(key, _)| key).chain(read.open.iter().map(|open| &open.key));
        let groups: HashMap<u32, u64> = keys.map(|key| (key.pid, key.cgroup)).collect();
        let living = groups.iter().map(|(&pid, &id)| (id, of_process(pid)));
        let paths: HashMap<u64, String> = living.filter(|(_, path)| !path.is_empty()).collect();
        let ended: HashMap<u32, String> =
            read.names.iter().map(|((pid, _), name)| (*pid, text(&name.process))).collect();
        let known = groups.iter().map(|(&pid, &group)| {
            let living = names.living(pid).map(|named| KnownProcess { named, group, lives: true });
            let ended = || {
                let name = ended.get(&pid).map(String::as_str);
                before.before_its_end(pid, group, name).unwrap_or_else(|| {
                    // Where all lie in one group of version 2 its id tells nothing.
                    let path = paths.get(&group).filter(|_| group != FIRST_GROUP).cloned();
                    let traits = names.traits(name.unwrap_or(UNNAMED).to_owned(), path.unwrap_or_default());
                    KnownProcess { named: names.named(traits, None), group, lives: false }
                })
            };
            (pid, living.unwrap_or_else(ended))
        });
        Self { known: known.collect() }
    }

    /// What `pid` is called.
    pub fn named(&self, pid: u32) -> NamedProcess {
        let unnamed = || NamedProcess { name: UNNAMED.into(), service: UNNAMED.into(), version: String::new() };
        self.known.get(&pid).map_or_else(unnamed, |known| known.named.clone())
    }

    /// A process that lived at the end of this row, and ended in the next one with this name and control group.
    fn before_its_end(&self, pid: u32, group: u64, name: Option<&str>) -> Option<KnownProcess> {
        let known = self.known.get(&pid).filter(|known| known.lives && known.group == group)?;
        let is_same = name.is_none_or(|name| name == known.named.name);
        is_same.then(|| KnownProcess { lives: false, ..known.clone() })
    }
}

impl<'r> ProcessNames<'r> {
    /// By these rules, and what the machine's container engines say now.
    pub fn by(rules: &'r ServiceRules, build_ids: &'r BuildIds) -> Self {
        Self { rules, engines: Engines::here(), build_ids }
    }

    /// What is known of a process that lives.
    pub fn traits_of(&self, pid: u32) -> Option<ProcessTraits> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        let mut traits = self.traits(name.trim_end_matches('\n').to_owned(), of_process(pid));
        if self.rules.need_environment() {
            traits.environment = environment_of(pid);
        }
        Some(traits)
    }

    /// What a process with these traits is called; one that lives has the number `living`.
    fn named(&self, traits: ProcessTraits, living: Option<u32>) -> NamedProcess {
        let rule = self.rules.rule_of(&traits);
        let by_rule = rule.and_then(|rule| rule.name.clone());
        let by_group = || unit(&traits.cgroup).map(str::to_owned).or_else(|| traits.container_names.first().cloned());
        let service = by_rule.or_else(by_group).unwrap_or_else(|| traits.process.clone());
        let by_variable = rule.and_then(|rule| traits.variable(rule.version_variable.as_deref()?));
        let by_image = || Some(traits.image_version.clone()).filter(|version| !version.is_empty());
        let version = by_variable.or_else(by_image).or_else(|| living.map(|pid| self.build_ids.of(pid)));
        NamedProcess { name: traits.process, service, version: version_name(&version.unwrap_or_default()) }
    }

    /// What a process that lives is called.
    pub fn living(&self, pid: u32) -> Option<NamedProcess> {
        self.traits_of(pid).map(|traits| self.named(traits, Some(pid)))
    }

    fn traits(&self, process: String, cgroup: String) -> ProcessTraits {
        let Some(id) = container_id(&cgroup) else { return ProcessTraits { process, cgroup, ..Default::default() } };
        let container = self.engines.container(id).cloned().unwrap_or_default();
        let names = [container.name, id.chars().take(SHORT_ID).collect(), container.pod];
        let container_names = names.into_iter().filter(|name| !name.is_empty()).collect();
        ProcessTraits { process, cgroup, container_names, image_version: container.version, environment: Vec::new() }
    }
}

/// The environment that a process was started with; empty where it cannot be read.
fn environment_of(pid: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/environ"));
    let read = file.and_then(|file| file.take(MOST_ENVIRONMENT_BYTES).read_to_end(&mut bytes));
    read.map_or_else(|_| Vec::new(), |_| bytes)
}

/// A name of the kernel's.
fn text(name: &[u8]) -> String {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::rules::{ProcessTrait, ServiceRule};
    use super::*;

    fn rules() -> ServiceRules {
        let conditions = vec![(ProcessTrait::Unit, "shop-*".to_owned())];
        ServiceRules(vec![ServiceRule {
            conditions,
            name: Some("shop".into()),
            version_variable: Some("V".into()),
            line: 1,
        }])
    }

    fn service(cgroup: &str) -> String {
        let rules = rules();
        let build_ids = BuildIds::default();
        let names = ProcessNames { rules: &rules, engines: Engines::default(), build_ids: &build_ids };
        names.named(names.traits("app".into(), cgroup.into()), None).service
    }

    #[test]
    fn versions_are_those_of_variables_images_or_programs() {
        let (rules, build_ids) = (rules(), BuildIds::default());
        let names = ProcessNames { rules: &rules, engines: Engines::default(), build_ids: &build_ids };
        let own = Some(std::process::id());
        let traits = |cgroup: &str, image: &str| ProcessTraits {
            environment: b"V=2.0\n\0".to_vec(),
            image_version: image.into(),
            ..names.traits("app".into(), cgroup.into())
        };
        let version = |cgroup, image, living| names.named(traits(cgroup, image), living).version;
        assert_eq!(version("/shop-eu.service", "1.4", own), "2.0");
        assert_eq!(version("/web.service", "1.4", own), "1.4");
        assert_eq!(version("/web.service", "", own), build_ids.of(std::process::id()));
        assert_eq!(version("/web.service", "", None), "", "nobody knows its program");
    }

    #[test]
    fn services_are_called_by_rules_units_or_containers() {
        let id = "0123456789abcdef".repeat(4);
        assert_eq!(service("/system.slice/shop-eu.service"), "shop");
        assert_eq!(service("/system.slice/nginx.service"), "nginx.service");
        assert_eq!(service(&format!("/docker/{id}")), "0123456789ab");
        assert_eq!(service("/"), "app");
    }

    #[test]
    fn a_process_that_has_ended_keeps_its_service() {
        let named = NamedProcess { name: "gone".into(), service: "web".into(), version: "1.4".into() };
        let known = |lives| HashMap::from([(7, KnownProcess { named: named.clone(), group: 77, lives })]);
        let before = Processes { known: known(true) };
        let service =
            |before: &Processes, group, name| before.before_its_end(7, group, name).map(|it| it.named.service);
        assert_eq!(service(&before, 77, Some("gone")).as_deref(), Some("web"));
        assert_eq!(service(&before, 77, None).as_deref(), Some("web"));
        assert_eq!(service(&before, 78, Some("gone")), None, "another one has its number");
        assert_eq!(service(&before, 77, Some("new")), None, "another one has its number");
        assert_eq!(service(&Processes { known: known(false) }, 77, Some("gone")), None);
        assert_eq!(before.named(8).service, UNNAMED);
    }

    #[test]
    fn this_process_has_an_environment() {
        let traits = ProcessTraits { environment: environment_of(std::process::id()), ..ProcessTraits::default() };
        assert_eq!(traits.variable("PATH"), std::env::var("PATH").ok());
        assert!(environment_of(u32::MAX).is_empty());
    }
}
