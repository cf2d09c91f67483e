//! The values that columns of text have by the specification of TPC-H (section 4.2).

fn all(values: &[&str]) -> Vec<String> {
    values.iter().map(|&value| value.to_owned()).collect()
}

/// Each word of one list with each of another.
fn pairs(first: &[String], second: &[&str], between: &str) -> Vec<String> {
    let each = |one: &String| {
        let pair = |other: &&str| format!("{one}{between}{other}");
        second.iter().map(pair).collect::<Vec<_>>()
    };
    first.iter().flat_map(each).collect()
}

pub(super) fn segments() -> Vec<String> {
    all(&["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"])
}

pub(super) fn manufacturers() -> Vec<String> {
    (1..=5).map(|number| format!("Manufacturer#{number}")).collect()
}

pub(super) fn brands() -> Vec<String> {
    let first: Vec<String> = (1..=5).map(|number| format!("Brand#{number}")).collect();
    pairs(&first, &["1", "2", "3", "4", "5"], "")
}

pub(super) fn types() -> Vec<String> {
    let first = all(&["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"]);
    let second = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"];
    pairs(
        &pairs(&first, &second, " "),
        &["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"],
        " ",
    )
}

pub(super) fn containers() -> Vec<String> {
    let first = all(&["SM", "LG", "MED", "JUMBO", "WRAP"]);
    pairs(
        &first,
        &["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"],
        " ",
    )
}

pub(super) fn statuses() -> Vec<String> {
    all(&["F", "O", "P"])
}

pub(super) fn priorities() -> Vec<String> {
    all(&["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"])
}

pub(super) fn flags() -> Vec<String> {
    all(&["A", "N", "R"])
}

pub(super) fn line_statuses() -> Vec<String> {
    all(&["F", "O"])
}

pub(super) fn instructions() -> Vec<String> {
    all(&["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"])
}

pub(super) fn modes() -> Vec<String> {
    all(&["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"])
}

pub(super) fn regions() -> Vec<String> {
    all(&["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"])
}

pub(super) fn nations() -> Vec<String> {
    all(&[
        "ALGERIA",
        "ARGENTINA",
        "BRAZIL",
        "CANADA",
        "CHINA",
        "EGYPT",
        "ETHIOPIA",
        "FRANCE",
        "GERMANY",
        "INDIA",
        "INDONESIA",
        "IRAN",
        "IRAQ",
        "JAPAN",
        "JORDAN",
        "KENYA",
        "MOROCCO",
        "MOZAMBIQUE",
        "PERU",
        "ROMANIA",
        "RUSSIA",
        "SAUDI ARABIA",
        "UNITED KINGDOM",
        "UNITED STATES",
        "VIETNAM",
    ])
}
