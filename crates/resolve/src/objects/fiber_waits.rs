//! What a runtime put a fiber aside for: by the functions between the scheduler and the program's own code.

use dwell_model::ObjectType;

use super::patterns::Caller;

/// What a fiber waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiberWait {
    /// The type of the object.
    pub kind: ObjectType,
    /// What it is called where only its place is known.
    pub title: &'static str,
    /// Whether the address that was recorded is the object's, or of its semaphore.
    pub is_in_memory: bool,
    /// Where the semaphore is in the object, bytes.
    pub semaphore_at: u64,
}

/// One pattern.
struct Pattern {
    /// Names of functions; `*` stands for any characters.
    functions: &'static [&'static str],
    wait: FiberWait,
}

macro_rules! patterns {
    ($($kind:ident $title:literal $place:ident $semaphore_at:literal: $($function:literal)*;)*) => {
        &[$(Pattern {
            functions: &[$($function,)*],
            wait: FiberWait {
                kind: ObjectType::$kind,
                title: $title,
                is_in_memory: patterns!(@ $place),
                semaphore_at: $semaphore_at,
            },
        },)*]
    };
    (@ memory) => { true };
    (@ place) => { false };
}

/// Of Go, the plainest first: a later one wins (the mutex in a `sync.Once` is the `Once`'s). Where semaphores are: `src/sync/*.go`.
#[rustfmt::skip]
const PATTERNS: &[Pattern] = patterns! {
    GoRuntime "Go runtime" place 0: "runtime.*";
    Channel "Channel" memory 0: "runtime.chanrecv*" "runtime.chansend*";
    Channel "Select" place 0: "runtime.selectgo" "runtime.block";
    Sleep "Sleep" place 0: "runtime.timeSleep" "time.Sleep";
    // These wait for a timer of their own, or for the end of the request.
    Sleep "Sleep" place 0: "golang.org/x/time/rate.(*Limiter).wait*" "go.uber.org/ratelimit.*" "github.com/cenkalti/backoff*.Retry*"
        "github.com/hashicorp/go-retryablehttp.(*Client).Do" "github.com/avast/retry-go*.Do*" "github.com/sethvargo/go-retry.Do*";
    Semaphore "Semaphore" memory 0: "sync.runtime_Semacquire*" "internal/sync.runtime_Semacquire*";
    Mutex "Mutex" memory 4: "sync.(*Mutex).*" "internal/sync.(*Mutex).*";
    RwLock "Read/Write Lock" memory 8: "sync.(*RWMutex).Lock";
    RwLock "Read/Write Lock" memory 12: "sync.(*RWMutex).RLock";
    Once "Once" memory 8: "sync.(*Once).*";
    ConditionVariable "Condition Variable" place 0: "sync.(*Cond).Wait";
    WaitGroup "Wait group" memory 8: "sync.(*WaitGroup).Wait*";
    Semaphore "Semaphore" place 0: "golang.org/x/sync/semaphore.(*Weighted).Acquire";
    Semaphore "Connection pool" place 0: "database/sql.(*DB).conn" "github.com/redis/go-redis/*.(*ConnPool).waitTurn"
        "github.com/jackc/puddle/*.(*Pool[*" "github.com/gomodule/redigo/redis.(*Pool).waitVacantConn"
        "github.com/valyala/fasthttp.(*HostClient).acquireConn" "go.mongodb.org/mongo-driver/*topology.(*pool).checkOut";
    Semaphore "New connection" place 0: "net/http.(*Transport).getConn";
    Socket "Response" place 0: "net/http.(*persistConn).roundTrip" "net/http.(*http2ClientConn).roundTrip" "net/http.(*http2clientStream)*"
        "google.golang.org/grpc/internal/transport.(*recvBufferReader)*";
    Socket "Socket" place 0: "internal/poll.*";
    Stream "Full pipe" place 0: "os.(*File).Write*" "os.(*File).write*";
    Stream "Empty pipe" place 0: "os.(*File).Read*" "os.(*File).read*";
    GoRuntime "Garbage collection" place 0: "runtime.gcAssistAlloc*" "runtime.gcStart" "runtime.GC" "runtime.gcMarkDone" "runtime.stopTheWorld*";
};

/// What the frames of a fiber, leaf first, say of its wait.
pub fn recognise<'a>(callers: impl Iterator<Item = Caller<'a>>) -> FiberWait {
    let mut best = 0;
    let mut is_in_mutex = false;
    for caller in callers {
        let found = PATTERNS.iter().rposition(|pattern| caller.matches(pattern.functions));
        if found.is_none() && !caller.is_runtime() {
            break;
        }
        is_in_mutex |= found.is_some_and(|at| PATTERNS[at].wait.kind == ObjectType::Mutex);
        best = best.max(found.unwrap_or(0));
    }
    let wait = PATTERNS[best].wait;
    // A writer that waits for other writers does so in the lock's own mutex, with which it begins.
    let semaphore_at = if wait.kind == ObjectType::RwLock && is_in_mutex { 4 } else { wait.semaphore_at };
    FiberWait { semaphore_at, ..wait }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(functions: &[&'static str]) -> (ObjectType, &'static str, u64) {
        let found = recognise(functions.iter().map(|&function| Caller { module: "app", function }));
        (found.kind, found.title, found.semaphore_at)
    }

    #[test]
    fn waits_are_known_by_their_functions() {
        use ObjectType::*;
        let lock = ["runtime.gopark", "runtime.semacquire1", "internal/sync.runtime_SemacquireMutex"];
        let with = |more: &[&'static str]| wait(&[&lock, more].concat());
        assert_eq!(with(&["internal/sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock", "main.f"]), (Mutex, "Mutex", 4));
        let mutex = ["sync.(*Mutex).lockSlow", "sync.(*Mutex).Lock"];
        assert_eq!(with(&[mutex[0], mutex[1], "sync.(*RWMutex).Lock", "main.f"]), (RwLock, "Read/Write Lock", 4));
        assert_eq!(with(&["sync.(*RWMutex).Lock", "main.f"]), (RwLock, "Read/Write Lock", 8));
        assert_eq!(with(&["sync.(*RWMutex).RLock", "main.f"]), (RwLock, "Read/Write Lock", 12));
        assert_eq!(with(&[mutex[0], mutex[1], "sync.(*Once).doSlow", "main.f"]), (Once, "Once", 8));
        assert_eq!(with(&["sync.(*WaitGroup).Wait", "main.main"]), (WaitGroup, "Wait group", 8));
        assert_eq!(
            wait(&["runtime.gopark", "runtime.chanrecv", "runtime.chanrecv1", "main.f"]),
            (Channel, "Channel", 0)
        );
        assert_eq!(wait(&["runtime.gopark", "runtime.selectgo", "main.f"]), (Channel, "Select", 0));
        let limited = ["runtime.gopark", "runtime.selectgo", "golang.org/x/time/rate.(*Limiter).wait", "main.f"];
        assert_eq!(wait(&limited), (Sleep, "Sleep", 0));
        assert_eq!(wait(&["runtime.gopark", "time.Sleep", "main.f"]), (Sleep, "Sleep", 0));
        let write = [
            "runtime.gopark",
            "internal/poll.runtime_pollWait",
            "internal/poll.(*FD).Write",
            "os.(*File).write",
            "os.(*File).Write",
        ];
        assert_eq!(wait(&[&write[..], &["log.(*Logger).output", "main.f"]].concat()), (Stream, "Full pipe", 0));
        let puddle =
            ["acquire", "Acquire"].map(|call| format!("github.com/jackc/puddle/v2.(*Pool[go.shape.*uint8]).{call}"));
        let pool = ["runtime.selectgo", "golang.org/x/sync/semaphore.(*Weighted).Acquire", &puddle[0], &puddle[1]];
        let found = recognise(pool.into_iter().map(|function| Caller { module: "app", function }));
        assert_eq!((found.kind, found.title), (Semaphore, "Connection pool"));
        assert_eq!(wait(&["runtime.selectgo", "database/sql.(*DB).conn"]), (Semaphore, "Connection pool", 0));
        assert_eq!(wait(&["runtime.selectgo", "database/sql.(*DB).connectionOpener"]), (Channel, "Select", 0));
        let poll =
            ["runtime.gopark", "runtime.netpollblock", "internal/poll.runtime_pollWait", "internal/poll.(*FD).Read"];
        assert_eq!(wait(&poll), (Socket, "Socket", 0));
        let select = ["runtime.gopark", "runtime.selectgo"];
        let in_call = |function: &'static str| wait(&[select[0], select[1], function, "main.f"]);
        assert_eq!(in_call("database/sql.(*DB).conn"), (Semaphore, "Connection pool", 0));
        assert_eq!(in_call("net/http.(*persistConn).roundTrip"), (Socket, "Response", 0));
        assert_eq!(wait(&["runtime.gopark", "runtime.bgsweep"]), (GoRuntime, "Go runtime", 0));
        assert_eq!(wait(&["main.f", "runtime.chanrecv"]), (GoRuntime, "Go runtime", 0));
    }
}
