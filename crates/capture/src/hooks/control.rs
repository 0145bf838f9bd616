//! What user space tells the hooks while they run: `struct control`.

use bytemuck::bytes_of;

use crate::clock::monotonic_ns;
use crate::error::Result;
use crate::hooks::families::LoadedHooks;
use crate::hooks::sampling::Sampling;
use crate::topics::event_counts::EventCounts;

impl LoadedHooks {
    /// Pauses or resumes recording.
    pub fn set_paused(&mut self, paused: bool) -> Result<()> {
        if paused && self.control.paused == 0 {
            self.event_counts.iter_mut().for_each(EventCounts::cut_slices);
        }
        if !paused {
            self.sampling.iter_mut().for_each(Sampling::attend_all);
        }
        self.control.paused = u32::from(paused);
        self.control.since_ns = monotonic_ns();
        self.write_control()
    }

    /// Has the kernel side describe everything anew that events refer to from now on.
    pub fn describe_again(&mut self) -> Result<()> {
        self.control.generation = self.control.generation.wrapping_add(1);
        self.write_control()
    }

    /// Looks at each wait whether it is for a Java lock: nobody pays for that before there is a JVM.
    pub fn read_java_locks(&mut self) -> Result<()> {
        if self.control.reads_java_locks != 0 {
            return Ok(());
        }
        self.control.reads_java_locks = 1;
        self.write_control()
    }

    fn write_control(&self) -> Result<()> {
        self.update("control", &0u32.to_ne_bytes(), bytes_of(&self.control))
    }
}
