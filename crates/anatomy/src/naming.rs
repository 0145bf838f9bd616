//! Names blocks as they come, many at a time.

use std::collections::HashMap;

use dwell_itrace::Block;

use crate::stream::{Function, Listener, Module, Namer};

/// Blocks on their way to a listener.
pub struct Naming<'a> {
    namer: &'a mut dyn Namer,
    modules: Vec<Module>,
    /// Blocks that have no name yet, each with its module.
    waiting: Vec<(Block, Option<u32>)>,
    blocks: u32,
    functions: HashMap<Function, u32>,
}

impl<'a> Naming<'a> {
    /// Without blocks.
    pub fn new(namer: &'a mut dyn Namer) -> Self {
        Self { namer, modules: Vec::new(), waiting: Vec::new(), blocks: 0, functions: HashMap::new() }
    }

    /// The next module. Its first code is being translated: the namer reads the file meanwhile, for which the recorder
    /// would have to wait later.
    pub fn add_module(&mut self, module: Module) {
        self.namer.names(Some(&module), &[module.start]);
        self.modules.push(module);
    }

    /// The next block.
    pub fn add_block(&mut self, block: Block, module: u32) {
        let known = (module as usize) < self.modules.len();
        self.waiting.push((block, known.then_some(module)));
    }

    /// How many blocks there are.
    pub fn count(&self) -> u32 {
        self.blocks + self.waiting.len() as u32
    }

    /// Gives the listener what has come since the last time.
    pub fn emit(&mut self, listener: &mut dyn Listener) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        for ((block, _), function) in waiting.iter().zip(self.names_of(&waiting)) {
            let next = self.functions.len() as u32;
            let number = *self.functions.entry(function).or_insert_with_key(|function| {
                listener.function(function);
                next
            });
            listener.block(self.blocks, block, number);
            self.blocks += 1;
        }
    }

    fn names_of(&mut self, blocks: &[(Block, Option<u32>)]) -> Vec<Function> {
        let mut by_module: HashMap<Option<u32>, Vec<usize>> = HashMap::new();
        for (at, (_, module)) in blocks.iter().enumerate() {
            by_module.entry(*module).or_default().push(at);
        }
        let unnamed = Function { name: "[unknown]".to_owned(), module: String::new() };
        let mut names = vec![unnamed; blocks.len()];
        for (module, places) in by_module {
            let addresses: Vec<u64> = places.iter().map(|&at| blocks[at].0.address()).collect();
            let module = module.and_then(|module| self.modules.get(module as usize));
            for (at, name) in places.into_iter().zip(self.namer.names(module, &addresses)) {
                names[at] = name;
            }
        }
        names
    }
}
