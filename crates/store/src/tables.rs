//! The tables of a result. Times are nanoseconds since the start of the collection unless a column says otherwise;
//! an id column holds a row number of the table that its name says, null for none.

use dwell_model::{
    CodeId, CounterId, DelaySourceId, FiberId, FrameId, InlineId, ModuleId, ObjectId, ProcessId, SocketId,
    SocketWaitId, SourceId, StackId, TaskId, TaskTypeId, ThreadId,
};

use crate::table::tables;

tables! {
    /// One row per process of the profiled program, in order of appearance.
    Processes ProcessRow "processes" {
        pid: u32, "Process id in the initial pid namespace.";
        parent: ProcessId, "Process that forked it, null for the launched or attached ones.";
        name: String, "Base name of the program that it ran last.";
        executable: String, "Path of that program.";
        command_line: String, "Its arguments, separated by blanks.";
        start_ns: u64, "First seen: its exec for the launched process, its fork for children, 0 for attached ones.";
        end_ns: u64, "Last seen.";
        exit_code: i32, "As wait(2) reports it; -1 while it still ran, or where it is not known.";
        cgroup: String, "Its control group when it ran its program, as /proc/PID/cgroup names it; empty where it is the first one, or not known.";
        unit: String, "The unit of systemd that has the group; empty for none.";
        container: String, "The container that it is in, by its engine's name for it, else by the beginning of its id; empty for none.";
        pod: String, "The Kubernetes pod of the container; empty for none.";
    }
    /// One row per life of a thread. running + runnable + waiting = end_ns - start_ns, where paused time is left out.
    Threads ThreadRow "threads" {
        tid: u32, "Thread id in the initial pid namespace. Ids are used again: the row number is the thread.";
        process: ProcessId, "Process that it belongs to.";
        parent: ThreadId, "Thread that created it, null when unknown.";
        name: String, "Last name that it had.";
        start_ns: u64, "Its creation, or the start of the collection.";
        end_ns: u64, "When it left the CPU for the last time, or the end of the collection.";
        kernel_cpu_ns: u64, "The kernel's own account of its running time in the collection; 0 when unknown.";
        read_calls: u64, "Calls by which it read from files, pipes and sockets (read and its kin, not recv), by the kernel's account; 0 where that is not known.";
        read_bytes: u64, "What these read.";
        write_calls: u64, "Calls by which it wrote, likewise.";
        write_bytes: u64, "What these wrote.";
        policy: u8, "How it was scheduled at last, by sched(7): 0 as usual (also where that is not known), 1 SCHED_FIFO, 2 SCHED_RR, 3 SCHED_BATCH, 5 SCHED_IDLE, 6 SCHED_DEADLINE.";
        nice: i32, "Its nice value at last, -20 to 19; 0 also where it is not known.";
        cpus_allowed: u32, "On how many CPUs it might run at last; 0 on all of the machine's, or where that is not known.";
        exited: bool, "Whether it ended during the collection.";
        ignored: bool, "Whether the program asked that it be left out of analyses (__itt_thread_ignore).";
    }
    /// One row per interval that a thread spent off the CPU, ordered by start_ns. A thread runs between its rows. The
    /// interval is waiting for wait_ns, then runnable for runnable_ns.
    OffCpu OffCpuRow "off_cpu" {
        thread: ThreadId, "Thread that was off the CPU.";
        start_ns: u64, "When it left the CPU.";
        wait_ns: u64, "Time until it was woken; 0 for a preempted thread, which stays runnable.";
        runnable_ns: u64, "Time in the run queue after that, until it ran again.";
        cpu: u16, "CPU that it then ran on; 65535 when it did not run again.";
        reason: u8, "Why it left the CPU: 0 unknown, 1 waiting, 2 preempted, 3 yielded, 4 starting.";
        outcome: u8, "How the wait ended: 0 unknown, 1 woken, 2 timed out, 3 interrupted, 4 unfinished.";
        syscall: i16, "System call that it was in (x86-64 number), -1 for none.";
        object: ObjectId, "What it waited on, null when it did not wait.";
        stack: StackId, "Where it left the CPU, kernel frames included where they were taken.";
        waker: ThreadId, "Thread that woke it, null when no profiled thread did.";
        waker_kind: u8, "Who woke it: 0 unknown, 1 thread, 2 thread outside the program, 3 timer, 4 network, 5 other interrupt, 6 a device that an I/O quota kept from it for most of the wait, 7 whoever: the control group is at its limit of memory, 8 a thread of the kernel, 9 a thread outside that answered over a connection which it had accepted, 10 one that sent more over it without being asked.";
        waker_stack: StackId, "Where the waker was.";
        holder: ThreadId, "Thread that held the lock when the wait began, where the lock tells it (mutexes and write locks of glibc and musl, the GIL, Java locks), else null.";
        same_call: bool, "Whether it began as the wait for a lock before it did: the same lock and call, preserved registers and words on the stack. What the thread did in between says, too, whether it has left the call: `off_cpu` does not conclude it.";
    }
    /// One row per sample of a running thread, ordered by time_ns.
    Samples SampleRow "samples" {
        thread: ThreadId, "Thread that ran.";
        time_ns: u64, "When.";
        weight_ns: u64, "Running time that it stands for: since the thread's sample before. Sums to the thread's running time exactly.";
        cpu: u16, "CPU that it ran on.";
        stack: StackId, "Where it was.";
        estimated: bool, "No clock sample: stands for running time of a thread at the place where it last left the CPU.";
    }
    /// One row per distinct stack: a frame and the stack of its caller. A parent's row number is below its child's.
    Stacks StackRow "stacks" {
        parent: StackId, "The caller's stack, null at the root.";
        frame: FrameId, "The frame at this end.";
        end: u8, "How the walk ended, for the whole stack: 0 unknown, 1 complete, 2 no table, 3 unreadable memory, 4 too deep, 5 unsupported rule.";
    }
    /// One row per distinct frame: a code address, or a function inlined at it.
    Frames FrameRow "frames" {
        module: ModuleId, "File that the code is in, null when unknown.";
        offset: u64, "Address inside the module: as in its ELF file; in a module `[jit] …` a place in all of its code laid end to end; the address itself without a module.";
        function: String, "Demangled name; `[module]+0x…` when there is no symbol.";
        file: String, "Source file, empty when unknown.";
        line: u32, "Source line, 0 when unknown.";
        inlined: bool, "Whether this function is inlined into its caller's frame at the same address.";
        kernel: bool, "Whether it is kernel code.";
        after_call: bool, "Whether offset is the return address of a call, and function, file and line are the call's; else they are the instruction's own.";
        script: bool, "Whether it is a function of Python, PHP or Ruby; offset is then the line that it begins at times 2^32, plus the instruction's offset in it (in PHP its line).";
    }
    /// One row per file that was mapped executable, or that functions of Python, PHP or Ruby are from.
    Modules ModuleRow "modules" {
        path: String, "Path, of a function of Python, PHP or Ruby its source file's; or a name in brackets: [kernel], [vdso], `[jit] PROCESS` for code made at run time, [anon] for memory without a file.";
        build_id: String, "Build id in hexadecimal, empty when unknown.";
    }
    /// One row per contiguous piece of machine code that threads were in, of one function: the listing of `dwell source`.
    /// A function whose rare parts the compiler moved away has several. Ordered by module and address.
    Code CodeRow "code" {
        module: ModuleId, "File that it is in.";
        address: u64, "Where it begins in its ELF file.";
        function: String, "The function, named as in frames.";
        bytes: Vec<u8>, "The machine code; empty for a function that listed code calls and that has no listing itself.";
    }
    /// One row per call that the compiler replaced by the called function's code, within a row of `code`.
    Inlines InlineRow "inlines" {
        code: CodeId, "Code that it is part of.";
        parent: InlineId, "Inlined function that made the call, null when it was the code's own function; a lower row.";
        function: String, "The called function, named as in frames.";
        call_file: SourceId, "Source file of the call, null when unknown.";
        call_line: u32, "Line of the call, 0 when unknown.";
    }
    /// One row per run of instructions that come from one line, ordered by code and offset; each ends where the next begins.
    Lines LineRow "lines" {
        code: CodeId, "Code that they are part of.";
        offset: u32, "Where they begin, from the code's own beginning.";
        inline: InlineId, "Innermost inlined function that they are of, null for the code's own.";
        file: SourceId, "Source file, null when unknown.";
        line: u32, "Line in it, 0 when unknown.";
    }
    /// One row per source file that `lines` or `inlines` name.
    Sources SourceRow "sources" {
        path: String, "Path as the debug information has it, and as in frames.";
        text: String, "Its text at finalization, empty when it is not there.";
        state: u8, "State of text: 0 present, 1 the file was not found, 2 the user may not read it, 3 the file is no text, 4 the file is too large.";
        newer: bool, "Whether the file was changed after the program was built, so that lines may have moved.";
    }
    /// One row per synchronization object.
    Objects ObjectRow "objects" {
        kind: u8, "Its type: 0 unknown, 1 mutex, 2 condition variable, 3 read/write lock, 4 semaphore, 5 barrier, 6 spin lock, 7 once, 8 thread join, 9 futex, 10 socket, 11 stream, 12 event, 13 timer, 14 sleep, 15 child process, 16 signal, 17 io_uring, 18 page fault, 19 block I/O, 20 kernel lock, 21 GIL, 22 JVM monitor, 23 Go runtime, 24 TBB scheduler, 25 OpenMP barrier, 26 user, 27 file lock, 28 channel, 29 wait group.";
        name: String, "Name that is the same from run to run.";
        detail: String, "What else is known: a set's members, a socket's state; empty for nothing.";
        process: ProcessId, "Process whose memory it lies in, null for kernel objects.";
        address: u64, "Its address, 0 when it has none.";
        first_stack: StackId, "Where it was first waited on.";
        created_stack: StackId, "Where it was initialised last before that (pthread_mutex_init and its like), null where that was not seen.";
    }
    /// One row per distinct name of tasks, frames, regions, events or markers.
    TaskTypes TaskTypeRow "task_types" {
        kind: u8, "What it names: 0 unknown, 1 task, 2 overlapped task, 3 region, 4 frame, 5 event, 6 probe, 7 marker, 8 request, 9 probe hit.";
        domain: String, "Domain that it is in, empty for none.";
        name: String, "Its name; a frame's is its domain's. Of a task named by a function, the function's.";
    }
    /// One row per task, region, frame, event, or visit between two probes, ordered by start_ns.
    Tasks TaskRow "tasks" {
        task_type: TaskTypeId, "What it is called.";
        thread: ThreadId, "Thread that began it.";
        end_thread: ThreadId, "Thread that ended it: the same for tasks and events; null while it was not ended.";
        start_ns: u64, "When it began; 0 for one that was open when the collection began.";
        end_ns: u64, "When it ended, or the end of its thread or of the collection.";
        parent: TaskId, "Task of the same thread that it is nested in, or the one that the program named; a lower row or null.";
        id: u64, "The program's own number for it (__itt_id d1), 0 for none.";
        finished: bool, "Whether its end was seen.";
    }
    /// One row per datum that the program attached to a task, or to none, ordered by time_ns.
    TaskMetadata TaskMetadatumRow "task_metadata" {
        task: TaskId, "The task, null for data of the thread or of no known task.";
        thread: ThreadId, "Thread that attached it.";
        time_ns: u64, "When.";
        key: String, "What it says.";
        number: f64, "Its value when it is a number, else 0.";
        text: String, "Its value when it is text; empty for a number.";
    }
    /// One row per instant that the program marked, ordered by time_ns.
    Markers MarkerRow "markers" {
        task_type: TaskTypeId, "What it is called.";
        thread: ThreadId, "Thread that set it.";
        time_ns: u64, "When.";
        scope: u8, "Whom it concerns: 0 unknown, 1 global, 2 process, 3 thread, 4 task.";
    }
    /// One row per value that a probe (`--probe`) read at a hit, ordered by time_ns; the hit is the marker of the same type, thread
    /// and time.
    MarkerValues MarkerValueRow "marker_values" {
        task_type: TaskTypeId, "What the marker is called.";
        thread: ThreadId, "Thread that set it.";
        time_ns: u64, "When.";
        key: String, "What the value is called.";
        kind: u8, "What it is: 0 unknown, 1 unsigned, 2 signed, 3 hexadecimal, 4 text, 5 faulted: it could not be read.";
        bits: u64, "A number's 64 bits, in two's complement where it is signed; else 0.";
        text: String, "The text, with … behind what was cut; empty for a number.";
    }
    /// One row per counter of the program or of the machine.
    Counters CounterRow "counters" {
        domain: String, "Domain that it is in, empty for none.";
        name: String, "Its name.";
        process: ProcessId, "Process that it belongs to, null for the whole machine's.";
        kind: u8, "How it gets its values: 0 unknown, 1 set, 2 added up.";
        unit: String, "Unit of its values, empty for none.";
    }
    /// One row per value that a counter took, ordered by time_ns. It keeps it until the next.
    CounterValues CounterValueRow "counter_values" {
        counter: CounterId, "The counter.";
        time_ns: u64, "When.";
        thread: ThreadId, "Thread that set it, null when no thread of the program did.";
        value: f64, "The value from then on; of a counter that is added up, the sum so far.";
    }
    /// One row per wait that the program itself announced (__itt_sync_prepare until acquired or cancelled), ordered by
    /// start_ns. Its thread's time on the CPU within is spinning; its time off the CPU has the same object in `off_cpu`.
    SyncWaits SyncWaitRow "sync_waits" {
        thread: ThreadId, "Thread that waited.";
        object: ObjectId, "What it waited on.";
        start_ns: u64, "When it began to.";
        end_ns: u64, "When it had it, or gave up.";
        outcome: u8, "How it ended: 0 unknown, 1 acquired, 2 cancelled, 3 unfinished.";
    }
    /// One row per socket that the program used or waited on, in order of appearance. Bytes and calls are those of profiled
    /// threads; a call that found nothing to do is not counted in them.
    Sockets SocketRow "sockets" {
        object: ObjectId, "Its row as what threads waited on, null when none did, or only in sets (poll, epoll).";
        protocol: u8, "0 other, 1 TCP, 2 UDP, 3 Unix stream, 4 Unix datagram, 5 Unix packet.";
        listening: bool, "Whether it accepts connections.";
        local: String, "Its own address: 127.0.0.1:80, [::1]:80, a path, @name; empty when it has none.";
        remote: String, "Address of the other end; empty when it has none.";
        process: ProcessId, "Process that used it first.";
        peer: SocketId, "The other end's row when that is profiled too.";
        peer_process: String, "Name of the process at the other end when that is on this host, else empty.";
        peer_pid: u32, "Its id, 0 when not known.";
        asks: bool, "Whether this end is the one that asks: it connected, or sent first. The other one answers.";
        loopback: bool, "Whether the other end is on this host.";
        opened_ns: u64, "First seen: its connection or first use; 0 when it was open before the collection.";
        closed_ns: u64, "When its connection was closed, or the end of the collection.";
        closed: bool, "Whether it was seen to close (TCP).";
        bytes_sent: u64, "Bytes that calls took to send.";
        bytes_received: u64, "Bytes that calls returned.";
        sends: u64, "Calls that sent.";
        receives: u64, "Calls that received; the end of the stream counts as a call of no bytes.";
        sends_refused: u64, "Calls that would have had to wait for room (EAGAIN).";
        receives_empty: u64, "Calls that would have had to wait for data (EAGAIN).";
        largest_pipeline: u32, "Most sends between two receives.";
        turns: u64, "How often a receive came after sends: questions answered, on a connection that asks.";
        nodelay: bool, "TCP_NODELAY is set: Nagle's algorithm is off.";
        corked: bool, "TCP_CORK is set.";
        send_buffer_bytes: u32, "SO_SNDBUF as the kernel counts it, when last seen.";
        receive_buffer_bytes: u32, "SO_RCVBUF as the kernel counts it, when last seen.";
        mss_bytes: u32, "Largest segment of TCP, 0 for other protocols.";
        srtt_ns: u64, "TCP's smoothed round-trip time when last seen; delayed ACKs are part of it. 0 when not known.";
        min_rtt_ns: u64, "TCP's shortest round-trip time, 0 when not known.";
        retransmits: u64, "Segments that TCP sent again.";
        delayed_acks: u64, "Delayed ACKs that this end sent.";
        receives_short: u64, "Calls that received 256 bytes or less, and left more to be received.";
        bytes_unseen: u64, "Bytes that were taken from TCP in a way that cannot be seen: by splice, or by programs that are not profiled. They are not in bytes_received.";
        backlog_limit: u32, "Of a listening socket: how many connections may wait to be accepted.";
        arrivals: u64, "Connections that came to it.";
        queued_ns: u64, "How long they waited in sum to be accepted, at least.";
        most_queued: u32, "Most that waited at once.";
        drops: u64, "Connections that it refused to note, because too many waited. The other end asks again after a second or more.";
    }
    /// One row per size class that calls on a socket had.
    SocketSizes SocketSizeRow "socket_sizes" {
        socket: SocketId, "The socket.";
        direction: u8, "1 send, 2 receive.";
        from_bytes: u64, "Smallest size of the class, a power of two or 0; the class ends where twice that begins.";
        calls: u64, "Calls of these sizes.";
    }
    /// One row per wait on a socket, ordered by start_ns: a row of `off_cpu` of reason waiting, the same thread and start_ns.
    /// A wait on a set of sockets belongs to the socket that ended it; without such a socket it has no row.
    SocketWaits SocketWaitRow "socket_waits" {
        socket: SocketId, "The socket.";
        thread: ThreadId, "Thread that waited.";
        start_ns: u64, "When it left the CPU.";
        wait_ns: u64, "Time until it was woken: wait_ns of the row of `off_cpu`.";
        direction: u8, "What for: 0 unknown, 1 send, 2 receive, 3 accept, 4 connect, 5 poll.";
        sends_before: u32, "Sends on this socket since the last receive: what is asked.";
        bytes_before: u64, "Bytes of these.";
        first_send_bytes: u32, "Bytes of the first of them, 0 for none.";
        last_send_bytes: u32, "Bytes of the last of them, 0 for none.";
        bytes_after: u64, "Bytes of the first call on the socket after the wait.";
        receives_before: u32, "Calls that had received on it until the wait began.";
    }
    /// One row per part of a wait on a socket that has one cause. The parts of a wait add up to its wait_ns. Ordered by wait.
    SocketWaitCauses SocketWaitCauseRow "socket_wait_causes" {
        wait: SocketWaitId, "The wait.";
        cause: u8, "What it was for: 0 unexplained, 1 delayed ACK, 2 Nagle, 3 cork, 4 peer running, 5 peer runnable, 6 peer waiting, 7 receive window full, 8 send buffer full, 9 congestion window, 10 retransmission, 11 connect, 12 accept, 13 round trip, 14 idle, 15 peer (not profiled).";
        cause_ns: u64, "Time of this cause.";
        exact: bool, "Whether it was seen, else inferred.";
        thread: ThreadId, "Thread of the other end that ran, was runnable or waited longest in it, null when unknown.";
        object: ObjectId, "What that thread waited on, null when it did not wait.";
    }
    /// One row per time that TCP held data of a program back, ordered by start_ns.
    TcpHolds TcpHoldRow "tcp_holds" {
        socket: SocketId, "The socket that the data was sent on.";
        kind: u8, "Why: 0 unknown, 1 Nagle, 2 cork.";
        start_ns: u64, "When the call that sent it returned.";
        end_ns: u64, "When it could go out.";
        end_kind: u8, "How that is known: 0 not, 1 an ACK came, 2 a later call sent it.";
        bytes: u32, "Bytes held.";
        thread: ThreadId, "Thread that sent it.";
        stack: StackId, "Where.";
    }
    /// One row per delayed ACK and per retransmission of a connection of the program, ordered by time_ns.
    TcpEvents TcpEventRow "tcp_events" {
        time_ns: u64, "When.";
        kind: u8, "What: 0 unknown, 1 delayed ACK, 2 its timer ran out after the ACK had gone with data, 3 retransmission, 4 sent again to find out whether it was lost, 5 sent again although the other end, on this host, had it.";
        socket: SocketId, "The end that did it, null when that is not profiled.";
        peer: SocketId, "The other end: whose data is acknowledged, or who got it late; null when that is not profiled.";
        bytes: u32, "Bytes acknowledged, or not acknowledged yet.";
    }
    /// One row per delay of a thread of the program while it ran or could run, ordered by start_ns. Those of a thread
    /// nest, but for what is estimated at their ends.
    Delays DelayRow "delays" {
        thread: ThreadId, "Thread that was delayed.";
        kind: u8, "What delayed it: 1 preemption, 2 kernel work, 3 migration, 4 cgroup throttling, 5 run queue, 6 idle-state exit, 7 timer interrupt, 8 interrupt, 9 soft interrupt, 10 inter-processor interrupt, 11 TLB shoot-down, 12 minor fault, 13 major fault, 14 memory reclaim, 15 memory compaction, 16 system call, 17 signal handler, 21 block I/O, 24 steal, 26 CPU frequency.";
        start_ns: u64, "When it began.";
        end_ns: u64, "When it ended.";
        delay_ns: u64, "How long it took: of steal and CPU frequency the time that was lost at some time in between, of all others the time from start to end.";
        cpu: u16, "CPU that it ended on.";
        source: DelaySourceId, "Who or what did it, null when that is not known.";
    }
    /// One row per distinct source of delays.
    DelaySources DelaySourceRow "delay_sources" {
        name: String, "What it is: a thread with its id, an interrupt, a kernel function, a system call, a mapped file.";
    }
    /// One row per thread and event that `--events` counts. Empty where none was asked for.
    EventCounts EventCountRow "event_counts" {
        thread: ThreadId, "Thread that the occurrences are of.";
        event: String, "The event, as it was asked for: page-faults, cycles:u.";
        count: u64, "How often it occurred while the thread ran: counted, times enabled_ns / running_ns where events shared a counter of the CPU.";
        counted: u64, "How often it was counted.";
        enabled_ns: u64, "How long the thread ran while the event was to be counted.";
        running_ns: u64, "The part of it in which the event was counted.";
    }
    /// One row per process and kind of connection of TCP at each look at them, ordered by time_ns: a request waited for its answer then, or did at
    /// the look before.
    OpenRequests OpenRequestRow "open_requests" {
        time_ns: u64, "When.";
        process: ProcessId, "Process that has the connections.";
        is_incoming: bool, "Whether it accepted them, so that others ask it.";
        endpoint: String, "The port at which they were accepted, as TCP :80, or the address to which they were made, as TCP 10.0.0.1:5432.";
        connections: u32, "Connections over which anything was asked so far.";
        open: u32, "Those of them with a request that waits for its answer: the end that connected sent last.";
        requests: u32, "Segments with data that the ends that connected sent since the look before: requests, or parts of these.";
        answers: u32, "The same of the other ends: answers, or parts of these.";
    }
    /// Connections that waited to be accepted, at the looks at sockets that listen, ordered by time_ns: one row when a process is first seen to have
    /// such a socket; and of its owner one at each look at which any waited, and one where none does any more.
    AcceptQueues AcceptQueueRow "accept_queues" {
        time_ns: u64, "When.";
        process: ProcessId, "Process that has the socket.";
        owner: ProcessId, "Process with which the queue is counted: of those that have the socket the one that was seen first, or the oldest. In rows of others the numbers are the owner's.";
        endpoint: String, "Where it listens: TCP :80, or Unix and the socket's name.";
        waiting: u32, "Connections that waited to be accepted.";
        limit: u32, "How many may, as listen was told and the kernel allows; TCP lets one more wait.";
        oldest_ns: u64, "How long the one that came first had waited; 0 for none, for Unix sockets, and where it is not known.";
    }
    /// When processes sent data over TCP: the last time on some connections at each look at them, ordered by time_ns.
    SampledSends SampledSendRow "sampled_sends" {
        time_ns: u64, "When.";
        process: ProcessId, "Process that sent.";
        is_incoming: bool, "Whether it accepted the connection: then it answered, else it asked.";
        endpoint: String, "The port at which it was accepted, or the address to which it was made.";
    }
    /// Data that processes had to send over TCP and that waited, at the looks at their connections: one row where any did, and one where none does
    /// any more, ordered by time_ns.
    SendQueues SendQueueRow "send_queues" {
        time_ns: u64, "When.";
        process: ProcessId, "Process that sends.";
        is_incoming: bool, "Whether it accepted the connections.";
        endpoint: String, "The port at which they were accepted, or the address to which they were made.";
        unread: u32, "Connections on which it waited for the other end to read: the receive window was full.";
        held: u32, "Connections on which Nagle's algorithm held a small rest until what was sent before is acknowledged.";
    }
    /// One row per try of a thread that failed at once, ordered by time_ns: for a file's lock that another one has, or to connect over TCP.
    VainTries VainTryRow "vain_tries" {
        time_ns: u64, "When it failed.";
        thread: ThreadId, "Thread that tried.";
        kind: u8, "What it tried: 0 unknown, 1 to lock a file without waiting for it, 2 to connect, which the other end refused.";
        object: String, "The file's path, or the address, as TCP 127.0.0.1:5432; empty where that is not known.";
        holder: String, "Command line of the process that had the lock then, cut; empty where that is not known.";
    }
    /// Connections of TCP that a process opened to one address, ordered by time_ns: a row for all of about half a second.
    Connects ConnectsRow "connects" {
        time_ns: u64, "When the latest of them was asked for.";
        thread: ThreadId, "Thread that asked for that one.";
        endpoint: String, "The address: TCP 127.0.0.1:5432.";
        connects: u32, "Connections that were asked for.";
        brief: u32, "Connections that ended in this time, opened in it or before, over which this end had sent 8 segments with data at most: a request or two.";
        connect_ns: u64, "Of these: from asking until they were there, in sum.";
        life_ns: u64, "Of these: from asking until one of the ends began to close them, in sum.";
        stack: StackId, "Where one of the latest was asked for.";
    }
    /// One row per fiber (goroutine) that was seen, in the order of a process's records. running + runnable + waiting = end_ns - start_ns, where
    /// paused time is left out. Where fibers are sampled, a change is taken as of the middle between two looks.
    Fibers FiberRow "fibers" {
        kind: u8, "What it is: 0 unknown, 1 goroutine.";
        number: u64, "The runtime's number for it; never used again in its process.";
        process: ProcessId, "Process that it belongs to.";
        parent: FiberId, "Fiber that made it, null when that was not seen.";
        name: String, "The function that it began with.";
        created_stack: StackId, "Where it was made, null when not known.";
        start_ns: u64, "Its creation, or the start of the collection.";
        end_ns: u64, "Its end, or the end of the collection.";
        exited: bool, "Whether it ended during the collection.";
    }
    /// One row per interval that a fiber spent on no thread, or in a system call that waited, ordered by start_ns. It runs between its
    /// rows. The interval is waiting for wait_ns, then runnable for runnable_ns.
    FiberOffCpu FiberOffCpuRow "fiber_off_cpu" {
        fiber: FiberId, "The fiber.";
        start_ns: u64, "When it left its thread, or its thread the CPU.";
        wait_ns: u64, "Time until it was ready; 0 for one that could have run on.";
        runnable_ns: u64, "Time that it was ready after that, until it ran again.";
        reason: u8, "As in off_cpu.";
        outcome: u8, "As in off_cpu.";
        syscall: i16, "System call that it was in (x86-64 number), -1 for none.";
        object: ObjectId, "What it waited on, null when it did not wait.";
        stack: StackId, "Where it stood.";
        waker: FiberId, "Fiber that ended the wait, null when that is not known.";
        waker_kind: u8, "As in off_cpu.";
        waker_stack: StackId, "Where the waker was.";
        holder: FiberId, "Fiber that held the lock when the wait began, null when that is not known.";
    }
    /// One row per place at which a fiber ran, ordered by time_ns.
    FiberSamples FiberSampleRow "fiber_samples" {
        fiber: FiberId, "The fiber.";
        time_ns: u64, "When.";
        weight_ns: u64, "Running time that it stands for. Sums to the fiber's running time exactly.";
        stack: StackId, "Where it was: that of its thread's sample.";
        estimated: bool, "No sample: stands for running time of the fiber at the place where it stood last.";
    }
    /// One row per interval in which the collection was paused.
    Pauses PauseRow "pauses" {
        start_ns: u64, "Start.";
        end_ns: u64, "End.";
    }
    /// One row per kind of loss that occurred: everything that could not be seen.
    Losses LossRow "losses" {
        name: String, "Name of the counter.";
        count: u64, "How many.";
        doc: String, "What is missing because of it.";
        start_ns: u64, "When the first was lost, at the earliest.";
        end_ns: u64, "When the last was lost, at the latest; 0 where the time is not known.";
    }
    /// One row per remark of collection or finalization that a reader of the result should know.
    Notices NoticeRow "notices" {
        text: String, "The remark in English, one sentence.";
        id: String, "Which of Dwell's remarks it is; empty where the text is no such.";
        values: String, "What the remark says of this result: a JSON object of texts by name; empty where the text is no remark of Dwell's.";
    }
}
