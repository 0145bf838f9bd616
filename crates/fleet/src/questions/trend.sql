with chosen as (
    select {bucket} as bucket_t, host, t, length_ns, object, wait_ns, waits from waits where {condition}
), rows_of_time as (
    select distinct bucket_t, host, t, length_ns from chosen
), covered as (
    select bucket_t, sum(length_ns) as covered_ns from rows_of_time group by bucket_t
), waited as (
    select bucket_t, sum(case when {object} then wait_ns else 0 end) as wait_ns,
        sum(case when {object} then waits else 0 end) as waits
    from chosen group by bucket_t
)
select covered.bucket_t as t, waited.wait_ns as wait_ns, waited.waits as waits, covered.covered_ns as covered_ns,
    cast(waited.wait_ns as double) / covered.covered_ns as per_s
from covered join waited on covered.bucket_t = waited.bucket_t
order by covered.bucket_t
