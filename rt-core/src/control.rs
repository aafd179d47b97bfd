//! Control of the rig: model, regulator, observer, and how much the closed loop can bear.
//!
//! The rig model has the state x = [u_i v_i a_i | u_m v_m a_m | u_p v_p a_p | z_m]: interaction
//! mass, motor, pantograph, and the control action on its way to the motor. Everything here but
//! [`lqg::Lqg`]'s step is design work for threads that may allocate.

pub mod assessment;
pub mod closed_loop;
pub mod frequency;
pub mod kalman;
pub mod lqg;
pub mod lqr;
pub mod margins;
pub mod newmark;
pub mod predictive;
pub mod riccati;
pub mod spectrum;
pub mod stability_map;
pub mod state_space;
