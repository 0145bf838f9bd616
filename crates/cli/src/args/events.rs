//! `--events EVENTS`: which events are counted for each thread.

use dwell_capture::{CountedEvent, MOST_EVENTS};

/// The events of one option, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventList(pub Vec<CountedEvent>);

/// Understands names with commas between them.
pub fn event_list(text: &str) -> Result<EventList, String> {
    let mut events: Vec<CountedEvent> = Vec::new();
    for name in names(text) {
        if !events.iter().any(|event| event.name == name) {
            events.push(CountedEvent::parse(name)?);
        }
    }
    match events.len() {
        0 => Err("name an event, such as page-faults".to_owned()),
        many if many > MOST_EVENTS => {
            Err(format!("{many} events are more than the {MOST_EVENTS} that a collection counts"))
        }
        _ => Ok(EventList(events)),
    }
}

/// The names: a comma within `cpu/event=0x3c,umask=0/` ends none.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_within = false;
    let ends = move |letter: char| {
        is_within ^= letter == '/';
        letter == ',' && !is_within
    };
    text.split(ends).map(str::trim).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_within_a_devices_event_ends_no_name() {
        let all: Vec<&str> = names("cycles:u,cpu/event=0x3c,umask=0/, page-faults").collect();
        assert_eq!(all, ["cycles:u", "cpu/event=0x3c,umask=0/", "page-faults"]);
    }

    #[test]
    fn one_is_counted_once_and_there_are_no_more_than_fit() {
        let list = event_list("page-faults,cs,page-faults").expect("events");
        assert_eq!(list.0.len(), 2);
        assert!(event_list("r1,r2,r3,r4,r5,r6,r7,r8,r9").is_err_and(|error| error.contains("9 events")));
        assert!(event_list(",").is_err());
        assert!(event_list("page-fault").is_err_and(|error| error.contains("page-faults")));
    }
}
