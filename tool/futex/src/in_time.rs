//! Addresses of a process in which one file was loaded at the place of another that was gone: the number of the module is in
//! the bits above the address. It is 0 for what took nobody's place. Recordings have the same form.

const AT: u32 = 48;

/// The address of the module with that number. Those of the kernel are in no module.
pub fn address(plain: u64, module: u32) -> u64 {
    if plain >> AT == 0 { plain | u64::from(module) << AT } else { plain }
}

/// As the process has it.
pub fn plain(address: u64) -> u64 {
    if address >> 63 == 0 { address & !(!0 << AT) } else { address }
}
