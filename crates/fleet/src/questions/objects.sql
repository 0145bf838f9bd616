select {groups}, sum(wait_ns) as wait_ns, sum(waits) as waits, max(longest_ns) as longest_ns,
    count(distinct service) as services, count(distinct host) as hosts
from waits
where {condition} and kind <> 'cpu'
group by {groups}
order by sum(wait_ns) desc, {groups}
