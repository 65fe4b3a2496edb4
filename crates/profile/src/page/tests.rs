use super::*;
use crate::made_up;
