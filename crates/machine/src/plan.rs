//! What can be known of a block without running it, worked out once: its lines, the operations of its instructions, their
//! dependences and costs.

use dwell_itrace::Block;
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind,
    Register,
};

use crate::class;
use crate::counts::TICKS_PER_CYCLE;
use crate::description::{Class, Machine};

/// Where the flow can go behind a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// On.
    Falls,
    Conditional,
    Jump,
    IndirectJump,
    Call,
    IndirectCall,
    Return,
    /// Into or out of the kernel: no prediction.
    System,
}

/// Registers of the model: general, vector, mask, x87/MMX, flags.
pub(crate) const REGISTERS: usize = 1 << u8::BITS;
const VECTORS: u8 = 16;
const MASKS: u8 = 48;
const STACK: u8 = 56;
const FLAGS: u8 = 64;
/// Always ready.
const NONE: u8 = 126;
/// Written, never read.
const TRASH: u8 = 127;

pub(crate) mod op {
    //! Bits of [`super::Op::flags`].

    /// It reads memory.
    pub const LOAD: u8 = 1;
    /// It writes memory.
    pub const STORE: u8 = 2;
    /// Later loads wait for it.
    pub const BARRIER: u8 = 4;
    /// It waits for all before it, all behind wait for it.
    pub const SERIAL: u8 = 8;
}

/// An instruction as the core sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// What its addresses are made of.
    pub address: [u8; 2],
    /// What it computes with.
    pub sources: [u8; 3],
    pub targets: [u8; 3],
    pub flags: u8,
    /// Slots of rename; 0 if it is fused with the one before.
    pub slots: u8,
    /// Ticks from the operands to the result.
    pub latency: u32,
}

/// Units that operations compete for, in the order of [`crate::description::Ports::named`].
pub(crate) const UNITS: usize = 8;

/// A block that is ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub address: u64,
    pub end: u64,
    /// Where its last instruction begins.
    pub last: u64,
    /// Where a direct branch goes.
    pub target: u64,
    pub flow: Flow,
    /// It is one repeated string instruction: an execution is an iteration.
    pub repeats: bool,
    /// It moves or fills memory: iterations are merged (fast string operations).
    pub moves: bool,
    /// Its operations in [`Plans::ops`].
    pub ops: std::ops::Range<u32>,
    pub instructions: u32,
    pub slots: u32,
    /// Instructions that store.
    pub stores: u32,
    /// None of its instructions waits for an empty pipeline, and an empty one has room for them all.
    pub flows: bool,
    /// Ticks of the decoders.
    pub decode: u64,
    /// Entries that a window of it takes in the µop cache.
    pub entries: u64,
    /// Ticks for which each unit is taken.
    pub taken: [u32; UNITS],
    /// A unit is taken for longer than the slots last.
    pub strains: bool,
}

/// All blocks of a trace.
#[derive(Debug)]
pub(crate) struct Plans {
    machine: Machine,
    info: InstructionInfoFactory,
    pub plans: Vec<Plan>,
    pub ops: Vec<Op>,
}

impl Plans {
    pub fn new(machine: Machine) -> Self {
        Self { machine, info: InstructionInfoFactory::new(), plans: Vec::new(), ops: Vec::new() }
    }

    /// Plans a block.
    pub fn add(&mut self, block: &Block) {
        let from = self.ops.len() as u32;
        let mut plan = Plan {
            address: block.address(),
            end: block.end(),
            last: block.address(),
            target: 0,
            flow: Flow::Falls,
            repeats: false,
            moves: false,
            ops: from..from,
            instructions: block.count() as u32,
            slots: 0,
            stores: 0,
            flows: true,
            decode: 0,
            entries: 0,
            taken: [0; UNITS],
            strains: false,
        };
        let mut before = Instruction::default();
        for (address, bytes) in block.instructions() {
            let instruction = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode();
            let op = self.op(&instruction, &before, &mut plan);
            plan.slots += u32::from(op.slots);
            plan.stores += u32::from(op.flags & op::STORE != 0);
            plan.flows &= op.flags & op::SERIAL == 0;
            plan.last = address;
            self.ops.push(op);
            before = instruction;
        }
        plan.ops.end = self.ops.len() as u32;
        plan.flow = flow(&before);
        plan.target = before.near_branch_target();
        plan.repeats = block.count() == 1 && repeats(&before);
        plan.moves = plan.repeats && is_move(&before);
        plan.decode = self.decode(block);
        plan.entries = self.entries(block, plan.slots);
        let core = &self.machine.core;
        plan.flows &= plan.slots as usize <= core.window && plan.stores as usize <= core.store_buffer;
        let slots = u64::from(plan.slots) * TICKS_PER_CYCLE / core.width;
        plan.strains = plan.taken.iter().any(|&taken| u64::from(taken) > slots);
        self.plans.push(plan);
    }

    /// Ticks that fetch and decoders need, whichever is slower.
    fn decode(&self, block: &Block) -> u64 {
        let frontend = &self.machine.frontend;
        let fetch = block.code().len() as u64 * TICKS_PER_CYCLE / frontend.fetch_bytes;
        let decode = block.count() as u64 * TICKS_PER_CYCLE / frontend.decode_width;
        fetch.max(decode)
    }

    /// Entries of the µop cache that a window of a block takes: its µops are taken as spread evenly.
    fn entries(&self, block: &Block, slots: u32) -> u64 {
        let Some(cache) = &self.machine.frontend.uop_cache else { return 0 };
        let bytes = block.end().wrapping_sub(block.address()).max(cache.window);
        (u64::from(slots) * cache.window / bytes).div_ceil(cache.uops).clamp(1, 3)
    }

    fn op(&mut self, instruction: &Instruction, before: &Instruction, plan: &mut Plan) -> Op {
        let class = class::of(instruction);
        let cost = self.machine.core.classes.cost(class);
        let eliminated = class == Class::Copy && self.machine.core.move_elimination;
        let latency = if eliminated { 0 } else { cost.latency };
        let mut op = Op {
            address: [NONE; 2],
            sources: [NONE; 3],
            targets: [TRASH; 3],
            flags: flags_of(class),
            slots: if is_fused(before, instruction) { 0 } else { cost.uops as u8 },
            latency: (latency * TICKS_PER_CYCLE) as u32,
        };
        self.dependences(instruction, &mut op);
        if class == Class::Copy && op.flags & (op::LOAD | op::STORE) != 0 {
            op.latency = 0;
        }
        let ports = self.machine.core.ports.named();
        let mut take = |unit: usize, cycles: u64| {
            plan.taken[unit] = plan.taken[unit].saturating_add((cycles * TICKS_PER_CYCLE / ports[unit].1) as u32);
        };
        if op.slots > 0
            && let Some(unit) = unit_of(class, instruction, eliminated, op.flags)
        {
            take(unit, cost.busy);
        }
        if op.flags & op::LOAD != 0 {
            take(LOAD, 1);
        }
        if op.flags & op::STORE != 0 {
            take(STORE, 1);
        }
        op
    }

    fn dependences(&mut self, instruction: &Instruction, op: &mut Op) {
        let info = self.info.info(instruction);
        for memory in info.used_memory() {
            put(&mut op.address, memory.base());
            put(&mut op.address, memory.index());
            op.flags |= match memory.access() {
                OpAccess::Read | OpAccess::CondRead => op::LOAD,
                OpAccess::Write | OpAccess::CondWrite => op::STORE,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => op::LOAD | op::STORE,
                _ => 0,
            };
        }
        let stack = instruction.is_stack_instruction();
        for used in info.used_registers() {
            let register = used.register();
            // The stack pointer is followed at rename.
            if stack && register.full_register() == Register::RSP {
                continue;
            }
            if reads(used.access()) && !(only_addresses(instruction, register)) {
                put(&mut op.sources, register);
            }
            if writes(used.access()) {
                put_index(&mut op.targets, index_of(register), TRASH);
                if register.is_gpr() && register.size() < 4 {
                    put(&mut op.sources, register);
                }
            }
        }
        if instruction.rflags_read() != 0 {
            put_index(&mut op.sources, FLAGS, NONE);
        }
        if instruction.rflags_modified() != 0 {
            put_index(&mut op.targets, FLAGS, TRASH);
        }
    }
}

const ALU: usize = 0;
const MULTIPLY: usize = 1;
const VECTOR: usize = 2;
const FLOAT: usize = 3;
const DIVIDE: usize = 4;
const LOAD: usize = 5;
const STORE: usize = 6;
const BRANCH: usize = 7;

/// The unit that an operation needs besides those for its memory accesses.
fn unit_of(class: Class, instruction: &Instruction, eliminated: bool, flags: u8) -> Option<usize> {
    match class {
        Class::Copy if eliminated || flags & (op::LOAD | op::STORE) != 0 => None,
        Class::Copy if instruction.mnemonic() == Mnemonic::Nop => None,
        Class::Alu | Class::Shift | Class::Copy | Class::Atomic => Some(ALU),
        Class::Bits | Class::Multiply => Some(MULTIPLY),
        Class::Divide | Class::DivideWide | Class::FloatDivide | Class::FloatRoot => Some(DIVIDE),
        Class::Vector | Class::Shuffle | Class::Cross => Some(VECTOR),
        Class::VectorMultiply | Class::FloatAdd | Class::FloatMultiply | Class::FusedMultiply => Some(FLOAT),
        Class::Convert | Class::Crypto => Some(FLOAT),
        Class::Branch => Some(BRANCH),
        Class::Fence | Class::Microcode | Class::System => None,
    }
}

fn flags_of(class: Class) -> u8 {
    match class {
        Class::Atomic => op::BARRIER,
        Class::Fence | Class::System => op::SERIAL,
        _ => 0,
    }
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Whether an instruction uses a register for an address and for nothing else.
fn only_addresses(instruction: &Instruction, register: Register) -> bool {
    let full = register.full_register();
    let memory = (0..instruction.op_count()).any(|i| instruction.op_kind(i) == OpKind::Memory);
    let addresses =
        instruction.memory_base().full_register() == full || instruction.memory_index().full_register() == full;
    let operand = (0..instruction.op_count())
        .any(|i| instruction.op_kind(i) == OpKind::Register && instruction.op_register(i).full_register() == full);
    memory && addresses && !operand && instruction.mnemonic() != Mnemonic::Lea
}

/// The model's number of a register; [`TRASH`] for those that it does not follow.
fn index_of(register: Register) -> u8 {
    let number = |first: Register, base: u8| base + (register as u32 - first as u32) as u8;
    if register.is_gpr() {
        let full = register.full_register();
        (full as u32 - Register::RAX as u32) as u8
    } else if register.is_vector_register() {
        let full = register.full_register();
        VECTORS + (full as u32 - Register::ZMM0 as u32) as u8
    } else if register.is_k() {
        number(Register::K0, MASKS)
    } else if register.is_st() {
        number(Register::ST0, STACK)
    } else if register.is_mm() {
        number(Register::MM0, STACK)
    } else {
        TRASH
    }
}

fn put(slots: &mut [u8], register: Register) {
    let index = index_of(register);
    if index != TRASH {
        put_index(slots, index, NONE);
    }
}

/// Into the first free place; what has no place is not followed.
fn put_index(slots: &mut [u8], index: u8, free: u8) {
    if index != TRASH
        && !slots.contains(&index)
        && let Some(slot) = slots.iter_mut().find(|slot| **slot == free)
    {
        *slot = index;
    }
}

/// Whether a comparison and the conditional jump behind it take one slot.
fn is_fused(before: &Instruction, instruction: &Instruction) -> bool {
    let compares = matches!(
        before.mnemonic(),
        Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Inc | Mnemonic::Dec
    );
    compares && instruction.flow_control() == FlowControl::ConditionalBranch
}

fn flow(last: &Instruction) -> Flow {
    match last.flow_control() {
        FlowControl::ConditionalBranch => Flow::Conditional,
        FlowControl::UnconditionalBranch => Flow::Jump,
        FlowControl::IndirectBranch => Flow::IndirectJump,
        FlowControl::Call if last.mnemonic() == Mnemonic::Call => Flow::Call,
        FlowControl::IndirectCall if last.mnemonic() == Mnemonic::Call => Flow::IndirectCall,
        FlowControl::Return if last.mnemonic() == Mnemonic::Ret => Flow::Return,
        FlowControl::Next => Flow::Falls,
        _ => Flow::System,
    }
}

fn repeats(instruction: &Instruction) -> bool {
    (instruction.has_rep_prefix() || instruction.has_repne_prefix()) && instruction.is_string_instruction()
}

fn is_move(instruction: &Instruction) -> bool {
    matches!(instruction.code(), Code::Movsb_m8_m8 | Code::Movsw_m16_m16 | Code::Movsd_m32_m32 | Code::Movsq_m64_m64)
        || matches!(
            instruction.code(),
            Code::Stosb_m8_AL | Code::Stosw_m16_AX | Code::Stosd_m32_EAX | Code::Stosq_m64_RAX
        )
}
