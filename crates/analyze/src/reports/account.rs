//! The account of the threads' time, of the program and of its roles: the parts of their lives, which add up to them.

use std::cmp::Reverse;

use dwell_query::engine::fold::Fold;
use dwell_view::{Row, Value, View};

use crate::study::explain::{Account, Explanation};
use crate::tables::columns::{columns, columns_of};

columns! {
    /// What the table shows.
    COLUMNS;

    plain "who", "Who", "The role of threads; the first row, without one, is the whole program.",
        "スレッドの役割", "スレッドの役割。役割のない最初の行はプログラム全体です。";
    plain "threads", "Threads", "Number of threads.",
        "スレッド", "スレッドの数。";
    plain "life_ns", "Lives", "From their starts to their ends: the sum of the columns that follow.",
        "存続時間", "スレッドの開始から終了まで。以下の列の合計です。";
    plain "running_ns", "Running", "On a CPU.",
        "実行中", "CPU 上の時間。";
    plain "run_queue_ns", "Run Queue", "Ready, without a CPU.",
        "実行キュー", "実行可能で CPU がない時間。";
    plain "waits_ns", "Waits on Others", "For what was asked for: the causes explain these.",
        "他への待機", "求めたものへの待機。原因が説明する時間です。";
    plain "joins_ns", "Joins and Children", "For threads and child processes to end.",
        "終了の待機", "スレッドと子プロセスの終了への待機。";
    plain "sleeps_ns", "Own Sleeps", "Sleeps and time-outs of their own.",
        "自身のスリープ", "自身のスリープとタイムアウト。";
    plain "idle_ns", "Idle", "For whatever came.",
        "アイドル", "届くものを待つ時間。";
}

/// Roles that are shown.
const ROLES: usize = 8;

/// The program's account, then those of the roles that lived longest.
pub fn account(fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> View {
    let mut roles: Vec<_> = explanation.accounts.iter().filter(|(_, account)| account.threads > 0).collect();
    roles.sort_by_key(|(role, account)| (Reverse(account.life_ns), **role));
    let seen_ns = explanation.whole().running_ns;
    let whole = row(Value::None, &whole_account(fold, explanation));
    let of_role = |(role, account): (_, &Account)| {
        let mut account = *account;
        if let Some(ran_ns) = fold.threads_ran_ns.filter(|_| seen_ns > 0) {
            account.agree_with_running((account.running_ns as f64 * (ran_ns as f64 / seen_ns as f64)) as u64);
        }
        row(Value::Text(explanation.names.role(role).to_owned()), &account)
    };
    let roles = roles.into_iter().take(ROLES).map(|(role, account)| of_role((*role, account)));
    View { columns: columns_of(COLUMNS), rows: std::iter::once(whole).chain(roles).collect(), ..View::default() }
}

/// What all threads did, or fibers in their place; these ran for as long as their threads.
pub fn whole_account(fold: &Fold<'_>, explanation: &Explanation<'_, '_>) -> Account {
    let mut whole = explanation.whole();
    fold.threads_ran_ns.into_iter().for_each(|ran_ns| whole.agree_with_running(ran_ns));
    whole
}

fn row(who: Value, account: &Account) -> Row {
    let parts = [
        account.life_ns,
        account.running_ns,
        account.run_queue_ns,
        account.demand_ns,
        account.structure_ns,
        account.own_ns,
        account.idle_ns,
    ];
    let values = [who, Value::Count(account.threads)].into_iter().chain(parts.map(Value::Ns));
    Row { depth: 0, values: values.collect() }
}
