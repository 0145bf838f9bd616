//! Walks code along a trace: one step for each instruction, and a gap wherever the way is lost.
#![allow(unsafe_code, reason = "calls of libipt")]

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::Error;
use crate::libipt::{self, Config, Cpu, Event, Instruction, Library};

/// The traced program's code.
pub trait Code {
    /// Fills `buffer` with the code at `address`. Returns how many bytes are known there; 0 for none.
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize;
}

/// How the processor that traced counts time; zeros where it is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor {
    /// 1 = Intel's; 0 = not known.
    pub vendor: i32,
    /// Family, model and stepping, for its errata.
    pub family: u16,
    /// See `family`.
    pub model: u8,
    /// See `family`.
    pub stepping: u8,
    /// Leaf 0x15 of cpuid: denominator and numerator of the time stamp counter over the crystal clock.
    pub cpuid_0x15: [u32; 2],
    /// How often MTC packets come.
    pub mtc_freq: u8,
    /// Ratio of the time stamp counter to the bus clock.
    pub nom_freq: u8,
}

/// How an instruction goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next one, or within its function.
    On,
    /// Into a function, or the kernel.
    Call,
    /// Back out of one.
    Return,
    /// Somewhere else, perhaps another function.
    Jump,
}

/// What was found next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An instruction was executed.
    Instruction {
        /// Its address.
        ip: u64,
        /// By the time stamp counter, as far as it was told; 0 before the first time.
        tsc: u64,
        /// How it goes on.
        flow: Flow,
    },
    /// Tracing stopped, or the way was lost; it goes on with the next step.
    Gap {
        /// Why.
        why: &'static str,
        /// Whether something is damaged or missing; else the program was only not traced for a while.
        lost: bool,
    },
}

/// The code behind a pointer that does not change.
struct Memory<'t>(&'t dyn Code);

/// Decodes one trace.
pub struct Decoder<'t> {
    library: &'static Library,
    raw: *mut c_void,
    /// What libipt keeps pointers to.
    trace: &'t [u8],
    memory: Box<Memory<'t>>,
    tsc: u64,
    status: c_int,
    synchronized: bool,
    ended: bool,
    events: u32,
    last_offset: u64,
    stuck: u32,
    untold: u32,
    told_at: u64,
}

/// Errors without progress after which the rest of a trace is given up.
const MOST_STUCK: u32 = 64;
/// Events between two instructions; more make no sense.
const MOST_EVENTS: u32 = 1 << 16;
/// Instructions of which the trace tells nothing; more are a circle of direct jumps, which needs no packet and has no end.
const MOST_UNTOLD: u32 = 1 << 22;

impl<'t> Decoder<'t> {
    /// Decodes `trace`, of a program whose code is `code`.
    ///
    /// # Errors
    ///
    /// libipt is not there, or has no memory.
    pub fn new(trace: &'t [u8], code: &'t dyn Code, processor: &Processor) -> Result<Self, Error> {
        let library = Library::get()?;
        let cpu = Cpu {
            vendor: processor.vendor,
            family: processor.family,
            model: processor.model,
            stepping: processor.stepping,
        };
        let mut config = Config {
            size: size_of::<Config>(),
            // The library only reads.
            begin: trace.as_ptr().cast_mut(),
            end: trace.as_ptr().wrapping_add(trace.len()).cast_mut(),
            unknown_callback: ptr::null_mut(),
            unknown_context: ptr::null_mut(),
            cpu,
            errata: [0; 16],
            cpuid_0x15: processor.cpuid_0x15,
            mtc_freq: processor.mtc_freq,
            nom_freq: processor.nom_freq,
            flags: [0; 4],
            addr_filter: [0; 17],
        };
        let memory = Box::new(Memory(code));
        // SAFETY: structures as declared; `trace` and `code` live as long as the decoder, which alone has the pointers.
        unsafe {
            if cpu.vendor != 0 {
                // An unknown model has no known errata.
                (library.errata)(&raw mut config.errata, &raw const config.cpu);
            }
            let raw = (library.allocate)(&raw const config);
            if raw.is_null() {
                return Err(Error::Library("a decoder cannot be made of this trace"));
            }
            let decoder = Self {
                library,
                raw,
                trace,
                memory,
                tsc: 0,
                status: 0,
                synchronized: false,
                ended: trace.is_empty(),
                events: 0,
                last_offset: u64::MAX,
                stuck: 0,
                untold: 0,
                told_at: u64::MAX,
            };
            let context = ptr::from_ref::<Memory<'_>>(&decoder.memory).cast_mut().cast();
            let set = (library.set_memory)((library.image)(raw), Some(read_code), context);
            if set < 0 { Err(Error::Library(library.why(set))) } else { Ok(decoder) }
        }
    }

    fn offset(&self) -> u64 {
        let mut offset = 0;
        // SAFETY: the decoder is alive.
        let failed = unsafe { (self.library.offset)(self.raw, &raw mut offset) } < 0;
        if failed { self.trace.len() as u64 } else { offset }
    }

    fn gap(&mut self, error: c_int) -> Option<Step> {
        let offset = self.offset();
        self.synchronized = false;
        self.stuck = if offset == self.last_offset { self.stuck + 1 } else { 0 };
        self.last_offset = offset;
        self.ended = self.stuck > MOST_STUCK;
        Some(Step::Gap { why: self.library.why(error), lost: true })
    }

    fn synchronize(&mut self) -> Option<Step> {
        // SAFETY: the decoder is alive.
        let status = unsafe { (self.library.synchronize)(self.raw) };
        if status == libipt::END {
            self.ended = true;
            return None;
        }
        if status < 0 {
            return self.gap(status);
        }
        self.status = status;
        self.synchronized = true;
        self.advance()
    }

    /// Takes the events before the next instruction. A gap that they tell of is a step.
    fn take_events(&mut self) -> Option<Step> {
        while self.status & libipt::EVENT_PENDING != 0 {
            let mut event = Event::EMPTY;
            // SAFETY: the size says how much there is room for.
            let status = unsafe { (self.library.event)(self.raw, &raw mut event, size_of::<Event>()) };
            self.events += 1;
            if status < 0 || self.events > MOST_EVENTS {
                return self.gap(status.min(-1));
            }
            self.status = status;
            match event.kind {
                1 | 2 => return Some(Step::Gap { why: "tracing was off", lost: false }),
                6 => return Some(Step::Gap { why: "the processor could not keep up", lost: true }),
                _ => {}
            }
        }
        None
    }

    /// Whether the program goes round and round without the trace.
    fn is_endless(&mut self) -> bool {
        self.untold += 1;
        if self.untold < MOST_UNTOLD {
            return false;
        }
        self.untold = 0;
        let at = self.offset();
        std::mem::replace(&mut self.told_at, at) == at
    }

    fn advance(&mut self) -> Option<Step> {
        self.events = 0;
        if let Some(step) = self.take_events() {
            return Some(step);
        }
        if self.is_endless() {
            self.synchronized = false;
            return Some(Step::Gap {
                why: "the code goes in a circle without a branch that the trace tells",
                lost: true,
            });
        }
        let mut instruction = Instruction { ip: 0, section: 0, mode: 0, class: 0, raw: [0; 15], size: 0, bits: 0 };
        // SAFETY: the size says how much there is room for.
        let status = unsafe { (self.library.next)(self.raw, &raw mut instruction, size_of::<Instruction>()) };
        if status == libipt::END {
            self.ended = true;
            return None;
        }
        if status < 0 {
            return self.gap(status);
        }
        self.status = status;
        let (mut tsc, mut lost_mtc, mut lost_cyc) = (0, 0, 0);
        // SAFETY: places for the answers.
        if unsafe { (self.library.time)(self.raw, &raw mut tsc, &raw mut lost_mtc, &raw mut lost_cyc) } >= 0 {
            self.tsc = tsc;
        }
        Some(Step::Instruction { ip: instruction.ip, tsc: self.tsc, flow: flow(instruction.class) })
    }
}

/// The classes of `enum pt_insn_class`.
fn flow(class: c_int) -> Flow {
    match class {
        2 | 6 => Flow::Call,
        3 | 7 => Flow::Return,
        4 | 8 => Flow::Jump,
        _ => Flow::On,
    }
}

impl Iterator for Decoder<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.ended {
            None
        } else if self.synchronized {
            self.advance()
        } else {
            self.synchronize()
        }
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        // SAFETY: it was allocated by the library, and is freed once.
        unsafe { (self.library.free)(self.raw) };
    }
}

unsafe extern "C" fn read_code(buffer: *mut u8, size: usize, _: *const c_void, ip: u64, context: *mut c_void) -> c_int {
    if buffer.is_null() || size == 0 {
        return libipt::NO_CODE;
    }
    // SAFETY: the library passes a buffer of this size, and the context that it was given.
    let (code, buffer) = unsafe { ((*context.cast::<Memory<'_>>()).0, std::slice::from_raw_parts_mut(buffer, size)) };
    match code.read(ip, buffer) {
        0 => libipt::NO_CODE,
        known => known.min(size) as c_int,
    }
}
