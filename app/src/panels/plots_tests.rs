//! What a person does in the plots panel, and what comes of it.

use super::*;
