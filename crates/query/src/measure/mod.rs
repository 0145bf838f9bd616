//! What is measured: utilization classes, weights of events, metrics, distributions.
//!
//! Takes numbers of one event, site or wait; gives sums and their names. It knows neither questions nor traces as a whole.

pub mod bins;
pub mod cpu_kind;
pub mod distribution;
pub mod histogram;
pub mod lengths;
pub mod metrics;
pub mod quantile;
pub mod site;
pub mod utilization;
pub mod weights;
