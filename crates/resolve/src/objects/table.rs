//! The table of objects: which waits are on the same one, in the order of their first wait.

use std::collections::HashMap;

use dwell_model::{CallKind, ObjectId, ObjectType};
use dwell_store::tables::Objects;

use super::classify::Classifier;
use super::identity::{ObjectIdentity, ObjectTarget};
use super::java_locks::{adopt_java_locks, is_described};
use super::joins;
use super::rows::ObjectNamer;
use super::sources::ObjectSources;
use crate::hash::FastMap;
use crate::input::texts::TextId;
use crate::replay::annotations::SyncObject;
use crate::replay::lock_owner::OwnerSource;
use crate::replay::numbers::{StackNumber, SyncNumber, WaitNumber};
use crate::replay::rows::RawOffCpu;
use crate::replay::threads::ImageId;
use crate::replay::waits::{Sleep, WaitKey, WaitTarget};
use crate::row_of::RowOf;

/// The table of objects, and who is where in it.
#[derive(Default)]
pub struct ResolvedObjects {
    /// The table.
    pub objects: Objects,
    /// The object of each wait.
    pub of_waits: RowOf<WaitNumber, ObjectId>,
    /// Whether the owner that is known of each wait is that of its object: it is the holder of the wait's rows.
    pub has_holder: Vec<bool>,
    /// The row of each object that programs told of and waited for.
    pub of_announced: RowOf<SyncNumber, ObjectId>,
}

/// Finds and names the objects.
pub fn resolve(waits: &[WaitKey], first_ns: &[u64], sources: &ObjectSources<'_>) -> ResolvedObjects {
    let mut classifier = Classifier::new(sources);
    let mut targets: Vec<ObjectTarget> =
        waits.iter().enumerate().map(|(number, wait)| classifier.target(WaitNumber::new(number), wait)).collect();
    adopt_untyped(&mut targets);
    adopt_of_place(&mut targets, waits);
    adopt_java_locks(&mut targets, waits);
    adopt_announced(&mut targets, sources.announced);
    find_enders(&mut targets, waits, sources);
    let joined = targets.iter().filter_map(|target| match target.identity {
        ObjectIdentity::Thread(thread) => Some(thread),
        _ => None,
    });
    let joined = joins::functions(&joined.collect(), sources);
    let mut namer = ObjectNamer::new(sources, joined);
    let awaited = awaited(waits.len(), &[sources.off_cpu, sources.fibers]);
    let ids = targets.iter().zip(waits).zip(first_ns).zip(awaited);
    let object = |(((target, wait), &time_ns), awaited)| {
        if awaited { namer.object(target, wait, time_ns) } else { ObjectId::NONE }
    };
    let of_waits = ids.map(object).collect();
    let of_announced =
        (0..sources.announced.len()).map(|number| namer.announced_object(SyncNumber::new(number))).collect();
    let has_holder = targets.iter().zip(waits).map(|(target, wait)| has_holder(wait, target)).collect();
    ResolvedObjects { objects: namer.objects, of_waits, has_holder, of_announced }
}

/// Which of the waits an interval still has: some become others as more is known.
fn awaited(count: usize, off_cpu: &[&RawOffCpu]) -> Vec<bool> {
    let mut awaited = vec![false; count];
    for wait in off_cpu.iter().flat_map(|rows| &rows.wait).filter_map(|wait| wait.get()) {
        awaited[wait] = true;
    }
    awaited
}

/// Finds the threads whose end was waited for where only a lock of theirs shows that: the waker, if there was just one.
/// Several wakers are named by the place of the wait.
fn find_enders(targets: &mut [ObjectTarget], waits: &[WaitKey], sources: &ObjectSources<'_>) {
    let wanted = targets.iter().filter_map(|target| match target.identity {
        ObjectIdentity::Ender(number) => Some(number),
        _ => None,
    });
    let enders = joins::enders(&wanted.collect(), sources.off_cpu);
    for (target, wait) in targets.iter_mut().zip(waits) {
        let ObjectIdentity::Ender(number) = target.identity else { continue };
        target.identity = match enders.get(&number) {
            Some(&thread) => ObjectIdentity::Thread(thread),
            None => ObjectIdentity::Named(ObjectType::ThreadJoin, format!("Threads joined in {}", sources.site(wait))),
        };
    }
}

/// Memory where a program announced an object is that object, also in waits that it did not announce.
fn adopt_announced(targets: &mut [ObjectTarget], announced: &[SyncObject]) {
    let waited =
        announced.iter().enumerate().filter_map(|(number, object)| Some((object.image?, object.address, number)));
    let at: HashMap<(ImageId, u64), SyncNumber> =
        waited.map(|(image, address, number)| ((image, address), SyncNumber::new(number))).collect();
    for target in targets {
        if let ObjectIdentity::Memory(image, base, _) = target.identity
            && let Some(&id) = at.get(&(image, base)).or_else(|| at.get(&(image, target.address)))
        {
            target.identity = ObjectIdentity::Announced(id);
        }
    }
}

/// A fiber that was about to wait had no address yet: it waits for what all others at its place wait for, if that is one thing.
fn adopt_of_place(targets: &mut [ObjectTarget], waits: &[WaitKey]) {
    let mut at: FastMap<(ImageId, StackNumber), Option<ObjectIdentity>> = FastMap::default();
    let of_fibers = || waits.iter().enumerate().filter(|(_, wait)| wait.sleep == Sleep::Fiber);
    for (number, wait) in of_fibers().filter(|(_, wait)| wait.object != 0) {
        let identity = Some(targets[number].identity.clone());
        let known = at.entry((wait.image, wait.stack)).or_insert_with(|| identity.clone());
        if *known != identity {
            *known = None;
        }
    }
    for (number, wait) in of_fibers().filter(|(_, wait)| wait.object == 0) {
        if let Some(Some(identity)) = at.get(&(wait.image, wait.stack)) {
            targets[number].identity.clone_from(identity);
        }
    }
}

/// Whether the owner that is known of a wait is that of its object: whom the word of a futex or a JVM names has that lock, for which the
/// wait need not be.
fn has_holder(wait: &WaitKey, target: &ObjectTarget) -> bool {
    match wait.owner_source {
        Some(OwnerSource::LockWord) => target.has_owner,
        Some(OwnerSource::JavaLock) => is_described(wait, target),
        Some(OwnerSource::Gil | OwnerSource::FileLock | OwnerSource::Announced) => true,
        None => false,
    }
}

/// A word of memory that is part of a known object in one wait is part of it in every wait.
fn adopt_untyped(targets: &mut [ObjectTarget]) {
    let mut known: FastMap<(ImageId, u64), ObjectIdentity> = FastMap::default();
    for target in targets.iter().filter(|target| target.certain) {
        if let ObjectIdentity::Memory(image, ..) | ObjectIdentity::Gil(image) = target.identity {
            known.entry((image, target.address)).or_insert_with(|| target.identity.clone());
        }
    }
    for target in targets.iter_mut().filter(|target| !target.certain) {
        if let ObjectIdentity::Memory(image, ..) = target.identity
            && let Some(identity) = known.get(&(image, target.address))
        {
            target.identity.clone_from(identity);
        }
    }
}

/// The data addresses whose symbols are wanted: image and address.
pub fn data_addresses(waits: &[WaitKey], announced: &[SyncObject]) -> Vec<(ImageId, u64)> {
    let in_memory = |wait: &&WaitKey| {
        wait.hint != WaitTarget::JavaLock && (wait.kind() == CallKind::Futex || wait.sleep == Sleep::Fiber)
    };
    let futexes = waits.iter().filter(in_memory).filter(|wait| wait.object != 0);
    let nameless = announced.iter().filter(|object| object.name == TextId::EMPTY);
    let nameless = nameless.filter_map(|object| Some((object.image?, object.address)));
    let mut addresses: Vec<_> = futexes.map(|wait| (wait.image, wait.object)).chain(nameless).collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}
