//! Values of experiments: a wrong value gives one sentence, wherever it was given.

use std::collections::HashMap;

use flashgc_experiment::input::{Experiment, Places, experiment};
use flashgc_experiment::options::{Drives, Holder, Kind, OptionInfo, Value, find, options};
use serde_json::{Value as Json, json};

/// The three ways to give a value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Typed,
    File,
    Keyword,
}

use Way::{File, Keyword, Typed};

fn place(way: Way, option: &OptionInfo) -> String {
    match way {
        Typed => format!("--{}", option.flag_name()),
        File => "a.toml:2:1".into(),
        Keyword => option.key.into(),
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Returns the configurations for these values, by key, or the error.
fn asked(way: Way, given: &[(&str, Value)]) -> Result<Vec<Json>, String> {
    let (mut sections, mut places): (Vec<(String, Vec<_>)>, _) = (Vec::new(), HashMap::new());
    for (key, value) in given {
        let option = find(key).unwrap();
        places.insert(option.path(), place(way, option));
        if let (File, Value::List(values)) = (way, value) {
            let each = (0..values.len()).map(|at| (format!("{}.{at}", option.path()), at + 10));
            places.extend(each.map(|(path, column)| (path, format!("a.toml:2:{column}"))));
        }
        let section = option.section.name();
        let one = (key.to_string(), value.clone());
        match sections.iter_mut().find(|(name, _)| name == section) {
            Some((_, keys)) => keys.push(one),
            None => sections.push((section.into(), vec![one])),
        }
    }
    let sections = sections.into_iter().map(|(name, keys)| (name, Value::Table(keys)));
    let (values, places) = (Value::Table(sections.collect()), Places::new(places));
    let given = experiment(&values, &places, &Value::Table(Vec::new()));
    let given = given.map_err(|error| error.to_string())?;
    let made = Experiment::new(given, places).configurations(1, &HashMap::new());
    let made = made.map_err(|error| error.to_string())?;
    Ok(made.iter().map(|fields| serde_json::to_value(fields).unwrap()).collect())
}

fn refused(way: Way, given: &[(&str, Value)]) -> String {
    asked(way, given).unwrap_err()
}

/// Returns the other values that must be given so that an option applies.
fn beside(option: &OptionInfo) -> Vec<(&'static str, Value)> {
    let mut made = Vec::new();
    if option.drives == Drives::Timed {
        made.push(("kind", text("timed")));
        made.push(("times", text("read=60us,program=800us,erase=1.5ms")));
    }
    if option.holder == Holder::Trace || option.key == "passes" {
        made.push(("source", text("trace.csv")));
    }
    if let Some(with) = option.only_with {
        made.push((with.others[0], text(with.example)));
        let other = find(with.others[0]).unwrap().only_with;
        let other = other.filter(|other| other.others[0] != option.key);
        made.extend(other.map(|other| (other.others[0], text(other.example))));
    }
    made
}

#[test]
fn a_wrong_value_of_any_option_has_one_sentence() {
    let wrong = [
        text(""),
        text("no such thing"),
        text("-1"),
        text("1e60"),
        text("7 parsecs"),
        Value::Whole(-1),
        Value::Whole(1 << 65),
        Value::Real(f64::NAN),
        Value::Truth(true),
        Value::List(Vec::new()),
        Value::List(vec![text("x"), text("x")]),
        Value::Table(Vec::new()),
        Value::Other("None".into()),
        Value::NotUtf8("'\\xff'".into()),
    ];
    for option in options().iter().filter(|option| option.key != "tenant") {
        let mut refusals = 0;
        for value in &wrong {
            let mut given = beside(option);
            given.push((option.key, value.clone()));
            let told = [Typed, File, Keyword].map(|way| {
                let error = asked(way, &given).err()?;
                // The hint is cut off: for an option without an example it is the option's help,
                // which names other options.
                let error = error.split("; hint: ").next()?.to_string();
                let elements = ["a.toml:2:10", "a.toml:2:11"].map(String::from);
                let places = elements.into_iter().chain([place(way, option)]);
                let rest =
                    places.into_iter().find_map(|it| Some(error.strip_prefix(&it)?.to_string()));
                Some(rest.unwrap_or_else(|| panic!("{error}: found no place of {}", option.key)))
            });
            assert!(told[0] == told[1] && told[1] == told[2], "{} = {value}: {told:?}", option.key);
            refusals += u32::from(told[0].is_some());
        }
        assert!(refusals >= 4, "{} takes anything", option.key);
    }
}

#[test]
fn true_and_false_are_yes_and_no_where_these_are_asked_for() {
    let mut yes_no = 0;
    for option in options().iter().filter(|option| option.key != "tenant") {
        for (truth, word) in [(true, "yes"), (false, "no")] {
            let made = |value: Value| {
                let mut given = beside(option);
                given.push((option.key, value));
                [File, Keyword].map(|way| asked(way, &given))
            };
            let told = made(Value::Truth(truth));
            if option.kind == Kind::YesNo {
                yes_no += 1;
                assert_eq!(told, made(text(word)), "{}", option.key);
            } else {
                let error = told[0].as_ref().unwrap_err();
                let hint = "true and false are for keys of yes and no";
                assert!(error.contains(&format!("found {truth}; hint: {hint}")), "{error}");
            }
        }
    }
    assert!(yes_no >= 2 * 7, "{yes_no}");
}

#[test]
fn every_option_takes_its_example_and_its_default() {
    for option in options().iter().filter(|option| !option.listing) {
        let typed = [option.usual().unwrap_or_default(), option.example];
        for value in typed.into_iter().filter(|typed| !["", "none"].contains(typed)) {
            let mut given = beside(option);
            given.push((option.key, text(value)));
            for end in ["first-failure", "system-failure"] {
                if value == end {
                    given.push(("endurance", text("1000")));
                }
            }
            let made = asked(Typed, &given);
            let apart = ["timeline", "trace_events", "device"].contains(&option.key);
            assert!(made.is_ok() || apart, "{} = {value}: {made:?}", option.key);
        }
    }
}

#[test]
fn places_are_named_as_values_are_given() {
    let hints = [("hints", text("piggyback"))];
    assert_eq!(
        refused(Typed, &hints),
        "--hints only applies with --host-cache: hints tell which pages of a cache are dirty; hint: add \
         --host-cache page-cache:size=256MiB"
    );
    assert_eq!(
        refused(File, &[("gc_low", text("3"))]),
        "a.toml:2:1: gc_low only applies to kind = \"timed\" in [drive]: a collection of a counting drive takes \
         no time; hint: add kind = \"timed\" in [drive]"
    );
    assert_eq!(
        refused(Keyword, &[("kind", text("timed")), ("frontier", text("pool"))]),
        "frontier only applies to kind=\"counting\": the planes of a timed drive always have a pool; hint: \
         leave it out; gc_low says how many blocks the pool of a plane keeps"
    );
    let victims = Value::List(vec![text("greedy"), text("gredy")]);
    assert_eq!(
        refused(File, &[("victim", victims)]),
        "a.toml:2:11: unknown victim policy 'gredy'; hint: did you mean 'greedy'?"
    );
    assert_eq!(
        refused(Typed, &[("blocks", Value::Whole(9)), ("capacity", text("1GiB"))]),
        "--capacity does not go with --blocks: each is the size of the drive; hint: leave out --capacity or \
         --blocks"
    );
    assert_eq!(
        refused(Keyword, &[("spare", Value::Whole(7))]),
        "spare: spare factor is 700%, expected above 0% and below 100%; hint: did you mean 7%?"
    );
}

#[test]
fn several_values_are_every_combination() {
    let list = |texts: &[&str]| Value::List(texts.iter().map(|one| text(one)).collect());
    let made = asked(
        Keyword,
        &[
            ("mapping", list(&["page", "fast:log_blocks=32"])),
            ("victim", list(&["greedy", "fifo"])),
            ("spare", list(&["7%", "0.1"])),
        ],
    )
    .unwrap();
    let shown = |config: &Json| (config["spare"].clone(), config["victim"].clone());
    let expected = [
        (0.07, "greedy"),
        (0.07, "fifo"),
        (0.07, "none"),
        (0.1, "greedy"),
        (0.1, "fifo"),
        (0.1, "none"),
    ];
    let expected = expected.map(|(spare, victim)| (json!(spare), json!(victim)));
    assert_eq!(made.iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(made[0]["length"], json!({"settled": 640}));
    assert_eq!((&made[0]["blocks"], &made[0]["timed"]), (&json!(4096), &Json::Null));
}

#[test]
fn a_run_has_one_length_and_its_own_warm_up() {
    let course = |given: &[(&str, Value)]| {
        let made = asked(Typed, given).unwrap().remove(0);
        (made["warmup"].clone(), made["length"].clone(), made["precision"].clone())
    };
    let timed = ("kind", text("timed"));
    let times = ("times", text("read=60us,program=800us,erase=1.5ms"));
    let trace = ("source", text("trace.csv"));
    let swap = ("vm_page_cache", text("4MiB"));
    let until = ("until", text("precision=0.5%"));
    let (none, life) = (Json::Null, ("until", text("first-failure")));
    for (given, expected) in [
        (vec![], ("auto", json!({"settled": 640}), none.clone())),
        (vec![until.clone()], ("auto", json!({"settled": 2560}), json!(0.005))),
        (vec![("warmup", text("auto"))], ("auto", json!({"settled": 640}), none.clone())),
        (vec![("warmup", text("30%"))], ("30%", json!({"writes": "20x"}), none.clone())),
        (vec![("writes", text("9x"))], ("1/3", json!({"writes": "9x"}), none.clone())),
        (vec![trace.clone()], ("1/3", json!({"settled": 100}), none.clone())),
        (vec![trace.clone(), until.clone()], ("1/3", json!({"passes": 3}), json!(0.005))),
        (
            vec![timed.clone(), times.clone()],
            ("auto", json!({"requests": 1_000_000}), none.clone()),
        ),
        (vec![timed, times, trace.clone()], ("auto", json!({"passes": 1}), none.clone())),
        (vec![swap.clone()], ("1/3", json!({"requests": 5_000_000}), none.clone())),
        (vec![swap, trace], ("0", json!({"passes": 1}), none.clone())),
        (vec![until, ("collections", text("9"))], ("1/3", json!({"collections": 9}), json!(0.005))),
        (
            vec![life.clone(), ("endurance", Value::Whole(9))],
            ("0", json!({"until": "first-failure"}), none),
        ),
    ] {
        let (warmup, length, precision) = expected;
        assert_eq!(course(&given), (json!(warmup), length, precision), "{given:?}");
    }
    assert_eq!(
        refused(Typed, &[life.clone(), ("writes", text("20x"))]),
        "--until does not go with --writes: a run until first-failure ends at the failure; hint: leave out \
         --until or --writes"
    );
    assert_eq!(
        refused(Typed, &[life]),
        "--until first-failure needs --endurance: blocks that bear any number of erases do not fail; hint: \
         add --endurance 1000"
    );
}
