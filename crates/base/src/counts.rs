//! Counters: structs of whole numbers that only grow, of which differences are measured.

/// Declares a struct of `u64` counters with `since` (the difference of two moments) and `plus` (the
/// sum). Fields between `now:` and `since:` say how many there are at the moment, and are no
/// differences.
#[macro_export]
macro_rules! counts {
    (
        $(#[$doc:meta])*
        pub struct $name:ident {
            $(now: $($(#[$now_doc:meta])* pub $now:ident,)+ since:)?
            $($(#[$field_doc:meta])* pub $field:ident,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, $crate::snapshot::Value)]
        pub struct $name {
            $($($(#[$now_doc])* pub $now: u64,)+)?
            $($(#[$field_doc])* pub $field: u64,)+
        }

        impl $name {
            /// The counts since `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Self) -> Self {
                Self {
                    $($($now: self.$now,)+)?
                    $($field: self.$field - earlier.$field,)+
                }
            }

            /// Returns the sums of these counts and `other`'s.
            #[must_use]
            pub fn plus(&self, other: &Self) -> Self {
                Self {
                    $($($now: self.$now + other.$now,)+)?
                    $($field: self.$field + other.$field,)+
                }
            }
        }
    };
}
