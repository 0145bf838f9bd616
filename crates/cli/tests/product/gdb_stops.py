"""Runs inside gdb: stops a process at random moments and writes what gdb takes for the stacks of its threads.

A line of JSON for each stop of a thread: its id, the time (CLOCK_MONOTONIC, ns) at which it stood still, the addresses of
its frames, leaf first, without inlined ones, and gdb's word for how the stack ended. Process, number of stops and output
come from the environment.
"""

import json
import os
import random
import subprocess
import time

import gdb

PID, STOPS, OUTPUT = int(os.environ["PID"]), int(os.environ["STOPS"]), os.environ["OUTPUT"]
SETTINGS = ["pagination off", "confirm off", "debuginfod enabled off", "backtrace past-main on",
            "backtrace past-entry on", "backtrace limit 200", "print thread-events off"]
MOST_THREADS = 4


def stop_soon():
    """Stops the process a random moment after gdb has let it go; in a process of its own, since gdb keeps Python waiting."""
    pause = 0.003 + random.random() * 0.04
    return subprocess.Popen(["sh", "-c", f"sleep {pause:.4f}; kill -STOP {PID}"])


def frames():
    found, why = [], ""
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            found.append(frame.pc())
        why = gdb.frame_stop_reason_string(frame.unwind_stop_reason())
        try:
            frame = frame.older()
        except gdb.error as error:
            why, frame = str(error), None
    return found, why


def main():
    for setting in SETTINGS:
        try:
            gdb.execute("set " + setting)
        except gdb.error:
            pass  # of another version
    gdb.execute("handle all nostop noprint pass", to_string=True)
    gdb.execute("handle SIGSTOP stop print nopass", to_string=True)
    gdb.execute(f"attach {PID}", to_string=True)
    with open(OUTPUT, "w") as output:
        for _ in range(STOPS):
            stopper = stop_soon()
            gdb.execute("continue", to_string=True)
            at = time.monotonic_ns()
            stopper.wait()
            threads = list(gdb.selected_inferior().threads())
            if not threads:
                break
            for thread in random.sample(threads, min(len(threads), MOST_THREADS)):
                thread.switch()
                found, why = frames()
                output.write(json.dumps({"tid": thread.ptid[1], "time_ns": at, "frames": found, "why": why}) + "\n")
    gdb.execute("detach", to_string=True)


main()
