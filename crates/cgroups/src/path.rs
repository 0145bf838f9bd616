//! What the path of a control group says.

/// How engines begin the name of a container's group, where systemd makes the groups: `docker-ID.scope`.
const PREFIXES: [&str; 6] = ["docker-", "libpod-", "cri-containerd-", "crio-", "nerdctl-", "podman-"];
/// Digits of a container's id.
const ID_DIGITS: usize = 64;
/// How units that are control groups end.
const UNITS: [&str; 2] = [".service", ".scope"];

/// The path that says most in the text of `/proc/PID/cgroup`, lines `ID:CONTROLLERS:PATH`: that of the unified hierarchy (id 0),
/// else systemd's, else the deepest one; the first group of a hierarchy says nothing.
pub fn telling(text: &str) -> &str {
    let of_line = |line: &'_ str| {
        let (id, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let depth = path.split('/').filter(|part| !part.is_empty()).count();
        Some((depth > 0, id == "0", controllers == "name=systemd", depth))
    };
    let best = text.lines().filter_map(|line| Some((of_line(line)?, line))).max_by_key(|(rank, _)| *rank);
    best.and_then(|(_, line)| line.splitn(3, ':').nth(2)).unwrap_or_default()
}

/// The unit of systemd that has the group: the innermost service or scope that is no container's.
pub fn unit(path: &str) -> Option<&str> {
    let is_unit = |part: &&str| UNITS.iter().any(|end| part.ends_with(end)) && id_in(part).is_none();
    path.rsplit('/').find(is_unit)
}

/// The id of the innermost container that the group is in, or its name where that is what the group is called.
pub fn container_id(path: &str) -> Option<&str> {
    path.rsplit('/').find_map(|part| id_in(part).or_else(|| name_in(part)))
}

/// 64 hexadecimal digits, as Docker, Podman, containerd and CRI-O have them.
fn id_in(part: &str) -> Option<&str> {
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let id = PREFIXES.iter().find_map(|prefix| part.strip_prefix(prefix)).unwrap_or(part);
    let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

/// LXC and systemd-nspawn call the group by the container's name.
fn name_in(part: &str) -> Option<&str> {
    part.strip_prefix("lxc.payload.").or_else(|| part.strip_prefix("machine-")?.strip_suffix(".scope"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn the_hierarchy_that_says_most_is_the_group() {
        assert_eq!(telling("0::/system.slice/nginx.service\n"), "/system.slice/nginx.service");
        assert_eq!(telling("9:name=systemd:/\n4:memory:/docker/7f\n0::/\n"), "/docker/7f");
        assert_eq!(telling("9:name=systemd:/s\n4:memory:/a/b\n0::/\n"), "/s");
        assert_eq!(telling("4:memory:/a/b/c\n0::/b\n"), "/b");
        assert_eq!(telling("4:memory:/with:colon\n"), "/with:colon");
        assert_eq!((telling(""), telling("nonsense")), ("", ""));
    }

    #[test]
    fn units_and_containers_are_told_apart() {
        assert_eq!(unit("/system.slice/nginx.service"), Some("nginx.service"));
        assert_eq!(unit("/user.slice/user-0.slice/session-3.scope"), Some("session-3.scope"));
        assert_eq!(unit("/user.slice"), None);
        for path in [
            format!("/docker/{ID}"),
            format!("/system.slice/docker-{ID}.scope"),
            format!("/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"),
            format!("/machine.slice/libpod-{ID}.scope/container"),
        ] {
            assert_eq!(container_id(&path), Some(ID), "{path}");
            assert_eq!(unit(&path), None, "{path}");
        }
        assert_eq!(container_id("/lxc.payload.web/system.slice"), Some("web"));
        assert_eq!(container_id("/machine.slice/machine-deb.scope"), Some("deb"));
        assert_eq!(container_id("/system.slice/nginx.service"), None);
    }
}
