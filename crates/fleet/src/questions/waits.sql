select {groups}, sum(wait_ns) as wait_ns, sum(waits) as waits, max(longest_ns) as longest_ns
from waits
where {condition} and kind <> 'cpu'
group by {groups}
order by sum(wait_ns) desc, {groups}
