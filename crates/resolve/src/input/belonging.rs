//! What a process belongs to.

/// Control group, unit, container and pod of a process; empty for none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Belonging {
    /// As `/proc/PID/cgroup` names it.
    pub cgroup: String,
    /// The unit of systemd.
    pub unit: String,
    /// The container's name.
    pub container: String,
    /// The Kubernetes pod.
    pub pod: String,
}

impl Belonging {
    /// Of the text of a BELONGING record: the four, zero-separated.
    pub fn parse(text: &[u8]) -> Self {
        let mut words = text.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut next = || words.next().unwrap_or_default();
        Self { cgroup: next(), unit: next(), container: next(), pod: next() }
    }
}
