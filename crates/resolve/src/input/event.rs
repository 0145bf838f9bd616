//! What happens at a time: the records that the replay takes.

use dwell_store::raw::wire::{
    CreationRecord, ExecRecord, SampleRecord, StitchRecord, SwitchRecord, ThreadAccountRecord, ThreadExitRecord,
    ThreadNameRecord, ThreadNewRecord, WokenFutexRecord,
};

use super::annotation_event::AnnotationEvent;

/// A record that changes the state of a thread.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "dwell-wire documents the records")]
pub enum Event {
    Switch(SwitchRecord),
    Sample(SampleRecord),
    New(ThreadNewRecord),
    Name(ThreadNameRecord),
    Exit(ThreadExitRecord),
    ThreadAccount(ThreadAccountRecord),
    Exec(Box<ExecRecord>),
    Pause(u64),
    Resume(u64),
    Annotation(AnnotationEvent),
    Stitch(StitchRecord),
    Creation(CreationRecord),
    WokenFutex(WokenFutexRecord),
}

impl Event {
    /// Its time, CLOCK_MONOTONIC ns.
    pub fn time(&self) -> u64 {
        match self {
            Self::Switch(record) => record.h.time_ns,
            Self::Sample(record) => record.h.time_ns,
            Self::New(record) => record.h.time_ns,
            Self::Name(record) => record.h.time_ns,
            Self::Exit(record) => record.h.time_ns,
            Self::ThreadAccount(record) => record.h.time_ns,
            Self::Exec(record) => record.h.time_ns,
            Self::Pause(time) | Self::Resume(time) => *time,
            Self::Annotation(annotation) => annotation.time_ns,
            Self::Stitch(record) => record.h.time_ns,
            Self::Creation(record) => record.h.time_ns,
            Self::WokenFutex(record) => record.h.time_ns,
        }
    }

    /// Moves it to another time.
    pub fn set_time(&mut self, time_ns: u64) {
        match self {
            Self::Switch(record) => record.h.time_ns = time_ns,
            Self::Sample(record) => record.h.time_ns = time_ns,
            Self::New(record) => record.h.time_ns = time_ns,
            Self::Name(record) => record.h.time_ns = time_ns,
            Self::Exit(record) => record.h.time_ns = time_ns,
            Self::ThreadAccount(record) => record.h.time_ns = time_ns,
            Self::Exec(record) => record.h.time_ns = time_ns,
            Self::Pause(time) | Self::Resume(time) => *time = time_ns,
            Self::Annotation(annotation) => annotation.time_ns = time_ns,
            Self::Stitch(record) => record.h.time_ns = time_ns,
            Self::Creation(record) => record.h.time_ns = time_ns,
            Self::WokenFutex(record) => record.h.time_ns = time_ns,
        }
    }

    /// Order at equal times: a thread is born before it runs, and leaves the CPU before it is gone.
    fn rank(&self) -> u8 {
        match self {
            Self::Resume(_) => 0,
            Self::New(_) => 1,
            Self::Exec(_) => 2,
            Self::Name(_) | Self::ThreadAccount(_) | Self::Stitch(_) | Self::Creation(_) => 3,
            Self::Switch(_) | Self::Sample(_) | Self::Annotation(_) | Self::WokenFutex(_) => 4,
            Self::Exit(_) => 5,
            Self::Pause(_) => 6,
        }
    }

    /// What events are sorted by.
    pub fn key(&self) -> (u64, u8) {
        (self.time(), self.rank())
    }
}
