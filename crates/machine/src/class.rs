//! Which class an instruction belongs to: a table of the beginnings of mnemonics.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

use crate::description::Class;

/// Beginnings of mnemonics as iced-x86 spells them, without the `V` of AVX; the first that fits decides. What fits none is
/// [`Class::Vector`] if it has a vector register, else [`Class::Alu`].
const BEGINNINGS: &[(&str, Class)] = &[
    // Integer.
    ("Movmsk", Class::Cross),
    ("Pmovmsk", Class::Cross),
    ("Movs", Class::Copy),
    ("Mov", Class::Copy),
    ("Lea", Class::Alu),
    ("Nop", Class::Copy),
    ("Endbr", Class::Copy),
    ("Push", Class::Copy),
    ("Pop", Class::Copy),
    ("Leave", Class::Copy),
    ("Xchg", Class::Alu),
    ("Imul", Class::Multiply),
    ("Mul", Class::Multiply),
    ("Idiv", Class::Divide),
    ("Div", Class::Divide),
    ("Rcl", Class::Shift),
    ("Rcr", Class::Shift),
    ("Shld", Class::Bits),
    ("Shrd", Class::Bits),
    ("Bsf", Class::Bits),
    ("Bsr", Class::Bits),
    ("Lzcnt", Class::Bits),
    ("Tzcnt", Class::Bits),
    ("Popcnt", Class::Bits),
    ("Pdep", Class::Bits),
    ("Pext", Class::Bits),
    ("Crc32", Class::Bits),
    // The machine itself.
    ("Mfence", Class::Fence),
    ("Lfence", Class::Fence),
    ("Sfence", Class::Copy),
    ("Pause", Class::Microcode),
    ("Rdtsc", Class::Microcode),
    ("Rdrand", Class::System),
    ("Rdseed", Class::System),
    ("Rdpid", Class::Microcode),
    ("Prefetch", Class::Copy),
    ("Cpuid", Class::System),
    ("Syscall", Class::System),
    ("Sysret", Class::System),
    ("Sysenter", Class::System),
    ("Sysexit", Class::System),
    ("Int1", Class::System),
    ("Int3", Class::System),
    ("Into", Class::System),
    ("Int", Class::System),
    ("Iret", Class::System),
    ("Hlt", Class::System),
    ("Rdmsr", Class::System),
    ("Wrmsr", Class::System),
    ("Rdpmc", Class::System),
    ("Invlpg", Class::System),
    ("Invpcid", Class::System),
    ("Wbinvd", Class::System),
    ("Wbnoinvd", Class::System),
    ("Clflush", Class::Microcode),
    ("Clwb", Class::Microcode),
    ("Swapgs", Class::Microcode),
    ("Cli", Class::Microcode),
    ("Sti", Class::Microcode),
    ("Stac", Class::Microcode),
    ("Clac", Class::Microcode),
    ("Pushf", Class::Microcode),
    ("Popf", Class::Microcode),
    ("Insb", Class::System),
    ("Insw", Class::System),
    ("Insd", Class::System),
    ("Outs", Class::System),
    ("Lgdt", Class::System),
    ("Lidt", Class::System),
    ("Ltr", Class::System),
    ("Lldt", Class::System),
    ("Xsave", Class::Microcode),
    ("Xrstor", Class::Microcode),
    ("Fxsave", Class::Microcode),
    ("Fxrstor", Class::Microcode),
    ("Ldmxcsr", Class::Microcode),
    ("Stmxcsr", Class::Microcode),
    ("Xgetbv", Class::Microcode),
    ("Xsetbv", Class::System),
    ("Rdfsbase", Class::Microcode),
    ("Rdgsbase", Class::Microcode),
    ("Wrfsbase", Class::Microcode),
    ("Wrgsbase", Class::Microcode),
    ("Enter", Class::Microcode),
    ("Vzero", Class::Copy),
    // Vectors.
    ("Aes", Class::Crypto),
    ("Sha1", Class::Crypto),
    ("Sha256", Class::Crypto),
    ("Pclmul", Class::Crypto),
    ("Gf2p8", Class::Crypto),
    ("Fmadd", Class::FusedMultiply),
    ("Fmsub", Class::FusedMultiply),
    ("Fnmadd", Class::FusedMultiply),
    ("Fnmsub", Class::FusedMultiply),
    ("Dpp", Class::FusedMultiply),
    ("Cvt", Class::Convert),
    ("Sqrt", Class::FloatRoot),
    ("Rsqrt", Class::FloatMultiply),
    ("Rcp", Class::FloatMultiply),
    ("Round", Class::Convert),
    ("Rndscale", Class::Convert),
    ("Comis", Class::FloatAdd),
    ("Ucomis", Class::FloatAdd),
    ("Cmpps", Class::FloatAdd),
    ("Cmppd", Class::FloatAdd),
    ("Cmpss", Class::FloatAdd),
    ("Haddp", Class::FloatAdd),
    ("Addsub", Class::FloatAdd),
    ("Pmul", Class::VectorMultiply),
    ("Pmadd", Class::VectorMultiply),
    ("Psadbw", Class::VectorMultiply),
    ("Pshuf", Class::Shuffle),
    ("Shuf", Class::Shuffle),
    ("Perm", Class::Shuffle),
    ("Punpck", Class::Shuffle),
    ("Unpck", Class::Shuffle),
    ("Pack", Class::Shuffle),
    ("Palign", Class::Shuffle),
    ("Broadcast", Class::Shuffle),
    ("Pbroadcast", Class::Shuffle),
    ("Insert", Class::Shuffle),
    ("Extract", Class::Shuffle),
    ("Pinsr", Class::Cross),
    ("Pextr", Class::Cross),
    ("Pmovzx", Class::Shuffle),
    ("Pmovsx", Class::Shuffle),
    ("Kmov", Class::Cross),
    // x87.
    ("Fld", Class::Copy),
    ("Fst", Class::Copy),
    ("Fxch", Class::Copy),
    ("Fild", Class::Convert),
    ("Fist", Class::Convert),
    ("Fadd", Class::FloatAdd),
    ("Fsub", Class::FloatAdd),
    ("Fcom", Class::FloatAdd),
    ("Fucom", Class::FloatAdd),
    ("Fmul", Class::FloatMultiply),
    ("Fdiv", Class::FloatDivide),
    ("Fsqrt", Class::FloatRoot),
    ("Fchs", Class::Vector),
    ("Fabs", Class::Vector),
    ("Fninit", Class::Microcode),
    ("Fsin", Class::Microcode),
    ("Fcos", Class::Microcode),
    ("Fptan", Class::Microcode),
    ("Fpatan", Class::Microcode),
    ("Fyl2x", Class::Microcode),
    ("F2xm1", Class::Microcode),
    ("Fprem", Class::Microcode),
    ("Fnstcw", Class::Microcode),
    ("Fldcw", Class::Microcode),
];

/// Floating-point arithmetic by its ending.
const FLOAT: &[(&str, Class)] = &[
    ("Add", Class::FloatAdd),
    ("Sub", Class::FloatAdd),
    ("Min", Class::FloatAdd),
    ("Max", Class::FloatAdd),
    ("Mul", Class::FloatMultiply),
    ("Div", Class::FloatDivide),
];

/// The class of an instruction.
pub(crate) fn of(instruction: &Instruction) -> Class {
    let mnemonic = instruction.mnemonic();
    if matches!(mnemonic, Mnemonic::In | Mnemonic::Out) {
        return Class::System;
    }
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    if memory && (instruction.has_lock_prefix() || mnemonic == Mnemonic::Xchg) {
        return Class::Atomic;
    }
    if instruction.is_string_instruction() {
        return Class::Microcode;
    }
    let vector = (0..instruction.op_count()).any(|i| is_vector(instruction.op_register(i)));
    let name = format!("{mnemonic:?}");
    match named(&name, vector) {
        Some(Class::Divide) if wide(instruction) => Class::DivideWide,
        Some(Class::Copy) if crosses(instruction) => Class::Cross,
        Some(class) => class,
        None if vector => Class::Vector,
        None if is_branch(instruction) => Class::Branch,
        None if shifts_by_variable(instruction, &name) => Class::Shift,
        None => Class::Alu,
    }
}

fn named(name: &str, vector: bool) -> Option<Class> {
    // The V of AVX; no other vector instruction begins with it.
    let plain = if vector { name.strip_prefix('V').map(capital) } else { None };
    let name = plain.as_deref().unwrap_or(name);
    let arithmetic = ["ps", "pd", "ss", "sd", "ph", "sh"].iter().any(|end| name.ends_with(end));
    let float = FLOAT.iter().find(|(begin, _)| vector && arithmetic && name.starts_with(begin));
    float.or_else(|| BEGINNINGS.iter().find(|(begin, _)| name.starts_with(begin))).map(|(_, class)| *class)
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn is_branch(instruction: &Instruction) -> bool {
    !matches!(instruction.flow_control(), iced_x86::FlowControl::Next | iced_x86::FlowControl::Exception)
}

fn is_vector(register: Register) -> bool {
    register.is_vector_register() || register.is_mm() || register.is_k() || register.is_st()
}

fn wide(instruction: &Instruction) -> bool {
    match instruction.op_kind(0) {
        OpKind::Memory => instruction.memory_size().size() == 8,
        _ => instruction.op_register(0).size() == 8,
    }
}

/// A copy between an integer and a vector register.
fn crosses(instruction: &Instruction) -> bool {
    let (to, from) = (instruction.op_register(0), instruction.op_register(1));
    is_vector(to) && from.is_gpr() || to.is_gpr() && is_vector(from)
}

fn shifts_by_variable(instruction: &Instruction, name: &str) -> bool {
    ["Shl", "Shr", "Sar", "Rol", "Ror", "Sal"].contains(&name) && instruction.op_register(1) == Register::CL
}
