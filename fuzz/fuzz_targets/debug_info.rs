#![no_main]

// A library that panics costs the file its names and nothing else: only a panic that nobody catches is a finding.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| ())),
    |bytes: &[u8]| dwell_fuzz::debug_info(bytes)
);
