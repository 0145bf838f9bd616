select version, host, min({bucket}) as first_t, max({bucket}) as last_t
from waits
where {condition}
group by version, host
order by version, host
