//! The real-time core of Pantobench. No window, no bus, no dialog: models, control and the loop.

pub mod bench;
pub mod calibration;
pub mod channel;
pub mod control;
pub mod fault;
pub mod file;
pub mod guard;
pub mod identify;
pub mod link;
pub mod model;
pub mod no_alloc;
pub mod numeric;
pub mod pacing;
pub mod param;
pub mod record;
pub mod rig;
pub mod rt_env;
pub mod rt_loop;
pub mod signal;
pub mod stop;
pub mod svg;
pub mod timing;
pub mod travel;
pub mod triple_buffer;
