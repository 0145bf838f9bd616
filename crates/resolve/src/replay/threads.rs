//! Who is who: thread ids are used again, processes run one program after another, threads change their names.
//!
//! A *life* is one row of `threads`; an *image* is one program in one process, with its own mappings. Nothing here
//! knows whether a thread runs.

use super::thread_accounts::ThreadAccounts;
use super::thread_record::ThreadRecord;
use dwell_model::{ProcessId, ThreadId};
use dwell_store::raw::c_string;
use dwell_store::raw::wire::{ExecRecord, THREAD_SEEDED, ThreadAccountRecord, ThreadExitRecord, ThreadNewRecord};
use dwell_store::tables::{ProcessRow, Processes, Threads};

use crate::hash::FastMap;
use crate::input::belonging::Belonging;
use crate::input::texts::{TextId, Texts};

/// Number of an image in [`ThreadTable::images`].
pub type ImageId = u32;

/// One program run by one process.
#[derive(Debug)]
pub struct Image {
    /// The process.
    pub process: ProcessId,
    /// Its id.
    pub tgid: u32,
    /// When it began.
    pub start_ns: u64,
    /// The image that a fork copied.
    pub forked_from: Option<ImageId>,
}

#[derive(Debug)]
struct Process {
    tgid: u32,
    parent: ProcessId,
    path: String,
    command_line: String,
    belonging: Belonging,
    comm: String,
    start_ns: u64,
    end_ns: u64,
    exit_code: Option<i32>,
    leader_exited: bool,
    living: u32,
    image: ImageId,
}

/// All lives, processes and images so far.
#[derive(Default)]
pub struct ThreadTable {
    current: FastMap<u32, ThreadId>,
    /// Every life that each id had, by when it got that id.
    lives_of: FastMap<u32, Vec<(u64, ThreadId)>>,
    current_process: FastMap<u32, ProcessId>,
    /// The pid namespace of each thread id that lives in another than Dwell's, and what each id there is in Dwell's.
    pid_namespaces: FastMap<u32, u32>,
    inner_ids: FastMap<(u32, u32), u32>,
    /// Program and name of processes whose first thread is still to come.
    announced: FastMap<u32, (String, String)>,
    /// Every life, by `ThreadId`.
    pub threads: Vec<ThreadRecord>,
    processes: Vec<Process>,
    /// Every image, by `ImageId`.
    pub images: Vec<Image>,
    /// Images of each process id, by their beginning.
    images_of: FastMap<u32, Vec<ImageId>>,
    /// Threads whose creation was not seen.
    pub made_up: u64,
    /// Threads whose end was not seen: their id was used again.
    pub unseen_ends: u64,
}

impl ThreadTable {
    /// The living thread of `tid`.
    pub fn find(&self, tid: u32) -> Option<ThreadId> {
        self.current.get(&tid).copied()
    }

    /// The life that `tid` had at `time_ns`: a thread that wakes its joiner is often gone when that one runs.
    pub fn find_at(&self, tid: u32, time_ns: u64) -> Option<ThreadId> {
        let lives = self.lives_of(tid);
        let begun = lives.partition_point(|&(since_ns, _)| since_ns <= time_ns);
        let (_, thread) = *lives.get(begun.checked_sub(1)?)?;
        let life = self.life(thread)?;
        life.end_ns.is_none_or(|end| time_ns <= end).then_some(thread)
    }

    fn lives_of(&self, tid: u32) -> &[(u64, ThreadId)] {
        self.lives_of.get(&tid).map_or(&[], Vec::as_slice)
    }

    fn give_id(&mut self, tid: u32, thread: ThreadId, time_ns: u64) {
        self.current.insert(tid, thread);
        self.lives_of.entry(tid).or_default().push((time_ns, thread));
    }

    /// The life's record.
    pub fn life(&self, thread: ThreadId) -> Option<&ThreadRecord> {
        self.threads.get(thread.get()?)
    }

    /// The image that `thread`'s process runs now.
    pub fn image(&self, thread: ThreadId) -> ImageId {
        let process = self.life(thread).and_then(|life| self.processes.get(life.process.get()?));
        process.map_or(ImageId::MAX, |process| process.image)
    }

    /// The living process of `tgid`.
    pub fn process(&self, tgid: u32) -> Option<ProcessId> {
        self.current_process.get(&tgid).copied()
    }

    /// What thread `tid` calls `id`, as Dwell calls it: in a container threads have other ids than outside. None for an id of
    /// its container that no recorded thread has there: outside that number is another thread's.
    pub fn outer_id(&self, tid: u32, id: u32) -> Option<u32> {
        match self.pid_namespaces.get(&tid) {
            Some(&namespace) => self.inner_ids.get(&(namespace, id)).copied(),
            None => Some(id),
        }
    }

    /// The process's name: the base name of its program, or what its first thread was called.
    pub fn process_name(&self, process: ProcessId) -> &str {
        process.get().and_then(|row| self.processes.get(row)).map_or("", Process::name)
    }

    /// The paths of the programs that processes ran last, as they were started by them.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.processes.iter().map(|process| process.path.as_str())
    }

    /// The process's id.
    pub fn pid(&self, process: ProcessId) -> u32 {
        process.get().and_then(|row| self.processes.get(row)).map_or(0, |process| process.tgid)
    }

    /// The image that process id `tgid` ran at `time_ns`.
    pub fn image_at(&self, tgid: u32, time_ns: u64) -> Option<ImageId> {
        let images = self.images_of.get(&tgid)?;
        let begun = images.partition_point(|&image| self.images[image as usize].start_ns <= time_ns);
        images.get(begun.saturating_sub(1)).copied()
    }

    /// A thread begins at `time_ns`. Returns it, and the life that its id had when that one's end was not seen.
    pub fn begin(&mut self, record: &ThreadNewRecord, time_ns: u64) -> (ThreadId, Option<ThreadId>) {
        let stale = self.find(record.h.tid);
        if stale.is_some() {
            self.unseen_ends += 1;
        }
        self.close(record.h.tid, time_ns);
        self.note_inner_id(record);
        let comm = c_string(&record.comm);
        let parent_process = self.process(record.parent_tgid).unwrap_or(ProcessId::NONE);
        let process = self.process_for(record.tgid, parent_process, &comm, time_ns);
        let parent = self.find(record.parent_tid).unwrap_or(ThreadId::NONE);
        let life = ThreadRecord {
            tid: record.h.tid,
            process,
            parent,
            name: comm,
            announced_name: None,
            ignored: false,
            was_there: record.flags & THREAD_SEEDED != 0 && time_ns == 0,
            start_ns: time_ns,
            end_ns: None,
            exited: false,
            made_up: false,
            kernel_cpu_ns: 0,
            accounts: ThreadAccounts::new(record.flags & THREAD_SEEDED != 0),
        };
        (self.add(life), stale)
    }

    fn note_inner_id(&mut self, record: &ThreadNewRecord) {
        if record.inner_tid == 0 {
            self.pid_namespaces.remove(&record.h.tid);
            return;
        }
        self.pid_namespaces.insert(record.h.tid, record.pid_namespace);
        self.inner_ids.insert((record.pid_namespace, record.inner_tid), record.h.tid);
    }

    /// A thread that is there although nothing told of its creation.
    pub fn synthesize_thread(&mut self, tid: u32, tgid: u32, time_ns: u64) -> ThreadId {
        self.made_up += 1;
        let process = self.process_for(tgid, ProcessId::NONE, "", time_ns);
        let name = self.process_name(process).to_owned();
        let life = ThreadRecord {
            tid,
            process,
            parent: ThreadId::NONE,
            name,
            announced_name: None,
            ignored: false,
            was_there: false,
            start_ns: time_ns,
            end_ns: None,
            exited: false,
            made_up: true,
            kernel_cpu_ns: 0,
            accounts: ThreadAccounts::new(true),
        };
        self.add(life)
    }

    fn add(&mut self, life: ThreadRecord) -> ThreadId {
        let thread = ThreadId::new(self.threads.len());
        if let Some(process) = life.process.get().and_then(|row| self.processes.get_mut(row)) {
            process.living += 1;
        }
        self.give_id(life.tid, thread, life.start_ns);
        self.threads.push(life);
        thread
    }

    fn process_for(&mut self, tgid: u32, parent: ProcessId, comm: &str, time_ns: u64) -> ProcessId {
        let living = |process: &ProcessId| process.get().is_some_and(|row| self.processes[row].living > 0);
        if let Some(process) = self.process(tgid).filter(living) {
            return process;
        }
        let process = ProcessId::new(self.processes.len());
        let forked_from = parent.get().and_then(|row| self.processes.get(row)).map(|parent| parent.image);
        let inherited = parent.get().and_then(|row| self.processes.get(row));
        let (mut path, command_line) =
            inherited.map_or_else(Default::default, |parent| (parent.path.clone(), parent.command_line.clone()));
        let mut comm = comm.to_owned();
        if let Some(announced) = self.announced.remove(&tgid) {
            (path, comm) = announced;
        }
        let image = self.add_image(Image { process, tgid, start_ns: time_ns, forked_from });
        self.processes.push(Process {
            tgid,
            parent,
            path,
            command_line,
            belonging: Belonging::default(),
            comm,
            start_ns: time_ns,
            end_ns: time_ns,
            exit_code: None,
            leader_exited: false,
            living: 0,
            image,
        });
        self.current_process.insert(tgid, process);
        process
    }

    fn add_image(&mut self, image: Image) -> ImageId {
        let id = ImageId::try_from(self.images.len()).unwrap_or(ImageId::MAX);
        self.images_of.entry(image.tgid).or_default().push(id);
        self.images.push(image);
        id
    }

    /// Notes the program of a process that has no known thread yet.
    pub fn announce(&mut self, record: &ExecRecord) {
        self.announced.insert(record.tgid, (c_string(&record.path), c_string(&record.comm)));
    }

    /// A process runs another program. Returns its thread, and the first thread's life when another one took its id.
    pub fn exec(&mut self, record: &ExecRecord, time_ns: u64) -> (Option<ThreadId>, Option<ThreadId>) {
        let replaced_leader = if record.old_tid != record.h.tid { self.take_over(record, time_ns) } else { None };
        let thread = self.find(record.h.tid);
        let process = thread.and_then(|thread| self.life(thread)).map(|life| life.process);
        let Some(row) = process.and_then(ProcessId::get) else { return (None, replaced_leader) };
        let name = c_string(&record.comm);
        let tgid = self.processes[row].tgid;
        let process = ProcessId::new(row);
        let image = self.add_image(Image { process, tgid, start_ns: time_ns, forked_from: None });
        let process = &mut self.processes[row];
        process.path = c_string(&record.path);
        process.command_line = String::new();
        process.comm.clone_from(&name);
        process.image = image;
        if let Some(life) = thread.and_then(ThreadId::get).and_then(|row| self.threads.get_mut(row)) {
            (life.name, life.announced_name, life.ignored) = (name, None, false);
        }
        (thread, replaced_leader)
    }

    /// The thread that called exec gets the process's id; the first thread is gone.
    fn take_over(&mut self, record: &ExecRecord, time_ns: u64) -> Option<ThreadId> {
        let caller = self.find(record.old_tid)?;
        let leader = self.find(record.h.tid);
        self.close(record.h.tid, time_ns);
        self.current.remove(&record.old_tid);
        self.give_id(record.h.tid, caller, time_ns);
        if let Some(life) = caller.get().and_then(|row| self.threads.get_mut(row)) {
            life.tid = record.h.tid;
        }
        leader
    }

    /// A thread has a new name.
    pub fn rename(&mut self, tid: u32, comm: &[u8]) {
        let thread = self.find(tid).and_then(ThreadId::get);
        if let Some(life) = thread.and_then(|row| self.threads.get_mut(row)) {
            life.name = c_string(comm);
        }
    }

    /// The program's own name for the thread, which the kernel's gives way to.
    pub fn set_announced_name(&mut self, thread: ThreadId, name: TextId) {
        if let Some(life) = thread.get().and_then(|row| self.threads.get_mut(row)) {
            life.announced_name = Some(name).filter(|name| *name != TextId::EMPTY);
        }
    }

    /// The program asks that the thread be left out.
    pub fn ignore(&mut self, thread: ThreadId) {
        if let Some(life) = thread.get().and_then(|row| self.threads.get_mut(row)) {
            life.ignored = true;
        }
    }

    /// A process about which nothing was told belongs to what its parent belongs to.
    pub fn inherit_belongings(&mut self) {
        for row in 0..self.processes.len() {
            let parent = self.processes[row].parent.get().filter(|parent| *parent < row);
            if let Some(parent) = parent.filter(|_| self.processes[row].belonging == Belonging::default()) {
                self.processes[row].belonging = self.processes[parent].belonging.clone();
            }
        }
    }

    /// What process id `tgid` belongs to, told at `time_ns`.
    pub fn belongs(&mut self, tgid: u32, time_ns: u64, belonging: &Belonging) {
        let process = self.image_at(tgid, time_ns).map(|image| self.images[image as usize].process);
        if let Some(process) = process.and_then(ProcessId::get).and_then(|row| self.processes.get_mut(row)) {
            process.belonging.clone_from(belonging);
        }
    }

    /// The command line of process id `tgid`, told at `time_ns`.
    pub fn command(&mut self, tgid: u32, time_ns: u64, text: &str) {
        let process = self.image_at(tgid, time_ns).map(|image| self.images[image as usize].process);
        if let Some(process) = process.and_then(ProcessId::get).and_then(|row| self.processes.get_mut(row)) {
            text.clone_into(&mut process.command_line);
        }
    }

    /// The kernel's account of a thread that ended at `time_ns`. `paused` says that it lived through a pause, so that
    /// the account covers more than the trace.
    pub fn account(&mut self, record: &ThreadExitRecord, time_ns: u64, paused: bool) -> Option<ThreadId> {
        let latest = || self.lives_of(record.h.tid).last().map(|&(_, thread)| thread);
        let thread = self.find(record.h.tid).or_else(latest)?;
        let life = self.threads.get_mut(thread.get()?)?;
        if life.tid != record.h.tid || life.end_ns.is_some_and(|end| end != time_ns) {
            return None; // the account of a life that nothing else was seen of
        }
        life.exited = true;
        if !paused && !life.made_up {
            life.kernel_cpu_ns = record.cpu_ns;
        }
        let leader = life.tid == record.tgid;
        let process = self.processes.get_mut(life.process.get()?)?;
        if leader || !process.leader_exited {
            process.exit_code = Some(record.exit_code);
            process.leader_exited |= leader;
        }
        self.close(record.h.tid, time_ns);
        Some(thread)
    }

    /// What the kernel's accounts say of the thread so far.
    pub fn note_accounts(&mut self, record: &ThreadAccountRecord) {
        let thread = self.find(record.h.tid).and_then(ThreadId::get);
        if let Some(life) = thread.and_then(|row| self.threads.get_mut(row)) {
            life.accounts.add(record);
        }
    }

    /// The life of `tid` ends at `time_ns`, if there is one.
    pub fn close(&mut self, tid: u32, time_ns: u64) {
        let Some(row) = self.current.remove(&tid).and_then(ThreadId::get) else { return };
        let Some(life) = self.threads.get_mut(row) else { return };
        life.end_ns = Some(time_ns);
        if let Some(process) = life.process.get().and_then(|row| self.processes.get_mut(row)) {
            process.living = process.living.saturating_sub(1);
            process.end_ns = process.end_ns.max(time_ns);
        }
    }

    /// When the thread's program ended that it ran at `time_ns`: replaced by another one, or with its process.
    pub fn program_end(&self, thread: ThreadId, time_ns: u64, end_ns: u64) -> u64 {
        let process = |thread| self.processes.get(self.life(thread)?.process.get()?);
        let image = process(thread).and_then(|process| self.image_at(process.tgid, time_ns));
        image.map_or(end_ns, |image| self.image_end(image, end_ns))
    }

    /// When the program ended: replaced by another one, or with its process.
    pub fn image_end(&self, image: ImageId, end_ns: u64) -> u64 {
        let Some(of) = self.images.get(image as usize) else { return end_ns };
        let process = of.process.get().and_then(|row| self.processes.get(row)).filter(|process| process.living == 0);
        let mut starts = self.images_of[&of.tgid].iter().map(|&other| self.images[other as usize].start_ns);
        starts.find(|&next_ns| next_ns > of.start_ns).unwrap_or(process.map_or(end_ns, |process| process.end_ns))
    }

    /// When the thread ended, or another program replaced `image` in its process.
    pub fn end_of(&self, thread: ThreadId, image: ImageId, end_ns: u64) -> u64 {
        let Some(life) = self.life(thread) else { return end_ns };
        life.end_ns.unwrap_or(end_ns).min(self.image_end(image, end_ns))
    }

    /// The living thread `tid` of process `tgid`, or the one that just ended.
    pub fn annotating_thread(&self, tid: u32, tgid: u32) -> Option<ThreadId> {
        let of_process = |thread: &ThreadId| {
            let process = self.life(*thread).and_then(|life| self.processes.get(life.process.get()?));
            process.is_some_and(|process| process.tgid == tgid)
        };
        self.lives_of(tid).iter().rev().take(2).map(|&(_, thread)| thread).find(of_process)
    }

    /// The tables, with everything that lives still ending at `end_ns`.
    pub fn tables(&self, texts: &Texts, end_ns: u64) -> (Processes, Threads) {
        let (mut processes, mut threads) = (Processes::default(), Threads::default());
        for process in &self.processes {
            processes.push(process.row(end_ns));
        }
        for life in &self.threads {
            threads.push(life.row(texts, end_ns));
        }
        (processes, threads)
    }
}

impl Process {
    fn name(&self) -> &str {
        let base = self.path.rsplit('/').next().unwrap_or_default();
        if base.is_empty() { &self.comm } else { base }
    }

    fn row(&self, end_ns: u64) -> ProcessRow {
        ProcessRow {
            pid: self.tgid,
            parent: self.parent,
            name: self.name().to_owned(),
            executable: self.path.clone(),
            command_line: self.command_line.clone(),
            start_ns: self.start_ns,
            end_ns: if self.living > 0 { end_ns } else { self.end_ns },
            exit_code: if self.living > 0 { -1 } else { self.exit_code.unwrap_or(-1) },
            cgroup: self.belonging.cgroup.clone(),
            unit: self.belonging.unit.clone(),
            container: self.belonging.container.clone(),
            pod: self.belonging.pod.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
