//! Where arguments are: of functions by the calling convention, of USDT probes by the note's words.

/// Where the hook finds an argument. Registers are numbered as the kernel's `pt_regs` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentPlace {
    /// In a register.
    Register {
        /// Which.
        register: u8,
        /// How many of its bytes.
        bytes: u8,
        /// Whether these have a sign.
        is_signed: bool,
    },
    /// In memory, at base + index * scale + displacement.
    Memory {
        /// A register.
        base: u8,
        /// Another one.
        index: u8,
        /// 0 = no such register.
        scale: u8,
        /// Bytes.
        displacement: i64,
        /// How many bytes.
        bytes: u8,
        /// Whether these have a sign.
        is_signed: bool,
    },
    /// A number.
    Constant(i64),
    /// A field of an event of the kernel.
    Event {
        /// Where it begins.
        offset: u64,
        /// How many bytes.
        bytes: u8,
        /// Whether these have a sign.
        is_signed: bool,
    },
    /// The address of such a field.
    EventAddress {
        /// Where it begins.
        offset: u64,
    },
    /// The address of what an offset in such a field leads to.
    EventOffset {
        /// Where the field begins.
        offset: u64,
    },
}

/// The names of each register: all of it, its lower 32, 16 and 8 bits; in the order of `pt_regs`.
const REGISTERS: [[&str; 4]; 17] = [
    ["r15", "r15d", "r15w", "r15b"],
    ["r14", "r14d", "r14w", "r14b"],
    ["r13", "r13d", "r13w", "r13b"],
    ["r12", "r12d", "r12w", "r12b"],
    ["rbp", "ebp", "bp", "bpl"],
    ["rbx", "ebx", "bx", "bl"],
    ["r11", "r11d", "r11w", "r11b"],
    ["r10", "r10d", "r10w", "r10b"],
    ["r9", "r9d", "r9w", "r9b"],
    ["r8", "r8d", "r8w", "r8b"],
    ["rax", "eax", "ax", "al"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
    ["rsi", "esi", "si", "sil"],
    ["rdi", "edi", "di", "dil"],
    ["orig_rax", "", "", ""],
    ["rip", "", "", ""],
];
/// Where `pt_regs` has the stack pointer.
const STACK_POINTER: u8 = 19;

fn register(name: &str) -> Option<u8> {
    if ["rsp", "esp", "sp", "spl"].contains(&name) {
        return Some(STACK_POINTER);
    }
    let at = REGISTERS.iter().position(|names| !name.is_empty() && names.contains(&name))?;
    u8::try_from(at).ok().filter(|at| *at < 15)
}

/// Argument `number` of a function, at its entry.
pub fn of_function(number: u8) -> Option<ArgumentPlace> {
    let in_registers = ["rdi", "rsi", "rdx", "rcx", "r8", "r9"];
    let (bytes, is_signed) = (8, false);
    match in_registers.get(usize::from(number)) {
        Some(name) => Some(ArgumentPlace::Register { register: register(name)?, bytes, is_signed }),
        // Behind the return address.
        None => Some(ArgumentPlace::Memory {
            base: STACK_POINTER,
            index: 0,
            scale: 0,
            displacement: 8 * i64::from(number - 5),
            bytes,
            is_signed,
        }),
    }
}

/// What the caller put onto the stack, at a function's entry: `offset` bytes behind the return address.
pub fn of_stack(offset: u64) -> Option<ArgumentPlace> {
    let displacement = i64::try_from(offset).ok()?.checked_add(8)?;
    Some(ArgumentPlace::Memory { base: STACK_POINTER, index: 0, scale: 0, displacement, bytes: 8, is_signed: false })
}

/// What a function returns, at its return.
pub fn returned() -> Option<ArgumentPlace> {
    Some(ArgumentPlace::Register { register: register("rax")?, bytes: 8, is_signed: false })
}

/// The words of each argument of a USDT probe: a blank can be within parentheses.
pub fn words(arguments: &str) -> Vec<&str> {
    let mut depth = 0;
    let is_end = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ' ' && depth <= 0
    };
    arguments.split(is_end).filter(|word| !word.is_empty()).collect()
}

/// Where `-4@-20(%rbp)`, `8@%rax`, `4@$5` or `8@16(%rsp,%rcx,8)` lies.
pub fn of_usdt(word: &str) -> Option<ArgumentPlace> {
    let (size, place) = word.split_once('@').unwrap_or(("8", word));
    let size: i8 = size.parse().ok()?;
    let (bytes, is_signed) = (size.unsigned_abs(), size < 0);
    if ![1, 2, 4, 8].contains(&bytes) {
        return None;
    }
    if let Some(constant) = place.strip_prefix('$') {
        return number(constant).map(ArgumentPlace::Constant);
    }
    if let Some(name) = place.strip_prefix('%') {
        return Some(ArgumentPlace::Register { register: register(name)?, bytes, is_signed });
    }
    let (displacement, inside) = place.strip_suffix(')')?.split_once('(')?;
    let displacement = if displacement.is_empty() { 0 } else { number(displacement)? };
    let mut parts = inside.split(',').map(str::trim);
    let base = register(parts.next()?.strip_prefix('%')?)?;
    let index = parts.next().map(|name| name.strip_prefix('%').and_then(register));
    let scale = parts.next().map_or(Some(1), |scale| scale.parse().ok())?;
    let (index, scale) = match index {
        None => (0, 0),
        Some(index) => (index?, scale),
    };
    Some(ArgumentPlace::Memory { base, index, scale, displacement, bytes, is_signed })
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => digits.parse().ok()?,
    };
    if negative { number.checked_neg() } else { Some(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notes_words_say_where_its_arguments_are() {
        let all = words("8@%rax -4@-20(%rbp) 4@$-5 1@%dil 8@16(%rsp, %rcx, 8) 4@symbol(%rip) 8@(%rbx)");
        let places: Vec<_> = all.iter().map(|word| of_usdt(word)).collect();
        let memory = |base, index, scale, displacement, bytes, is_signed| {
            Some(ArgumentPlace::Memory { base, index, scale, displacement, bytes, is_signed })
        };
        assert_eq!(
            places,
            [
                Some(ArgumentPlace::Register { register: 10, bytes: 8, is_signed: false }),
                memory(4, 0, 0, -20, 4, true),
                Some(ArgumentPlace::Constant(-5)),
                Some(ArgumentPlace::Register { register: 14, bytes: 1, is_signed: false }),
                memory(19, 11, 8, 16, 8, false),
                None,
                memory(5, 0, 0, 0, 8, false),
            ]
        );
        assert!(
            ["", "@", "3@%rax", "8@%nothing", "8@%", "8@(", "8@)", "8@()", "8@$"]
                .iter()
                .all(|word| of_usdt(word).is_none())
        );
    }

    #[test]
    fn arguments_of_functions_are_in_registers_then_on_the_stack() {
        assert_eq!(of_function(0), Some(ArgumentPlace::Register { register: 14, bytes: 8, is_signed: false }));
        let Some(ArgumentPlace::Memory { base, displacement, .. }) = of_function(6) else { panic!("in a register") };
        assert_eq!((base, displacement), (STACK_POINTER, 8));
    }
}
