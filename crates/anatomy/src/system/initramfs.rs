//! The guest's files, as the kernel takes them: an archive in cpio's "newc" format (Documentation/driver-api/early-userspace).

/// An archive that is being made.
#[derive(Default)]
pub struct Initramfs {
    bytes: Vec<u8>,
    inode: u32,
}

impl Initramfs {
    /// A folder.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, 0o40755, [0, 0], &[]);
    }

    /// A file; with `executable`, a program.
    pub fn file(&mut self, name: &str, content: &[u8], executable: bool) {
        self.entry(name, if executable { 0o100_755 } else { 0o100_644 }, [0, 0], content);
    }

    /// The console, which the kernel opens for the first program.
    pub fn console(&mut self) {
        self.entry("dev/console", 0o20_600, [5, 1], &[]);
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, [0, 0], &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, device: [u32; 2], content: &[u8]) {
        self.inode += 1;
        let [major, minor] = device;
        let name_bytes = name.len() as u32 + 1;
        let fields = [self.inode, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, major, minor, name_bytes, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend(format!("{field:08X}").bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.align();
        self.bytes.extend_from_slice(content);
        self.align();
    }

    fn align(&mut self) {
        let bytes = self.bytes.len().next_multiple_of(4);
        self.bytes.resize(bytes, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpio_reads_it() {
        let mut archive = Initramfs::default();
        archive.folder("dev");
        archive.file("init", b"hello", true);
        let bytes = archive.finish();
        assert!(bytes.starts_with(b"070701") && bytes.len() % 4 == 0);
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("init\0") && text.contains("hello") && text.contains("TRAILER!!!"));
        assert_eq!(&bytes[14..22], b"000041ED");
    }
}
