//! What engines call their containers: their files tell it, without asking the engine.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

/// A file that says more than this of one container is not read.
const MOST_BYTES: u64 = 4 << 20;
/// Containers whose names are known at most.
const MOST_CONTAINERS: usize = 10_000;

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// What its engine calls it.
    pub name: String,
    /// The pod of Kubernetes that it is in; empty for none.
    pub pod: String,
}

/// The containers of a machine, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Engines {
    containers: BTreeMap<String, Container>,
}

impl Engines {
    /// Those of this machine that this user may read of.
    pub fn here() -> Self {
        Self::in_root(Path::new("/"))
    }

    fn in_root(root: &Path) -> Self {
        let mut engines = Self::default();
        engines.read_docker(&root.join("var/lib/docker/containers"));
        for storage in ["var/lib/containers/storage", "run/containers/storage"] {
            engines.read_podman(&root.join(storage).join("overlay-containers/containers.json"));
        }
        let tasks = root.join("run/containerd/io.containerd.runtime.v2.task");
        for namespace in names_in(&tasks) {
            engines.read_bundles(&tasks.join(namespace), "config.json");
        }
        engines.read_bundles(&root.join("run/containers/storage/overlay-containers"), "userdata/config.json");
        engines
    }

    /// The container of this id.
    pub fn container(&self, id: &str) -> Option<&Container> {
        self.containers.get(id)
    }

    /// The ids of the containers that are called so, or whose pod is.
    pub fn ids_named(&self, name: &str) -> Vec<&str> {
        let is_named = |container: &Container| container.name == name || container.pod == name;
        self.containers.iter().filter(|(_, it)| is_named(it)).map(|(id, _)| id.as_str()).collect()
    }

    /// `/var/lib/docker/containers/ID/config.v2.json`.
    fn read_docker(&mut self, folder: &Path) {
        for id in names_in(folder) {
            let Some(said) = read(&folder.join(&id).join("config.v2.json")) else { continue };
            let label = |name: &str| text(&said["Config"]["Labels"][name]);
            let container = Container {
                name: first([
                    label("io.kubernetes.container.name"),
                    text(&said["Name"]).trim_start_matches('/').into(),
                ]),
                pod: label("io.kubernetes.pod.name"),
            };
            self.add(id, container);
        }
    }

    /// `containers.json` of a containers-storage: a list with `id` and `names`.
    fn read_podman(&mut self, file: &Path) {
        let said = read(file).unwrap_or_default();
        for one in said.as_array().into_iter().flatten() {
            self.add(text(&one["id"]), Container { name: text(&one["names"][0]), pod: String::new() });
        }
    }

    /// The OCI configuration of each bundle in `folder`: of containerd (nerdctl, Kubernetes) and CRI-O.
    fn read_bundles(&mut self, folder: &Path, file: &str) {
        for id in names_in(folder) {
            let Some(said) = read(&folder.join(&id).join(file)) else { continue };
            let annotation = |name: &str| text(&said["annotations"][name]);
            let container = Container {
                name: first([
                    annotation("io.kubernetes.cri.container-name"),
                    annotation("io.kubernetes.container.name"),
                    annotation("nerdctl/name"),
                ]),
                pod: first([annotation("io.kubernetes.cri.sandbox-name"), annotation("io.kubernetes.pod.name")]),
            };
            self.add(id, container);
        }
    }

    fn add(&mut self, id: String, container: Container) {
        if !id.is_empty() && container != Container::default() && self.containers.len() < MOST_CONTAINERS {
            self.containers.entry(id).or_insert(container);
        }
    }
}

fn first<const N: usize>(words: [String; N]) -> String {
    words.into_iter().find(|word| !word.is_empty()).unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).take(MOST_CONTAINERS).collect()
}

fn read(path: &Path) -> Option<Value> {
    let mut bytes = Vec::new();
    dwell_files::open_regular(path).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
        fs::write(file, text).expect("a file");
    }

    #[test]
    fn names_are_those_of_the_engines() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "var/lib/docker/containers/d1/config.v2.json", r#"{"Name":"/web","Config":{"Labels":{}}}"#);
        let podman = "var/lib/containers/storage/overlay-containers/containers.json";
        write(root.path(), podman, r#"[{"id":"p1","names":["db"]},{"id":"p2"}]"#);
        let bundle = "run/containerd/io.containerd.runtime.v2.task/k8s.io/k1/config.json";
        let annotations = r#"{"io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":"shop-7d"}"#;
        write(root.path(), bundle, &format!(r#"{{"annotations":{annotations}}}"#));
        write(root.path(), "var/lib/docker/containers/broken/config.v2.json", "{");
        let engines = Engines::in_root(root.path());
        let named = |name: &str, pod: &str| Container { name: name.into(), pod: pod.into() };
        assert_eq!(engines.container("d1"), Some(&named("web", "")));
        assert_eq!(engines.container("p1"), Some(&named("db", "")));
        assert_eq!(engines.container("k1"), Some(&named("app", "shop-7d")));
        assert_eq!((engines.container("p2"), engines.container("broken")), (None, None));
        assert_eq!((engines.ids_named("web"), engines.ids_named("shop-7d")), (vec!["d1"], vec!["k1"]));
    }
}
