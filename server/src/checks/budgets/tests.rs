use super::*;
use crate::audit::Audit;
use crate::audit::fixture::{audited, real};
use crate::model::source::Libraries;

fn measured(dump: &Dump) -> Vec<Space> {
    spaces(&Audit::new(dump, Libraries::default()))
}

fn found(dump: &Dump, budgets: &Budgets, before: Option<&[Space]>) -> Vec<Finding> {
    check(dump, &[], budgets, &measured(dump), before)
}

fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

fn of(space: &str, bytes: u64) -> Limits<u64> {
    vec![(space.to_owned(), bytes)]
}

#[test]
fn a_budget_is_kept_up_to_its_last_byte() {
    let dump = real("tpu-split/module_0032");
    let spaces = measured(&dump);
    let peak = |limit: u64| {
        let budgets = Budgets {
            peak: of("hbm", limit),
            ..Budgets::default()
        };
        codes(&found(&dump, &budgets, None))
    };
    let occupied = spaces[0].peak_bytes.unwrap();
    assert_eq!(peak(occupied - 1), [Code::MaxPeak]);
    assert_eq!(peak(occupied), []);
    assert_eq!(peak(occupied + 1), []);
    let temp = |limit: u64| {
        let budgets = Budgets {
            temp: of("0", limit),
            ..Budgets::default()
        };
        codes(&found(&dump, &budgets, None))
    };
    assert!(spaces[0].temp_bytes > 0);
    assert_eq!(temp(spaces[0].temp_bytes - 1), [Code::MaxTemp]);
    assert_eq!(temp(spaces[0].temp_bytes), []);
}

#[test]
fn the_last_limit_of_a_space_counts() {
    let dump = real("tpu-split/module_0032");
    let base = Budgets {
        peak: of("hbm", 1),
        growth: Some(Percent::read("1").unwrap()),
        ..Budgets::default()
    };
    let own = Budgets {
        peak: of("@0", u64::MAX),
        ..Budgets::default()
    };
    assert_eq!(codes(&found(&dump, &base, None)), [Code::MaxPeak]);
    let merged = own.over(&base);
    assert_eq!(codes(&found(&dump, &merged, None)), []);
    assert_eq!(merged.growth, base.growth);
    assert!(!merged.is_empty() && Budgets::default().is_empty());
}

#[test]
fn a_finding_says_what_is_there_and_where() {
    let dump = real("tpu-split/module_0032");
    let budgets = Budgets {
        peak: of("hbm", 2 << 20),
        padding: vec![("hbm".to_owned(), Ratio::read("1.01").unwrap())],
        ..Budgets::default()
    };
    let findings = found(&dump, &budgets, None);
    let messages: Vec<&str> = findings.iter().map(|it| it.message.as_str()).collect();
    expect_test::expect![[r#"
        HBM holds 2.2 MiB (2,272,768 B) at its true peak, step 14 (`convolution_add_fusion.1`), 171.5 KiB (175,616 B) more than the 2.0 MiB of `max-peak`; the largest are `params_0___w__.1` (1.5 MiB), `params_1___w__.1` (512.0 KiB) and `x.1` (112.0 KiB)
        HBM holds 2.2 MiB (2,272,768 B) at its true peak, step 14 (`convolution_add_fusion.1`), of which 27.2 KiB (27,864 B) are padding: 1.012x, 5.3 KiB more than the 1.01x of `max-padding`; the largest are `x.1` (14.0 KiB), `convolution_add_fusion.1` (6.8 KiB) and `params_2___w__.1` (6.0 KiB)"#]].assert_eq(&messages.join("\n"));
    assert!(findings.iter().all(|it| it.related.len() == NAMED));
    let place = &findings[0].place;
    let text = dump.files[place.file].document.slice(place.range.clone());
    assert!(
        messages[0].contains(&format!("(`{text}`)")),
        "{text}: {}",
        messages[0]
    );
}

#[test]
fn what_cannot_be_told_is_no_pass() {
    let dump = real("no-live-range/module_0037");
    let budgets = Budgets {
        peak: of("hbm", u64::MAX),
        temp: of("hbm", u64::MAX),
        padding: vec![("vmem".to_owned(), Ratio::read("100").unwrap())],
        growth: None,
    };
    let findings = found(&dump, &budgets, None);
    assert_eq!(codes(&findings), [Code::MaxPeak, Code::MaxPadding]);
    assert!(
        findings[0]
            .message
            .contains("the live ranges are not there")
    );
    let live_ranges_alone = audited("HloLiveRange (max 1):\n");
    let findings = found(&live_ranges_alone, &budgets, None);
    assert_eq!(
        codes(&findings),
        [Code::MaxPeak, Code::MaxTemp, Code::MaxPadding]
    );
}

#[test]
fn growth_is_told_of_each_number_that_grew() {
    let dump = real("tpu-split/module_0032");
    let now = measured(&dump);
    let growth = |percent: &str, before: &[Space]| {
        let budgets = Budgets {
            growth: Some(Percent::read(percent).unwrap()),
            ..Budgets::default()
        };
        let findings = found(&dump, &budgets, Some(before));
        findings
            .into_iter()
            .map(|it| it.message)
            .collect::<Vec<_>>()
    };
    assert_eq!(growth("0", &now), Vec::<String>::new());
    let mut before = now.clone();
    before[0].peak_bytes = Some(now[0].peak_bytes.unwrap() / 2);
    assert_eq!(growth("100", &before), Vec::<String>::new());
    let messages = growth("99.9", &before);
    assert_eq!(messages.len(), 1);
    assert!(
        messages[0].starts_with("the true peak of HBM, step"),
        "{messages:?}"
    );
    assert!(
        messages[0].contains("has grown by 100.00 %"),
        "{messages:?}"
    );
    before.clone_from(&now);
    before[0].temp_bytes -= 1024;
    before[0].reserved_bytes -= 1024;
    assert_eq!(growth("0", &before), Vec::<String>::new());
    before[0].temp_bytes -= 1;
    before[0].reserved_bytes -= 1;
    assert_eq!(growth("0.001", &before).len(), 2);
    // A memory space that is new: its few bytes of sync flags are below what is told.
    assert_eq!(growth("3", &now[..2]), Vec::<String>::new());
    let mut fewer = now.clone();
    assert!(
        fewer[2].reserved_bytes <= 1024 && fewer[2].name == "sync flags",
        "{fewer:?}"
    );
    fewer[2].reserved_bytes /= 2;
    fewer[2].temp_bytes /= 2;
    assert_eq!(growth("0", &fewer), Vec::<String>::new());
    let messages = growth("3", &now[..1]);
    assert!(
        messages[0].contains("has grown from 0 B to"),
        "{messages:?}"
    );
    before.clone_from(&now);
    before[0].peak_bytes = None;
    assert_eq!(growth("3", &before), Vec::<String>::new());
    let unknown = real("no-live-range/module_0037");
    let budgets = Budgets {
        growth: Some(Percent::read("1000").unwrap()),
        ..Budgets::default()
    };
    let findings = found(
        &unknown,
        &budgets,
        Some(&measured(&real("tpu-run-on/module_0027"))),
    );
    assert!(
        findings
            .iter()
            .any(|it| it.message.contains("cannot be told")),
        "{findings:#?}"
    );
}

#[test]
fn numbers_at_the_end_of_their_range_are_no_reason_to_panic() {
    let huge = u64::MAX;
    let dump = audited(&format!(
        "BufferAssignment:\nallocation 0: size {huge}, preallocated-temp:\n value: <0 a @0> \
         (size={huge},offset={huge}): u8[1]{{0}}\nallocation 1: size {huge}, preallocated-temp:\n"
    ));
    let budgets = Budgets {
        peak: of("0", 0),
        temp: of("0", 0),
        padding: vec![("0".to_owned(), Ratio::read("1").unwrap())],
        growth: Some(Percent::read("0").unwrap()),
    };
    let before = [Space {
        color: 0,
        name: String::new(),
        reserved_bytes: 0,
        temp_bytes: 1,
        peak_bytes: Some(0),
        padding_bytes: None,
    }];
    let codes = codes(&found(&dump, &budgets, Some(&before)));
    assert!(
        codes.contains(&Code::MaxTemp) && codes.contains(&Code::MaxGrowth),
        "{codes:?}"
    );
}
