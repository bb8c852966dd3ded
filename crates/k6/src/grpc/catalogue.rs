//! Descriptions of services: read once for all virtual users.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use engine::{BodyBudget, HeldBytes};
use plans::descriptions;
use sha2::{Digest as _, Sha256};
use workload::message::{Method, SchemaError};
use workload::{Files, Schemas};

use crate::sources::Sources;

/// The path of a health check.
pub(crate) const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";
/// The standard service, whose status is read as a number.
const HEALTH: &str = "syntax = \"proto3\"; package grpc.health.v1;
    message HealthCheckRequest { string service = 1; }
    message HealthCheckResponse { int32 status = 1; }
    service Health { rpc Check(HealthCheckRequest) returns (HealthCheckResponse); }";

/// The target's name in schemas that describe one.
const ONLY: &str = "";

/// The methods that some files, or a server, describe.
#[derive(Debug)]
pub(crate) struct Description {
    pub(crate) methods: Vec<Method>,
    /// Their positions, by path.
    by_path: BTreeMap<String, usize>,
    /// What a server's description of itself takes of the run's budget.
    _held: Option<HeldBytes>,
}

/// A server's description of itself: an encoded descriptor set.
pub(crate) struct ReflectedSet {
    pub(crate) set: Vec<u8>,
    /// What it takes decoded.
    pub(crate) decoded_bytes: usize,
}

impl Description {
    fn of(schemas: &Schemas, held: Option<HeldBytes>) -> Description {
        let methods = schemas.methods(ONLY);
        let by_path =
            methods.iter().enumerate().map(|(position, method)| (method.path(), position)).collect();
        Description { methods, by_path, _held: held }
    }

    pub(crate) fn method(&self, path: &str) -> Option<&Method> {
        self.methods.get(*self.by_path.get(path)?)
    }
}

/// What a description is made of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// Files, with folders in which they are searched.
    Files { files: Vec<PathBuf>, folders: Vec<PathBuf> },
    /// A descriptor set with this digest.
    Set([u8; 32]),
    /// What is built in.
    Health,
}

/// The descriptions of a script.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    known: Mutex<BTreeMap<Origin, Arc<Description>>>,
    /// What servers say of themselves, by its digest, as long as a virtual user holds it.
    reflected: Mutex<BTreeMap<[u8; 32], Weak<Description>>>,
}

impl Catalogue {
    /// What these `.proto` files and descriptor sets describe. Where folders are given, each file is searched in them.
    ///
    /// # Errors
    /// Why it cannot be read, for an exception.
    pub(crate) fn files(
        &self,
        files: Vec<PathBuf>,
        folders: Vec<PathBuf>,
        sources: &Sources,
    ) -> Result<Arc<Description>, SchemaError> {
        let reader = ScriptFiles(sources);
        self.known_or(Origin::Files { files: files.clone(), folders: folders.clone() }, || {
            let found: Vec<PathBuf> = files.iter().map(|file| find(file, &folders, &reader)).collect();
            let mut schemas = Schemas::default();
            descriptions::load(&mut schemas, ONLY, &found, &folders, &reader)?;
            Ok(schemas)
        })
    }

    /// What an encoded descriptor set describes.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn set(&self, set: Vec<u8>) -> Result<Arc<Description>, SchemaError> {
        self.known_or(Origin::Set(Sha256::digest(&set).into()), || {
            let mut schemas = Schemas::default();
            descriptions::add_set(&mut schemas, ONLY, &set)?;
            Ok(schemas)
        })
    }

    /// What a server's description of itself describes: the same for all virtual users that it gave the same.
    ///
    /// # Errors
    /// It cannot be read, for this reason, or no memory is left for another one.
    pub(crate) fn reflected(
        &self,
        described: &ReflectedSet,
        budget: &Arc<BodyBudget>,
    ) -> Result<Arc<Description>, SchemaError> {
        let digest = Sha256::digest(&described.set).into();
        let mut reflected = self.reflected.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(description) = reflected.get(&digest).and_then(Weak::upgrade) {
            return Ok(description);
        }
        reflected.retain(|_, description| description.strong_count() > 0);
        let mut held = HeldBytes::new(budget);
        held.grow(described.decoded_bytes).map_err(|error| SchemaError(error.to_string()))?;
        let mut schemas = Schemas::default();
        descriptions::add_set(&mut schemas, ONLY, &described.set)?;
        let description = Arc::new(Description::of(&schemas, Some(held)));
        reflected.insert(digest, Arc::downgrade(&description));
        Ok(description)
    }

    /// The standard health service.
    pub(crate) fn health(&self) -> Arc<Description> {
        let made = self.known_or(Origin::Health, || {
            let mut schemas = Schemas::default();
            descriptions::load(&mut schemas, ONLY, &[PathBuf::from("health.proto")], &[], &BuiltIn)?;
            Ok(schemas)
        });
        made.expect("the built-in description can be read")
    }

    fn known_or(
        &self,
        origin: Origin,
        make: impl FnOnce() -> Result<Schemas, SchemaError>,
    ) -> Result<Arc<Description>, SchemaError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(description) = known.get(&origin) {
            return Ok(description.clone());
        }
        let description = Arc::new(Description::of(&make()?, None));
        known.insert(origin, description.clone());
        Ok(description)
    }
}

/// The path of a file: in the first of the folders that has it, else where it is missing.
fn find(file: &Path, folders: &[PathBuf], files: &dyn Files) -> PathBuf {
    let all = || folders.iter().map(|folder| folder.join(file));
    let found = all().find(|path| files.read(path).is_ok());
    found.or_else(|| all().next()).unwrap_or_else(|| file.to_owned())
}

/// The files that a script may open.
struct ScriptFiles<'a>(&'a Sources);

impl Files for ScriptFiles<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let opened = self.0.open("", &path.to_string_lossy());
        opened.map(|bytes| bytes.to_vec()).map_err(io::Error::other)
    }
}

struct BuiltIn;

impl Files for BuiltIn {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Ok(HEALTH.as_bytes().to_vec())
    }
}
