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
/// Says which version of a program an image has.
const VERSION_LABEL: &str = "org.opencontainers.image.version";
/// Digits that stand for a digest.
const DIGEST_DIGITS: usize = 12;
/// Characters of a version that are kept.
const MOST_VERSION_CHARS: usize = 100;

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// What its engine calls it.
    pub name: String,
    /// The pod of Kubernetes that it is in; empty for none.
    pub pod: String,
    /// The version of its image: its tag, unless that is `latest`, else the label `org.opencontainers.image.version`, which may be that of an
    /// image below it, else the first 12 digits of the digest by which it was named; empty where nothing says it.
    pub version: String,
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
                version: version_of(&text(&said["Config"]["Image"]), &label(VERSION_LABEL)),
            };
            self.add(id, container);
        }
    }

    /// `containers.json` of a containers-storage: a list with `id` and `names`.
    fn read_podman(&mut self, file: &Path) {
        let said = read(file).unwrap_or_default();
        for one in said.as_array().into_iter().flatten() {
            let name = text(&one["names"][0]);
            // A text that is JSON once more.
            let more: Value = serde_json::from_str(&text(&one["metadata"])).unwrap_or_default();
            let version = version_of(&text(&more["image-name"]), "");
            self.add(text(&one["id"]), Container { name, pod: String::new(), version });
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
                version: version_of(
                    &first(["io.kubernetes.cri.image-name", "io.kubernetes.cri-o.ImageName"].map(annotation)),
                    &annotation(VERSION_LABEL),
                ),
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

/// See [`Container::version`]. An image is called `registry:5000/name:tag@sha256:digest`.
fn version_of(image: &str, label: &str) -> String {
    let named = if image.starts_with("sha256:") { ("", image) } else { (image, "") };
    let (name, digest) = image.split_once('@').unwrap_or(named);
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map_or("", |(_, tag)| tag);
    let tag = if tag == "latest" { "" } else { tag };
    let digest: String = digest.rsplit(':').next().unwrap_or_default().chars().take(DIGEST_DIGITS).collect();
    first([tag.to_owned(), label.to_owned(), digest]).chars().take(MOST_VERSION_CHARS).collect()
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
    fn versions_are_tags_labels_or_digests() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        for (image, label, expected) in [
            ("nginx:1.25", "22.04", "1.25"),
            ("registry:5000/shop/web", "", ""),
            ("registry:5000/shop/web:v2", "", "v2"),
            ("nginx:latest", "22.04", "22.04"),
            (&*format!("shop/web@{digest}"), "", "0123456789ab"),
            (&*format!("shop/web:7@{digest}"), "", "7"),
            (&*digest, "", "0123456789ab"),
            ("", "", ""),
        ] {
            assert_eq!(version_of(image, label), expected, "{image} {label}");
        }
    }

    #[test]
    fn names_are_those_of_the_engines() {
        let root = tempfile::tempdir().expect("a folder");
        write(
            root.path(),
            "var/lib/docker/containers/d1/config.v2.json",
            r#"{"Name":"/web","Config":{"Labels":{},"Image":"r:5000/web:1.4"}}"#,
        );
        let podman = "var/lib/containers/storage/overlay-containers/containers.json";
        write(
            root.path(),
            podman,
            r#"[{"id":"p1","names":["db"],"metadata":"{\"image-name\":\"docker.io/db:16\"}"},{"id":"p2"}]"#,
        );
        let bundle = "run/containerd/io.containerd.runtime.v2.task/k8s.io/k1/config.json";
        let annotations = r#"{"io.kubernetes.cri.container-name":"app","io.kubernetes.cri.sandbox-name":"shop-7d","io.kubernetes.cri.image-name":"app:2.0"}"#;
        write(root.path(), bundle, &format!(r#"{{"annotations":{annotations}}}"#));
        write(root.path(), "var/lib/docker/containers/broken/config.v2.json", "{");
        let engines = Engines::in_root(root.path());
        let named = |name: &str, pod: &str, version: &str| Container {
            name: name.into(),
            pod: pod.into(),
            version: version.into(),
        };
        assert_eq!(engines.container("d1"), Some(&named("web", "", "1.4")));
        assert_eq!(engines.container("p1"), Some(&named("db", "", "16")));
        assert_eq!(engines.container("k1"), Some(&named("app", "shop-7d", "2.0")));
        assert_eq!((engines.container("p2"), engines.container("broken")), (None, None));
        assert_eq!((engines.ids_named("web"), engines.ids_named("shop-7d")), (vec!["d1"], vec!["k1"]));
    }
}
