//! A collection does what it is asked over its socket: is paused, resumed, ended, marked, and made a result of while it goes on.

use std::io;

use dwell_model::notice;
use dwell_store::raw::wire::{RecordHeader, kind};
use dwell_store::{ControlReply, ControlRequest, ControlStatus, MOST_PROCESSES, State};

use super::collection::{Collection, EndRequest};
use super::control_socket::{ControlSocket, answer};
use super::manifest::note_losses;
use super::recording::recorded_bytes;
use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::output::linked_result::{ResultParts, make};

/// The folder of a result in which its snapshots are.
const SNAPSHOTS: &str = "snapshots";

impl Collection<'_> {
    /// Does what is asked.
    pub(super) fn answer_control(&mut self) -> Result<()> {
        let askers = self.control.as_ref().map(ControlSocket::askers).unwrap_or_default();
        for (stream, request) in askers {
            let reply = self.obey(request)?;
            answer(&stream, &reply);
        }
        Ok(())
    }

    fn obey(&mut self, request: ControlRequest) -> Result<ControlReply> {
        let now = monotonic_ns();
        let refused = |why: &str| Ok(ControlReply::Refused(why.into()));
        match request {
            ControlRequest::Status => return Ok(ControlReply::Status(self.status())),
            ControlRequest::Pause | ControlRequest::Resume if self.pause.is_final => {
                return refused("recording is over for good");
            }
            ControlRequest::Pause if self.pause.is_on => return refused("it is paused already"),
            ControlRequest::Pause => self.pause(now)?,
            ControlRequest::Resume if !self.pause.is_on => return refused("it is not paused"),
            ControlRequest::Resume => self.resume(now)?,
            ControlRequest::Stop => self.ending = Some(EndRequest::Stop),
            ControlRequest::Cancel => self.ending = Some(EndRequest::Cancel),
            ControlRequest::Mark(text) => return Ok(self.mark(&text, now)),
            ControlRequest::Snapshot => return Ok(self.snapshot(now)),
            ControlRequest::Processes => return Ok(self.processes()),
        }
        Ok(ControlReply::Done)
    }

    fn status(&mut self) -> ControlStatus {
        note_losses(&*self.source, &mut self.losing, &mut self.manifest);
        let drained = self.drained.borrow();
        ControlStatus {
            pid: std::process::id(),
            elapsed_ns: monotonic_ns().saturating_sub(self.manifest.start_ns),
            paused: self.pause.is_on,
            threads: drained.threads,
            events: drained.recorder.event_count,
            losses: self.manifest.losses.iter().map(|(_, count)| count).sum(),
            bytes: recorded_bytes(&drained.recorder, self.options),
        }
    }

    /// Those whose end has not been seen: `/proc` is not asked, since whoever looks at them again and again sees it anyway.
    fn processes(&self) -> ControlReply {
        ControlReply::Processes(self.drained.borrow().lifetimes.ids().take(MOST_PROCESSES).collect())
    }

    /// Marks this instant. A mark is a thread's.
    fn mark(&mut self, text: &str, now_ns: u64) -> ControlReply {
        let mut drained = self.drained.borrow_mut();
        let Some(tid) = drained.lifetimes.living().min() else {
            return ControlReply::Refused("no process is recorded yet".into());
        };
        let header = RecordHeader { kind: kind::MARK, size: 0, tid, time_ns: now_ns };
        drained.recorder.events().text(header, 0, text.as_bytes());
        ControlReply::Done
    }

    /// Makes a result of what was recorded until now.
    fn snapshot(&mut self, now_ns: u64) -> ControlReply {
        match self.try_snapshot(now_ns) {
            Ok(name) => ControlReply::Snapshot(format!("{SNAPSHOTS}/{name}")),
            Err(error) => ControlReply::Refused(format!("no result can be made of it: {error}")),
        }
    }

    fn try_snapshot(&mut self, now_ns: u64) -> io::Result<String> {
        note_losses(&*self.source, &mut self.losing, &mut self.manifest);
        let mut drained = self.drained.borrow_mut();
        drained.recorder.cut(now_ns).map_err(io::Error::other)?;
        let mut manifest = self.manifest.clone();
        manifest.state = State::Collected;
        manifest.start_ns = manifest.start_ns.max(drained.recorder.kept_since_ns);
        manifest.end_ns = now_ns;
        manifest.events = drained.recorder.event_count;
        manifest.notices.extend(self.pause.is_on.then(|| notice!(SNAPSHOT_PAUSED)));
        let held = self.folder.held();
        let all = if held.has(SNAPSHOTS) { held.folder(SNAPSHOTS) } else { held.make_folder(SNAPSHOTS, 0o777) }?;
        let name = format!("{:04}", self.snapshots);
        let parts =
            ResultParts { spool: drained.recorder.folder(), modules: &self.modules, manifest: &manifest, trace: &[] };
        make(&all, &name, &parts).inspect_err(|_| drop(all.remove(&name)))?;
        self.snapshots += 1;
        Ok(name)
    }
}
