with chosen as (
    select * from causes where {condition}
), window_times as (
    select distinct {presence}host as window_host, t as window_t, cast(row_length_ns as double) as stands_ns from chosen
), presences as (
    select {presence}count(*) as windows, sum(stands_ns) as stands_ns, sum(stands_ns * stands_ns) as squares
    from window_times {presence_groups}
), of_windows as (
    select {groups}, sum(wait_ns) / cast(max(window_ns) as double) as rate,
        cast(max(row_length_ns) as double) as stands_ns, sum(wait_ns) as waited_ns, max_by(place, wait_ns) as place_of,
        max_by(chain, wait_ns) as chain_of, max_by(advice, wait_ns) as advice_of
    from chosen where cause <> '' group by {groups}, host, t
), sums as (
    select {groups}, sum(stands_ns * rate) as estimate_ns, sum(stands_ns * stands_ns * rate) as products,
        sum(stands_ns * stands_ns * rate * rate) as squared_rates, max_by(place_of, waited_ns) as place_of,
        max_by(chain_of, waited_ns) as chain_of, max_by(advice_of, waited_ns) as advice_of
    from of_windows group by {groups}
), places as (
    select {groups}, count(distinct host) as hosts_of, count(distinct version) as versions_of
    from chosen where cause <> '' group by {groups}
), rates as (
    select {sums_groups}, estimate_ns, place_of, chain_of, advice_of, hosts_of, versions_of, windows, stands_ns,
        estimate_ns / stands_ns as rate, windows - 1.0 as freedom, squares, products, squared_rates
    from sums
    join presences on {same_presence}
    join places on {same_groups}
)
select {groups}, rate as wait_per_s,
    case when windows >= 3 then
        (1.95996 + 2.37227 / freedom + 2.82250 / pow(freedom, 2) + 2.55585 / pow(freedom, 3) + 1.58953 / pow(freedom, 4))
        * sqrt(greatest(0, squared_rates - 2 * rate * products + rate * rate * squares) * windows / freedom) / stands_ns
    end as wait_per_s_error,
    cast(round(estimate_ns) as bigint) as wait_ns, windows as windows, place_of as place, chain_of as chain,
    advice_of as advice, hosts_of as hosts, versions_of as versions
from rates
order by estimate_ns desc, {groups}
