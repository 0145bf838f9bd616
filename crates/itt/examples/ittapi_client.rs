//! A program that is instrumented by the crate `ittapi`, with the static part that everybody else has. Its objects are made
//! before the library is loaded, which is at the first event.

use ittapi::jit::{Jit, MethodLoadBuilder};
use ittapi::{Domain, Event, StringHandle, Task};

fn main() {
    let (domain, second) = (Domain::new("real.domain"), Domain::new("second.domain"));
    let (outer, inner) = (StringHandle::new("outer"), StringHandle::new("inner"));
    let event = Event::new("an event");
    let task = Task::begin(&domain, outer);
    Task::begin(&second, inner).end();
    event.start().end();
    task.end();
    // What is made after loading comes from the library.
    let late = Domain::new("late.domain");
    Task::begin(&late, StringHandle::new("late")).end();
    ittapi::pause();
    Task::begin(&domain, "while paused").end();
    ittapi::resume();
    Task::begin(&domain, "again").end();

    let mut jit = Jit::default();
    let method = MethodLoadBuilder::new("a_method".into(), 0x5000 as *const u8, 64).source_file_name("a.js".into());
    assert!(jit.load_method(method).is_ok() && jit.shutdown().is_ok());
}
