//! Programs of three languages, built in the ways that programs are, against what they say of themselves.

mod builds;
mod culprits;
mod damage;
mod languages;
mod workshop;
