//! A mutex is serialised as its data.

use super::Mutex;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};

impl<T: ?Sized + Serialize> Serialize for Mutex<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.lock().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Mutex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Mutex::new)
    }
}
