//! Where a perf.data comes from: a file, whose header says where everything lies, or a pipe, which has records only.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use dwell_files::open_regular;

use crate::attribute::Attribute;
use crate::cursor::Cursor;
use crate::description::{Description, feature};
use crate::error::Error;
use crate::records::fill;

const MAGIC: &[u8; 8] = b"PERFILE2";
const MAGIC_OF_OTHER_ORDER: &[u8; 8] = b"2ELIFREP";
const PIPE_HEADER_BYTES: u64 = 16;
const FILE_HEADER_BYTES: usize = 104;
/// Sections, the formats of tracepoints among them, are some MiB.
const MOST_SECTION_BYTES: u64 = 64 << 20;
const MOST_EVENTS: u64 = 65_536;
/// A section's place: offset and size.
const PLACE_BYTES: u64 = 16;

/// A perf.data that was opened.
pub struct PerfSource {
    /// What is known of it before its records.
    pub(crate) description: Description,
    /// Its records.
    pub(crate) data: Box<dyn Read>,
    /// When it was last written, seconds since 1970.
    pub(crate) written_at: f64,
    /// perf did not write its header to the end.
    pub(crate) is_unfinished: bool,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    bytes: u64,
}

impl Place {
    fn read(cursor: &mut Cursor<'_>) -> Option<Self> {
        Some(Self { offset: cursor.u64()?, bytes: cursor.u64()? })
    }
}

impl PerfSource {
    /// Opens the file `path`.
    ///
    /// # Errors
    ///
    /// Not to be read; not perf's; damaged.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = open_regular(path)?;
        let written_at = seconds(file.metadata()?.modified()?);
        let mut head = [0; FILE_HEADER_BYTES];
        let there = fill(&mut &file, &mut head)?;
        if header_bytes(&head[..there])? == PIPE_HEADER_BYTES {
            let mut file = file;
            file.seek(SeekFrom::Start(PIPE_HEADER_BYTES))?;
            return Ok(Self::of_records(Box::new(BufReader::with_capacity(1 << 20, file)), written_at));
        }
        if there < FILE_HEADER_BYTES {
            return Err(Error::Damaged("its header is cut"));
        }
        Self::of_file(file, &head, written_at)
    }

    /// What `perf record -o -` writes.
    ///
    /// # Errors
    ///
    /// Not to be read; not perf's; the contents of a file, in which one has to jump.
    pub fn of_pipe(mut pipe: Box<dyn Read>) -> Result<Self, Error> {
        let mut head = [0; PIPE_HEADER_BYTES as usize];
        let there = fill(&mut pipe, &mut head)?;
        if header_bytes(&head[..there])? != PIPE_HEADER_BYTES {
            return Err(Error::NotPerf("it was written into a file, not into a pipe: name the file"));
        }
        Ok(Self::of_records(Box::new(BufReader::with_capacity(1 << 20, pipe)), seconds(SystemTime::now())))
    }

    fn of_records(data: Box<dyn Read>, written_at: f64) -> Self {
        Self { description: Description::default(), data, written_at, is_unfinished: false }
    }

    /// `struct perf_file_header`: magic, its size, size of an event with its ids' place; places of events, data and event types; bits
    /// of the sections whose places follow the data.
    fn of_file(mut file: File, head: &[u8], written_at: f64) -> Result<Self, Error> {
        let cut = Error::Damaged("its header is cut");
        let mut cursor = Cursor(head.get(16..).unwrap_or_default());
        let (Some(event_bytes), Some(events), Some(data)) =
            (cursor.u64(), Place::read(&mut cursor), Place::read(&mut cursor))
        else {
            return Err(cut);
        };
        cursor.bytes(PLACE_BYTES as usize);
        let features = cursor.u64().ok_or(cut)?;
        let length = file.metadata()?.len();
        let mut description = Description::default();
        read_events(&file, events, event_bytes, &mut description)?;
        // perf writes size and sections at its end, which it may not have come to.
        let is_unfinished = data.bytes == 0;
        let bytes = if is_unfinished { length.saturating_sub(data.offset) } else { data.bytes };
        if !is_unfinished {
            read_features(&file, data.offset.saturating_add(data.bytes), features, &mut description);
        }
        file.seek(SeekFrom::Start(data.offset))?;
        let data = Box::new(BufReader::with_capacity(1 << 20, file.take(bytes)));
        Ok(Self { description, data, written_at, is_unfinished })
    }
}

/// What the file says that its header takes.
fn header_bytes(head: &[u8]) -> Result<u64, Error> {
    let mut cursor = Cursor(head);
    match cursor.bytes(8) {
        Some(magic) if magic == MAGIC => {}
        Some(magic) if magic == MAGIC_OF_OTHER_ORDER => {
            return Err(Error::NotPerf("it comes from a machine of the other order of bytes"));
        }
        _ => return Err(Error::NotPerf("it does not begin as one")),
    }
    cursor.u64().ok_or(Error::Damaged("its header is cut"))
}

fn read_section(file: &File, place: Place) -> Option<Vec<u8>> {
    let length = file.metadata().ok()?.len();
    place.offset.checked_add(place.bytes).filter(|&end| end <= length && place.bytes <= MOST_SECTION_BYTES)?;
    let mut section = vec![0; usize::try_from(place.bytes).ok()?];
    file.read_exact_at(&mut section, place.offset).ok()?;
    Some(section)
}

fn read_events(file: &File, events: Place, event_bytes: u64, description: &mut Description) -> Result<(), Error> {
    let damaged = || Error::Damaged("its events are cut");
    let attribute_bytes = event_bytes.checked_sub(PLACE_BYTES).filter(|&bytes| bytes > 0).ok_or_else(damaged)?;
    if events.bytes / event_bytes > MOST_EVENTS {
        return Err(Error::Damaged("it has more than 65536 events"));
    }
    let section = read_section(file, events).ok_or_else(damaged)?;
    for entry in section.chunks_exact(usize::try_from(event_bytes).map_err(|_| damaged())?) {
        let (event, ids) = entry.split_at_checked(attribute_bytes as usize).ok_or_else(damaged)?;
        let event = Attribute::parse(event).ok_or_else(damaged)?;
        let ids = Place::read(&mut Cursor(ids)).and_then(|place| read_section(file, place)).ok_or_else(damaged)?;
        description.add_event(event, &ids);
    }
    Ok(())
}

/// Reads the sections that are there; what a cut file lacks stays unknown.
fn read_features(file: &File, mut at: u64, features: u64, description: &mut Description) {
    for number in (0..u64::from(u64::BITS)).filter(|number| features & (1 << number) != 0) {
        let place = read_section(file, Place { offset: at, bytes: PLACE_BYTES });
        let place = place.and_then(|place| Place::read(&mut Cursor(&place)));
        if feature::ALL.contains(&number)
            && let Some(section) = place.and_then(|place| read_section(file, place))
        {
            description.add_feature(number, &section);
        }
        at = at.saturating_add(PLACE_BYTES);
    }
}

fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
