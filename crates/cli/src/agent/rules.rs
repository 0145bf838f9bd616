//! Rules that give services the names that people use.

use dwell_cgroups::unit;
use dwell_view::glob;

/// What a rule can ask of a process, as the configuration says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessTrait {
    /// Its unit of systemd.
    Unit,
    /// The name, the first 12 digits of the id, or the pod of its container.
    Container,
    /// The kernel's name of its first thread.
    Process,
    /// A variable of the environment that it was started with: `NAME=GLOB`.
    Environment,
    /// The path of its control group.
    ControlGroup,
}

impl ProcessTrait {
    /// All, with their keys in the configuration.
    pub const ALL: [(&'static str, Self); 5] = [
        ("unit", Self::Unit),
        ("container", Self::Container),
        ("process", Self::Process),
        ("env", Self::Environment),
        ("cgroup", Self::ControlGroup),
    ];
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceRule {
    /// All of these have to hold: a pattern for each trait, in which `*` stands for any characters.
    pub conditions: Vec<(ProcessTrait, String)>,
    /// The service; `None`: it is called as without a rule.
    pub name: Option<String>,
    /// The variable of the environment that says the version.
    pub version_variable: Option<String>,
    /// Its line in the configuration.
    pub line: usize,
}

/// The rules of a configuration; the first one that holds counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceRules(pub Vec<ServiceRule>);

/// What is known of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessTraits {
    /// The kernel's name of its first thread.
    pub process: String,
    /// The path of its control group; empty where it is not known.
    pub cgroup: String,
    /// What its container is called; empty for none.
    pub container_names: Vec<String>,
    /// The version of its container's image; empty where nothing says it.
    pub image_version: String,
    /// Its environment, `NAME=VALUE` with NUL behind each; empty where it is not known, or no rule asks.
    pub environment: Vec<u8>,
}

impl ServiceRules {
    /// The first rule that holds for a process.
    pub fn rule_of(&self, traits: &ProcessTraits) -> Option<&ServiceRule> {
        self.0.iter().find(|rule| rule.holds(traits))
    }

    /// Whether some rule asks for the environment.
    pub fn need_environment(&self) -> bool {
        let asks = |rule: &ServiceRule| rule.conditions.iter().any(|(of, _)| *of == ProcessTrait::Environment);
        self.0.iter().any(|rule| rule.version_variable.is_some() || asks(rule))
    }
}

impl ServiceRule {
    fn holds(&self, traits: &ProcessTraits) -> bool {
        self.conditions.iter().all(|(of, pattern)| match of {
            ProcessTrait::Unit => unit(&traits.cgroup).is_some_and(|unit| glob(pattern, unit)),
            ProcessTrait::Container => traits.container_names.iter().any(|name| glob(pattern, name)),
            ProcessTrait::Process => glob(pattern, &traits.process),
            ProcessTrait::ControlGroup => !traits.cgroup.is_empty() && glob(pattern, &traits.cgroup),
            ProcessTrait::Environment => {
                let (name, pattern) = pattern.split_once('=').unwrap_or((pattern, "*"));
                traits.variable(name).is_some_and(|value| glob(pattern, &value))
            }
        })
    }
}

impl ProcessTraits {
    /// The value of a variable of the environment, as text; `None` where it has none.
    pub fn variable(&self, name: &str) -> Option<String> {
        let mut variables = self.environment.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits() -> ProcessTraits {
        ProcessTraits {
            process: "java".into(),
            cgroup: "/system.slice/shop.service".into(),
            container_names: vec!["shop_1".into(), "0123456789ab".into()],
            image_version: String::new(),
            environment: b"APP=checkout-eu\0APPS=7\0EMPTY=\0".into(),
        }
    }

    fn rule(conditions: &[(ProcessTrait, &str)]) -> ServiceRule {
        let conditions = conditions.iter().map(|(of, pattern)| (*of, (*pattern).to_owned())).collect();
        ServiceRule { conditions, name: Some("x".into()), version_variable: None, line: 1 }
    }

    #[test]
    fn each_trait_is_asked_by_a_pattern() {
        use ProcessTrait::{Container, ControlGroup, Environment, Process, Unit};
        for (of, pattern) in [
            (Unit, "shop.*"),
            (Container, "shop_*"),
            (Container, "0123456789ab"),
            (Process, "java"),
            (Environment, "APP=checkout-*"),
            (Environment, "EMPTY="),
            (ControlGroup, "*shop*"),
        ] {
            assert!(rule(&[(of, pattern)]).holds(&traits()), "{of:?} {pattern}");
        }
        for (of, pattern) in [(Unit, "shop"), (Process, "jav"), (Environment, "AP=*"), (Environment, "APP=checkout")] {
            assert!(!rule(&[(of, pattern)]).holds(&traits()), "{of:?} {pattern}");
        }
        assert!(!rule(&[(Process, "java"), (Unit, "other")]).holds(&traits()), "all have to hold");
    }

    #[test]
    fn what_is_not_known_matches_no_rule() {
        for (_, of) in ProcessTrait::ALL.into_iter().filter(|(_, of)| *of != ProcessTrait::Process) {
            assert!(!rule(&[(of, "*")]).holds(&ProcessTraits::default()), "{of:?}");
        }
    }

    #[test]
    fn the_first_rule_counts() {
        let named = |name: &str, pattern: &str| ServiceRule {
            name: Some(name.into()),
            ..rule(&[(ProcessTrait::Process, pattern)])
        };
        let rules = ServiceRules(vec![named("none", "perl"), named("first", "j*"), named("second", "java")]);
        assert_eq!(rules.rule_of(&traits()).and_then(|rule| rule.name.as_deref()), Some("first"));
        assert!(!rules.need_environment());
        let versions = ServiceRule { version_variable: Some("V".into()), ..rule(&[]) };
        assert!(ServiceRules(vec![versions]).need_environment());
    }
}
