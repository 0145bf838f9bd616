//! `req->queue.len`: from a parameter, over the addresses that have to be followed, to a number or a text.

use crate::debug_info::{DebugInfo, Node};
use crate::parameters::Parameter;
use crate::probe_value::ValueType;
use crate::type_kind::{TypeKind, enumerators};
use crate::usdt_arguments::ArgumentPlace;
use crate::value_error::nearest;
use crate::value_path::{Part, parts};
use crate::value_read::{MOST_STEPS, ValueRead};

/// Deepest structure without a name, or base class, that is looked into for a member.
const MOST_DEPTH: usize = 8;

/// What is wrong with a path, and from which of its bytes on.
pub(crate) struct PathError {
    pub at: usize,
    pub sentence: String,
    pub hint: String,
}

type Found<T> = Result<T, PathError>;

fn wrong<T>(at: usize, sentence: impl Into<String>, hint: impl Into<String>) -> Found<T> {
    Err(PathError { at, sentence: sentence.into(), hint: hint.into() })
}

/// Where the walk is.
struct Walk<'d> {
    kind: TypeKind<'d>,
    /// Where each address lies that is followed, counted from the one before.
    steps: Vec<i64>,
    /// Where the value lies, counted from the last address; `None` while it is what the last step, or the place, gives.
    within: Option<i64>,
    /// Of a bit field: the number of its first bit, counted from `within`, and its bits.
    bits: Option<(u64, u64)>,
}

/// How to read what `path` leads to from one of `roots`, as `wanted` or as the debug information says.
pub(crate) fn find<'d>(
    info: &DebugInfo<'d>,
    roots: &[Parameter<'d>],
    path: &str,
    wanted: Option<ValueType>,
) -> Found<ValueRead> {
    let Some(parts) = parts(path) else {
        return wrong(
            0,
            format!("`{path}` is no parameter"),
            "a value is PARAMETER, PARAMETER->MEMBER or PARAMETER->MEMBER.MEMBER",
        );
    };
    let Some((first, members)) = parts.split_first() else {
        return wrong(0, "a value has no place", "name a parameter");
    };
    let Some(root) = roots.iter().find(|root| root.name == first.name) else {
        let names: Vec<&str> = roots.iter().map(|root| root.name.as_str()).filter(|name| !name.is_empty()).collect();
        let hint = if names.is_empty() {
            "the function has no parameters: leave the values out".to_owned()
        } else {
            nearest(first.name, &names)
        };
        return wrong(first.at, format!("there is no parameter `{}`", first.name), hint);
    };
    let place = match root.place {
        Ok(place) => place,
        Err(why) => {
            return wrong(
                first.at,
                format!("`{}` cannot be read: {why}", first.name),
                "leave this value out, or read a register: VALUE=arg0:u64",
            );
        }
    };
    let kind = root.ty.as_ref().map_or(TypeKind::Other, |ty| TypeKind::of(info, ty));
    let mut walk = Walk { kind, steps: Vec::new(), within: None, bits: None };
    if root.is_address {
        walk.within = Some(0);
    }
    for part in members {
        walk.step(info, part)?;
    }
    walk.follow_reference(info);
    let last = parts.last().map_or(0, |part| part.at);
    walk.end(info, place, (last, &path[last..]), wanted)
}

impl<'d> Walk<'d> {
    /// Loads the address that the walk is at; what it leads to is of type `to`.
    fn follow(&mut self, info: &DebugInfo<'d>, to: Option<&Node<'d>>) {
        if let Some(within) = self.within {
            self.steps.push(within);
        }
        self.within = Some(0);
        self.kind = to.map_or(TypeKind::Other, |to| TypeKind::of(info, to));
    }

    fn follow_reference(&mut self, info: &DebugInfo<'d>) {
        if let TypeKind::Reference(to) = self.kind.clone() {
            self.follow(info, Some(&to));
        }
    }

    fn step(&mut self, info: &DebugInfo<'d>, part: &Part<'_>) -> Found<()> {
        let &Part { is_arrow, name, at } = part;
        self.follow_reference(info);
        match self.kind.clone() {
            TypeKind::Pointer(to) if is_arrow => self.follow(info, to.as_ref()),
            TypeKind::Pointer(_) => {
                return wrong(at - 1, "`.` stands behind an address", format!("the nearest is ->: ->{name}"));
            }
            TypeKind::Structure { .. } if is_arrow => {
                return wrong(at - 2, "`->` stands behind a structure", format!("the nearest is `.`: .{name}"));
            }
            _ => {}
        }
        let TypeKind::Structure { node, .. } = self.kind.clone() else {
            return wrong(
                at,
                format!("what is before `{name}` has no members"),
                "only structures have members; those that the debug information only declares have none",
            );
        };
        let Some(member) = member(info, &node, name, 0) else {
            let names = names(info, &node, 0);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let of = info.name(&node).unwrap_or_else(|| "the structure".into());
            return wrong(at, format!("{of} has no member `{name}`"), nearest(name, &names));
        };
        let within = self.within.and_then(|within| within.checked_add_unsigned(member.offset));
        // A structure in registers is refused as a parameter: this one lies in memory.
        self.within = Some(within.unwrap_or(0));
        self.kind = info.type_of(&member.node).map_or(TypeKind::Other, |ty| TypeKind::of(info, &ty));
        self.bits = bits(info, &member.node, &self.kind);
        Ok(())
    }

    /// What is read at the end of the walk.
    fn end(
        mut self,
        info: &DebugInfo<'d>,
        place: ArgumentPlace,
        (at, part): (usize, &str),
        wanted: Option<ValueType>,
    ) -> Found<ValueRead> {
        let ty = self.ty(info, (at, part), wanted)?;
        let mut read = ValueRead::of(place, ty);
        let in_place =
            ty == ValueType::Text && matches!(self.kind, TypeKind::Array { .. } | TypeKind::Structure { .. });
        match self.within {
            Some(within) if in_place => read.end = within,
            Some(within) => {
                let (first, bytes) = match self.bits {
                    Some((first, bits)) => (first / 8, (first % 8 + bits).div_ceil(8)),
                    None => (0, self.kind.bytes().filter(|bytes| *bytes <= 8).unwrap_or(u64::from(ty.bytes()))),
                };
                if !(1..=8).contains(&bytes) {
                    return wrong(
                        at,
                        format!("`{part}` has more than 8 bytes"),
                        "a probe reads numbers of at most 8 bytes",
                    );
                }
                self.steps.push(within.saturating_add_unsigned(first));
                read.narrow(
                    bytes as u8,
                    matches!(
                        self.kind,
                        TypeKind::Number { is_signed: true, .. } | TypeKind::Enumeration { is_signed: true, .. }
                    ),
                );
                if let Some((first, bits)) = self.bits {
                    read.take_bits((first % 8) as u8, bits as u8);
                }
            }
            None => {}
        }
        if let TypeKind::Array { bytes, .. } = self.kind {
            read.text_bytes = u8::try_from(bytes).unwrap_or(u8::MAX);
        }
        if let (TypeKind::Enumeration { node, is_signed, .. }, None) = (&self.kind, wanted) {
            read.enumerators = enumerators(info, node, *is_signed);
        }
        if self.steps.len() > MOST_STEPS {
            return wrong(
                at,
                format!("{} addresses lead to `{part}`", self.steps.len()),
                format!("a probe follows at most {MOST_STEPS}: set it where a nearer address is a parameter"),
            );
        }
        read.steps = self.steps;
        Ok(read)
    }

    /// How the value is shown.
    fn ty(&self, info: &DebugInfo<'d>, (at, part): (usize, &str), wanted: Option<ValueType>) -> Found<ValueType> {
        let is_text = |element: &Node<'d>| TypeKind::of(info, element).is_letter();
        let own = match &self.kind {
            TypeKind::Number { bytes, is_signed, .. } => number(*bytes, *is_signed),
            TypeKind::Enumeration { bytes, is_signed, .. } => number(*bytes, *is_signed),
            TypeKind::Pointer(Some(to)) if is_text(to) => Some(ValueType::Text),
            TypeKind::Pointer(_) => Some(ValueType::Hex { bytes: 8 }),
            TypeKind::Array { element, .. } if is_text(element) => Some(ValueType::Text),
            _ => None,
        };
        if let Some(wanted) = wanted {
            let is_address = matches!(
                self.kind,
                TypeKind::Pointer(_) | TypeKind::Array { .. } | TypeKind::Structure { .. } | TypeKind::Other
            );
            if wanted == ValueType::Text && !is_address && !matches!(self.kind, TypeKind::Number { bytes: 8, .. }) {
                return wrong(
                    at,
                    format!("`{part}` is no text"),
                    "str reads what lies at an address, or an array of letters; leave `:str` out",
                );
            }
            return Ok(wanted);
        }
        let Some(own) = own else {
            let (what, hint) = match &self.kind {
                TypeKind::Float { .. } => ("a floating-point number", format!("its bits can be read: {part}:x64")),
                TypeKind::Structure { node, .. } => (
                    "a structure",
                    format!(
                        "name a member: {part}.MEMBER; {}",
                        nearest("", &names(info, node, 0).iter().map(String::as_str).collect::<Vec<_>>())
                    ),
                ),
                TypeKind::Array { .. } => ("an array", format!("its first element can be read: {part}:u32")),
                _ => ("of a type that is not known", format!("say how it is read: {part}:u64")),
            };
            return wrong(at, format!("`{part}` is {what}"), hint);
        };
        Ok(own)
    }
}

fn number(bytes: u64, is_signed: bool) -> Option<ValueType> {
    let bytes = u8::try_from(bytes).ok().filter(|bytes| [1, 2, 4, 8].contains(bytes))?;
    Some(if is_signed { ValueType::Signed { bytes } } else { ValueType::Unsigned { bytes } })
}

/// A member of a structure.
struct Member<'d> {
    node: Node<'d>,
    /// In the outermost structure, bytes.
    offset: u64,
}

/// What members, and members of what has no name there, are in.
fn nested<'d>(info: &DebugInfo<'d>, child: &Node<'d>) -> Option<Node<'d>> {
    let is_base = info.tag(child) == Some(gimli::DW_TAG_inheritance);
    if !is_base && info.name(child).is_some() {
        return None;
    }
    match TypeKind::of(info, &info.type_of(child)?) {
        TypeKind::Structure { node, .. } => Some(node),
        _ => None,
    }
}

fn members<'d>(info: &DebugInfo<'d>, node: &Node<'d>) -> Vec<Node<'d>> {
    let is_member = |child: &Node<'d>| {
        let tag = info.tag(child);
        let is_static = info.entry(child).is_some_and(|entry| entry.attr_value(gimli::DW_AT_external).is_some());
        matches!(tag, Some(gimli::DW_TAG_member | gimli::DW_TAG_inheritance)) && !is_static
    };
    info.children(node).into_iter().filter(is_member).collect()
}

fn member<'d>(info: &DebugInfo<'d>, node: &Node<'d>, name: &str, depth: usize) -> Option<Member<'d>> {
    if depth > MOST_DEPTH {
        return None;
    }
    let offset = |child: &Node<'d>| info.number(child, gimli::DW_AT_data_member_location).unwrap_or(0);
    let all = members(info, node);
    if let Some(child) = all.iter().find(|child| info.name(child).as_deref() == Some(name)) {
        return Some(Member { node: child.clone(), offset: offset(child) });
    }
    all.iter().find_map(|child| {
        let found = member(info, &nested(info, child)?, name, depth + 1)?;
        Some(Member { node: found.node, offset: found.offset.checked_add(offset(child))? })
    })
}

fn names<'d>(info: &DebugInfo<'d>, node: &Node<'d>, depth: usize) -> Vec<String> {
    if depth > MOST_DEPTH {
        return Vec::new();
    }
    let of = |child: &Node<'d>| match nested(info, child) {
        Some(node) => names(info, &node, depth + 1),
        None => info.name(child).into_iter().collect(),
    };
    members(info, node).iter().flat_map(of).collect()
}

/// Of a bit field: its first bit, counted from the member's offset, and how many it has.
fn bits<'d>(info: &DebugInfo<'d>, node: &Node<'d>, kind: &TypeKind<'d>) -> Option<(u64, u64)> {
    let bits = info.number(node, gimli::DW_AT_bit_size).filter(|bits| (1..=64).contains(bits))?;
    if let Some(first) = info.number(node, gimli::DW_AT_data_bit_offset) {
        return Some((first, bits));
    }
    // DWARF 3 and older count from the highest bit of the whole.
    let from_top = info.number(node, gimli::DW_AT_bit_offset)?;
    let whole = info.number(node, gimli::DW_AT_byte_size).or_else(|| kind.bytes())?.checked_mul(8)?;
    Some((whole.checked_sub(from_top)?.checked_sub(bits)?, bits))
}
