//! What a type of the debug information is to a probe.

use crate::debug_info::{DebugInfo, Node};

/// Most names of an enumeration that are kept.
const MOST_ENUMERATORS: usize = 1024;
/// Longest such name.
const MOST_NAME_BYTES: usize = 128;

/// What a type is.
#[derive(Clone)]
pub(crate) enum TypeKind<'d> {
    /// An integer, a truth value or a letter.
    Number { bytes: u64, is_signed: bool, is_letter: bool },
    /// A floating-point number.
    Float { bytes: u64 },
    /// An address, and the type of what lies there; `None` = void.
    Pointer(Option<Node<'d>>),
    /// The same of a reference, which is followed without being told.
    Reference(Node<'d>),
    /// One of several names.
    Enumeration { bytes: u64, is_signed: bool, node: Node<'d> },
    /// A structure, class or union, and its bytes.
    Structure { node: Node<'d>, bytes: u64 },
    /// Elements of a type, and the bytes of all together.
    Array { element: Node<'d>, bytes: u64 },
    /// Anything else.
    Other,
}

impl<'d> TypeKind<'d> {
    /// Of the type at `node`, which has no qualifiers.
    pub fn of(info: &DebugInfo<'d>, node: &Node<'d>) -> Self {
        let bytes = || info.number(node, gimli::DW_AT_byte_size);
        let kind = match info.tag(node) {
            Some(gimli::DW_TAG_base_type) => bytes().and_then(|bytes| base(info, node, bytes)),
            Some(gimli::DW_TAG_pointer_type) => Some(Self::Pointer(info.type_of(node))),
            Some(gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type) => {
                info.type_of(node).map(Self::Reference)
            }
            Some(gimli::DW_TAG_enumeration_type) => bytes().map(|bytes| {
                let below = info.type_of(node).filter(|ty| info.tag(ty) == Some(gimli::DW_TAG_base_type));
                let is_signed = match below.map(|ty| Self::of(info, &ty)) {
                    Some(Self::Number { is_signed, .. }) => is_signed,
                    _ => false,
                };
                Self::Enumeration { bytes, is_signed, node: node.clone() }
            }),
            Some(gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type) => {
                let whole = info.definition(node);
                whole.and_then(|node| {
                    let bytes = info.number(&node, gimli::DW_AT_byte_size)?;
                    Some(Self::Structure { node, bytes })
                })
            }
            Some(gimli::DW_TAG_array_type) => array(info, node),
            _ => None,
        };
        kind.unwrap_or(Self::Other)
    }

    /// Its bytes in memory, where that is known.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            Self::Number { bytes, .. }
            | Self::Float { bytes }
            | Self::Enumeration { bytes, .. }
            | Self::Structure { bytes, .. }
            | Self::Array { bytes, .. } => Some(*bytes),
            Self::Pointer(_) | Self::Reference(_) => Some(8),
            Self::Other => None,
        }
    }

    /// Whether it is a letter of a text.
    pub fn is_letter(&self) -> bool {
        matches!(self, Self::Number { is_letter: true, .. })
    }
}

fn base<'d>(info: &DebugInfo<'d>, node: &Node<'d>, bytes: u64) -> Option<TypeKind<'d>> {
    let encoding = gimli::DwAte(u8::try_from(info.number(node, gimli::DW_AT_encoding)?).ok()?);
    let number = |is_signed, is_letter| Some(TypeKind::Number { bytes, is_signed, is_letter: is_letter && bytes == 1 });
    match encoding {
        gimli::DW_ATE_signed => number(true, false),
        gimli::DW_ATE_signed_char => number(true, true),
        gimli::DW_ATE_unsigned | gimli::DW_ATE_boolean | gimli::DW_ATE_address => number(false, false),
        gimli::DW_ATE_unsigned_char | gimli::DW_ATE_UTF => number(false, true),
        gimli::DW_ATE_float | gimli::DW_ATE_complex_float | gimli::DW_ATE_decimal_float => {
            Some(TypeKind::Float { bytes })
        }
        _ => None,
    }
}

fn array<'d>(info: &DebugInfo<'d>, node: &Node<'d>) -> Option<TypeKind<'d>> {
    let element = info.type_of(node)?;
    let each = TypeKind::of_leaf(info, &element).bytes()?;
    let count = |range: &Node<'d>| {
        let most = || info.number(range, gimli::DW_AT_upper_bound)?.checked_add(1);
        info.number(range, gimli::DW_AT_count).or_else(most).unwrap_or(0)
    };
    let counts = info.children(node).iter().map(count).fold(1u64, u64::saturating_mul);
    Some(TypeKind::Array { element, bytes: each.saturating_mul(counts) })
}

impl<'d> TypeKind<'d> {
    /// As [`Self::of`], but for arrays, which a damaged tree may nest without end.
    fn of_leaf(info: &DebugInfo<'d>, node: &Node<'d>) -> Self {
        match info.tag(node) {
            Some(gimli::DW_TAG_array_type) => Self::Other,
            _ => Self::of(info, node),
        }
    }
}

/// The names of an enumeration, and what each stands for.
pub(crate) fn enumerators<'d>(info: &DebugInfo<'d>, node: &Node<'d>, is_signed: bool) -> Vec<(String, i128)> {
    let children = info.children(node).into_iter().take(MOST_ENUMERATORS);
    let named = children.filter(|child| info.tag(child) == Some(gimli::DW_TAG_enumerator)).filter_map(|child| {
        let name = info.name(&child).filter(|name| name.len() <= MOST_NAME_BYTES)?;
        let signed = || info.signed_number(&child, gimli::DW_AT_const_value).map(i128::from);
        let unsigned = info.number(&child, gimli::DW_AT_const_value).filter(|_| !is_signed).map(i128::from);
        Some((name, unsigned.or_else(signed)?))
    });
    named.collect()
}
