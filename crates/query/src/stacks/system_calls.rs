//! In which system call the kernel ran for a program.

use dwell_model::StackId;

use crate::stacks::call_stacks::CallStacks;

/// What page faults are called, which are no call.
pub const PAGE_FAULTS: &str = "page faults";

/// How the kernel's entries of system calls begin.
const ENTRIES: &[&str] = &["__x64_sys_", "__ia32_sys_", "__do_sys_", "ksys_"];
/// How code is called that the kernel runs in the place of instructions with probes.
const PROBES: &str = "[uprobes]";
/// Its entries of page faults.
const FAULTS: &[&str] = &["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault"];

/// The system call that the kernel ran at the leaf of a stack: `newfstatat`, [`PAGE_FAULTS`]; by the entry next to the program, or by the C
/// library's function that calls, where kernel code has no names (`kptr_restrict`) or the entry is no frame. None outside of the kernel.
pub fn system_call<'t>(stacks: &CallStacks<'t>, stack: StackId) -> Option<&'t str> {
    let name = |at: StackId| stacks.function_name(stacks.function(at));
    let mut chain = stacks.whole_chain(stack).peekable();
    let mut entered = None;
    chain.peek().filter(|leaf| stacks.is_kernel(**leaf))?;
    for at in chain {
        if !stacks.is_kernel(at) {
            // A probe's instruction is the profiler's.
            let is_call = || stacks.is_system(at) && !name(at).starts_with(PROBES);
            let by_library = || is_call().then(|| without_aliases(name(at)));
            return entered.or_else(by_library);
        }
        entered = entry(name(at)).or(entered);
    }
    entered
}

/// The call of which a kernel function is the entry.
fn entry(function: &str) -> Option<&str> {
    let call = ENTRIES.iter().find_map(|start| function.strip_prefix(start));
    call.or_else(|| FAULTS.contains(&function).then_some(PAGE_FAULTS))
}

/// `__libc_write` and `__GI___write` are `write`.
fn without_aliases(function: &str) -> &str {
    function.trim_start_matches("__libc_").trim_start_matches("__GI_").trim_start_matches('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_and_functions_of_the_library_are_one_call() {
        assert_eq!(["__x64_sys_write", "ksys_write"].map(entry), [Some("write"); 2]);
        assert_eq!(["__libc_write", "__GI___write", "write"].map(without_aliases), ["write"; 3]);
        assert_eq!(entry("asm_exc_page_fault"), Some(PAGE_FAULTS));
        assert_eq!(entry("vfs_write"), None);
    }
}
