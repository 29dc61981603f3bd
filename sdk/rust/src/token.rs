use std::collections::HashMap;
use std::io::Read;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring::{digest, signature};
use serde_json::{Map, Value};

use crate::{base64url, Config};

const TASK_TYP: &str = "aap-task+jwt"; // the arena signs no other kind of token with it
const KEYS_FRESH: Duration = Duration::from_secs(300); // as long as the arena lets its keys be cached
const KEYS_TIMEOUT: Duration = Duration::from_secs(5);
const LOOKS: f64 = 4.0; // for unknown kids, one after the other at once
const LOOKS_PAUSE: f64 = 5.0; // seconds until there may be one more
const MAX_KEY_SET: u64 = 64 << 10;
const MAX_TOKEN: usize = 8 << 10;

/// What the arena's token says of a task (AAP, "Authentication", and the arena's additions). The token of a whole match
/// has neither round nor body hash.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // a name that says it all needs no sentence
pub struct Claims {
    /// jti, "" when it has none
    pub id: String,
    pub agent_id: String,
    pub match_id: String,
    /// 0: the token serves the whole match
    pub round: i64,
    /// base64url SHA-256 of the request's body; "": the token serves the whole match
    pub body_hash: String,
    pub issued_at: SystemTime,
    pub expires_at: SystemTime,
}

impl Claims {
    /// Whether the token serves a whole match.
    pub(crate) fn of_match(&self) -> bool {
        self.body_hash.is_empty()
    }
}

/// Why a token is not taken.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It is not one of this arena, for this agent and this body.
    Unauthorized(&'static str),
    /// The arena's keys could not be read.
    NoKeys,
}

/// A published key; its kind is the one algorithm that it is for.
enum Key {
    Es256(Vec<u8>),
    EdDsa(Vec<u8>),
    Rs256 { n: Vec<u8>, e: Vec<u8> },
}

impl Key {
    fn of(jwk: &Value) -> Option<Key> {
        let part = |name: &str| base64url::decode(jwk[name].as_str()?);
        if !matches!(jwk["use"].as_str(), None | Some("sig")) {
            return None;
        }
        match (jwk["alg"].as_str()?, jwk["kty"].as_str()?) {
            ("ES256", "EC") if jwk["crv"] == "P-256" => Some(Key::Es256([vec![4], part("x")?, part("y")?].concat())),
            ("EdDSA", "OKP") if jwk["crv"] == "Ed25519" => Some(Key::EdDsa(part("x")?)),
            ("RS256", "RSA") => Some(Key::Rs256 { n: part("n")?, e: part("e")? }),
            _ => None,
        }
    }

    fn verifies(&self, alg: &str, signed: &[u8], sig: &[u8]) -> bool {
        let plain = |how: &'static dyn signature::VerificationAlgorithm, key: &[u8]| {
            signature::UnparsedPublicKey::new(how, key).verify(signed, sig).is_ok()
        };
        match (alg, self) {
            ("ES256", Key::Es256(point)) => plain(&signature::ECDSA_P256_SHA256_FIXED, point),
            ("EdDSA", Key::EdDsa(point)) => plain(&signature::ED25519, point),
            ("RS256", Key::Rs256 { n, e }) => {
                let key = signature::RsaPublicKeyComponents { n, e };
                key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, sig).is_ok()
            }
            _ => false,
        }
    }
}

/// Checks task tokens against the arena's published keys.
pub(crate) struct Verifier {
    pub(crate) agent_id: RwLock<String>,
    config: Config,
    http: ureq::Agent,
    keys: RwLock<Option<HashMap<String, Key>>>,
    looks: Mutex<Looks>, // held while the keys are read
}

/// How often the keys are read.
struct Looks {
    last: Option<Instant>, // good one
    allowed: f64,          // for unknown kids
    filled: Instant,
}

impl Looks {
    /// Takes one of the looks for an unknown kid, if there is one.
    fn take(&mut self) -> bool {
        let now = Instant::now();
        self.allowed = LOOKS.min(self.allowed + (now - self.filled).as_secs_f64() / LOOKS_PAUSE);
        self.filled = now;
        if self.allowed < 1.0 {
            return false;
        }
        self.allowed -= 1.0;
        true
    }
}

impl Verifier {
    pub(crate) fn new(config: Config) -> Verifier {
        let http = ureq::AgentBuilder::new().timeout(KEYS_TIMEOUT).redirects(0).build();
        Verifier {
            agent_id: RwLock::new(config.agent_id.clone()),
            config,
            http,
            keys: RwLock::default(),
            looks: Mutex::new(Looks { last: None, allowed: LOOKS, filled: Instant::now() }),
        }
    }

    /// Reads the keys when they are older than five minutes.
    pub(crate) fn refresh(&self) {
        let mut looks = self.looks.lock().unwrap();
        if looks.last.map_or(true, |at| at.elapsed() >= KEYS_FRESH) {
            self.read(&mut looks);
        }
    }

    fn read(&self, looks: &mut Looks) {
        match self.fetch() {
            Ok(keys) => {
                *self.keys.write().unwrap() = Some(keys);
                looks.last = Some(Instant::now());
            }
            Err(error) => (self.config.log)(&format!("arena keys not read: {error}")),
        }
    }

    fn fetch(&self) -> Result<HashMap<String, Key>, String> {
        let response =
            self.http.get(&format!("{}/.well-known/jwks.json", self.config.arena)).call().map_err(|e| e.to_string())?;
        let mut data = Vec::new();
        response.into_reader().take(MAX_KEY_SET).read_to_end(&mut data).map_err(|e| e.to_string())?;
        let set: Value = serde_json::from_slice(&data).map_err(|e| e.to_string())?;
        let keys = set["keys"].as_array().ok_or("not a key set")?;
        Ok(keys.iter().filter_map(|jwk| Some((jwk["kid"].as_str()?.into(), Key::of(jwk)?))).collect())
    }

    /// Whether the key that a token names verifies it. For an unknown one the arena is asked at once, and at a bounded
    /// rate; one asks, the others wait and find what it brought.
    fn signed(&self, kid: &str, alg: &str, signed: &[u8], sig: &[u8]) -> Result<(), Refusal> {
        let known = |kid: &str| self.keys.read().unwrap().as_ref().map(|keys| keys.contains_key(kid));
        if known(kid) != Some(true) {
            let mut looks = self.looks.lock().unwrap();
            if known(kid).is_none() || known(kid) == Some(false) && looks.take() {
                self.read(&mut looks);
            }
        }
        let keys = self.keys.read().unwrap();
        let key = keys.as_ref().ok_or(Refusal::NoKeys)?.get(kid);
        need(
            key.ok_or(Refusal::Unauthorized("kid is not known"))?.verifies(alg, signed, sig),
            "the signature is not the key's",
        )
    }

    /// Checks everything about a token but its fit to the task.
    pub(crate) fn verify(&self, token: &str, body: &[u8]) -> Result<Claims, Refusal> {
        let parts: Vec<&str> = token.split('.').collect();
        let (header, payload, sig) = match parts[..] {
            [header, payload, sig] => (header, payload, sig),
            _ => return Err(Refusal::Unauthorized("not a token")),
        };
        need(token.len() <= MAX_TOKEN, "too long")?;
        let members = object(header)?;
        // Keys that a token brings along are never used, an unsupported demand is a refusal, and a token
        // without a kid would be tried with every key.
        for name in ["jwk", "jku", "x5u", "x5c", "crit", "b64"] {
            need(!members.contains_key(name), "a header that is not allowed")?;
        }
        need(text(&members, "typ") == TASK_TYP, "another kind of token")?;
        need(!text(&members, "kid").is_empty(), "no kid")?;
        let sig = base64url::decode(sig).ok_or(Refusal::Unauthorized("not a token"))?;
        let signed = &token[..header.len() + 1 + payload.len()];
        let claims = object(payload)?;
        need(text(&claims, "iss") == self.config.issuer, "iss is not the arena")?; // before the arena is asked for its key
        self.signed(text(&members, "kid"), text(&members, "alg"), signed.as_bytes(), &sig)?;
        self.check(&claims, body)
    }

    fn check(&self, c: &Map<String, Value>, body: &[u8]) -> Result<Claims, Refusal> {
        let now = (self.config.now)().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let leeway = self.config.leeway.as_secs_f64();
        let number = |name: &str| c.get(name).and_then(Value::as_f64);
        let (exp, iat) = number("exp").zip(number("iat")).ok_or(Refusal::Unauthorized("exp or iat is missing"))?;
        let agent = text(c, "agent_id");
        let audience = match c.get("aud") {
            Some(Value::Array(list)) if list.len() == 1 => list[0].as_str(),
            other => other.and_then(Value::as_str),
        };
        need(exp > now - leeway && exp < 1e12, "it is over")?;
        need((0.0..=now + leeway).contains(&iat), "iat is in the future")?;
        need(!c.contains_key("nbf") || number("nbf").map_or(false, |nbf| nbf <= now + leeway), "nbf is in the future")?;
        need(!agent.is_empty() && text(c, "sub") == agent, "agent_id and sub are not one agent")?;
        need(audience == Some(agent), "aud is not the agent")?;
        let own = self.agent_id.read().unwrap();
        need(!own.is_empty() || self.config.any_agent, "the id of this agent is not known: set agent_id or any_agent")?;
        need(own.is_empty() || agent == *own, "it is for another agent")?;
        need(c.get("expires_at") == c.get("exp"), "exp and expires_at differ")?;
        let of_match = !c.contains_key("round") && !c.contains_key("bh");
        let hash = base64url::encode(digest::digest(&digest::SHA256, body).as_ref());
        need(of_match || text(c, "bh") == hash, "it is for another body")?;
        let round = if of_match { Some(0) } else { c.get("round").and_then(Value::as_i64) };
        Ok(Claims {
            id: text(c, "jti").into(),
            agent_id: agent.into(),
            match_id: text(c, "match_id").into(),
            round: round.ok_or(Refusal::Unauthorized("round is missing"))?,
            body_hash: text(c, "bh").into(),
            issued_at: UNIX_EPOCH + Duration::from_secs_f64(iat),
            expires_at: UNIX_EPOCH + Duration::from_secs_f64(exp),
        })
    }
}

fn need(holds: bool, otherwise: &'static str) -> Result<(), Refusal> {
    if holds {
        return Ok(());
    }
    Err(Refusal::Unauthorized(otherwise))
}

/// A part of a token.
fn object(part: &str) -> Result<Map<String, Value>, Refusal> {
    let data = base64url::decode(part).unwrap_or_default();
    match serde_json::from_slice(&data) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Refusal::Unauthorized("not a token")),
    }
}

/// A member that is text, "" when there is none.
fn text<'a>(m: &'a Map<String, Value>, name: &str) -> &'a str {
    m.get(name).and_then(Value::as_str).unwrap_or("")
}
