//! The types of columns.

use cenote_tables::Type;

#[test]
fn types_are_read_as_they_are_written() {
    for text in [
        "bool",
        "i8",
        "i64",
        "u16",
        "u64",
        "decimal(12,2)",
        "decimal(38,0)",
        "date",
        "timestamp",
        "char(14)",
    ] {
        assert_eq!(text.parse::<Type>().unwrap().to_string(), text);
    }
    assert_eq!(
        "DECIMAL( 7 )".parse(),
        Ok(Type::Decimal {
            precision: 7,
            scale: 0
        })
    );
    for (text, part) in [
        ("i7", "is not a type"),
        ("", "is not a type"),
        ("char(0)", "1 to 255 bytes"),
        ("char(x)", "is not a type"),
        ("decimal(39,2)", "1 to 38 digits"),
        ("decimal(3,4)", "1 to 38 digits"),
        ("varchar", "is not a type"),
    ] {
        let error = text.parse::<Type>().unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn what_a_type_holds_fits_its_bits() {
    for text in [
        "i8",
        "u64",
        "decimal(1,0)",
        "decimal(12,2)",
        "decimal(38,5)",
        "date",
    ] {
        let kind: Type = text.parse().unwrap();
        let (least, most) = kind.range().unwrap();
        let bits = kind.width() - u32::from(kind.is_signed());
        assert!(most < 1 << bits || bits >= 127, "{text}");
        assert!(least >= -(1 << bits.min(126)) || bits >= 127, "{text}");
        assert!(most >= 1 << (bits - 1), "{text} needs its bits");
    }
}
