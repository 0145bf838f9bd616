//! What differs between engines of SQL: how the files are scanned, and how a text is quoted.

use super::columns::{AnswerColumn, CellKind, columns_of_causes, columns_of_views};
use super::template::fill;
use crate::{CAUSES, day_of};

/// An engine that answers questions to a store.
pub struct SqlEngine {
    /// Gives the clause that reads the files of the store at this path.
    scan: fn(&str) -> String,
    /// Gives the clause that reads these files of the store.
    scan_files: fn(&str, &[String]) -> String,
    /// Gives the clause that reads the causes of the store at this path; `None`: it has none.
    scan_causes: fn(Option<&str>) -> String,
    /// Gives the literal of a text.
    quoted: fn(&str) -> String,
}

/// DuckDB.
pub static DUCKDB: SqlEngine = SqlEngine {
    scan: duckdb_scan,
    scan_files: duckdb_scan_files,
    scan_causes: duckdb_scan_causes,
    quoted: standard_literal,
};

/// Region of buckets, where nobody says otherwise.
pub(crate) const USUAL_REGION: &str = "us-east-1";

/// Which rows count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowSelection {
    /// Rows that begin then or later, Unix time in ns.
    pub since_ns: Option<i64>,
    /// Rows that begin before, Unix time in ns.
    pub until_ns: Option<i64>,
    /// Columns of texts and the value that each has: names of columns are ours, values are the user's.
    pub values: Vec<(&'static str, String)>,
}

impl RowSelection {
    /// From when, and until when; Unix time in ns.
    pub const fn range(&self) -> (Option<i64>, Option<i64>) {
        (self.since_ns, self.until_ns)
    }

    /// The rows of the same hosts and times, whatever else is in them; where a version is chosen, those in which it ran.
    pub(crate) fn of_hosts(&self) -> Self {
        let has_version = self.values.iter().any(|(column, _)| *column == "version");
        let of_hosts = |(column, _): &&(&'static str, String)| match *column {
            "host" | "day" => true,
            "version" | "service" => has_version,
            _ => false,
        };
        Self { values: self.values.iter().filter(of_hosts).cloned().collect(), ..*self }
    }
}

impl SqlEngine {
    /// The statements that make the views of the store at this absolute path; of waits from the files at these paths in it only,
    /// where there are such.
    pub fn views(&self, store: &str, paths: Option<&[String]>, has_causes: bool) -> String {
        let scan = paths.map_or_else(|| (self.scan)(store), |paths| (self.scan_files)(store, paths));
        let causes = (self.scan_causes)(has_causes.then_some(store));
        fill(include_str!("views.sql"), &[("{scan}", &scan), ("{causes_scan}", &causes)])
    }

    /// The statements that let it read a bucket, by the variables of the environment that an agent takes. The keys are not in it: they are
    /// those of whoever runs it.
    pub fn bucket_access(&self, variable: impl Fn(&str) -> Option<String>) -> String {
        let value =
            |names: [&str; 2]| names.into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let region = value(["AWS_REGION", "AWS_DEFAULT_REGION"]).unwrap_or_else(|| USUAL_REGION.into());
        let endpoint = value(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]).map(|endpoint| {
            let uses_ssl = !endpoint.starts_with("http://");
            let host = endpoint.split_once("://").map_or(&*endpoint, |(_, host)| host).trim_end_matches('/');
            format!(", endpoint {}, url_style 'path', use_ssl {uses_ssl}", (self.quoted)(host))
        });
        let values = [("{region}", &*(self.quoted)(&region)), ("{endpoint}", &*endpoint.unwrap_or_default())];
        fill(include_str!("bucket.sql"), &values)
    }

    /// The condition of these rows. The day is in it, because it is a folder.
    pub(crate) fn condition(&self, rows: &RowSelection) -> String {
        let day = |ns| (self.quoted)(&day_of(ns));
        let since = rows.since_ns.map(|ns| format!("day >= {} and t >= {ns}", day(ns)));
        let until = rows.until_ns.map(|ns| format!("day <= {} and t < {ns}", day(ns)));
        let values = rows.values.iter().map(|(column, value)| format!("{column} = {}", (self.quoted)(value)));
        let all: Vec<String> = since.into_iter().chain(until).chain(values).collect();
        if all.is_empty() { "true".into() } else { all.join(" and ") }
    }
}

/// Files of tables have their name when they are whole.
fn duckdb_scan(store: &str) -> String {
    duckdb_read(&standard_literal(&format!("{}/day=*/service=*/*.parquet", duckdb_pattern(store))))
}

/// A list without files is no table.
fn duckdb_scan_files(store: &str, paths: &[String]) -> String {
    if paths.is_empty() {
        return duckdb_no_rows(columns_of_views());
    }
    let store = duckdb_pattern(store);
    let files = paths.iter().map(|path| standard_literal(&format!("{store}/{}", duckdb_pattern(path))));
    duckdb_read(&format!("[{}]", files.collect::<Vec<_>>().join(",\n")))
}

fn duckdb_scan_causes(store: Option<&str>) -> String {
    let Some(store) = store else { return duckdb_no_rows(columns_of_causes()) };
    let files = standard_literal(&format!("{}/{CAUSES}/day=*/service=*/*.parquet", duckdb_pattern(store)));
    format!("(select * from {}) as written_causes", duckdb_table(&files))
}

fn duckdb_no_rows(columns: impl Iterator<Item = &'static AnswerColumn>) -> String {
    let columns = columns.map(|column| match column.kind {
        CellKind::Text => format!("''::varchar as {}", column.id),
        _ => format!("0::bigint as {}", column.id),
    });
    format!("(select {} where false) as no_files", columns.collect::<Vec<_>>().join(", "))
}

fn duckdb_table(files: &str) -> String {
    format!(
        "read_parquet({files}, hive_partitioning = true, union_by_name = true, \
         hive_types = {{'day': varchar, 'service': varchar}})"
    )
}

/// With a column `version` also where no file has it: older agents did not write it.
fn duckdb_read(files: &str) -> String {
    format!(
        "(select * from {}\n\
         union all by name select ''::varchar as version where false) as written",
        duckdb_table(files)
    )
}

/// A path in which characters of patterns mean themselves.
fn duckdb_pattern(path: &str) -> String {
    let mut pattern = String::new();
    for c in path.chars() {
        match c {
            '*' | '?' | '[' => pattern.extend(['[', c, ']']),
            _ => pattern.push(c),
        }
    }
    pattern
}

fn standard_literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_and_patterns_in_them_mean_themselves() {
        let views = DUCKDB.views("/a'[1]*", None, true);
        assert!(views.contains("read_parquet('/a''[[]1][*]/day=*/service=*/*.parquet', "), "{views}");
        assert!(views.contains("read_parquet('/a''[[]1][*]/causes/day=*/service=*/*.parquet', "), "{views}");
        let none = DUCKDB.views("/a", Some(&[]), false);
        assert!(!none.contains("read_parquet"), "{none}");
        assert!(!views.contains('{') || views.contains("{'day': varchar"), "{views}");
    }

    #[test]
    fn a_bucket_is_read_with_the_readers_own_keys() {
        let access = |endpoint: &str| {
            let value = |name: &str| match name {
                "AWS_ENDPOINT_URL" => Some(endpoint.to_owned()),
                "AWS_REGION" => Some("eu'x".into()),
                _ => Some("secret".into()).filter(|_| !name.contains("ENDPOINT") && !name.contains("REGION")),
            };
            DUCKDB.bucket_access(value)
        };
        let local = access("http://127.0.0.1:9000/");
        let wanted = "region 'eu''x', endpoint '127.0.0.1:9000', url_style 'path', use_ssl false);";
        assert!(local.contains(wanted) && !local.contains("'secret'"), "{local}");
        assert!(access("https://minio").contains("endpoint 'minio', url_style 'path', use_ssl true);"));
        assert!(access("").ends_with("region 'eu''x');\n"), "{}", access(""));
    }

    #[test]
    fn a_condition_names_the_days_and_quotes_values() {
        assert_eq!(DUCKDB.condition(&RowSelection::default()), "true");
        let rows = RowSelection {
            since_ns: Some(86_400_000_000_001),
            until_ns: Some(172_800_000_000_000),
            values: vec![("service", "x' or 1=1 --".into())],
        };
        let wanted = "day >= '1970-01-02' and t >= 86400000000001 and day <= '1970-01-03' and t < 172800000000000 \
                      and service = 'x'' or 1=1 --'";
        assert_eq!(DUCKDB.condition(&rows), wanted);
    }
}
