use super::*;
use crate::sample;
