//! A mutex with poison is serialised as its data, as `std::sync::Mutex` is. For a poisoned mutex, this is an error.

use super::Mutex;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error, Serialize, Serializer};

impl<T: ?Sized + Serialize> Serialize for Mutex<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.lock() {
            Ok(guard) => guard.serialize(serializer),
            Err(_) => Err(S::Error::custom("the mutex is poisoned")),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Mutex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Mutex::new)
    }
}
