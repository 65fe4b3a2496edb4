//! The form of a recording: one file for each process, mapped by it and by whoever reads it meanwhile.
