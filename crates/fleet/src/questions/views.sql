-- What agents wrote: a row per host, row of time, process, version, kind of wait and object. `day` and `service` are folders, so that a
-- condition on them spares the files of the others.
create or replace view waits as
select day, service, host, t, length_ns, process, coalesce(version, '') as version, kind, object, object_type, waits, wait_ns, longest_ns, running_ns, runnable_ns
from {scan};
-- Why they waited, in windows of exact recording: a row per host, window, process, version and cause; a row without a cause says that
-- the process was there.
create or replace view causes as
select day, service, host, t, window_ns, row_t, row_length_ns, process, version, cause, kind, place, who, object, chain, wait_ns, wall_ns, advice, cost_ns
from {causes_scan};
