//! `--events`: opens the events on each CPU, hands them to the hook that sums them by thread, and reads the sums of threads that
//! live at the end.

use std::os::fd::{AsRawFd, OwnedFd};

use bytemuck::{bytes_of, pod_read_unaligned};
use dwell_store::raw::RecordBuffer;
use dwell_store::raw::wire::kind;
use dwell_wire::{EventCountsRecord, EventSetup};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, Object, ProgramInput, ProgramType};

use crate::error::{Error, Result};
use crate::event_name::CountedEvent;
use crate::kernel::loading;
use crate::kernel::maps::map_of;
use crate::kernel::perf::{self, EventTarget};
use crate::machine;

/// Of the BPF system call: run the program on the CPU that the call names.
const RUN_ON_CPU: u32 = 1;

/// The events that are counted, and the hook.
pub struct EventCounts {
    object: Object,
    sums: MapHandle,
    _links: Vec<Link>,
    _events: Vec<OwnedFd>,
}

impl EventCounts {
    /// Opens `events` on every CPU and attaches the hook. Err: which event cannot be counted, and why.
    pub fn begin(object: Object, events: &[CountedEvent]) -> Result<Self> {
        let cpus = machine::possible()?;
        let (map, setups) = (map_of(&object, "counted_events")?, map_of(&object, "event_setups")?);
        let failed = |source| Error::Bpf { what: "setting the events to be counted".into(), source };
        let mut opened = Vec::new();
        for (number, event) in events.iter().enumerate() {
            for cpu in machine::online() {
                let fd = open(event, cpu)?;
                let (entry, value) = ((number * cpus + cpu) as u32, fd.as_raw_fd() as u32);
                map.update(&entry.to_ne_bytes(), &value.to_ne_bytes(), MapFlags::ANY).map_err(failed)?;
                opened.push(fd);
            }
        }
        let setup = EventSetup { events: events.len() as u32, cpus: cpus as u32 };
        setups.update(&0u32.to_ne_bytes(), bytes_of(&setup), MapFlags::ANY).map_err(failed)?;
        let hooks = loading::loaded(&object).filter(|program| program.prog_type() == ProgramType::Tracing);
        let links = hooks.map(|program| loading::attach_one(&program)).collect::<Result<Vec<_>>>()?;
        let sums = map_of(&object, "event_counts")?;
        Ok(Self { object, sums, _links: links, _events: opened })
    }

    /// The loaded hooks.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Has the threads that run now count what they did until now, and begin anew. Where the kernel cannot (before Linux 5.10),
    /// what a thread does between now and its next switch is not counted.
    pub fn cut_slices(&mut self) {
        let Some(program) = self.object.progs_mut().find(|program| program.name() == "count_now") else { return };
        for cpu in machine::online() {
            let on_cpu = ProgramInput { cpu: cpu as u32, flags: RUN_ON_CPU, ..ProgramInput::default() };
            // A CPU that has gone offline has no thread to ask.
            let _ = program.test_run(on_cpu);
        }
    }

    /// Writes what the threads counted that still live.
    pub fn write_living(&mut self, trace: &mut RecordBuffer, now_ns: u64) {
        self.cut_slices();
        for key in self.sums.keys() {
            let value = self.sums.lookup(&key, MapFlags::ANY).ok().flatten();
            let (Some(value), Ok(tid)) = (value, key.as_slice().try_into().map(u32::from_ne_bytes)) else { continue };
            if value.len() < size_of::<EventCountsRecord>() {
                continue;
            }
            let mut record: EventCountsRecord = pod_read_unaligned(&value[..size_of::<EventCountsRecord>()]);
            (record.h.kind, record.h.tid, record.h.time_ns) = (kind::EVENT_COUNTS, tid, now_ns);
            trace.fixed(&record);
            let _ = self.sums.delete(&key); // the thread may have ended meanwhile, and written it itself
        }
    }
}

fn open(event: &CountedEvent, cpu: usize) -> Result<OwnedFd> {
    perf::open(&event.attributes(), &EventTarget::Cpu(cpu)).map_err(|error| Error::EventRefused {
        event: event.name.clone(),
        reason: match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) if event.is_of_hardware() => {
                "its CPUs have no counters of events that the kernel can use, as in most virtual machines".to_owned()
            }
            Some(libc::EINVAL) if event.is_of_hardware() => "its CPUs do not have this event".to_owned(),
            _ => perf::refusal(&error),
        },
    })
}
