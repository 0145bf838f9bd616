select {groups}, sum(wait_ns) as wait_ns, sum(waits) as waits, max(longest_ns) as longest_ns,
    sum(running_ns) as running_ns, sum(runnable_ns) as runnable_ns,
    count(distinct host) as hosts, min(t) as first_t, max(t + length_ns) as end_t
from waits
where {condition}
group by {groups}
order by sum(wait_ns) desc, {groups}
