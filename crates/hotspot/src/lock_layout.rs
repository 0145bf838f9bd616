//! Where the parts of a JVM's structures lie that tell what a thread waits for, as this build of it says.

use crate::error::{Error, Result};
use crate::field_offsets::FieldTable;
use crate::layout::{Description, Layout};
use crate::memory::{RemoteMemory, number_at, word_at, words_at};
use crate::names::class_names;
use crate::switches::switches;

/// Classes that the JVM knows by itself lie in one table; so many words on both sides of `Thread`'s are looked through.
const KNOWN_CLASSES: u64 = 160;
/// Whose objects have exclusive owners.
const OWNED: &str = "java.util.concurrent.locks.AbstractOwnableSynchronizer";
/// Shifts are those of alignments.
const MOST_SHIFT: u32 = 16;

/// Offsets in bytes, but for those that say otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockLayout {
    /// Added to a reference.
    pub oop_base: u64,
    /// Bits by which a reference is shifted.
    pub oop_shift: u32,
    /// Of a reference in an object: 4 or 8.
    pub oop_bytes: u32,
    /// Added to an object's class.
    pub class_base: u64,
    /// Bits by which an object's class is shifted.
    pub class_shift: u32,
    /// Address of the class `AbstractOwnableSynchronizer`; 0 where what locks of `java.util.concurrent` say cannot be read.
    pub owned_class: u64,
    /// Of the end of a thread's stack in a JavaThread.
    pub stack_base: u32,
    /// Of the size of that stack.
    pub stack_size: u32,
    /// Of the monitor that the thread is about to enter.
    pub pending_monitor: u32,
    /// Of the handle of its `Thread` object; since JDK 21 that is the virtual thread which it runs, if it does.
    pub thread_object: u32,
    /// Of the owner in an ObjectMonitor.
    pub monitor_owner: u32,
    /// Of the handle of its object.
    pub monitor_object: u32,
    /// Of the class in an object, 4 bytes.
    pub object_class: u32,
    /// Of the class below `Object` in a class's line of ancestors.
    pub class_ancestor: u32,
    /// Of `parkBlocker` in a `Thread` object.
    pub park_blocker: u32,
    /// Of `exclusiveOwnerThread` in an `AbstractOwnableSynchronizer`.
    pub exclusive_owner: u32,
    /// Of `eetop` in a `Thread` object: the address of its JavaThread.
    pub native_thread: u32,
    /// Of `tid` in a `Thread` object, where a monitor's owner is that number (since JDK 24).
    pub thread_number: Option<u32>,
}

impl LockLayout {
    /// As the JVM describes it.
    ///
    /// # Errors
    ///
    /// It does not describe what leads to monitors, or has not begun.
    pub fn read(memory: &mut impl RemoteMemory, is: &Description, code: &Layout) -> Result<Self> {
        let thread_class = word_at(memory, is.field(THREAD_CLASS)?.place);
        if thread_class == 0 {
            return Err(Error::Unreadable { what: "the class Thread" });
        }
        let narrow = ["UseCompressedOops", "UseCompressedClassPointers", "UseCompactObjectHeaders", "UseZGC"];
        let [small_oops, small_classes, compact, moves_at_once] = switches(memory, is, narrow)?;
        if !small_classes || compact {
            return Err(Error::Undescribed { name: "an object's class, with these options" });
        }
        let own = |names: [&'static str; 2]| offset(is, names[0]).or_else(|_| offset(is, names[1]));
        let fields = FieldTable::of(is)?;
        let mut field = |class: u64, name: &str| fields.offset(memory, code, class, name);
        let (park_blocker, native_thread) = (field(thread_class, "parkBlocker"), field(thread_class, "eetop"));
        let number = field(thread_class, "tid");
        let owned_class = owned_class(memory, is, code)?;
        let exclusive_owner = fields.offset(memory, code, owned_class, "exclusiveOwnerThread");
        let all = park_blocker.is_some() && native_thread.is_some() && exclusive_owner.is_some() && !moves_at_once;
        let owner_is_number = is.field("ObjectMonitor::_owner")?.type_name.contains("int");
        Ok(Self {
            oop_base: word_at(memory, place(is, ["CompressedOops::_narrow_oop._base", "CompressedOops::_base"])?),
            oop_shift: shift(number_at(
                memory,
                place(is, ["CompressedOops::_narrow_oop._shift", "CompressedOops::_shift"])?,
            ))?,
            oop_bytes: if small_oops { 4 } else { 8 },
            class_base: word_at(
                memory,
                place(is, ["CompressedKlassPointers::_narrow_klass._base", "CompressedKlassPointers::_base"])?,
            ),
            class_shift: shift(number_at(
                memory,
                place(is, ["CompressedKlassPointers::_narrow_klass._shift", "CompressedKlassPointers::_shift"])?,
            ))?,
            owned_class: if all { owned_class } else { 0 },
            stack_base: own(["JavaThread::_stack_base", "Thread::_stack_base"])?,
            stack_size: own(["JavaThread::_stack_size", "Thread::_stack_size"])?,
            pending_monitor: own(["JavaThread::_current_pending_monitor", "Thread::_current_pending_monitor"])?,
            thread_object: own(["JavaThread::_vthread", "JavaThread::_threadObj"])?,
            monitor_owner: offset(is, "ObjectMonitor::_owner")?,
            monitor_object: offset(is, "ObjectMonitor::_object")?,
            object_class: offset(is, "oopDesc::_metadata._compressed_klass")?,
            class_ancestor: offset(is, "Klass::_primary_supers[0]")? + 8,
            park_blocker: park_blocker.unwrap_or(0),
            exclusive_owner: exclusive_owner.unwrap_or(0),
            native_thread: native_thread.unwrap_or(0),
            thread_number: number.filter(|_| owner_is_number),
        })
    }

    /// The class of an object that has `narrow` as its class.
    pub fn class(&self, narrow: u32) -> u64 {
        self.class_base.wrapping_add(u64::from(narrow) << self.class_shift)
    }
}

const THREAD_CLASS: &str = "vmClasses::_klasses[static_cast<int>(vmClassID::Thread_klass_knum)]";

fn offset(is: &Description, name: &'static str) -> Result<u32> {
    is.offset(name).map(|offset| offset as u32)
}

fn shift(shift: u32) -> Result<u32> {
    if shift > MOST_SHIFT { Err(Error::Implausible { what: "the shift of references" }) } else { Ok(shift) }
}

/// The address of a number that JDK 22 renamed.
fn place(is: &Description, [name, newer]: [&'static str; 2]) -> Result<u64> {
    Ok(is.field(name).or_else(|_| is.field(newer))?.place)
}

/// The class of locks that have owners, 0 where it is not found.
fn owned_class(memory: &mut impl RemoteMemory, is: &Description, code: &Layout) -> Result<u64> {
    let middle = is.field(THREAD_CLASS)?.place;
    let places: Vec<u64> =
        (0..2 * KNOWN_CLASSES).map(|index| middle.wrapping_add(index * 8).wrapping_sub(KNOWN_CLASSES * 8)).collect();
    let classes = words_at(memory, &places, 0);
    let names = class_names(memory, code, &classes);
    Ok(classes.into_iter().zip(names).find(|(_, name)| name == OWNED).map_or(0, |(class, _)| class))
}
