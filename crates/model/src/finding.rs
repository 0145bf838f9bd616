//! The type of the finding table; the table itself is `dwell_analyze::FINDINGS`.

/// One diagnosis that Dwell can make; its detector stands beside the table.
#[derive(Clone, Copy, Debug)]
pub struct FindingDef {
    /// Name in JSON and on the command line: `thread-churn`.
    pub id: &'static str,
    /// Title on the screen: `Thread churn`.
    pub title: &'static str,
    /// What it means and from which evidence it is concluded.
    pub help: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// The title in Japanese.
    pub japanese_title: &'static str,
    /// The advice in Japanese.
    pub japanese_advice: &'static str,
}
