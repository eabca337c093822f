//! Macros that save structs field by field. Each names every field of its struct.

/// The functions of a [`State`](crate::snapshot::State), inside its `impl`, from the names of its
/// fields: `values` are replaced, `tables` overwritten at the length they have, `layers` are lists of
/// such tables, `states` are states themselves, and `fixed` belong to the configuration. `named` is the
/// name of the section. `then` names a method that checks values that would do harm if wrong.
///
/// ```
/// use flashgc_base::snapshot::State;
///
/// struct Window { size: u32, members: Vec<u32>, seen: Vec<bool> }
///
/// impl State for Window {
///     flashgc_base::state! { values: members; tables: seen; fixed: size; }
/// }
/// ```
#[macro_export]
macro_rules! state {
    (
        $(named: $name:literal;)?
        $(values: $($value:ident),+ ;)?
        $(tables: $($table:ident),+ ;)?
        $(layers: $($layers:ident),+ ;)?
        $(states: $($state:ident),+ ;)?
        $(fixed: $($fixed:ident),+ ;)?
        $(then: $check:ident;)?
    ) => {
        #[allow(unused_variables)]
        fn save(&self, to: &mut $crate::snapshot::Writer<'_>) {
            let Self {
                $($($value,)+)? $($($table,)+)? $($($layers,)+)? $($($state,)+)? $($($fixed: _,)+)?
            } = self;
            $(to.section($name);)?
            $($($crate::snapshot::Value::put($value, to);)+)?
            $($($crate::snapshot::save_table(&$table[..], to);)+)?
            $($($layers.iter().for_each(|table| $crate::snapshot::save_table(table, to));)+)?
            $($($crate::snapshot::State::save($state, to);)+)?
        }

        #[allow(unused_variables)]
        fn restore(
            &mut self,
            from: &mut $crate::snapshot::Reader<'_>,
        ) -> Result<(), $crate::snapshot::Fault> {
            let Self {
                $($($value,)+)? $($($table,)+)? $($($layers,)+)? $($($state,)+)? $($($fixed: _,)+)?
            } = self;
            $(from.section($name)?;)?
            $($(*$value = $crate::snapshot::Value::take(from)?;)+)?
            $($($crate::snapshot::restore_table(&mut $table[..], from)?;)+)?
            $($(for table in $layers.iter_mut() {
                $crate::snapshot::restore_table(table, from)?;
            })+)?
            $($($crate::snapshot::State::restore($state, from)?;)+)?
            $(self.$check()?;)?
            Ok(())
        }
    };
}

/// The functions of a [`Value`](crate::snapshot::Value), inside its `impl`, from the names of its
/// fields.
#[macro_export]
macro_rules! value {
    ($($field:ident),+ $(,)?) => {
        fn put(&self, to: &mut $crate::snapshot::Writer<'_>) {
            let Self { $($field),+ } = self;
            $($crate::snapshot::Value::put($field, to);)+
        }

        fn take(
            from: &mut $crate::snapshot::Reader<'_>,
        ) -> Result<Self, $crate::snapshot::Fault> {
            Ok(Self { $($field: $crate::snapshot::Value::take(from)?),+ })
        }
    };
}

/// The functions of a [`Value`](crate::snapshot::Value), inside its `impl`, for an enum without
/// fields: its variants, which are numbered in this order.
#[macro_export]
macro_rules! words {
    ($($word:ident),+ $(,)?) => {
        fn put(&self, to: &mut $crate::snapshot::Writer<'_>) {
            // No wildcard: a variant that is not in the list does not compile.
            match self { $(Self::$word)|+ => {} }
            let words = [$(Self::$word),+];
            let of = std::mem::discriminant(self);
            let number = words.iter().position(|word| std::mem::discriminant(word) == of);
            $crate::snapshot::Value::put(&(number.unwrap_or_default() as u8), to);
        }

        fn take(
            from: &mut $crate::snapshot::Reader<'_>,
        ) -> Result<Self, $crate::snapshot::Fault> {
            let number = <u8 as $crate::snapshot::Value>::take(from)?;
            let word = [$(Self::$word),+].into_iter().nth(usize::from(number));
            word.ok_or_else(|| $crate::snapshot::Fault::new(format!("{number} names no state")))
        }
    };
}
