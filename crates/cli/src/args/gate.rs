//! The limits of `dwell compare --fail-if`: `METRIC[:[LEVEL=]NAME]>LIMIT`.

use dwell_analyze::compare::{Gate, Limit};
use dwell_analyze::{Level, METRICS, QueryError};
use dwell_model::{MetricDef, Unit};

use super::parse::seconds;

/// What is no metric and can be limited all the same.
const ELAPSED: &str = "elapsed";

/// A limit with the words that it was given in.
#[derive(Clone, Debug)]
pub struct GateArg {
    /// As given.
    pub text: String,
    /// As understood.
    pub gate: Gate,
}

/// A limit on rows of a fleet.
#[derive(Clone, Debug)]
pub struct FleetGate {
    /// As given.
    pub text: String,
    /// Whether waits are counted; else their time, ns.
    pub is_count: bool,
    /// The column that has the name: object, service or kind; none: the first of them that has it.
    pub column: Option<&'static str>,
    /// Of what, with `*` for any characters; none: of everything.
    pub name: Option<String>,
    /// The limit, per second of a host.
    pub limit: Limit,
}

/// Columns that the name of a limit on a fleet is looked for in, in this order.
pub const FLEET_NAMES: [&str; 3] = ["object", "service", "kind"];

/// Understands a limit on rows of a fleet: the words are those of [`gate`].
pub fn fleet_gate(text: &str) -> Result<FleetGate, String> {
    let GateArg { text, gate: Gate { metric, level, name, limit } } = gate(text)?;
    let is_count = match metric.map(|metric| metric.id) {
        Some("wait_ns") => false,
        Some("wait_count") => true,
        _ => return Err(format!("`{text}`: a store has the metrics wait and wait_count")),
    };
    let of_level = match level {
        Some(Level::Object) => Some("object"),
        Some(_) => return Err(format!("`{text}`: a name is that of an object, a service or a kind")),
        None => None,
    };
    let named = name.as_deref().and_then(|name| name.split_once('='));
    let of_name =
        named.and_then(|(column, name)| Some((FLEET_NAMES.into_iter().find(|known| *known == column)?, name)));
    let (column, name) = match of_name {
        Some((column, rest)) if of_level.is_none() => (Some(column), Some(rest.to_owned())),
        _ => (of_level, name),
    };
    Ok(FleetGate { text, is_count, column, name, limit })
}

/// Understands a limit.
pub fn gate(text: &str) -> Result<GateArg, String> {
    // From the right: a function's name may have `>` in it, a limit has none.
    let form = || format!("`{text}` is no limit such as wait:queue_lock>+20%");
    let (what, limit) = text.rsplit_once('>').ok_or_else(form)?;
    let (metric, name) = match what.split_once(':') {
        Some((metric, name)) => (metric.trim(), Some(name.trim())),
        None => (what.trim(), None),
    };
    let metric = if metric == ELAPSED { None } else { Some(parse_metric(metric)?) };
    if name == Some("") || (metric.is_none() && name.is_some()) {
        return Err(form());
    }
    let (level, name) = match name.and_then(|name| name.split_once('=')) {
        Some((level, name)) if Level::parse(level).is_ok() => (Level::parse(level).ok(), Some(name.to_owned())),
        _ => (None, name.map(str::to_owned)),
    };
    let limit = parse_limit(metric, limit.trim())?;
    if matches!(limit, Limit::Share(_)) && name.is_none() {
        return Err(format!(
            "`{text}`: a share is of the total and needs a name, as in wait:queue_lock>20%; +20% is growth"
        ));
    }
    Ok(GateArg { text: text.to_owned(), gate: Gate { metric, level, name, limit } })
}

/// A metric's id, with or without its unit.
fn parse_metric(id: &str) -> Result<&'static MetricDef, String> {
    let known = METRICS.iter().find(|metric| metric.id == id || metric.id.strip_suffix("_ns") == Some(id));
    known.map_or_else(|| dwell_analyze::parse_metric(id).map_err(|error| advised(&error)), Ok)
}

/// The error and what to do about it, in one line.
fn advised(error: &QueryError) -> String {
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

fn parse_limit(metric: Option<&MetricDef>, text: &str) -> Result<Limit, String> {
    let (growth, amount) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if let Some(percent) = amount.strip_suffix('%') {
        let percent: f64 = percent.trim().parse().map_err(|_| format!("`{amount}` is no percentage"))?;
        if !(0.0..1e9).contains(&percent) {
            return Err(format!("`{amount}` is out of range"));
        }
        return Ok(if growth { Limit::GrowthBy(percent / 100.0) } else { Limit::Share(percent / 100.0) });
    }
    let is_count = metric.is_some_and(|metric| metric.unit == Unit::Count);
    let amount =
        if is_count { amount.parse::<u64>().map_err(|_| format!("`{amount}` is no count"))? } else { seconds(amount)? };
    Ok(if growth { Limit::MoreBy(amount as f64) } else { Limit::Above(amount as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_growth_shares_and_amounts() {
        let limit = |text: &str| gate(text).unwrap().gate.limit;
        assert_eq!(limit("wait:queue_lock>+20%"), Limit::GrowthBy(0.2));
        assert_eq!(limit("wait_ns:queue_lock>20%"), Limit::Share(0.2));
        assert_eq!(limit("cpu>+100ms"), Limit::MoreBy(1e8));
        assert_eq!(limit("elapsed>2s"), Limit::Above(2e9));
        assert_eq!(limit("wait_count:a->b>1000"), Limit::Above(1000.0));
    }

    #[test]
    fn names_may_say_where_they_are_looked_for() {
        let named = gate("wait:object=tcp:127.0.0.1:80*>1s").unwrap().gate;
        assert_eq!((named.level, named.name.as_deref()), (Some(Level::Object), Some("tcp:127.0.0.1:80*")));
        let template = gate("cpu:f<a=b>::g>5%").unwrap().gate;
        assert_eq!((template.level, template.name.as_deref()), (None, Some("f<a=b>::g")));
    }

    #[test]
    fn limits_on_a_fleet_have_the_same_words() {
        let gate = fleet_gate("wait_ns:service=nginx* > +20%").unwrap();
        assert_eq!((gate.is_count, gate.column, gate.name.as_deref()), (false, Some("service"), Some("nginx*")));
        assert_eq!(gate.limit, Limit::GrowthBy(0.2));
        let gate = fleet_gate("wait_count:object=a=b>1000").unwrap();
        assert_eq!((gate.is_count, gate.column, gate.name.as_deref()), (true, Some("object"), Some("a=b")));
        assert_eq!(fleet_gate("wait:a=b>1s").unwrap().name.as_deref(), Some("a=b"));
        for text in ["cpu>1s", "elapsed>1s", "wait:function=f>1s", "wait>1.2x", "wait>20%"] {
            assert!(fleet_gate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "wait", "wait>", "wait>20%", "wait:>1s", "weit>1s", "wait>1parsec", "switches>1s", "wait>+-5%"]
        {
            assert!(gate(text).is_err(), "{text}");
        }
    }
}
