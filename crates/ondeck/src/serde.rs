//! A lock is serialised as its data. For a poisoned lock, this is an error, as for those of `std::sync`.

use crate::{RwLock, poison, policy};
use ondeck_core::ondeck::Policy;
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error, Serialize, Serializer};

impl<T: ?Sized + Serialize, P: Policy> Serialize for policy::Mutex<T, P> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.lock().serialize(serializer)
    }
}

impl<T: ?Sized + Serialize> Serialize for poison::Mutex<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.lock() {
            Ok(guard) => guard.serialize(serializer),
            Err(_) => Err(S::Error::custom("the mutex is poisoned")),
        }
    }
}

impl<T: ?Sized + Serialize> Serialize for RwLock<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.read().serialize(serializer)
    }
}

impl<T: ?Sized + Serialize> Serialize for poison::RwLock<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.read() {
            Ok(guard) => guard.serialize(serializer),
            Err(_) => Err(S::Error::custom("the lock is poisoned")),
        }
    }
}

impl<'de, T: Deserialize<'de>, P: Policy> Deserialize<'de> for policy::Mutex<T, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for poison::Mutex<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for RwLock<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for poison::RwLock<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}
