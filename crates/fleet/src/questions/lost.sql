select count(*) as lost_rows, coalesce(sum(waits), 0) as waits, coalesce(sum(wait_ns), 0) as wait_ns
from waits
where {condition} and service = 'lost' and kind = 'lost'
