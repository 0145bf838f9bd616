with base_sums as (
    select service, kind, {object} as object, sum(wait_ns) as wait_ns, sum(waits) as waits
    from waits where {base} and kind <> 'cpu' group by service, kind, {object}
), new_sums as (
    select service, kind, {object} as object, sum(wait_ns) as wait_ns, sum(waits) as waits
    from waits where {new} and kind <> 'cpu' group by service, kind, {object}
), base_covered as (
    select sum(length_ns) as covered_ns from (select distinct host, t, length_ns from waits where {base_hosts}) as base_rows
), new_covered as (
    select sum(length_ns) as covered_ns from (select distinct host, t, length_ns from waits where {new_hosts}) as new_rows
), rates as (
    select coalesce(base_sums.service, new_sums.service) as service, coalesce(base_sums.kind, new_sums.kind) as kind,
        coalesce(base_sums.object, new_sums.object) as object,
        coalesce(cast(base_sums.wait_ns as double), 0) / base_covered.covered_ns as base_per_s,
        coalesce(cast(new_sums.wait_ns as double), 0) / new_covered.covered_ns as new_per_s,
        coalesce(cast(base_sums.waits as double), 0) * 1e9 / base_covered.covered_ns as base_waits_per_s,
        coalesce(cast(new_sums.waits as double), 0) * 1e9 / new_covered.covered_ns as new_waits_per_s
    from base_sums
    full outer join new_sums
        on base_sums.service = new_sums.service and base_sums.kind = new_sums.kind and base_sums.object = new_sums.object
    cross join base_covered
    cross join new_covered
)
select service, kind, object, base_per_s, new_per_s, base_per_s - new_per_s as difference_per_s,
    case when base_per_s > 0 then new_per_s / base_per_s end as ratio, base_waits_per_s, new_waits_per_s
from rates
order by abs(base_per_s - new_per_s) desc, service, kind, object
