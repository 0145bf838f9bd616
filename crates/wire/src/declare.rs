//! Declarations that are Rust and C at once: each macro makes the Rust items and a table, from which comes the C text.
//!
//! A type is the same word in both, but for `i32`, which is `s32` in C, and [`Char`], which is `char`; a record in a
//! record has the name that its own declaration gives it in C. The field `ty` is `type` in C.

use std::fmt;

/// A byte of text: `char` in C.
pub type Char = u8;

/// A constant, or a member of an enum: its name in C, and its value as both languages write it.
#[derive(Clone, Copy)]
pub(crate) struct Constant {
    pub name: &'static str,
    pub value: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) struct Enum {
    pub name: &'static str,
    pub members: &'static [Constant],
}

#[derive(Clone, Copy)]
pub(crate) struct Record {
    /// `struct record_switch`.
    pub name: &'static str,
    /// With what follows the fixed part.
    pub bytes: usize,
    pub fields: &'static [Field],
}

/// A field of a record, or the array that follows the fixed part.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub name: &'static str,
    pub ty: &'static str,
    /// Elements of an array.
    pub count: Option<usize>,
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "#define {} {}", self.name, self.value)
    }
}

impl fmt::Display for Enum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nenum {} {{", self.name)?;
        self.members.iter().try_for_each(|it| writeln!(f, "\t{} = {},", it.name, it.value))?;
        writeln!(f, "}};")
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, fields } = self;
        writeln!(f, "\n{name} {{")?;
        fields.iter().try_for_each(|field| writeln!(f, "\t{field};"))?;
        writeln!(f, "}};\n_Static_assert(sizeof({name}) == {bytes}, \"dwell-wire\");")
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.name)?;
        self.count.map_or(Ok(()), |count| write!(f, "[{count}]"))
    }
}

/// `NAME: TYPE = VALUE, NAME_IN_C;`
macro_rules! constants {
    ($($(#[$doc:meta])+ $name:ident: $ty:ident = $value:literal, $in_c:ident;)*) => {
        $($(#[$doc])+ pub const $name: $ty = $value;)*

        pub(crate) const CONSTANTS: &[$crate::declare::Constant] =
            &[$($crate::declare::Constant { name: stringify!($in_c), value: stringify!($value) },)*];
    };
}

/// `MODULE: TYPE = NAME_IN_C, PREFIX_ { MEMBER = VALUE, … }`: the constant `MODULE::MEMBER` is `PREFIX_MEMBER` in C.
macro_rules! enums {
    ($($(#[$doc:meta])+ $module:ident: $ty:ident = $in_c:ident, $prefix:ident {
        $($(#[$member_doc:meta])+ $member:ident = $value:literal,)*
    })*) => {
        $($(#[$doc])+ pub mod $module {
            $($(#[$member_doc])+ pub const $member: $ty = $value;)*
        })*

        pub(crate) const ENUMS: &[$crate::declare::Enum] = &[$($crate::declare::Enum {
            name: stringify!($in_c),
            members: &[$($crate::declare::Constant {
                name: concat!(stringify!($prefix), stringify!($member)),
                value: stringify!($value),
            },)*],
        },)*];
    };
}

/// `NAME = NAME_IN_C { VARIANT = CODE, NAME_IN_C; … }`: an enum in Rust, too.
macro_rules! codes {
    ($($(#[$doc:meta])+ $name:ident = $in_c:ident {
        $($(#[$variant_doc:meta])+ $variant:ident = $code:literal, $variant_in_c:ident;)*
    })*) => {
        $($(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name { $($(#[$variant_doc])+ $variant = $code,)* }

        impl $name {
            /// What has this code.
            pub fn from_code(code: u8) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)* _ => None }
            }
        })*

        pub(crate) const CODES: &[$crate::declare::Enum] = &[$($crate::declare::Enum {
            name: stringify!($in_c),
            members: &[$($crate::declare::Constant {
                name: stringify!($variant_in_c),
                value: stringify!($code),
            },)*],
        },)*];
    };
}

/// `NAME = NAME_IN_C, BYTES { FIELD: TYPE, … }`. Of a record of any length, this is the fixed part; C declares behind
/// it the array of most elements, which is `followed by FIELD: [TYPE; COUNT]`.
macro_rules! records {
    ($($(#[$doc:meta])+ $name:ident = $in_c:ident, $bytes:literal {
        $($(#[$field_doc:meta])+ $field:ident: $ty:tt,)*
    } $(followed by $last:ident: $last_ty:tt)?)*) => {
        $($(#[$doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])+ pub $field: $ty,)* }

        impl $name {
            pub(crate) const IN_C: &'static str = concat!("struct ", stringify!($in_c));
        }

        const _: () = assert!(size_of::<$name>() == $bytes);)*

        pub(crate) const RECORDS: &[$crate::declare::Record] = &[$($crate::declare::Record {
            name: $name::IN_C,
            bytes: $bytes $(+ size_of::<$last_ty>())?,
            fields: &[
                $($crate::declare::field!($field: $ty),)*
                $($crate::declare::field!($last: $last_ty),)?
            ],
        },)*];
    };
}

macro_rules! field {
    ($name:ident: [$ty:ident; $count:expr]) => {
        $crate::declare::Field {
            name: $crate::declare::field_in_c!($name),
            ty: $crate::declare::type_in_c!($ty),
            count: Some($count),
        }
    };
    ($name:ident: $ty:ident) => {
        $crate::declare::Field {
            name: $crate::declare::field_in_c!($name),
            ty: $crate::declare::type_in_c!($ty),
            count: None,
        }
    };
}

#[rustfmt::skip]
macro_rules! field_in_c {
    (ty) => { "type" };
    ($name:ident) => { stringify!($name) };
}

#[rustfmt::skip]
macro_rules! type_in_c {
    (u8) => { "u8" };
    (u16) => { "u16" };
    (u32) => { "u32" };
    (u64) => { "u64" };
    (i32) => { "s32" };
    (Char) => { "char" };
    ($record:ident) => { $record::IN_C };
}

pub(crate) use {codes, constants, enums, field, field_in_c, records, type_in_c};
