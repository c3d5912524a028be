//! The route table (`paceline.routes/1`): models, offers, keys and policy. Immutable: a change is another table, and
//! each request keeps the one that it began with.

mod keys;
mod offer;
mod policy;

use std::collections::HashMap;
use std::sync::Arc;

use paceline_wire::Secrets;
use serde::Deserialize;

use crate::error::GatewayError;

pub use keys::{Budget, Key, Period};
pub use offer::{Offer, OfferLimits, OfferTimeouts, Price, Target, Tier};
pub use policy::{Hedging, Policy, Probing};

const SCHEMA: &str = "paceline.routes/1";

/// A model that clients may ask for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What clients ask for, as `demo` or `author/slug`.
    pub id: String,
    /// Other names for it.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Models to try when no offer of this one can answer.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// For people.
    #[serde(default)]
    pub description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    schema: String,
    version: u64,
    require_key: bool,
    models: Vec<Model>,
    offers: Vec<Offer>,
    #[serde(default)]
    keys: Vec<Key>,
    policy: Policy,
}

/// Models, offers, keys and policy of one moment.
#[derive(Debug)]
pub struct RouteTable {
    /// Grows with each change.
    pub version: u64,
    /// Requests without a valid key are refused.
    pub require_key: bool,
    /// All models.
    pub models: Vec<Model>,
    /// All offers; others name them by their place here.
    pub offers: Vec<Arc<Offer>>,
    /// All keys.
    pub keys: Vec<Arc<Key>>,
    /// How offers are chosen.
    pub policy: Policy,
    by_model: HashMap<String, usize>,
    by_hash: HashMap<[u8; 32], usize>,
    offers_of: HashMap<String, Vec<usize>>,
}

fn with_secrets(mut offer: Offer) -> Arc<Offer> {
    offer.secrets = Secrets::of(&offer.target.headers);
    Arc::new(offer)
}

impl RouteTable {
    /// Reads and checks the document.
    ///
    /// # Errors
    /// When it is not a route table; the message names the key or the offer.
    pub fn from_json(json: &str) -> Result<Self, GatewayError> {
        let document: Document = crate::error::read_document(json, "route table")?;
        if document.schema != SCHEMA {
            return Err(GatewayError::Document(format!(
                "route table: schema is {:?}, expected {SCHEMA:?}",
                document.schema
            )));
        }
        let mut by_model = HashMap::new();
        for (place, model) in document.models.iter().enumerate() {
            for name in std::iter::once(&model.id).chain(&model.aliases) {
                if by_model.insert(name.clone(), place).is_some() {
                    return Err(GatewayError::Document(format!(
                        "route table: two models are named {name:?}"
                    )));
                }
            }
        }
        let mut offers_of: HashMap<String, Vec<usize>> = HashMap::new();
        let mut ids = HashMap::new();
        for (place, offer) in document.offers.iter().enumerate() {
            offer.check()?;
            if ids.insert(offer.id.clone(), place).is_some() {
                return Err(GatewayError::Document(format!(
                    "route table: two offers have the id {:?}",
                    offer.id
                )));
            }
            if document.models.iter().all(|model| model.id != offer.model) {
                return Err(GatewayError::Document(format!(
                    "route table: offer {:?} is of the model {:?}, which is not in the table",
                    offer.id, offer.model
                )));
            }
            offers_of.entry(offer.model.clone()).or_default().push(place);
        }
        let mut by_hash = HashMap::new();
        for (place, key) in document.keys.iter().enumerate() {
            by_hash.insert(key.hash()?, place);
        }
        Ok(Self {
            version: document.version,
            require_key: document.require_key,
            models: document.models,
            offers: document.offers.into_iter().map(with_secrets).collect(),
            keys: document.keys.into_iter().map(Arc::new).collect(),
            policy: document.policy,
            by_model,
            by_hash,
            offers_of,
        })
    }

    /// The model of that name or alias.
    #[must_use]
    pub fn model(&self, name: &str) -> Option<&Model> {
        self.by_model.get(name).map(|place| &self.models[*place])
    }

    /// Places in `offers` of the offers of a model (by its id).
    #[must_use]
    pub fn offers_of(&self, model: &str) -> &[usize] {
        self.offers_of.get(model).map_or(&[], Vec::as_slice)
    }

    /// The key whose SHA-256 that is.
    #[must_use]
    pub fn key(&self, sha256: &[u8; 32]) -> Option<&Arc<Key>> {
        self.by_hash.get(sha256).map(|place| &self.keys[*place])
    }
}
