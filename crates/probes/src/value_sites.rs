//! The places of a probe with values in a file, and where its values lie at each.

use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl};

use crate::debug_info;
use crate::elf::{Data, Elf};
use crate::error::{Error, Result};
use crate::member_path;
use crate::parameters::{parameters, result};
use crate::probe_value::{ProbeValue, ValueSource};
use crate::sites::{Edge, Named, Site, usdt_sites};
use crate::usdt;
use crate::usdt_arguments::{of_function, of_usdt, returned, words};
use crate::value_error::{Parsed, ValueProbeError};
use crate::value_filter::FilterTerm;
use crate::value_read::ValueRead;
use crate::value_spec::{ValuePlace, ValueProbe};

/// The places of a probe, and what is read at each.
#[derive(Clone, Debug)]
pub struct ValueSites {
    /// Each place, with how each value is read there.
    pub sites: Vec<(Site, Vec<ValueRead>)>,
    /// The condition, with a number for each name.
    pub filter: Vec<FilterTerm>,
}

/// The places of the probe in the file at `path`.
///
/// # Errors
///
/// Says what the file has not, and what there is instead, and points at it in the probe's words.
pub fn value_sites(path: &Path, probe: &ValueProbe) -> std::result::Result<ValueSites, ValueProbeError> {
    let wrong = |error: Error| probe.wrong_place(&error);
    let data = Data::open(path).map_err(wrong)?;
    let elf = Elf::parse(&data, path).map_err(wrong)?;
    let sites = match &probe.place {
        ValuePlace::Entry(name) => {
            let named = Named::of(&elf, path, &[name]).map_err(wrong)?;
            let site = named.point(name, Edge::Begin).map_err(wrong)?;
            vec![(site, of_call((path, &elf), probe, (name, site))?)]
        }
        ValuePlace::Return(name) => {
            let named = Named::of(&elf, path, &[name]).map_err(wrong)?;
            let sites = returns(&elf, path, name).map_err(wrong)?;
            let entry = named.point(name, Edge::Begin).map_err(wrong)?;
            let reads = of_call((path, &elf), probe, (name, entry))?;
            sites.into_iter().map(|site| (site, reads.clone())).collect()
        }
        ValuePlace::Tracepoint { .. } => Vec::new(), // in no file: see `event_values`
        ValuePlace::Usdt { provider, name } => of_usdt_probe(&elf, path, probe, (provider, name)).map_err(wrong)?,
    };
    let filter = sites.first().map_or(Ok(Vec::new()), |(_, reads)| probe.checked(reads))?;
    Ok(ValueSites { sites, filter })
}

/// What is read where the function `name` begins, at `entry`, or returns.
fn of_call((path, elf): (&Path, &Elf<'_>), probe: &ValueProbe, (name, entry): (&str, Site)) -> Parsed<Vec<ValueRead>> {
    let paths = probe.values.iter().filter(|value| matches!(value.source, ValueSource::Path(_)));
    let Some(first) = paths.clone().next() else {
        return probe.values.iter().filter_map(by_convention).map(Ok).collect();
    };
    let unknown = |what: &str| {
        let hint = format!(
            "compile it with -g, or install its debug symbols; without them, name a register: {}=arg0:u64",
            first.name.split(['-', '.']).next().unwrap_or("VALUE")
        );
        probe.words().wrong_at(first.at, format_args!("{} {what}", path.display()), hint)
    };
    let read = debug_info::with(path, elf, |info| {
        let address = elf.vaddr(entry.offset)?;
        let function = info.function(address)?;
        // The compiler made another function of it, whose parameters are not those of the source.
        let is_remade = [".constprop", ".isra", ".part"].iter().any(|part| name.contains(part));
        let roots = match probe.place {
            ValuePlace::Return(_) => vec![result(info, &function)],
            _ => parameters(info, &function, address, is_remade),
        };
        let of_value = |value: &ProbeValue| match &value.source {
            ValueSource::Path(path) => Some(
                member_path::find(info, &roots, path, value.ty)
                    .map_err(|error| probe.words().wrong_at(value.at + error.at, error.sentence, error.hint)),
            ),
            _ => by_convention(value).map(Ok),
        };
        Some(probe.values.iter().filter_map(of_value).collect::<Parsed<Vec<ValueRead>>>())
    });
    match read {
        None => Err(unknown("has no debug information, in itself or in a separate file")),
        Some(None) => Err(unknown(&format!("has no debug information of {name}"))),
        Some(Some(reads)) => reads,
    }
}

/// How an argument, or what is returned, is read by the calling convention.
fn by_convention(value: &ProbeValue) -> Option<ValueRead> {
    let place = match value.source {
        ValueSource::Argument(number) => of_function(number),
        ValueSource::Returned => returned(),
        ValueSource::Path(_) => None,
    };
    Some(ValueRead::of(place?, value.ty?))
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
) -> Result<Vec<(Site, Vec<ValueRead>)>> {
    let sites = usdt_sites(elf, path, (provider, name), Edge::Begin)?;
    let notes = usdt::probes(elf);
    let mut found = Vec::new();
    for site in sites {
        let is_here = |note: &&usdt::Usdt| {
            note.provider == provider && note.name == name && elf.code_offset(note.address) == Some(site.offset)
        };
        let Some(note) = notes.iter().find(is_here) else { continue };
        let places = words(&note.arguments);
        let place = |value: &ProbeValue| {
            let (ValueSource::Argument(number), Some(ty)) = (value.source.clone(), value.ty) else { return Ok(None) };
            let probe = format!("{provider}:{name}");
            let Some(word) = places.get(usize::from(number)) else {
                return Err(Error::NoSuchArgument { probe, number, there: places.len() });
            };
            of_usdt(word).map(|place| Some(ValueRead::of(place, ty))).ok_or_else(|| Error::UnreadableArgument {
                probe,
                number,
                place: (*word).to_owned(),
            })
        };
        let values: Vec<Option<ValueRead>> = probe.values.iter().map(place).collect::<Result<_>>()?;
        found.push((site, values.into_iter().flatten().collect()));
    }
    found.sort_unstable_by_key(|(site, _)| *site);
    found.dedup_by_key(|(site, _)| *site);
    Ok(found)
}

#[cfg(test)]
mod tests {
    // Parameters and members of a C program that gcc compiles here; without gcc nothing is checked.
    use std::path::PathBuf;
    use std::process::Command;

    use super::*;
    use crate::probe_value::ValueType;

    const PROGRAM: &str = r"
struct queue { long padding; unsigned len; struct queue *next; };
struct request { char kind[8]; const char *name; struct queue queue; unsigned flags : 3, level : 5; double ratio; };
struct large { long a[4]; };
struct pair { int a, b; };
struct request *shared;
long take(struct request *req, double ratio, unsigned char id, struct large large, int b, int c, int d, short seventh, struct pair pair)
{ shared = req; return id + seventh + b + c + d + large.a[0] + (long)ratio; }
int main(void) { struct large large = {{1}}; return take(shared, 1, 2, large, 3, 4, 5, 6, (struct pair){1, 2}); }
";

    fn program(folder: &tempfile::TempDir, options: &[&str]) -> Option<PathBuf> {
        let (source, program) = (folder.path().join("take.c"), folder.path().join("take"));
        std::fs::write(&source, PROGRAM).expect("write");
        let compiled = Command::new("gcc").args(options).arg("-o").arg(&program).arg(&source).status();
        compiled.is_ok_and(|status| status.success()).then_some(program)
    }

    #[test]
    fn paths_become_steps_and_types() {
        let folder = tempfile::tempdir().expect("folder");
        for options in [["-O0", "-g"], ["-O2", "-g"]] {
            let Some(program) = program(&folder, &options) else { return };
            let probe = ValueProbe::parse(
                "x=uprobe:take(req->queue.next->len, req->name, req->kind, req->level, id, seventh, req->ratio:x64) if id == 7",
            );
            let found = value_sites(&program, &probe.expect("good")).expect("debug information");
            let reads = &found.sites[0].1;
            let shown: Vec<(ValueType, &[i64], i64, u8)> =
                reads.iter().map(|read| (read.ty, read.steps.as_slice(), read.end, read.bytes)).collect();
            assert_eq!(shown[0], (ValueType::Unsigned { bytes: 4 }, [32, 8].as_slice(), 0, 4));
            assert_eq!(shown[1], (ValueType::Text, [8].as_slice(), 0, 8));
            assert_eq!(shown[2], (ValueType::Text, [].as_slice(), 0, 8));
            assert_eq!(
                (shown[3], reads[3].left, reads[3].right),
                ((ValueType::Unsigned { bytes: 4 }, [40].as_slice(), 0, 1), 56, 59)
            );
            assert_eq!(shown[4], (ValueType::Unsigned { bytes: 1 }, [].as_slice(), 0, 8));
            assert_eq!(shown[5], (ValueType::Signed { bytes: 2 }, [].as_slice(), 0, 8));
            assert_eq!(shown[6], (ValueType::Hex { bytes: 8 }, [48].as_slice(), 0, 8));
            assert_eq!(reads[2].text_bytes, 8);
        }
    }

    #[test]
    fn structures_by_value_are_refused() {
        let folder = tempfile::tempdir().expect("folder");
        for options in [["-O0", "-g"], ["-O2", "-g"]] {
            let Some(program) = program(&folder, &options) else { return };
            for path in ["large.a", "pair.a", "pair:u64", "large", "pair", "ratio"] {
                let probe = ValueProbe::parse(&format!("x=uprobe:take({path})")).expect("good");
                let error = value_sites(&program, &probe).expect_err(path);
                assert!(error.to_string().contains("cannot"), "{options:?} {path}: {error}");
            }
        }
    }

    #[test]
    fn damaged_debug_information_causes_no_panic() {
        let folder = tempfile::tempdir().expect("folder");
        let Some(program) = program(&folder, &["-O2", "-g"]) else { return };
        let whole = std::fs::read(&program).expect("program");
        let probe = ValueProbe::parse("x=uprobe:take(req->queue.next->len, req->level, id, seventh)").expect("good");
        let damaged = folder.path().join("damaged");
        for step in 0..300usize {
            let mut bytes = whole.clone();
            // The sections of the debug information lie in the file's last part.
            for at in (whole.len() / 3 + step * 13..bytes.len()).step_by(211 + step) {
                bytes[at] = bytes[at].wrapping_add(step as u8 | 1);
            }
            std::fs::write(&damaged, bytes).expect("write");
            let _ = value_sites(&damaged, &probe);
        }
    }
}
