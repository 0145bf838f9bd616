-- What agents wrote: a row per host, row of time, process, version, kind of wait and object. `day` and `service` are folders, so that a
-- condition on them spares the files of the others.
create or replace view waits as
select day, service, host, t, length_ns, process, coalesce(version, '') as version, kind, object, object_type, waits, wait_ns, longest_ns, running_ns, runnable_ns
from {scan};
