//! Which module an address is of, where several were at one place after each other. The number of the module is in the upper
//! bits of return addresses, and of where modules begin and end: so what was where, and when, are one number. It is 0 for
//! what took nobody's place.

const AT: u32 = 48;
/// In the place of a module's number: it could not be told. No module has it.
pub const UNTOLD: u32 = 0x7fff;

/// Of the first word of a stack that was walked at a release: it is where the call returned to that took the lock, 0 if that is
/// not known, and no frame. Who has taken it may be gone from the stack, as its last act was a jump.
pub const TAKEN_AT: u64 = 1 << 63;

/// The address of such a module.
pub const fn address(plain: u64, module: u32) -> u64 {
    plain | (module as u64) << AT
}

/// As the process has it.
pub const fn plain(address: u64) -> u64 {
    // Above that are the kernel's, and what is [`TAKEN_AT`].
    if address >> 63 == 0 { address & !(!0 << AT) } else { address }
}

/// The number of the module.
pub const fn module(address: u64) -> u32 {
    if address >> 63 == 0 { (address >> AT) as u32 } else { 0 }
}
