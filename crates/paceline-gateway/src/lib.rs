//! The gateway's data plane: clients on one side, offers on the other, and for each request the choice between them.

#[expect(dead_code, reason = "the worker is being written")]
mod accounts;
mod ask;
#[expect(dead_code, reason = "the worker is being written")]
mod edit;
mod error;
#[expect(dead_code, reason = "the worker is being written")]
mod ledger;
#[expect(dead_code, reason = "the worker is being written")]
mod pages;
#[expect(dead_code, reason = "the worker is being written")]
mod refusal;
mod settings;
pub mod table;

pub use error::GatewayError;
pub use settings::GatewaySettings;
pub use table::RouteTable;
