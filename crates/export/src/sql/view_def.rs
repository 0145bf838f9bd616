//! What a view is: its columns with what each one says, and where they come from.

use std::fmt;

/// One view of the script.
pub struct ViewDef {
    /// How a query calls it.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Its columns.
    pub columns: Vec<ViewColumn>,
    /// What its columns come from: the query after its `from`.
    pub from: String,
    /// What stands before its `select`: named queries.
    pub with: String,
    /// Whether it is computed once, when the script runs, because each query would take long otherwise.
    pub stored: bool,
}

impl ViewDef {
    /// A view that each query computes anew.
    pub fn new(name: &'static str, doc: &'static str, from: impl Into<String>, columns: Vec<ViewColumn>) -> Self {
        Self { name, doc, columns, from: from.into(), with: String::new(), stored: false }
    }
}

/// One column of a view.
pub struct ViewColumn {
    /// Its name, with its unit.
    pub name: &'static str,
    /// How it is computed.
    pub expression: String,
    /// What it says.
    pub doc: &'static str,
}

/// A column.
pub fn column(name: &'static str, expression: impl Into<String>, doc: &'static str) -> ViewColumn {
    ViewColumn { name, expression: expression.into(), doc }
}

impl fmt::Display for ViewDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "-- {}: {}", self.name, self.doc)?;
        for ViewColumn { name, doc, .. } in &self.columns {
            writeln!(f, "--   {name:20} {doc}")?;
        }
        let kind = if self.stored { "table" } else { "view" };
        writeln!(f, "create or replace {kind} {} as", self.name)?;
        f.write_str(&self.with)?;
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("  {} as {}", column.expression, column.name)).collect();
        write!(f, "select\n{}\nfrom {};", columns.join(",\n"), self.from)
    }
}

/// A text of SQL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The words of the codes of a type of the model, as SQL: what its `id` says of the number that `expression` gives.
macro_rules! words {
    ($code:ty, $expression:expr) => {{
        let all: Vec<(u8, &str)> = <$code>::ALL.iter().map(|kind| (kind.code(), kind.id())).collect();
        $crate::sql::view_def::cases($expression, &all)
    }};
}
pub(super) use words;

/// `case` over numbers; an unknown one has the first word, as in every other reader.
pub fn cases(expression: &str, words: &[(u8, &str)]) -> String {
    let cases: String = words.iter().map(|(code, word)| format!(" when {code} then {}", quoted(word))).collect();
    let unknown = words.first().map_or("unknown", |(_, word)| word);
    format!("case when {expression} is not null then case {expression}{cases} else {} end end", quoted(unknown))
}
