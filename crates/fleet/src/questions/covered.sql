select coalesce(sum(length_ns), 0) as covered_ns
from (select distinct host, t, length_ns from waits where {condition}) as rows_of_time
