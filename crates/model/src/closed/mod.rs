//! Closed forms, and equations with one unknown.
