//! Tests that need punctual cycles: `./check` runs nothing beside them.

mod stop_signals;
