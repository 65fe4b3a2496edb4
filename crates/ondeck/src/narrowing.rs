//! What narrows a guard to a part of its data.

/// `map`, `try_map` and `try_map_or_err` of `$guard`, which become `$mapped`. `[$by]` borrows the data, and `[$pointer]` is how the part is
/// kept. Of a guard `$s` that is not dropped, `$raw` is the raw lock. In the examples, `$get` gets a guard of a new `$lock`.
macro_rules! narrows {
    (
        $guard:ident<'a, T $(, $policy:ident)?> to $mapped:ident, [$($by:tt)+] as [$($pointer:tt)+], |$s:ident| $raw:expr,
        $lock:literal, $get:literal
    ) => {
        impl<'a, T: ?Sized $(, $policy: Policy)?> $guard<'a, T $(, $policy)?> {
            /// Narrows the guard to a part of the data.
            ///
            /// # Panics
            /// If `f` panics. The lock is released then.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $lock, "::new((1, \"two\"));")]
            #[doc = concat!("let second = ", stringify!($guard), "::map(", $get, ", |pair| ", stringify!($($by)+), " pair.1);")]
            /// assert_eq!(*second, "two");
            /// ```
            #[inline]
            pub fn map<U: ?Sized, F>(s: Self, f: F) -> $mapped<'a, U $(, $policy)?>
            where
                F: FnOnce($($by)+ T) -> $($by)+ U,
            {
                match Self::try_map_or_err(s, |data| Ok::<_, std::convert::Infallible>(f(data))) {
                    Ok(guard) => guard,
                    Err((_, never)) => match never {},
                }
            }

            /// Narrows the guard to a part of the data that may be missing.
            ///
            /// # Errors
            /// If `f` returns `None`. The error is the guard, which still has the lock.
            ///
            /// # Panics
            /// If `f` panics. The lock is released then.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $lock, "::new([Some(1), None]);")]
            #[doc = concat!("let guard = ", stringify!($guard), "::try_map(", $get, ", |list| list[1]", $crate::narrowing::as_part!($($by)+), ");")]
            #[doc = concat!("let first = ", stringify!($guard), "::try_map(guard.unwrap_err(), |list| list[0]", $crate::narrowing::as_part!($($by)+), ");")]
            /// assert_eq!(*first.unwrap(), 1);
            /// ```
            #[inline]
            pub fn try_map<U: ?Sized, F>(s: Self, f: F) -> Result<$mapped<'a, U $(, $policy)?>, Self>
            where
                F: FnOnce($($by)+ T) -> Option<$($by)+ U>,
            {
                Self::try_map_or_err(s, |data| f(data).ok_or(())).map_err(|(s, ())| s)
            }

            /// As [`try_map`](Self::try_map), where `f` gives a reason.
            ///
            /// # Errors
            /// If `f` returns an error. The guard, which still has the lock, comes back with it.
            ///
            /// # Panics
            /// If `f` panics. The lock is released then.
            ///
            /// # Example
            /// ```
            /// use ondeck::*;
            ///
            #[doc = concat!("let lock = ", $lock, "::new([Some(1), None]);")]
            #[doc = concat!("let none = ", stringify!($guard), "::try_map_or_err(", $get, ", |list| list[1]", $crate::narrowing::as_part!($($by)+), ".ok_or(\"none\"));")]
            /// let (guard, reason) = none.unwrap_err();
            /// assert_eq!((guard[0], reason), (Some(1), "none"));
            /// ```
            #[inline]
            pub fn try_map_or_err<U: ?Sized, F, E>(s: Self, f: F) -> Result<$mapped<'a, U $(, $policy)?>, (Self, E)>
            where
                F: FnOnce($($by)+ T) -> Result<$($by)+ U, E>,
            {
                #[allow(unused_mut, reason = "not all are borrowed by `&mut`")]
                let mut s = s;
                let data: $($pointer)+ U = match f($($by)+ s) {
                    Ok(data) => data,
                    Err(error) => return Err((s, error)),
                };
                let $s = std::mem::ManuallyDrop::new(s);
                // SAFETY: the guard has the lock, and is not dropped. The part is borrowed from the data.
                Ok(unsafe { $mapped::new($raw, data) })
            }
        }
    };
}
pub(crate) use narrows;

/// Borrows what is in an `Option`, in an example.
macro_rules! as_part {
    (& mut) => {
        ".as_mut()"
    };
    (&) => {
        ".as_ref()"
    };
}
pub(crate) use as_part;
