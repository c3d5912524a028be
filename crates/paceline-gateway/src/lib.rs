//! The gateway's data plane: clients on one side, offers on the other, and for each request the choice between them.

mod accounts;
mod ask;
mod edit;
mod error;
mod gateway;
mod ledger;
mod pages;
mod recall;
mod refusal;
mod relay;
mod route;
mod settings;
mod shared;
pub mod table;
mod worker;

pub use error::GatewayError;
pub use gateway::{Addresses, Gateway};
pub use settings::GatewaySettings;
pub use table::RouteTable;
