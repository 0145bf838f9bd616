//! Waits of which the JVM's memory told the Java lock.
//! It takes the frames of such a wait and the object of every wait; it says which waits are for the lock, and which unknown ones are, too.
//! It does not name the lock.
//!
//! A thread that is parked for a lock may wait for something of the JVM meanwhile, such as a safepoint: its memory still tells the lock.

use dwell_model::{CallKind, ObjectType};

use super::identity::{ObjectIdentity, ObjectTarget};
use super::patterns::Caller;
use crate::hash::FastMap;
use crate::replay::numbers::StackNumber;
use crate::replay::threads::ImageId;
use crate::replay::waits::{WaitKey, WaitTarget};

/// The JVM's file.
const JVM: &str = "libjvm.so";
/// Its functions that wait for a Java lock …
const FOR_JAVA: &[&str] = &[
    "Parker::*",
    "Unsafe_Park*",
    "os::PlatformEvent::*",
    "PlatformEvent::*",
    "ObjectMonitor::*",
    "ObjectSynchronizer::*",
];
/// … and those that wait for what is the JVM's own.
const FOR_ITSELF: &[&str] = &[
    "Mutex::*",
    "Monitor::*",
    "PlatformMutex::*",
    "PlatformMonitor::*",
    "os::PlatformMonitor::*",
    "Semaphore::*",
    "PosixSemaphore::*",
    "SafepointMechanism::*",
    "SafepointSynchronize::*",
    "LinuxWaitBarrier::*",
    "HandshakeState::*",
];

/// Whether a thread with these callers, leaf first, waits for the lock that its memory tells: the JVM's innermost function with a
/// telling name says so, and where there is none the memory is believed.
pub fn is_for_java_lock<'a>(callers: impl Iterator<Item = Caller<'a>>) -> bool {
    let mut of_jvm = callers.filter(|caller| caller.module.starts_with(JVM));
    let telling = of_jvm.find(|caller| caller.matches(FOR_JAVA) || caller.matches(FOR_ITSELF));
    telling.is_none_or(|caller| caller.matches(FOR_JAVA))
}

/// A wait whose memory tells a lock that it is not for.
pub fn of_the_jvm(site: &str) -> ObjectTarget {
    ObjectTarget::named(ObjectType::JvmMonitor, format!("JVM's own lock in {site}"))
}

/// Whether the wait is for the Java lock that its record describes.
pub fn is_described(wait: &WaitKey, target: &ObjectTarget) -> bool {
    wait.hint == WaitTarget::JavaLock && matches!(target.identity, ObjectIdentity::Described(..))
}

/// A thread that began to wait before it was known as one of a JVM waits for what all others at its place wait for, if that is one lock.
pub fn adopt_java_locks(targets: &mut [ObjectTarget], waits: &[WaitKey]) {
    let mut at: FastMap<(ImageId, StackNumber), Option<ObjectIdentity>> = FastMap::default();
    for (wait, target) in waits.iter().zip(targets.iter()).filter(|(wait, target)| is_described(wait, target)) {
        let identity = Some(target.identity.clone());
        let known = at.entry((wait.image, wait.stack)).or_insert_with(|| identity.clone());
        if *known != identity {
            *known = None;
        }
    }
    for (wait, target) in waits.iter().zip(targets.iter_mut()) {
        let is_undescribed =
            wait.kind() == CallKind::Futex && wait.hint != WaitTarget::JavaLock && wait.announced.is_none();
        if let Some(Some(identity)) = at.get(&(wait.image, wait.stack)).filter(|_| is_undescribed) {
            target.identity.clone_from(identity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parked_thread_may_wait_for_the_jvm_itself() {
        let of = |stack: &str| {
            let frames = stack
                .split(' ')
                .map(|function| Caller { module: if function.starts_with("java.") { "jit" } else { JVM }, function });
            is_for_java_lock(frames)
        };
        assert!(of("os::PlatformEvent::park ObjectMonitor::enter java.A.b"));
        assert!(of("Parker::park Unsafe_Park java.util.concurrent.locks.LockSupport.park"));
        assert!(!of("Mutex::lock_contended CompileQueue::add java.util.concurrent.locks.LockSupport.park"));
        assert!(!of("SafepointMechanism::process Parker::park Unsafe_Park java.A.b"));
        assert!(of("java.A.b"), "a stack without the JVM's functions says nothing against it");
    }
}
