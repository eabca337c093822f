//! Makes the configurations that the engine runs from an experiment. Nothing runs here.

use std::collections::HashMap;

use flashgc_base::naming::{choice, option, subject};
use flashgc_base::spec::SpecError;
use flashgc_drive::extent::without_endurance;
use flashgc_drive::{passes, settling, source};
use flashgc_ftl::{Couple, Mapping};
use flashgc_workload::generate::GeneratorSpec;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::places::{fault, placed};
use super::tenants::workload_of;
use super::{Experiment, declared};
use crate::options::{Case, Holder, Kind, NONE, OptionInfo, Value, numbers, options};
use crate::tenants::specs as tenant_specs;

/// The options that [`Experiment::drives`] combines in a special way, because some mappings do not
/// use them, and the spare factor. Each other option with several values is combined with every
/// mapping.
const OF_MAPPINGS: [&str; 5] = ["mapping", "victim", "frontier", "placement", "spare"];

/// The frontier of schemes that name none: placements need it, and schemes that are compared have
/// the same.
const OF_SCHEMES: &str = "pool";

/// The options that give the length of a run.
const LENGTHS: [&str; 4] = ["writes", "collections", "requests", "passes"];

/// The number of passes with which a run of a trace to a given precision begins. The first pass is
/// warm-up.
const PASSES_TO_LENGTHEN: u64 = 3;

/// The fields of a struct of the engine, in order. Fields without a value are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(&'static str, Field)>);

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum Field {
    Plain(Json),
    Fields(Fields),
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Fields {
    fn set(&mut self, name: &'static str, value: impl Into<Json>) {
        self.put(name, Field::Plain(value.into()));
    }

    fn put(&mut self, name: &'static str, value: Field) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    fn with(&self, more: &Self) -> Self {
        let mut fields = self.clone();
        for (name, value) in &more.0 {
            fields.put(name, value.clone());
        }
        fields
    }
}

/// Returns every combination of one element of each of `lists`; the last changes fastest.
fn product(lists: &[Vec<Fields>]) -> Vec<Fields> {
    lists.iter().fold(vec![Fields::default()], |products, list| {
        products.iter().flat_map(|before| list.iter().map(|fields| before.with(fields))).collect()
    })
}

/// Returns one field called `name`: the struct `value`, or null.
fn field(name: &'static str, value: Option<Fields>) -> Fields {
    Fields(vec![(name, value.map_or(Field::Plain(Json::Null), Field::Fields))])
}

impl Experiment {
    /// Returns the configurations: one for each combination of the options' values.
    ///
    /// `usual_runs` is the number of runs if the experiment gives none. `written` has the texts
    /// that name policies from outside, by the key of their option.
    ///
    /// # Errors
    /// A value, or a combination of them, makes no sense.
    pub fn configurations(
        &self,
        usual_runs: u64,
        written: &HashMap<String, Vec<String>>,
    ) -> Result<Vec<Fields>, SpecError> {
        self.combinations(usual_runs, written).map_err(|error| error.named(&self.places))
    }

    /// Returns the configurations. Errors do not name the places of options yet.
    fn combinations(
        &self,
        usual_runs: u64,
        written: &HashMap<String, Vec<String>>,
    ) -> Result<Vec<Fields>, SpecError> {
        let is_trace = source::is_trace(&self.source());
        let tenants = self.texts("tenant");
        let any_trace =
            is_trace || tenants.iter().any(|tenant| source::is_trace(workload_of(tenant)));
        self.check_texts(written)?;
        self.check_effects(any_trace)?;
        tenant_specs(&tenants)?;
        self.check_source()?;
        let unit = self.unit()?;
        let mut common = self.fields(Holder::Run, unit, true)?;
        self.set_size(&mut common, is_trace)?;
        common.put("trace", Field::Fields(self.fields(Holder::Trace, unit, false)?));
        self.set_course(&mut common, is_trace)?;
        if !self.has("runs") {
            // A trace has the same requests in every run, so one run is usual: its passes vary
            // instead.
            let alike = is_trace && !self.is_timed();
            common.set(
                "runs",
                if alike { whole(declared("runs").case(Case::Trace)) } else { usual_runs },
            );
        }
        let combinations = product(&[
            vec![common],
            self.spares()?,
            self.drives()?,
            self.hosts(),
            self.swaps(unit)?,
            self.clocks(unit)?,
        ]);
        match self.given().find(|(option, _)| option.once && combinations.len() > 1) {
            None => Ok(combinations),
            Some((option, _)) => {
                let message = format!("{} configurations, expected one", combinations.len());
                self.at(option, Err(SpecError::new(message, "flashgc run")))
            }
        }
    }

    fn source(&self) -> String {
        self.text("source").unwrap_or_default()
    }

    /// Checks every given text except the workload, as far as that needs no drive.
    ///
    /// # Errors
    /// An option does not take a text, or gets the same text twice.
    pub fn check_texts(&self, written: &HashMap<String, Vec<String>>) -> Result<(), SpecError> {
        let is_text = |option: &OptionInfo| option.kind.is_text() && option.key != "source";
        for (option, value) in self.given().filter(|(option, _)| is_text(option)) {
            self.refuse_twins(
                option,
                &value.several().iter().map(Value::typed).collect::<Vec<_>>(),
            )?;
            for (index, text) in value.several().iter().map(Value::typed).enumerate() {
                if written.get(option.key).is_some_and(|names| names.contains(&text)) {
                    continue;
                }
                let path = option.path();
                let place = self.places.element(&path, index);
                option
                    .check(&text)
                    .map_err(|error| placed(place, option.key, error).named(&self.places))?;
            }
        }
        Ok(())
    }

    fn refuse_twins(&self, option: &OptionInfo, texts: &[String]) -> Result<(), SpecError> {
        let twin = (1..texts.len()).find(|&index| texts[..index].contains(&texts[index]));
        twin.map_or(Ok(()), |index| {
            let path = option.path();
            let message = format!("'{}' is given twice", texts[index]);
            Err(fault(self.places.element(&path, index), message, "give each once"))
        })
    }

    /// Checks the workload for the kind of drive in the experiment.
    fn check_source(&self) -> Result<(), SpecError> {
        let source = self.source();
        let checked = match self.is_timed() {
            true => source::check_timed(&source),
            false => declared("source").check(&source),
        };
        let place = self.places.or("workload.source", "workload");
        checked.map_err(|error| placed(place, "source", error))
    }

    /// Returns the bytes of a mapping unit. If the experiment gives none, that is the page size.
    fn unit(&self) -> Result<u64, SpecError> {
        let key = if self.has("mapping_unit") { "mapping_unit" } else { "page_size" };
        let option = declared(key);
        let value = self.value(option).map(|value| self.read(option, &value, 0)).transpose()?;
        Ok(value.and_then(|value| value.as_u64()).unwrap_or_default())
    }

    /// Returns the given fields of a struct, except options that may have several values.
    ///
    /// The engine has defaults for the fields that are not given. With `complete`, these fields are
    /// returned with their defaults.
    fn fields(&self, holder: Holder, unit: u64, complete: bool) -> Result<Fields, SpecError> {
        let mut fields = Fields::default();
        for option in options().iter().filter(|it| it.holder == holder && !it.several) {
            if !complete && !self.has(option.key) {
                continue;
            }
            if let Some(value) = self.value(option) {
                fields.set(option.field, self.read(option, &value, unit)?);
            }
        }
        Ok(fields)
    }

    /// Converts a value to the form that the engine takes. `unit` is the size of a mapping unit in
    /// bytes.
    fn read(&self, option: &OptionInfo, value: &Value, unit: u64) -> Result<Json, SpecError> {
        if option.listing {
            return Ok(value.several().iter().map(Value::typed).collect());
        }
        match option.kind {
            Kind::YesNo => Ok(Json::Bool(value.typed() == "yes")),
            kind if kind.is_text() => Ok(Json::String(value.typed())),
            Kind::Share | Kind::Number => self.at(option, option.real(value)).map(Json::from),
            _ => self.at(option, option.whole(value, unit)).map(Json::from),
        }
    }

    /// Returns the number in `read`. An error gets the place of the option.
    fn at<T>(&self, option: &OptionInfo, read: Result<T, SpecError>) -> Result<T, SpecError> {
        read.map_err(|error| placed(self.places.at(&option.path()), option.key, error))
    }

    /// Sets the number of blocks, or the capacity from which the engine computes it. If the drive
    /// is made for a trace, the engine may choose the pages of a block, too.
    fn set_size(&self, config: &mut Fields, is_trace: bool) -> Result<(), SpecError> {
        let given = self.only_one("blocks")?;
        let fixed = is_trace
            || GeneratorSpec::parse(&self.source()).is_ok_and(|it| it.fixed_pages().is_some());
        if given == Some("capacity") || given.is_none() && fixed {
            config.set("blocks", Json::Null);
        }
        if given.is_none() && is_trace && !self.has("pages_per_block") {
            config.set("pages_per_block", Json::Null);
        }
        Ok(())
    }

    fn spares(&self) -> Result<Vec<Fields>, SpecError> {
        let option = declared(self.only_one("spare")?.unwrap_or("spare"));
        let is_over = option.key == "overprovision";
        let (path, value) = (option.path(), self.value(option));
        let mut shares = Vec::new();
        for (index, value) in value.iter().flat_map(Value::several).enumerate() {
            let read = option.real(value).and_then(|share| match is_over {
                true => spare_of_over(share),
                false => spare(share, &value.typed()),
            });
            let place = self.places.element(&path, index);
            shares.push(read.map_err(|error| placed(place, option.key, error))?);
        }
        let texts: Vec<_> = shares.iter().map(|&share| numbers::percent(share)).collect();
        self.refuse_twins(option, &texts)?;
        Ok(shares
            .into_iter()
            .map(|share| Fields(vec![("spare", Field::Plain(share.into()))]))
            .collect())
    }

    /// Sets warm-up, length and precision. A run has a fixed length, is lengthened until a
    /// precision is reached, or ends with a failure.
    fn set_course(&self, config: &mut Fields, is_trace: bool) -> Result<(), SpecError> {
        let until = self.text("until");
        let (mut warmup, mut length) = self.usual_course(is_trace);
        let mut precision = Json::Null;
        match until.as_deref() {
            Some(end) if !end.contains('=') && end.trim() != "precision" => {
                let mut keys = LENGTHS.to_vec();
                keys.push("until");
                self.one_of(&keys, &format!("a run until {end} ends at the failure"))?;
                if !self.has("endurance") {
                    return Err(without_endurance(end));
                }
                warmup = declared("warmup").case(Case::UntilFailure).to_string();
                length = ("until", end.into());
            }
            until => {
                if let Some(key) = self.only_one("writes")? {
                    if key == "passes" && !is_trace {
                        return Err(SpecError::new(
                            format!(
                                "{} only applies to traces: a generator has no end",
                                subject(key)
                            ),
                            match self.is_timed() || self.has("vm_page_cache") {
                                true => format!("give {}", choice("requests", 1_000_000)),
                                false => format!("give {}", choice("writes", "20x")),
                            },
                        ));
                    }
                    if (length.0, is_trace) == ("settled", false) {
                        warmup = declared("warmup").default.to_string();
                    }
                    let known = declared(key);
                    let value = self.value(known).expect("it is given");
                    length = (known.key, self.read(known, &value, 0)?);
                }
                if let (Some(_), "settled", false) = (until, length.0, is_trace) {
                    length.1 = (4 * settling::MOST).into();
                }
                if let Some(text) = until {
                    precision = self.at(declared("until"), precision_of(text))?.into();
                }
            }
        }
        if self.has("warmup") {
            warmup = self.text("warmup").unwrap_or_default();
        }
        config.set("warmup", warmup);
        config.put("length", Field::Fields(Fields(vec![(length.0, Field::Plain(length.1))])));
        config.set("precision", precision);
        Ok(())
    }

    /// Returns the default warm-up and length.
    fn usual_course(&self, is_trace: bool) -> (String, (&'static str, Json)) {
        let (warmup, requests, passes) =
            (declared("warmup"), declared("requests"), declared("passes"));
        let (usual, length) = match (self.is_timed(), self.has("vm_page_cache"), is_trace) {
            (true, _, true) => {
                (warmup.case(Case::Timed), ("passes", whole(passes.case(Case::TimedTrace)).into()))
            }
            (true, _, false) => {
                (warmup.case(Case::Timed), ("requests", whole(requests.case(Case::Timed)).into()))
            }
            // A program begins with an empty memory, and is measured from its beginning.
            (_, true, true) => (
                warmup.case(Case::SwapTrace),
                ("passes", whole(passes.case(Case::SwapTrace)).into()),
            ),
            (_, true, false) => {
                (warmup.default, ("requests", whole(requests.case(Case::Swap)).into()))
            }
            (_, _, false)
                if self.has("warmup") && self.text("warmup").as_deref() != Some("auto") =>
            {
                (warmup.default, ("writes", "20x".into()))
            }
            (_, _, false) => ("auto", ("settled", settling::MOST.into())),
            _ if self.has("until") => (warmup.default, ("passes", PASSES_TO_LENGTHEN.into())),
            _ => (warmup.default, ("settled", passes::MOST.into())),
        };
        (usual.to_string(), length)
    }

    /// Returns every combination of mapping, frontier, allocation, wear levelling, placement and
    /// victim.
    ///
    /// A mapping that chooses its own blocks is combined with neither a victim policy nor a
    /// frontier.
    fn drives(&self) -> Result<Vec<Fields>, SpecError> {
        let mappings = self.texts("mapping");
        let having: Vec<_> = mappings.iter().map(|text| has_victims(text)).collect();
        if !having.contains(&true) {
            self.refuse_victims(&mappings[0])?;
        }
        let two = |placement: &str, victim: &str| {
            let mut fields = Fields::default();
            fields.set("placement", placement);
            fields.set("victim", victim);
            fields
        };
        let mut choices = self.schemes()?;
        if choices.is_empty() {
            for placement in self.texts("placement") {
                choices.extend(self.texts("victim").iter().map(|victim| two(&placement, victim)));
            }
        }
        let others = options().iter().filter(|option| {
            option.holder == Holder::Run && option.several && !OF_MAPPINGS.contains(&option.key)
        });
        let others: Vec<_> =
            others.map(|option| one_each(option.field, self.texts(option.key))).collect();
        let frontiers = one_each("frontier", self.texts("frontier"));
        let mut fields = Vec::new();
        for (mapping, has) in mappings.into_iter().zip(having) {
            let none = (one_each("frontier", vec![NONE.to_string()]), vec![two(NONE, NONE)]);
            let (frontiers, choices) =
                if has { (frontiers.clone(), choices.clone()) } else { none };
            let mut lists = vec![one_each("mapping", vec![mapping]), frontiers];
            lists.extend(others.iter().cloned());
            lists.push(choices);
            fields.extend(product(&lists));
        }
        Ok(fields)
    }

    /// Returns the parts of each scheme in the experiment, with its name.
    fn schemes(&self) -> Result<Vec<Fields>, SpecError> {
        let option = declared("scheme");
        let Some(value) = self.given.get(option.key) else { return Ok(Vec::new()) };
        let (path, mut couples) = (option.path(), Vec::<Couple>::new());
        let mut choices = Vec::new();
        for (index, text) in value.several().iter().map(Value::typed).enumerate() {
            let place = self.places.element(&path, index);
            let couple = Couple::parse(&text).map_err(|error| placed(place, option.key, error))?;
            if let Some(twin) = couples.iter().find(|other| other.name == couple.name) {
                let message = match *twin == couple {
                    true => format!("'{}' is given twice", couple.name),
                    false => format!("two schemes have the name '{}'", couple.name),
                };
                return Err(fault(place, message, "give each a name of its own"));
            }
            let mut fields = Fields::default();
            fields.set("placement", couple.placement.clone());
            fields.set("victim", couple.victim.clone());
            if let Some(frontier) = &couple.frontier {
                self.check_frontier_of(&couple)
                    .map_err(|error| placed(place, option.key, error))?;
                fields.set("frontier", frontier.clone());
            } else if !self.has("frontier") && !self.is_timed() {
                fields.set("frontier", OF_SCHEMES);
            }
            fields.set("scheme", couple.name.clone());
            choices.push(fields);
            couples.push(couple);
        }
        Ok(choices)
    }

    /// Refuses a frontier of a scheme if the drive has another one.
    fn check_frontier_of(&self, couple: &Couple) -> Result<(), SpecError> {
        if self.is_timed() {
            let message = format!(
                "'{}' names a frontier, and the planes of a timed drive always have a pool",
                couple.name
            );
            return Err(SpecError::new(message, "leave the frontier out"));
        }
        if self.has("frontier") {
            let message =
                format!("'{}' names a frontier, and so does {}", couple.name, subject("frontier"));
            return Err(SpecError::new(message, "give one of the two"));
        }
        Ok(())
    }

    /// Refuses options that a mapping which chooses its own blocks does not use.
    fn refuse_victims(&self, mapping: &str) -> Result<(), SpecError> {
        let name = mapping.split(':').next().unwrap_or_default();
        for key in ["victim", "frontier", "placement", "scheme"] {
            let texts = self.texts(key);
            // The API's functions pass the default if the user gives nothing.
            let is_usual = texts.len() == 1 && Some(texts[0].as_str()) == declared(key).usual();
            if !self.has(key) || is_usual {
                continue;
            }
            let own = match key {
                "victim" => choice("mapping", format!("{name}:victim=cost")),
                _ => choice("mapping", "page"),
            };
            return Err(SpecError::new(
                format!(
                    "{} {} does not go with {}, which chooses its own blocks",
                    subject(key),
                    texts[0],
                    choice("mapping", name)
                ),
                format!("leave it out, or {own}"),
            ));
        }
        Ok(())
    }

    /// Returns every combination of a host's cache and a way of giving hints.
    fn hosts(&self) -> Vec<Fields> {
        if !self.has("host_cache") {
            return vec![field("host", None)];
        }
        let each = ["host_cache", "hints"].map(declared);
        let each = each.map(|option| one_each(option.field, self.texts(option.key)));
        product(&each).into_iter().map(|host| field("host", Some(host))).collect()
    }

    /// Returns the page caches in front of the drive, one for each eviction scheme.
    fn swaps(&self, unit: u64) -> Result<Vec<Fields>, SpecError> {
        let option = declared("vm_page_cache");
        let Some(size) = self.given.get(option.key) else { return Ok(vec![field("swap", None)]) };
        let pages = self.at(option, option.whole(size, unit))? / unit.max(1);
        if pages > u32::MAX.into() {
            let message = format!("found {pages} pages, expected at most {}", u32::MAX);
            return self.at(option, Err(SpecError::new(message, "a smaller size")));
        }
        let mut common = Fields::default();
        common.set("cache_pages", pages);
        let page_policy = declared("page_policy");
        let each = [
            vec![common],
            one_each(page_policy.field, self.texts(page_policy.key)),
            one_each("scheme", self.texts("vm_scheme")),
        ];
        Ok(product(&each).into_iter().map(|swap| field("swap", Some(swap))).collect())
    }

    /// Returns the clocks: one for each combination of the values of timed options.
    fn clocks(&self, unit: u64) -> Result<Vec<Fields>, SpecError> {
        if !self.is_timed() {
            return Ok(vec![field("timed", None)]);
        }
        let mut common = self.fields(Holder::Timed, unit, false)?;
        if let Some(timeline) = self.timeline()? {
            common.put("timeline", Field::Fields(timeline));
        }
        if let Some(events) = self.trace_events()? {
            common.put("trace_events", Field::Fields(events));
        }
        if self.text("times").is_none() {
            return Err(without_times());
        }
        let mut lists = vec![vec![common]];
        for option in options().iter().filter(|it| it.holder == Holder::Timed && it.several) {
            let texts = self.texts(option.key);
            lists.push(match texts.is_empty() {
                true => vec![Fields(vec![(option.field, Field::Plain(Json::Null))])],
                false => one_each(option.field, texts),
            });
        }
        Ok(product(&lists).into_iter().map(|clock| field("timed", Some(clock))).collect())
    }

    /// Returns the timeline to write: its file and its time window.
    fn timeline(&self) -> Result<Option<Fields>, SpecError> {
        let Some(file) = self.text("timeline") else { return Ok(None) };
        let (stem, ending) = parted(&file);
        if !["", ".json", ".svg", ".pdf", ".png"].contains(&ending.to_lowercase().as_str()) {
            let message = format!("{file}: found '{ending}', expected .json, .svg, .pdf or .png");
            let error = SpecError::new(message, format!("name it {stem}.svg"));
            return self.at(declared("timeline"), Err(error));
        }
        let mut fields = Fields::default();
        fields.set("window", self.text("window"));
        fields.set("file", file);
        Ok(Some(fields))
    }

    /// Returns the trace events to write: their file and their time window.
    fn trace_events(&self) -> Result<Option<Fields>, SpecError> {
        let Some(file) = self.text("trace_events") else { return Ok(None) };
        let (stem, ending) = parted(&file);
        if ending.to_lowercase() != ".json" {
            let ending_text =
                if ending.is_empty() { "no ending".into() } else { format!("'{ending}'") };
            let message = format!("{file}: found {ending_text}, expected .json");
            let error = SpecError::new(message, format!("name it {stem}.json"));
            return self.at(declared("trace_events"), Err(error));
        }
        if Some(&file) == self.text("timeline").as_ref() {
            return Err(SpecError::new(
                format!(
                    "{} {file} is also the file of {}",
                    subject("trace_events"),
                    option("timeline")
                ),
                "give another file",
            ));
        }
        let window = self.text("window").filter(|_| self.has("window"));
        if window.as_ref().is_some_and(|window| window.trim().starts_with("worst")) {
            return Err(SpecError::new(
                format!(
                    "{} worst does not go with {}: they are written while the run goes, and which request \
                     is the slowest is known at its end",
                    subject("window"),
                    option("trace_events")
                ),
                format!(
                    "{}, or leave {} out",
                    choice("window", "20ms:60ms"),
                    option("trace_events")
                ),
            ));
        }
        let mut fields = Fields::default();
        fields.set("window", window);
        fields.set("file", file);
        Ok(Some(fields))
    }
}

/// Returns the error for a drive with a clock whose flash has no operation times.
pub(crate) fn without_times() -> SpecError {
    let times = choice("times", "read=60us,program=800us,erase=1.5ms,transfer=20us");
    SpecError::new(
        format!("a drive with a clock needs {}: every operation takes its time", option("times")),
        format!("add {times}, or {}", choice("device", "tlc")),
    )
}

/// Returns one set of fields for each of `texts`, with that text in the field `name`.
fn one_each(name: &'static str, texts: Vec<String>) -> Vec<Fields> {
    texts.into_iter().map(|text| Fields(vec![(name, Field::Plain(text.into()))])).collect()
}

/// Returns the whole number in the text of a default.
fn whole(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("'{text}' is no number"))
}

/// Splits a file's name before its extension.
fn parted(file: &str) -> (&str, &str) {
    let ending = std::path::Path::new(file).extension().and_then(|it| it.to_str());
    file.split_at(ending.map_or(file.len(), |ending| file.len() - ending.len() - 1))
}

fn has_victims(mapping: &str) -> bool {
    Mapping::parse(mapping).is_ok_and(|mapping| mapping.info().has_victims)
}

fn spare(share: f64, typed: &str) -> Result<f64, SpecError> {
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    // A number from 1 to 100 without a percent sign was probably meant as percent.
    let typed = typed.trim();
    let hint = match !typed.ends_with('%') && (1.0..100.0).contains(&share) {
        true => format!("did you mean {typed}%?"),
        false => "spare = 1 - U/N, for example 10%".to_string(),
    };
    let percent = numbers::percent(share);
    Err(SpecError::new(
        format!("spare factor is {percent}, expected above 0% and below 100%"),
        hint,
    ))
}

fn spare_of_over(share: f64) -> Result<f64, SpecError> {
    if share > 0.0 && share < 1e6 {
        return Ok(share / (1.0 + share));
    }
    let percent = numbers::percent(share);
    Err(SpecError::new(
        format!("over-provisioning is {percent}, expected above 0% and below 100000000%"),
        "(N - U)/U, for example 28%",
    ))
}

/// Returns the share of the mean in a text such as `precision=0.1%`.
fn precision_of(text: &str) -> Result<f64, SpecError> {
    let value = text.trim().strip_prefix("precision").and_then(|it| it.trim().strip_prefix('='));
    let Some(value) = value.filter(|value| !value.is_empty()) else {
        return Err(SpecError::new(
            format!("'{text}' is not understood"),
            "write precision=0.1%, first-failure or system-failure",
        ));
    };
    let share = numbers::share(value)?;
    if share > 0.0 && share < 1.0 {
        return Ok(share);
    }
    let message = format!("precision is {value}, expected above 0% and below 100%");
    Err(SpecError::new(message, "write precision=0.1%"))
}
