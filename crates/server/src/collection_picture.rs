//! What the page shows of a collection that runs: what its threads do, as looks at them tell.

use dwell_view::answer;

answer! {
    /// What the threads of a collection did until now, as far as somebody looked.
    pub struct CollectionPicture {
        /// Where its first column begins, ns since the start of the collection; may be a little before it.
        pub begin_ns: i64,
        /// How long each column is, ns. Doubles when there are too many.
        pub column_ns: u64,
        /// A letter for each column: `l` somebody looked, `p` the recording was paused, `.` nobody looked.
        pub columns: String,
        /// Threads that ran, on average, for each column in which somebody looked.
        pub concurrency: Vec<Option<f64>>,
        /// Whether bands stand for processes, since there are many threads.
        pub by_process: bool,
        /// The bands, by process and thread.
        pub bands: Vec<PictureBand>,
        /// What they did in the last second or so; none until they were looked at twice.
        pub account: Option<LiveAccount>,
        /// Looks in a second.
        pub looks_per_second: f64,
        /// Part of a CPU that the looks take.
        pub cost: f64,
        /// What is not seen, or why nothing is; empty: nothing to be said.
        pub note: String,
    }
}

answer! {
    /// A thread or a process over time.
    pub struct PictureBand {
        /// Id of the process; 0: of several.
        pub pid: u32,
        /// Id of the thread; 0: of all.
        pub tid: u32,
        /// Its name.
        pub name: String,
        /// Threads that it stands for.
        pub threads: u64,
        /// Three letters for each column: the part of its life that it ran and that it was in the run queue, each 0 to 9 and a to z
        /// (= all); the kind of wait that took most of the rest, its place among the kinds of [`LiveAccount`] from `a` on, `-`: none.
        /// `...`: it was not there, or nobody looked.
        pub cells: String,
    }
}

answer! {
    /// What all threads did lately.
    #[derive(Clone)]
    pub struct LiveAccount {
        /// For so long, ns.
        pub length_ns: u64,
        /// Threads.
        pub threads: u64,
        /// On a CPU, ns of all threads.
        pub running_ns: u64,
        /// In the run queue.
        pub runnable_ns: u64,
        /// The rest, by the kind of wait; all kinds, in the order of the letters.
        pub waits: Vec<(&'static str, u64)>,
        /// What they waited for most.
        pub objects: Vec<LiveObject>,
    }
}

answer! {
    /// Something that threads waited for.
    #[derive(Clone)]
    pub struct LiveObject {
        /// What it is called.
        pub name: String,
        /// The kind of wait.
        pub kind: &'static str,
        /// Name of the process.
        pub process: String,
        /// Threads that waited for it.
        pub threads: u64,
        /// How long, of all threads.
        pub wait_ns: u64,
        /// Who has it: name and thread; empty: not known.
        pub holder: String,
        /// A sentence: who waits for whom, and what that one does.
        pub explanation: String,
    }
}
