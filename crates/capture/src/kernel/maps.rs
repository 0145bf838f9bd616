//! The user side of the BPF maps.

use libbpf_rs::{MapCore, MapHandle, Object};

use crate::error::{Error, Result};

/// The map of this name of loaded hooks.
pub fn map_of(object: &Object, name: &str) -> Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == name);
    let map = map.ok_or_else(|| Error::unsupported(format!("no map {name}")))?;
    MapHandle::try_from(&map).map_err(|source| Error::Bpf { what: format!("opening map {name}"), source })
}
