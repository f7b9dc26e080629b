//! The JSON Schema (draft 2020-12) of the JSON document and of the objects of a stream. What is in a record follows
//! from its types; what the two forms add to it is described here. It is among the tests, as nobody else needs it, and
//! here, as reports open no file.

use crate::record::RunRecord;
use serde_json::{Map, Value, json};

/// Where the schemas are kept, with what is in them.
fn schemas() -> [(&'static str, Value); 2] {
    [("docs/record.schema.json", record()), ("docs/record-stream.schema.json", stream())]
}

/// Of the document.
fn record() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<RunRecord>().to_value();
    let latency = json!({ "anyOf": [{ "$ref": "#/$defs/Latency" }, { "type": "null" }], "description": "Of the operations; null where none finished." });
    add(
        def(&mut schema, "FlowopRecord"),
        &[("ops_per_s", rate("Operations")), ("bytes_per_s", rate("Bytes read and written"))],
    );
    add(def(&mut schema, "FlowopRecord"), &[("latency_ns", latency.clone())]);
    add(def(&mut schema, "InstanceRecord"), &[("latency_ns", latency.clone())]);
    let response = json!({ "$ref": "#/$defs/Latency", "description": "From the moment each was due; absent where there is no schedule." });
    def(&mut schema, "FlowopRecord")["properties"]["response_ns"] = response.clone();
    add(def(&mut schema, "IntervalCounts"), &added_to_interval());
    let names = [("name", "The flowop's name."), ("process", "Its process."), ("thread", "Its thread.")];
    let names = names.map(|(key, what)| (key, json!({ "type": "string", "description": what })));
    let mut named = def(&mut schema, "IntervalCounts").clone();
    add(&mut named, &names);
    named["description"] = "What one flowop did within an interval.".into();
    let defs = schema["$defs"].as_object_mut().expect("the types have their definitions");
    defs.insert("IntervalFlowop".into(), named);
    defs.insert("Latency".into(), object("Latency of operations in nanoseconds. `min`, `mean`, `stddev` (of the population) and `max` are exact; a percentile is by nearest rank and within 0.4 %.", &LATENCIES.map(|key| (key, whole("")))));
    let counted = TOTALS.map(|(key, what)| (key, whole(what)));
    let mut total = object("All flowops that do I/O together.", &counted);
    add(&mut total, &[("ops_per_s", rate("Operations")), ("bytes_per_s", rate("Bytes read and written"))]);
    add(
        &mut total,
        &[("reads_per_s", rate("Operations of class read")), ("writes_per_s", rate("Operations of class write"))],
    );
    add(&mut total, &[("metadata_per_s", rate("Operations of class metadata")), ("latency_ns", latency)]);
    add(
        &mut total,
        &[("cpu_ns_per_op", or_null("Processor time of an operation in nanoseconds; null where none finished."))],
    );
    total["properties"]["response_ns"] = response;
    defs.insert("Total".into(), total);
    let interval = def(&mut schema, "Interval");
    interval["properties"]["flowops"]["items"]["$ref"] = "#/$defs/IntervalFlowop".into();
    add(
        interval,
        &[("total", json!({ "$ref": "#/$defs/IntervalCounts", "description": "All flowops that do I/O together." }))],
    );
    let bytes = bytes();
    add(def(&mut schema, "BytesRecord"), &bytes);
    def(&mut schema, "Interval")["properties"]["bytes"] =
        object("Where the bytes of an interval went; absent where the run has none.", &bytes);
    add(def(&mut schema, "Run"), &[("total", json!({ "$ref": "#/$defs/Total" }))]);
    schema["$id"] = "record.schema.json".into();
    schema["title"] = "A record of wlrun".into();
    tidy(&mut schema);
    schema
}

/// Of an object of a stream.
fn stream() -> Value {
    let mut schema = record();
    let document = schema.as_object().expect("a schema is an object").clone();
    let version = document["properties"]["schema_version"].clone();
    let kind = |kind: &str| [("type", json!({ "const": kind })), ("schema_version", version.clone())];
    let number = [("run", json!({ "type": "integer", "minimum": 1, "description": "The run's number." }))];
    let mut interval = schema["$defs"]["Interval"].clone();
    add(&mut interval, &kind("interval"));
    add(&mut interval, &number);
    let mut run = schema["$defs"]["Run"].clone();
    let without = |schema: &mut Value, key: &str| {
        schema["properties"].as_object_mut().expect("an object").shift_remove(key);
        schema["required"].as_array_mut().expect("an object").retain(|name| name != key);
    };
    without(&mut run, "intervals");
    add(&mut run, &kind("run"));
    add(&mut run, &number);
    let parts = ["type", "properties", "required"].map(|key| (key.to_owned(), document[key].clone()));
    let mut end = Value::Object(parts.into_iter().collect());
    without(&mut end, "schema_version");
    add(&mut end, &kind("end"));
    add(&mut end, &[("valid", json!({ "type": "boolean", "description": "True where all runs are." }))]);
    end["properties"]["runs"] = whole("How many runs there are.");
    end["description"] = "The last object.".into();
    for key in ["type", "properties", "required", "description"] {
        schema.as_object_mut().expect("an object").shift_remove(key);
    }
    schema["$id"] = "record-stream.schema.json".into();
    schema["title"] = "An object of wlrun's stream".into();
    schema["oneOf"] = json!([interval, run, end]);
    schema
}

const LATENCIES: [&str; 10] = ["min", "mean", "stddev", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max"];

const TOTALS: [(&str, &str); 7] = [
    ("ops", "Operations that finished in the measured window."),
    ("bytes_read", "Bytes that read calls returned."),
    ("bytes_written", "Bytes that write calls took."),
    ("auto_opens", "Files opened on behalf of a read or write; not in `ops`."),
    ("skipped", "Times that there was nothing a flowop may do; not in `ops`."),
    ("in_flight", "Operations under way when the window closed; not in `ops`."),
    ("errors", "Failed operations; not in `ops`."),
];

fn added_to_interval() -> [(&'static str, Value); 3] {
    [
        ("ops_per_s", rate("Operations")),
        ("bytes_per_s", rate("Bytes read and written")),
        ("latency_mean_ns", or_null("Mean latency in nanoseconds; null where no operation finished.")),
    ]
}

/// What the calls moved and what the storage did, for reads and for writes.
fn bytes() -> [(&'static str, Value); 2] {
    let storage = |what: &str| or_null(&format!("{what} Null where nothing counts it."));
    let mut share = storage("The last as a part of `app_bytes`, 0 to 1.");
    share["type"] = json!(["number", "null"]);
    share.as_object_mut().expect("an object").shift_remove("format");
    let read = [
        ("app_bytes", whole("Bytes that read calls returned.")),
        ("storage_bytes", storage("Bytes that the storage delivered meanwhile: at most so many of them.")),
        ("page_cache_bytes", storage("The rest, which was in the page cache: at least so many.")),
        ("page_cache_share", share),
    ];
    let written = [
        ("app_bytes", whole("Bytes that write calls took.")),
        ("storage_bytes", storage("Bytes that the storage took meanwhile: at most so many of them.")),
    ];
    let or_nothing = |what: &str, keys: &[(&str, Value)]| {
        let mut schema = object(what, keys);
        schema["type"] = json!(["object", "null"]);
        schema
    };
    [
        ("read", or_nothing("Where what was read came from; null where nothing was read.", &read)),
        ("written", or_nothing("Where what was written went; null where nothing was written.", &written)),
    ]
}

fn whole(what: &str) -> Value {
    let mut schema = json!({ "type": "integer", "format": "uint64", "minimum": 0 });
    if !what.is_empty() {
        schema["description"] = what.into();
    }
    schema
}

fn or_null(what: &str) -> Value {
    let mut schema = whole(what);
    schema["type"] = json!(["integer", "null"]);
    schema
}

fn rate(what: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "description": format!("{what} per second: three decimals, or six digits where these are more.") })
}

fn object(what: &str, properties: &[(&str, Value)]) -> Value {
    let mut schema = json!({ "type": "object", "description": what, "properties": {}, "required": [] });
    add(&mut schema, properties);
    schema
}

/// Adds keys that are always there.
fn add(schema: &mut Value, properties: &[(&str, Value)]) {
    for (key, property) in properties {
        schema["properties"][key] = property.clone();
        schema["required"].as_array_mut().expect("each object has some").push((*key).into());
    }
}

fn def<'a>(schema: &'a mut Value, name: &str) -> &'a mut Value {
    schema["$defs"].get_mut(name).unwrap_or_else(|| panic!("no type {name} in the record"))
}

/// Links of Rust's documentation lead nowhere from here, and lines are the reader's own affair.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace("[`", "`").replace("`]", "`").replace('\n', " ");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}

#[test]
fn the_schemas_are_up_to_date() {
    for (path, schema) in schemas() {
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&path, &generated).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = generated.lines().zip(found.lines()).find(|(a, b)| a != b);
        assert!(
            generated == found,
            "{} is out of date; UPDATE_DOCS=1 cargo test --lib schemas writes it. First difference: {differs:?}",
            path.display()
        );
    }
}

/// Each statistic that a document has is in the schema, and each that it always has is in the document.
#[test]
fn derived_keys_are_those_of_a_document() {
    let document: Value =
        serde_json::from_str(&crate::report::json::render(&crate::summary::sample::sample())).unwrap();
    let schema = record();
    let keys = |object: &Map<String, Value>| object.keys().cloned().collect::<std::collections::BTreeSet<_>>();
    let run = &document["runs"][0];
    for (found, name) in [
        (&run["total"], "Total"),
        (&run["total"]["latency_ns"], "Latency"),
        (&run["intervals"][0], "Interval"),
        (&run["intervals"][0]["total"], "IntervalCounts"),
        (&run["intervals"][0]["flowops"][0], "IntervalFlowop"),
    ] {
        let described = keys(schema["$defs"][name]["properties"].as_object().unwrap());
        let required = schema["$defs"][name]["required"].as_array().unwrap();
        let required = required.iter().map(|key| key.as_str().unwrap().to_owned()).collect();
        let found = keys(found.as_object().unwrap());
        assert!(found.is_subset(&described), "{name}: {found:?} {described:?}");
        assert!(found.is_superset(&required), "{name}: {found:?} {required:?}");
    }
}
