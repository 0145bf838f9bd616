//! `--target`: where the collection runs.

/// Another machine, by ssh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    /// `user@host` or `host`, as ssh takes it.
    pub host: String,
    /// Its port, ssh's own choice when not given.
    pub port: Option<u16>,
}

impl SshTarget {
    /// The host without the user.
    pub fn machine(&self) -> &str {
        self.host.rsplit_once('@').map_or(&self.host, |(_, machine)| machine)
    }
}

/// `ssh:[USER@]HOST[:PORT]`.
pub fn target(text: &str) -> Result<SshTarget, String> {
    let form = || format!("`{text}` is no target such as ssh:user@host or ssh:host:2222");
    let rest = text.strip_prefix("ssh:").ok_or_else(form)?;
    let (host, port) = match rest.rsplit_once(':') {
        // More than one colon is an IPv6 address.
        Some((host, port)) if !host.contains(':') => (host, Some(port.parse::<u16>().map_err(|_| form())?)),
        _ => (rest, None),
    };
    // What begins with a dash would be an option of ssh.
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('-') && !part.contains(char::is_whitespace);
    if is_name(host) && host.split('@').all(is_name) { Ok(SshTarget { host: host.into(), port }) } else { Err(form()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_hosts_of_ssh() {
        let named = |text: &str| target(text).map(|target| (target.host, target.port));
        assert_eq!(named("ssh:host"), Ok(("host".into(), None)));
        assert_eq!(named("ssh:root@10.0.0.1:2222"), Ok(("root@10.0.0.1".into(), Some(2222))));
        assert_eq!(named("ssh:root@fe80::1"), Ok(("root@fe80::1".into(), None)));
        assert_eq!(target("ssh:a@b").unwrap().machine(), "b");
        for bad in ["host", "ssh:", "ssh:-oProxyCommand=x", "ssh:a@-b", "ssh:host:x", "ssh:a b", "ssh:@b"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }
}
