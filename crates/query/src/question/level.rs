//! What rows are grouped by, and how much of a stack they show.

use crate::question::error::QueryError;
use crate::question::words::words;

words! { "grouping level";
    /// What rows are grouped by.
    Level {
        Function = "function", "Function", "Function that the time is attributed to, by the call-stack mode.";
        CallStack = "call-stack", "Call Stack", "Whole stack, by the call-stack mode.";
        SourceFunction = "source-function", "Source Function", "Function with the functions inlined into it.";
        Module = "module", "Module", "File that the function is in.";
        SourceFile = "source-file", "Source File", "Source file of the function.";
        SourceLine = "source-line", "Source Line", "Source file and line.";
        Thread = "thread", "Thread", "Thread, by name and id.";
        ThreadName = "thread-name", "Thread Name", "All threads of one name.";
        Process = "process", "Process", "Process, by name and id.";
        Cgroup = "cgroup", "Control Group", "Control group of the process.";
        Unit = "unit", "Unit", "Unit of systemd that the process belongs to.";
        Container = "container", "Container", "Container that the process is in.";
        Pod = "pod", "Pod", "Kubernetes pod of the container.";
        Object = "object", "Sync Object", "What was waited on.";
        AlikeObjects = "alike-objects", "Alike Objects", "Objects of one kind and name: connections to one address, threads of one name that are joined.";
        ObjectType = "object-type", "Object Type", "Type of what was waited on.";
        WaitKind = "wait-kind", "Wait Kind", "Why the thread was off the CPU, and how the wait ended.";
        Waker = "waker", "Waker", "Who ended the wait: a thread, a timer, the network.";
        Cpu = "cpu", "CPU", "CPU that the thread ran on, after the wait for waits.";
        TaskType = "task-type", "Task Type", "Innermost task that the thread was in, by its own word.";
    }
}

words! { "call-stack mode";
    /// How much of a stack is shown.
    CallStackMode {
        All = "all", "All functions", "Every frame.";
        User = "user", "Only user functions", "Time in system functions counts for the user function that called them.";
        UserPlusOne = "user+1", "User functions + 1", "User functions and the one system function that they called.";
    }
}

/// The levels of `a,b,c`.
pub fn parse_levels(text: &str) -> Result<Vec<Level>, QueryError> {
    text.split(',').map(|level| Level::parse(level.trim())).collect()
}
