//! The places of a probe with values in a file, and where its values lie at each.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use crate::elf::{Data, Elf};
use crate::error::{Error, Result};
use crate::sites::{Edge, Named, Site, usdt_sites};
use crate::usdt;
use crate::usdt_arguments::{ArgumentPlace, of_function, of_usdt, returned, words};
use crate::value_spec::{ValuePlace, ValueProbe, ValueSource};

/// Each place in the file at `path`, with where each value of the probe is there.
///
/// # Errors
///
/// Says what the file has not, and what there is instead.
pub fn value_sites(path: &Path, probe: &ValueProbe) -> Result<Vec<(Site, Vec<ArgumentPlace>)>> {
    let data = Data::open(path)?;
    let elf = Elf::parse(&data, path)?;
    let by_convention = || -> Vec<ArgumentPlace> {
        let place = |source| match source {
            ValueSource::Argument(number) => of_function(number),
            ValueSource::Returned => returned(),
        };
        probe.values.iter().filter_map(|value| place(value.source)).collect()
    };
    match &probe.place {
        ValuePlace::Entry(name) => {
            Ok(vec![(Named::of(&elf, path, &[name])?.point(name, Edge::Begin)?, by_convention())])
        }
        ValuePlace::Return(name) => {
            let sites = returns(&elf, path, name)?;
            Ok(sites.into_iter().map(|site| (site, by_convention())).collect())
        }
        ValuePlace::Usdt { provider, name } => of_usdt_probe(&elf, path, probe, (provider, name)),
    }
}

/// The instructions by which a function returns.
fn returns(elf: &Elf<'_>, path: &Path, name: &str) -> Result<Vec<Site>> {
    let ends: Vec<Site> =
        Named::of(elf, path, &[name])?.whole(name)?.into_iter().filter(|site| site.edge == Edge::End).collect();
    let is_return = |site: &Site| {
        let code = elf.vaddr(site.offset).and_then(|address| elf.code(address, 15));
        let decoded = code.map(|code| Decoder::new(64, code, DecoderOptions::NONE).decode());
        decoded.is_some_and(|instruction| instruction.flow_control() == FlowControl::Return)
    };
    if ends.iter().all(is_return) {
        return Ok(ends);
    }
    Err(Error::EndsInAnother { name: name.to_owned(), file: path.to_owned() })
}

/// The compiler can put a USDT probe into several places, with its arguments elsewhere in each.
fn of_usdt_probe(
    elf: &Elf<'_>,
    path: &Path,
    probe: &ValueProbe,
    (provider, name): (&str, &str),
) -> Result<Vec<(Site, Vec<ArgumentPlace>)>> {
    let sites = usdt_sites(elf, path, (provider, name), Edge::Begin)?;
    let notes = usdt::probes(elf);
    let mut found = Vec::new();
    for site in sites {
        let is_here = |note: &&usdt::Usdt| {
            note.provider == provider && note.name == name && elf.code_offset(note.address) == Some(site.offset)
        };
        let Some(note) = notes.iter().find(is_here) else { continue };
        let places = words(&note.arguments);
        let place = |source| {
            let ValueSource::Argument(number) = source else { return Ok(None) };
            let probe = format!("{provider}:{name}");
            let Some(word) = places.get(usize::from(number)) else {
                return Err(Error::NoSuchArgument { probe, number, there: places.len() });
            };
            of_usdt(word).map(Some).ok_or_else(|| Error::UnreadableArgument {
                probe,
                number,
                place: (*word).to_owned(),
            })
        };
        let values: Vec<Option<ArgumentPlace>> =
            probe.values.iter().map(|value| place(value.source)).collect::<Result<_>>()?;
        found.push((site, values.into_iter().flatten().collect()));
    }
    found.sort_unstable_by_key(|(site, _)| *site);
    found.dedup_by_key(|(site, _)| *site);
    Ok(found)
}
