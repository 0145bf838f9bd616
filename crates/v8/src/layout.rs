//! What V8 says of its own structures.

use crate::memory::{HeapMemory, number_at};

/// Offsets of fields are below this, and types fit in 16 bits.
const MOST_OFFSET: u32 = 255;

macro_rules! layout {
    ($($(#[$doc:meta])* $field:ident $name:literal;)*) => {
        /// Names of the exported numbers, in the order in which [`Layout::read`] takes their addresses.
        const EXPORTS: [&str; [$($name),*].len()] = [$($name),*];

        /// Offsets of fields from an object's begin, and numbers of types.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct Layout {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Layout {
            /// Reads the numbers at these addresses. `None` where one cannot be read yet, or is none that can be.
            pub fn read(memory: &mut impl HeapMemory, addresses: &Addresses) -> Option<Self> {
                let [$($field),*] = *addresses;
                let layout = Self { $($field: number_at(memory, $field)?,)* };
                layout.is_sound().then_some(layout)
            }
        }
    };
}

layout! {
    /// Of the map, which tells an object's type, in any object.
    map "v8dbg_class_HeapObject__map__Map";
    /// Of the type, 16 bits, in a map.
    instance_type "v8dbg_class_Map__instance_type__uint16_t";
    /// Of the function's description in a `JSFunction`.
    shared "v8dbg_class_JSFunction__shared__SharedFunctionInfo";
    /// Of the name, or of the `ScopeInfo` that has it, in a `SharedFunctionInfo`.
    name_or_scope_info "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object";
    /// Type of a `SharedFunctionInfo`.
    shared_type "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE";
    /// Type of a `ScopeInfo`.
    scope_info_type "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE";
    /// Type of a `Script`.
    script_type "v8dbg_type_Script__SCRIPT_TYPE";
    /// Of the name in a `Script`.
    script_name "v8dbg_class_Script__name__Object";
    /// Of the text in a `Script`.
    script_source "v8dbg_class_Script__source__Object";
    /// Of the length, 32 bits, in a string.
    length "v8dbg_class_String__length__int32_t";
    /// Of the characters in a string that has them itself.
    characters "v8dbg_class_SeqOneByteString__chars__char";
    /// Of the first part of a concatenated string.
    cons_first "v8dbg_class_ConsString__first__String";
    /// Of its second part.
    cons_second "v8dbg_class_ConsString__second__String";
    /// Of the string that a thin one stands for.
    thin_actual "v8dbg_class_ThinString__actual__String";
    /// The least type that is no string's.
    first_non_string "v8dbg_FirstNonstringType";
    /// Bits of a string's type that tell how it is represented …
    representation_mask "v8dbg_StringRepresentationMask";
    /// … and these are: it has its characters itself,
    sequential "v8dbg_SeqStringTag";
    /// it is concatenated,
    cons "v8dbg_ConsStringTag";
    /// it stands for another one,
    thin "v8dbg_ThinStringTag";
    /// its characters lie outside of the heap.
    external "v8dbg_ExternalStringTag";
    /// Bits of a string's type that tell how large its characters are …
    encoding_mask "v8dbg_StringEncodingMask";
    /// … and these: one byte.
    one_byte "v8dbg_OneByteStringTag";
}

/// The address of each exported number.
pub type Addresses = [u64; EXPORTS.len()];

/// Other names of one number, which newer versions have.
const OTHER_NAMES: [(&str, &str); 2] = [
    (NAME_OR_SCOPE_INFO, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_"), // Node 22
    (NAME_OR_SCOPE_INFO, "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_"), // Node 24
];
const NAME_OR_SCOPE_INFO: &str = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object";

/// All names to look for in a file of V8's.
pub fn export_names() -> Vec<&'static str> {
    EXPORTS.into_iter().chain(OTHER_NAMES.map(|(_, other)| other)).collect()
}

/// Of what was found of each of [`export_names`] what [`Layout::read`] takes. Fails with the name that lacks.
///
/// # Errors
///
/// The file does not export a number, under any name.
pub fn chosen_exports(found: &[Option<u64>]) -> Result<Addresses, &'static str> {
    let (own, other) = found.split_at(EXPORTS.len().min(found.len()));
    let mut addresses = [0; EXPORTS.len()];
    for (number, name) in EXPORTS.into_iter().enumerate() {
        let others = OTHER_NAMES.iter().zip(other).filter(|((of, _), _)| *of == name);
        let address = own.get(number).copied().flatten().or_else(|| others.filter_map(|(_, found)| *found).next());
        addresses[number] = address.ok_or(name)?;
    }
    Ok(addresses)
}

impl Layout {
    fn is_sound(&self) -> bool {
        let offsets = [self.instance_type, self.shared, self.name_or_scope_info, self.script_name, self.script_source];
        let strings = [self.length, self.characters, self.cons_first, self.cons_second, self.thin_actual];
        let are_offsets = |offsets: &[u32]| offsets.iter().all(|offset| (1..=MOST_OFFSET).contains(offset));
        let types = [self.shared_type, self.scope_info_type, self.script_type];
        self.map == 0
            && are_offsets(&offsets)
            && are_offsets(&strings)
            && types.iter().all(|kind| (self.first_non_string..=u32::from(u16::MAX)).contains(kind))
    }
}
