with windows_of as (
    select {groups}, host as window_host, t, max(window_ns) as recorded_ns, max(row_length_ns) as stands_ns, max(cost_ns) as spent_ns
    from causes where {condition} group by {groups}, host, t
)
select {groups}, count(*) as windows, sum(recorded_ns) as window_ns, sum(stands_ns) as covered_ns, sum(spent_ns) as cost_ns,
    100.0 * sum(spent_ns) / sum(stands_ns) as cpu_percent, min(t) as first_t, max(t + recorded_ns) as end_t
from windows_of
group by {groups}
order by {groups}
