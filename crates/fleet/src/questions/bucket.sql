-- A bucket is read by DuckDB's extension httpfs, which is fetched once, with the keys of the environment in which this runs.
install httpfs;
load httpfs;
create or replace temporary secret dwell_fleet (type s3, key_id getenv('AWS_ACCESS_KEY_ID'), secret getenv('AWS_SECRET_ACCESS_KEY'), session_token getenv('AWS_SESSION_TOKEN'), region {region}{endpoint});
