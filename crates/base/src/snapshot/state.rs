//! States: they are made anew from a configuration and then overwritten.

use super::{Fault, Reader, Value, Writer};

/// An object whose state can be saved, and restored into one made from the same configuration.
///
/// After an error the object must not be used.
pub trait State {
    /// Writes the state. Tells the writer if the object cannot be saved.
    fn save(&self, to: &mut Writer<'_>);

    /// Overwrites the state with one that was saved.
    ///
    /// # Errors
    /// The bytes end, or do not belong to an object like this.
    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault>;
}

impl<S: State + ?Sized> State for Box<S> {
    fn save(&self, to: &mut Writer<'_>) {
        (**self).save(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        (**self).restore(from)
    }
}

impl<S: State + ?Sized> State for &mut S {
    fn save(&self, to: &mut Writer<'_>) {
        (**self).save(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        (**self).restore(from)
    }
}

/// A part that may be absent. The configuration decides whether it is there. So restoring fails if
/// only one of the saved and the restored object has the part.
impl<S: State> State for Option<S> {
    fn save(&self, to: &mut Writer<'_>) {
        self.is_some().put(to);
        if let Some(state) = self {
            state.save(to);
        }
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        match (bool::take(from)?, self) {
            (true, Some(state)) => state.restore(from),
            (false, None) => Ok(()),
            _ => Err(Fault::new("a part is there that should not be, or the other way round")),
        }
    }
}

/// A list of parts. The configuration fixes its length, so the saved and the restored list must
/// have the same length.
impl<S: State> State for [S] {
    fn save(&self, to: &mut Writer<'_>) {
        (self.len() as u64).put(to);
        self.iter().for_each(|state| state.save(to));
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        let count = u64::take(from)?;
        from.check(count == self.len() as u64, "a list of parts has another length")?;
        self.iter_mut().try_for_each(|state| state.restore(from))
    }
}

impl<S: State> State for Vec<S> {
    fn save(&self, to: &mut Writer<'_>) {
        self.as_slice().save(to);
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<(), Fault> {
        self.as_mut_slice().restore(from)
    }
}

/// An object without a state: nothing is saved.
impl State for () {
    fn save(&self, _: &mut Writer<'_>) {}

    fn restore(&mut self, _: &mut Reader<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

/// Writes a table whose length belongs to the configuration.
pub fn save_table<T: Value>(table: &[T], to: &mut Writer<'_>) {
    (table.len() as u64).put(to);
    T::put_all(table, to);
}

/// Overwrites a table with one that [`save_table`] wrote.
///
/// # Errors
/// The errors of reading; another length.
pub fn restore_table<T: Value>(table: &mut [T], from: &mut Reader<'_>) -> Result<(), Fault> {
    from.count_of(table.len())?;
    T::take_into(table, from)
}
