//! From a loaded plan to a [`Program`].

use std::collections::BTreeMap;
use std::sync::Arc;

use evidence::GrpcCode;
use workload::Think;
use workload::connection::Scheme;
use workload::message::{MessageTemplate, Method};
use workload::model::{
    Expect, Extract, ExtractFrom, Flow, ReadyProbe, Request, Scenario, Step, Target, Workload,
};
use workload::redact::Redactor;
use workload::row_picker::RowTaker;
use workload::template::Template;
use workload::{LoadedPlan, TlsFiles};

use super::call::CallProgram;
use super::directory::{Directory, Endpoint};
use super::error::CompileError;
use super::expectation::{Expectation, ExpectedStatus, Extraction, ExtractionFrom, GrpcResponseKind};
use super::http::HttpProgram;
use super::json_lookup::JsonLookup;
use super::origin::{Origin, OriginKind};
use super::template::{CompiledTemplate, TemplateContext, TemplateNames, UnknownName};
use super::tls::ClientConfig;
use super::{
    FlowProgram, KeptExchanges, PlanSteps, Program, ScenarioSteps, StepContent, StepProgram, ThinkProgram,
    shape,
};
use crate::body_budget::{BODY_BUDGET_BYTES, BodyBudget};
use crate::exchange::{CHECKED_BODY_BYTES, KEPT_BODY_BYTES};
use crate::index::{ConstantIndex, EndpointIndex, OriginIndex, ScenarioIndex};
use crate::tls_offer::TlsOffer;

impl Program {
    /// Compile a loaded plan and look up its hosts.
    ///
    /// # Errors
    /// [`CompileError`], chiefly hosts without an address.
    pub fn compile(plan: LoadedPlan) -> Result<Program, CompileError> {
        let LoadedPlan { workload, mut tables, schemas, tls: files, env } = plan;
        let tls = tls_of(&workload, &files)?;
        let redactor = Redactor::new(&workload, &env);
        let mut data = Vec::new();
        for name in workload.data.keys() {
            if let Some(table) = tables.remove(name) {
                data.push((name.clone(), table));
            }
        }
        let mut compiler = Compiler {
            workload: &workload,
            scenario: ScenarioIndex(workload.scenarios.len()),
            taker: RowTaker::Setup,
            names: TemplateNames::new(data, env),
            constants: 0,
            origins: Vec::new(),
            endpoints: Vec::new(),
            schemas: &schemas,
            tls: &tls,
            redactor: &redactor,
        };
        let setup = compiler.steps(&workload.setup)?.into();
        let mut scenarios = Vec::with_capacity(workload.scenarios.len());
        for (index, scenario) in workload.scenarios.iter().enumerate() {
            compiler.scenario = ScenarioIndex(index);
            scenarios.push(compiler.scenario(scenario)?);
        }
        let Compiler { names, origins, endpoints, .. } = compiler;
        let steps = PlanSteps {
            setup,
            scenarios,
            setup_variables: vec![Arc::default(); names.variables.len()],
            names,
            setup_ticks: Vec::new(),
            traceparent: workload.traceparent,
        };
        Ok(Program {
            shape: shape(&workload),
            directory: Directory::new(origins, endpoints, &workload, tls),
            steps,
            redactor,
            body_budget: BodyBudget::new(BODY_BUDGET_BYTES),
            kept_exchanges: KeptExchanges::default(),
            workload,
        })
    }
}

struct Compiler<'a> {
    workload: &'a Workload,
    /// The scenario that is being compiled.
    scenario: ScenarioIndex,
    /// Who sends the steps that are being compiled.
    taker: RowTaker,
    names: TemplateNames,
    /// How many steps there are whose requests are all the same.
    constants: usize,
    origins: Vec<Origin>,
    endpoints: Vec<Endpoint>,
    schemas: &'a workload::message::Schemas,
    tls: &'a BTreeMap<String, Arc<ClientConfig>>,
    redactor: &'a Redactor,
}

impl Compiler<'_> {
    fn scenario(&mut self, scenario: &Scenario) -> Result<ScenarioSteps, CompileError> {
        self.taker = RowTaker::Users(self.scenario.0.into());
        let setup = self.steps(&scenario.setup)?.into();
        self.taker = RowTaker::Arrivals(self.scenario.0.into());
        let flow = match &scenario.flow {
            Flow::Sequence(steps) => FlowProgram::Sequence(self.steps(steps)?.into()),
            Flow::Mix(mix) => {
                let mut sum = 0u64;
                let cumulative = mix.iter().map(|w| {
                    sum += u64::from(w.weight);
                    sum
                });
                let cumulative = cumulative.collect();
                let steps = mix.iter().map(|w| self.step(&w.step));
                let steps = steps.collect::<Result<_, _>>()?;
                FlowProgram::Mix { cumulative, salt: self.names.salt(), steps }
            }
            Flow::InTurn { data, steps, .. } => self.in_turn(data, steps)?,
            Flow::Script { .. } => FlowProgram::Sequence(Arc::default()),
        };
        Ok(ScenarioSteps { setup, flow })
    }

    fn in_turn(&mut self, data: &str, steps: &[Step]) -> Result<FlowProgram, CompileError> {
        let step_indexes = self.names.step_indexes(data, steps.len()).ok_or_else(|| CompileError::Name {
            step: steps.first().map(|step| step.name.clone()).unwrap_or_default(),
            source: UnknownName(format!("{data}.step")),
        })?;
        Ok(FlowProgram::InTurn { step_indexes, steps: self.steps(steps)?.into() })
    }

    fn steps(&mut self, steps: &[Step]) -> Result<Vec<StepProgram>, CompileError> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&mut self, step: &Step) -> Result<StepProgram, CompileError> {
        let in_step = |source| CompileError::Name { step: step.name.clone(), source };
        let (origin, content) = self.content(step)?;
        let headers = match &step.request {
            Request::Http { headers, .. } => headers,
            Request::Grpc { metadata, .. } => metadata,
        };
        let secret_headers = headers.iter().filter(|(_, text)| self.redactor.is_secret_value(text));
        let secret_headers = secret_headers.map(|(name, _)| name.clone().into_bytes()).collect();
        let mut headers = headers
            .iter()
            .map(|(name, text)| Ok((name.clone().into_bytes(), self.text(text)?)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(in_step)?;
        if is_compressed(&step.request) {
            let (name, value) = match content {
                StepContent::Http(_) => ("content-encoding", "gzip"),
                StepContent::Grpc(_) => ("grpc-encoding", "gzip"),
            };
            headers.push((name.into(), CompiledTemplate::constant(value.as_bytes())));
        }
        let expectation = self.expectation(step, &content)?;
        let extractions =
            step.extract.iter().map(|e| self.extraction(step, e)).collect::<Result<Vec<_>, _>>()?;
        let needs_body = expectation.needs_body() || extractions.iter().any(Extraction::needs_body);
        let checks = step.expect.check_names().iter().map(|name| name.as_str().into()).collect();
        let method = match &content {
            StepContent::Grpc(call) => Some(call.method.clone()),
            StepContent::Http(_) => None,
        };
        let name = step.name.as_str().into();
        let constant = self.constant(&content, &headers);
        let endpoint = self.endpoint(Endpoint { scenario: self.scenario, name, checks, method });
        Ok(StepProgram {
            endpoint,
            origin,
            timeout: step.timeout,
            think: self.think(step),
            content,
            headers,
            secret_headers,
            expectation,
            extractions,
            keep_body_bytes: if needs_body { CHECKED_BODY_BYTES } else { KEPT_BODY_BYTES },
            constant,
        })
    }

    /// The index of a step whose requests are all the same.
    fn constant(
        &mut self,
        content: &StepContent,
        headers: &[(Vec<u8>, CompiledTemplate)],
    ) -> Option<ConstantIndex> {
        let StepContent::Http(request) = content else { return None };
        let is_constant = request.is_constant()
            && !self.workload.traceparent
            && headers.iter().all(|(_, text)| text.as_constant().is_some());
        is_constant.then(|| {
            self.constants += 1;
            ConstantIndex(self.constants - 1)
        })
    }

    fn think(&mut self, step: &Step) -> ThinkProgram {
        // A constant one needs no salt, so that it changes no random choice of other steps.
        let salt = if matches!(step.think, Think::Drawn(_)) { self.names.salt() } else { 0 };
        ThinkProgram { think: step.think, salt }
    }

    /// The index of an endpoint. Steps of one name are one endpoint.
    fn endpoint(&mut self, endpoint: Endpoint) -> EndpointIndex {
        let known = self.endpoints.iter().position(|known| *known == endpoint);
        EndpointIndex(known.unwrap_or_else(|| {
            self.endpoints.push(endpoint);
            self.endpoints.len() - 1
        }))
    }

    fn content(&mut self, step: &Step) -> Result<(OriginIndex, StepContent), CompileError> {
        let in_step = |source| CompileError::Name { step: step.name.clone(), source };
        match &step.request {
            Request::Http { target, method, path, body, options, .. } => {
                let origin = self.origin(&step.name, target, OriginKind::Http)?;
                let body = self.text(body).map_err(in_step)?;
                let compressed = body.as_constant().filter(|_| options.compress).map(|plain| {
                    let mut out = Vec::new();
                    wire::coding::gzip(plain, &mut out);
                    CompiledTemplate::constant(&out)
                });
                let auth = options.basic_auth.as_ref().map(|auth| self.text(auth)).transpose();
                let request = HttpProgram {
                    method: method.clone().into_bytes(),
                    path: self.text(path).map_err(in_step)?,
                    compresses: options.compress && compressed.is_none(),
                    body: compressed.unwrap_or(body),
                    redirects: options.redirects,
                    basic_auth: auth.map_err(in_step)?,
                };
                Ok((origin, StepContent::Http(Box::new(request))))
            }
            Request::Grpc { target, method, message, call, .. } => {
                let origin = self.origin(&step.name, target, OriginKind::Grpc)?;
                let pattern = |e: &dyn std::fmt::Display| CompileError::Pattern {
                    step: step.name.clone(),
                    what: e.to_string(),
                };
                let method = self.schemas.method(target, method).map_err(|e| pattern(&e))?;
                method.check(call).map_err(|e| pattern(&e))?;
                let messages = std::iter::once(message).chain(&call.then);
                let messages = messages.map(|message| self.message(step, &method, message));
                let call = CallProgram {
                    path: method.path().into_bytes(),
                    messages: messages.collect::<Result<_, _>>()?,
                    method,
                    total: call.messages(),
                    every: call.every,
                    cancel_after: call.cancel_after,
                    compresses: call.compress,
                    deadline: call.deadline.map(|limit| wire::grpc::timeout_value(limit).into_bytes()),
                };
                Ok((origin, StepContent::Grpc(Box::new(call))))
            }
        }
    }

    fn message(
        &mut self,
        step: &Step,
        method: &Method,
        message: &serde_json::Value,
    ) -> Result<MessageTemplate<CompiledTemplate>, CompileError> {
        let message = method.compile(message).map_err(|e| pattern(step, &e.to_string()))?;
        let mut unknown = None;
        let message = message.map(|text| {
            self.text(&text).unwrap_or_else(|error| {
                unknown = Some(error);
                CompiledTemplate::default()
            })
        });
        match unknown {
            Some(source) => Err(CompileError::Name { step: step.name.clone(), source }),
            None => Ok(message),
        }
    }

    fn text(&mut self, template: &Template) -> Result<CompiledTemplate, UnknownName> {
        self.names.compile(template, TemplateContext { workload: self.workload, taker: self.taker })
    }

    fn origin(&mut self, step: &str, target: &str, kind: OriginKind) -> Result<OriginIndex, CompileError> {
        let known = self.origins.iter().position(|o| o.target == target && o.kind == kind);
        if let Some(index) = known {
            return Ok(OriginIndex(index));
        }
        let origin = match self.workload.targets.get(target) {
            Some(described) => Origin::new(target, described, kind, self.tls.get(target))?,
            None => None,
        };
        let missing =
            || CompileError::NoTarget { step: step.into(), kind: kind.name(), target: target.into() };
        let origin = origin.ok_or_else(missing)?;
        origin.look_up()?;
        self.origins.push(origin);
        Ok(OriginIndex(self.origins.len() - 1))
    }

    fn expectation(&mut self, step: &Step, content: &StepContent) -> Result<Expectation, CompileError> {
        let in_step = |source| CompileError::Name { step: step.name.clone(), source };
        let Expect { status, grpc_status, messages, headers, json, body_contains } = &step.expect;
        let status = if let StepContent::Grpc(call) = content {
            let code = |name: &String| {
                GrpcCode::from_name(name)
                    .ok_or_else(|| pattern(step, &format!("`{name}` is not a gRPC status")))
            };
            let codes = grpc_status.iter().map(code).collect::<Result<_, _>>()?;
            let kind = match call.method.gives_stream() {
                true => GrpcResponseKind::Stream,
                false => GrpcResponseKind::Message,
            };
            ExpectedStatus::Grpc(codes, kind)
        } else {
            ExpectedStatus::Http(status.clone())
        };
        let headers = headers
            .iter()
            .map(|(name, text)| Ok((name.clone().into_bytes(), self.text(text)?)))
            .collect::<Result<_, _>>()
            .map_err(in_step)?;
        let contains = body_contains.iter().map(|t| self.text(t)).collect::<Result<_, _>>();
        let json = json
            .iter()
            .map(|(path, value)| Ok((json_path(step, path)?, value.clone())))
            .collect::<Result<_, CompileError>>()?;
        Ok(Expectation { status, messages: *messages, headers, json, contains: contains.map_err(in_step)? })
    }

    fn extraction(&mut self, step: &Step, extract: &Extract) -> Result<Extraction, CompileError> {
        let from = match &extract.from {
            ExtractFrom::Json(path) => ExtractionFrom::Json(json_path(step, path)?),
            ExtractFrom::Header(name) => ExtractionFrom::Header(name.clone().into_bytes()),
            ExtractFrom::Regex(regex) => ExtractionFrom::Regex(regular_expression(step, regex)?),
            ExtractFrom::HeaderRegex { header, regex } => ExtractionFrom::HeaderRegex {
                header: header.clone().into_bytes(),
                regex: regular_expression(step, regex)?,
            },
        };
        Ok(Extraction { name: extract.name.clone(), variable: self.names.variable(&extract.name), from })
    }
}

fn is_compressed(request: &Request) -> bool {
    match request {
        Request::Http { options, .. } => options.compress,
        Request::Grpc { call, .. } => call.compress,
    }
}

fn regular_expression(step: &Step, text: &str) -> Result<regex::bytes::Regex, CompileError> {
    regex::bytes::Regex::new(text).map_err(|error| pattern(step, &error.to_string()))
}

fn json_path(step: &Step, path: &str) -> Result<JsonLookup, CompileError> {
    JsonLookup::parse(path).map_err(|e| pattern(step, &format!("`{path}` is not a JSON path: {e}")))
}

fn pattern(step: &Step, what: &str) -> CompileError {
    CompileError::Pattern { step: step.name.clone(), what: what.to_owned() }
}

/// The TLS configurations of all targets that use TLS, be it only for their readiness probe.
pub(super) fn tls_of(
    workload: &Workload,
    files: &BTreeMap<String, TlsFiles>,
) -> Result<BTreeMap<String, Arc<ClientConfig>>, CompileError> {
    let mut all = BTreeMap::new();
    for (name, target) in workload.targets.iter().filter(|(_, target)| is_secure(target)) {
        let files = files.get(name).cloned().unwrap_or_default();
        let config = super::tls::client_config(&target.connecting.tls, &files, &TlsOffer::default());
        let config = config.map_err(|what| CompileError::Tls { target: name.clone(), what })?;
        all.insert(name.clone(), Arc::new(config));
    }
    Ok(all)
}

fn is_secure(target: &Target) -> bool {
    let is_probe_secure = target.wait_ready.as_ref().is_some_and(|ready| match &ready.probe {
        ReadyProbe::Url(url) => url.starts_with("https://"),
        ReadyProbe::GrpcHealth { scheme, .. } => *scheme == Scheme::Https,
    });
    let http = target.http.as_ref().is_some_and(|o| o.scheme == Scheme::Https);
    http || target.grpc.as_ref().is_some_and(|o| o.scheme == Scheme::Https) || is_probe_secure
}
