//! The parameters of a function, and where each lies when its first instruction is to run.
//!
//! The debug information tells of an optimised function; of others it tells where a parameter lies only once the function has set up
//! its frame. There the calling convention tells (System V ABI for AMD64, 3.2.3): integers and addresses one by one in six registers,
//! then on the stack.

use gimli::Operation;

use crate::debug_info::{DebugInfo, Node};
use crate::type_kind::TypeKind;
use crate::usdt_arguments::{ArgumentPlace, of_function, of_stack, returned};

/// Registers of the convention.
const INTEGER_REGISTERS: u8 = 6;
const FLOAT_REGISTERS: u8 = 8;
/// Parameters that are looked at.
const MOST_PARAMETERS: usize = 256;
/// Deepest structure within structures that is looked into.
const MOST_DEPTH: usize = 8;
/// Of `pt_regs`, the places of the registers as DWARF numbers them.
const REGISTERS: [u8; 16] = [10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0];

/// Those in which the convention passes integers, as DWARF numbers them.
const ARGUMENTS: [u16; 6] = [5, 4, 1, 2, 8, 9];

/// A parameter, or what a function returns.
pub(crate) struct Parameter<'d> {
    pub name: String,
    /// `None` = void, or not told.
    pub ty: Option<Node<'d>>,
    /// Whether it is the address of a structure, though the source has the structure itself.
    pub is_address: bool,
    /// Where it lies; else why nobody can say.
    pub place: Result<ArgumentPlace, &'static str>,
}

const BY_VALUE: &str = "it is a structure by value, which a probe cannot read";

/// How the convention passes something.
enum Class {
    /// In this many registers of each kind.
    Registers { integers: u8, floats: u8 },
    /// On the stack, in so many bytes.
    Memory(u64),
    /// Not known: what follows is not, either.
    Unclear,
}

/// What the parameters so far took.
struct Taken {
    integers: u8,
    floats: u8,
    /// `None` = not known.
    stack: Option<u64>,
    is_clear: bool,
}

/// Parameters of `function`, whose code begins at `address`. `is_remade`: the compiler changed how it is called.
pub(crate) fn parameters<'d>(
    info: &DebugInfo<'d>,
    function: &Node<'d>,
    address: u64,
    is_remade: bool,
) -> Vec<Parameter<'d>> {
    let children = info.children(function).into_iter();
    let own = children.filter(|child| info.tag(child) == Some(gimli::DW_TAG_formal_parameter)).take(MOST_PARAMETERS);
    let hidden = match class_of(info, info.type_of(function).as_ref()) {
        Class::Memory(_) => 1, // the address at which to return it
        _ => 0,
    };
    let mut taken = Taken { integers: hidden, floats: 0, stack: Some(0), is_clear: !is_remade };
    own.map(|node| {
        let ty = info.type_of(&node);
        let by_convention = taken.place(&class_of(info, ty.as_ref()));
        let told = told(info, (function, &node), address, by_convention.is_ok());
        let mut place = told.map_or(by_convention, Ok);
        let is_address = ty.as_ref().is_some_and(|ty| is_by_reference(info, ty));
        if let Some(TypeKind::Structure { .. }) = ty.as_ref().map(|ty| TypeKind::of(info, ty)).filter(|_| !is_address) {
            place = place.and(Err(BY_VALUE));
        }
        Parameter { name: info.name(&node).unwrap_or_default(), ty, place, is_address }
    })
    .collect()
}

/// What `function` returns.
pub(crate) fn result<'d>(info: &DebugInfo<'d>, function: &Node<'d>) -> Parameter<'d> {
    let ty = info.type_of(function);
    let place = match (&ty, class_of(info, ty.as_ref())) {
        (None, _) => Err("the function returns nothing"),
        (_, Class::Registers { integers: 1, floats: 0 }) => returned().ok_or("its register is not known"),
        _ => Err("it is returned as a floating-point number or a structure"),
    };
    let is_structure = ty.as_ref().is_some_and(|ty| matches!(TypeKind::of(info, ty), TypeKind::Structure { .. }));
    let place = if is_structure { place.and(Err(BY_VALUE)) } else { place };
    Parameter { name: "ret".to_owned(), ty, place, is_address: false }
}

/// Where the debug information says that it lies. `has_place`: the convention knows that, too.
fn told<'d>(
    info: &DebugInfo<'d>,
    (function, node): (&Node<'d>, &Node<'d>),
    address: u64,
    has_place: bool,
) -> Option<ArgumentPlace> {
    let (operation, is_exact) = info.location(node, address)?;
    match operation {
        // Of a large function gcc tells one register for all of it: the one that the parameter is moved to at first.
        Operation::Register { register } if is_exact || (!has_place && ARGUMENTS.contains(&register.0)) => {
            let register = *REGISTERS.get(usize::from(register.0))?;
            Some(ArgumentPlace::Register { register, bytes: 8, is_signed: false })
        }
        // The caller's part of the stack: this is where it lies before there is a frame, too.
        Operation::FrameOffset { offset } if offset >= 0 => {
            let base = info.frame_base(function, address)?;
            (base == Operation::CallFrameCFA).then(|| of_stack(offset.unsigned_abs()))?
        }
        _ => None,
    }
}

impl Taken {
    fn place(&mut self, class: &Class) -> Result<ArgumentPlace, &'static str> {
        const UNCLEAR: &str = "the debug information does not say where it lies when the function begins";
        let clear = self.is_clear;
        match *class {
            Class::Registers { integers, floats } => {
                let fits = self.integers + integers <= INTEGER_REGISTERS && self.floats + floats <= FLOAT_REGISTERS;
                if !fits {
                    return self.on_stack(8 * u64::from(integers + floats), integers == 1 && floats == 0);
                }
                let first = self.integers;
                (self.integers, self.floats) = (self.integers + integers, self.floats + floats);
                match (integers, floats) {
                    (1, 0) if clear => of_function(first).ok_or(UNCLEAR),
                    (1, 0) => Err(UNCLEAR),
                    (0, 1) => Err("it is a floating-point number, which a probe cannot read"),
                    _ => Err("it is a structure by value, or a number of 16 bytes, which a probe cannot read"),
                }
            }
            Class::Memory(bytes) => self.on_stack(bytes, false),
            Class::Unclear => {
                self.is_clear = false;
                Err(UNCLEAR)
            }
        }
    }

    fn on_stack(&mut self, bytes: u64, is_plain: bool) -> Result<ArgumentPlace, &'static str> {
        let at = self.stack.filter(|_| self.is_clear);
        self.stack = at.and_then(|at| at.checked_add(bytes.div_ceil(8) * 8));
        match at {
            Some(at) if is_plain => of_stack(at).ok_or("it lies too far up the stack"),
            Some(_) => Err("it is a structure or a large number by value, which a probe cannot read"),
            None => Err("the debug information does not say where it lies when the function begins"),
        }
    }
}

fn class_of<'d>(info: &DebugInfo<'d>, ty: Option<&Node<'d>>) -> Class {
    let Some(ty) = ty else { return Class::Registers { integers: 0, floats: 0 } };
    match TypeKind::of(info, ty) {
        TypeKind::Number { bytes: 0..=8, .. }
        | TypeKind::Pointer(_)
        | TypeKind::Reference(_)
        | TypeKind::Enumeration { .. } => Class::Registers { integers: 1, floats: 0 },
        TypeKind::Number { bytes: 16, .. } => Class::Registers { integers: 2, floats: 0 },
        TypeKind::Float { bytes: 0..=8 } => Class::Registers { integers: 0, floats: 1 },
        TypeKind::Structure { node, bytes } => of_structure(info, &node, bytes),
        // The alignment of 16 bytes that long double has is not followed.
        _ => Class::Unclear,
    }
}

/// Whether structures of this type are passed by their address.
fn is_by_reference<'d>(info: &DebugInfo<'d>, ty: &Node<'d>) -> bool {
    const BY_REFERENCE: u64 = 4; // DW_CC_pass_by_reference
    let whole = info.definition(ty);
    whole.is_some_and(|ty| info.number(&ty, gimli::DW_AT_calling_convention) == Some(BY_REFERENCE))
}

fn of_structure<'d>(info: &DebugInfo<'d>, node: &Node<'d>, bytes: u64) -> Class {
    if is_by_reference(info, node) {
        return Class::Registers { integers: 1, floats: 0 };
    }
    if bytes > 16 {
        return Class::Memory(bytes);
    }
    let mut halves = [None; 2];
    if fill(info, node, 0, &mut halves, 0).is_none() {
        return Class::Unclear;
    }
    let count = |wanted: bool| halves.iter().filter(|half| **half == Some(wanted)).count() as u8;
    Class::Registers { integers: count(true), floats: count(false) }
}

/// Notes which halves of 16 bytes have integers (true) or only floating-point numbers (false).
fn fill<'d>(
    info: &DebugInfo<'d>,
    node: &Node<'d>,
    at: u64,
    halves: &mut [Option<bool>; 2],
    depth: usize,
) -> Option<()> {
    if depth > MOST_DEPTH {
        return None;
    }
    for child in info.children(node) {
        if !matches!(info.tag(&child), Some(gimli::DW_TAG_member | gimli::DW_TAG_inheritance)) {
            continue;
        }
        if info.entry(&child)?.attr_value(gimli::DW_AT_external).is_some() {
            continue; // static
        }
        let at = at.checked_add(info.number(&child, gimli::DW_AT_data_member_location).unwrap_or(0))?;
        let kind = TypeKind::of(info, &info.type_of(&child)?);
        let is_integer = match &kind {
            TypeKind::Structure { node, .. } => {
                fill(info, node, at, halves, depth + 1)?;
                continue;
            }
            TypeKind::Float { bytes: 0..=8 } => false,
            TypeKind::Float { .. } | TypeKind::Other => return None,
            TypeKind::Array { element, .. } => match TypeKind::of(info, element) {
                TypeKind::Float { bytes: 0..=8 } => false,
                TypeKind::Number { .. } | TypeKind::Pointer(_) | TypeKind::Enumeration { .. } => true,
                _ => return None,
            },
            _ => true,
        };
        let last = at.checked_add(kind.bytes()?.max(1) - 1)?;
        for half in halves.get_mut((at / 8) as usize..=(last / 8) as usize)? {
            *half = Some(half.unwrap_or(false) || is_integer);
        }
    }
    Some(())
}
