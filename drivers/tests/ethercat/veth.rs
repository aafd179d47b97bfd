//! Two processes.
