//! What a trace or its replay left out, in sentences.

use dwell_itrace::Lost;

use crate::annotate::Anatomy;

/// What a reader must know was left out.
pub fn losses(anatomy: &Anatomy) -> Vec<String> {
    let count = |what: Lost| anatomy.lost.iter().filter(|&&lost| lost == what).count();
    let said = |count: u64, text: &str| (count > 0).then(|| text.replace('#', &count.to_string()));
    let lost = anatomy.unreplayed;
    [
        said(count(Lost::Child) as u64, "# child processes were not recorded: only the program itself is."),
        said(count(Lost::Thread) as u64, "# threads were not recorded: too many ran at once."),
        said(count(Lost::Block) as u64, "# pieces of code could not be read and were not recorded."),
        said(lost.recorded + lost.words, "# words of the trace were lost."),
        said(lost.blocks, "# executions were of unknown code."),
        said(lost.accesses, "# memory accesses belong to no instruction: the processor's own as it takes interrupts, some ten each. The model leaves them out."),
        said(
            anatomy.merged_rows,
            "# times the trace told more apart than is kept: sections and packets are incomplete.",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
