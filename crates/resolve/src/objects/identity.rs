//! What makes two waits ones on the same object.

use dwell_model::{ObjectType, ThreadId};

use crate::replay::numbers::{SyncNumber, WaitNumber};
use crate::replay::threads::ImageId;

/// What decides whether two waits are on the same object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectIdentity {
    /// Memory of a program: the object's address.
    Memory(ImageId, u64, ObjectType),
    /// What an object record describes.
    Described(u64, ObjectType),
    /// The end of a thread.
    Thread(ThreadId),
    /// The end of the thread that ends these waits.
    Ender(WaitNumber),
    /// CPython's global interpreter lock: a mutex and a condition variable of a program.
    Gil(ImageId),
    /// Every object of this type and name.
    Named(ObjectType, String),
    /// What the program says that it waits for.
    Announced(SyncNumber),
}

/// A wait's object before it has a row.
pub struct ObjectTarget {
    /// The object.
    pub identity: ObjectIdentity,
    /// The word of memory that was waited on, 0 for none.
    pub address: u64,
    /// Whether something named the type, or it was guessed at most.
    pub certain: bool,
    /// Whether it is a lock of a C library whose word names its owner.
    pub has_owner: bool,
}

impl ObjectTarget {
    /// The object that the record of `key` describes.
    pub fn described(key: u64, kind: ObjectType) -> Self {
        Self { identity: ObjectIdentity::Described(key, kind), address: 0, certain: true, has_owner: false }
    }

    /// All objects of this type and name.
    pub fn named(kind: ObjectType, name: impl Into<String>) -> Self {
        Self { identity: ObjectIdentity::Named(kind, name.into()), address: 0, certain: true, has_owner: false }
    }
}
