"""Prints what a process has inherited or been given by the one that started it, a line of JSON for each fact.

A launched program must find everything as it would without Dwell. Facts that differ between any two runs (process ids, times,
addresses) are left out or made relative.
"""
import glob
import json
import os
import resource
import signal
import sys


def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().strip("\n")
    except OSError as error:
        return error.strerror


def status(*names):
    lines = dict(line.split(":", 1) for line in text("/proc/self/status").splitlines() if ":" in line)
    return {name: lines.get(name, "").strip() for name in names}


def descriptors():
    own = {fd: os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")}
    return {fd: "pipe" if target.startswith("pipe:") else target for fd, target in own.items() if not target.startswith("/proc/")}


def environment():
    announced = ("DWELL_", "INTEL_", "JITDUMPDIR")
    return {key: value for key, value in os.environ.items() if not key.startswith(announced) and key != "_"}


def is_leader_of(identifier):
    return identifier == os.getpid()


facts = {
    "arguments": sys.argv[1:],
    "executable": os.readlink("/proc/self/exe"),
    "working folder": os.getcwd(),
    "root folder": os.readlink("/proc/self/root"),
    "environment": environment(),
    "open files": descriptors(),
    "umask": status("Umask"),
    "users": os.getresuid(),
    "groups": (os.getresgid(), os.getgroups()),
    "capabilities": status("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
    "no new privileges": status("NoNewPrivs"),
    "filter of system calls": status("Seccomp", "Seccomp_filters"),
    "ignored signals": status("SigIgn"),
    "blocked signals": status("SigBlk"),
    "pending signals": status("SigPnd", "ShdPnd"),
    "traced": status("TracerPid"),
    "leads its process group": is_leader_of(os.getpgrp()),
    "leads its session": is_leader_of(os.getsid(0)),
    "session": os.getsid(0),
    "terminal": text("/proc/self/stat").rsplit(")", 1)[1].split()[4],
    "nice value": os.getpriority(os.PRIO_PROCESS, 0),
    "scheduling policy": os.sched_getscheduler(0),
    "real-time priority": os.sched_getparam(0).sched_priority,
    "allowed CPUs": sorted(os.sched_getaffinity(0)),
    "allowed memory": status("Mems_allowed_list"),
    "huge pages": status("THP_enabled"),
    "speculation": status("Speculation_Store_Bypass", "SpeculationIndirectBranch"),
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "interval timers": [signal.getitimer(which) for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
    "timer slack": text("/proc/self/timerslack_ns"),
    "out-of-memory score": text("/proc/self/oom_score_adj"),
    "what a core dump has": text("/proc/self/coredump_filter"),
    "personality": text("/proc/self/personality"),
    "control group": text("/proc/self/cgroup"),
    "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in sorted(os.listdir("/proc/self/ns"))},
    "login": (text("/proc/self/loginuid"), text("/proc/self/sessionid")),
    "threads": len(glob.glob("/proc/self/task/*")),
    "children": text(f"/proc/self/task/{os.getpid()}/children"),
}
for name, value in facts.items():
    print(json.dumps([name, value]))
