//! Values between a script and the program: numbers of any kind, options, tables, results.

use super::host::{Answer, wrong};
use super::prepared::Given;
use super::table::Cell;
use rhai::{Array, Dynamic, Map};
use serde_json::Value;
use std::collections::BTreeMap;

/// A number, whole or not.
pub fn number(value: &Dynamic, what: &str) -> Answer<f64> {
    if let Ok(value) = value.as_float() {
        return Ok(value);
    }
    value
        .as_int()
        .map(|v| v as f64)
        .map_err(|found| wrong(format!("{what} is of type '{found}'; expected a number")))
}

/// A list of numbers.
pub fn numbers(values: &Array, what: &str) -> Answer<Vec<f64>> {
    let one = |v: &Dynamic| {
        // What is not known leaves a gap.
        if v.is_unit() {
            Ok(f64::NAN)
        } else {
            number(v, what)
        }
    };
    values.iter().map(one).collect()
}

/// A list of words.
pub fn words(values: &Array, what: &str) -> Answer<Vec<String>> {
    let one = |v: &Dynamic| {
        v.clone()
            .into_string()
            .map_err(|found| wrong(format!("{what} holds a '{found}'; expected texts")))
    };
    values.iter().map(one).collect()
}

/// Parameters by name.
pub fn params(map: &Map) -> Answer<BTreeMap<String, f64>> {
    map.iter()
        .map(|(id, value)| Ok((id.to_string(), number(value, &format!("parameter '{id}'"))?)))
        .collect()
}

/// An option of a session.
pub fn given(key: &str, value: &Dynamic) -> Answer<Given> {
    if let Ok(flag) = value.as_bool() {
        return Ok(Given::Flag(flag));
    }
    if let Some(map) = value.read_lock::<Map>() {
        return options(&map).map(Given::Group);
    }
    if let Some(list) = value.read_lock::<Array>() {
        return numbers(&list, key).map(Given::Numbers);
    }
    if value.is_string() {
        return Ok(Given::Word(value.to_string()));
    }
    number(value, key).map(Given::Number)
}

/// Options of a session.
pub fn options(map: &Map) -> Answer<BTreeMap<String, Given>> {
    map.iter()
        .map(|(key, value)| Ok((key.to_string(), given(key, value)?)))
        .collect()
}

/// An entry of a table.
pub fn cell(value: &Dynamic) -> Answer<Cell> {
    if value.is_unit() {
        return Ok(Cell::Empty);
    }
    if value.is_string() {
        return Ok(Cell::Text(value.to_string()));
    }
    if let Ok(flag) = value.as_bool() {
        return Ok(Cell::Text(if flag { "yes" } else { "no" }.into()));
    }
    number(value, "an entry of the table").map(Cell::Number)
}

/// An entry of a table for the script.
pub fn of_cell(cell: Cell) -> Dynamic {
    match cell {
        Cell::Number(value) => value.into(),
        Cell::Text(text) => text.into(),
        Cell::Empty => Dynamic::UNIT,
    }
}

/// A result for the script: every number is a float.
pub fn of_json(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).into(),
        Value::String(text) => text.clone().into(),
        Value::Array(items) => items.iter().map(of_json).collect::<Array>().into(),
        Value::Object(fields) => {
            let entry = |(key, value): (&String, &Value)| (key.as_str().into(), of_json(value));
            fields.iter().map(entry).collect::<Map>().into()
        }
    }
}

/// A list of numbers for the script.
pub fn of_numbers(values: &[f64]) -> Array {
    values.iter().map(|v| Dynamic::from(*v)).collect()
}

/// What a person gave on the command line, of the kind that the script's own value has.
pub fn of_setting(name: &str, text: &str, default: &Dynamic) -> Answer<Dynamic> {
    let refused = |expected: &str| {
        Err(wrong(format!(
            "the setting {name}={text} is refused: expected {expected}"
        )))
    };
    if default.is_bool() {
        return match text {
            "true" | "yes" | "1" => Ok(true.into()),
            "false" | "no" | "0" => Ok(false.into()),
            _ => refused("true or false"),
        };
    }
    if default.is_int() {
        return match text.parse::<rhai::INT>() {
            Ok(value) => Ok(value.into()),
            Err(_) => refused("a whole number"),
        };
    }
    if default.is_float() {
        return match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value.into()),
            _ => refused("a number"),
        };
    }
    if default.is_array() {
        let list: Result<Vec<f64>, _> = text.split(',').map(|t| t.trim().parse()).collect();
        return match list {
            Ok(list) => Ok(of_numbers(&list).into()),
            Err(_) => refused("numbers with commas between them"),
        };
    }
    Ok(text.to_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_setting_has_the_kind_of_its_default_or_is_refused() {
        let read = |text: &str, default: Dynamic| of_setting("s", text, &default);
        assert!(read("yes", false.into()).unwrap().as_bool().unwrap());
        assert_eq!(read("7", Dynamic::from(3_i64)).unwrap().as_int(), Ok(7));
        assert_eq!(read("7", Dynamic::from(3.0)).unwrap().as_float(), Ok(7.0));
        let list = read("200, 250", of_numbers(&[1.0]).into()).unwrap();
        assert_eq!(list.into_array().unwrap().len(), 2);
        assert_eq!(read("x", "y".into()).unwrap().to_string(), "x");
        for (text, default) in [
            ("maybe", Dynamic::from(true)),
            ("1.5", Dynamic::from(1_i64)),
            ("NaN", Dynamic::from(1.0)),
            ("1;2", of_numbers(&[1.0]).into()),
        ] {
            let problem = read(text, default).unwrap_err().to_string();
            assert!(problem.contains("expected"), "{problem}");
        }
    }

    #[test]
    fn results_become_maps_of_floats() {
        let found = of_json(&json!({ "a": 1, "b": null, "c": [true, "x"] })).cast::<Map>();
        assert_eq!(found["a"].as_float(), Ok(1.0));
        assert!(found["b"].is_unit());
        assert_eq!(found["c"].clone().into_array().unwrap().len(), 2);
    }
}
