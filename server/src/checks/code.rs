//! The codes of findings and how bad they are.

use rustc_hash::FxHashMap;

use super::words::meant;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Advice for the editor only.
    Hint,
    /// Worth knowing.
    Information,
    /// Probably wrong.
    Warning,
    /// Wrong.
    Error,
}

impl Severity {
    /// Every severity, the worst first.
    pub const ALL: [Self; 4] = [Self::Error, Self::Warning, Self::Information, Self::Hint];

    /// Its name, in print and in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Information => "information",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|severity| severity.name() == name)
    }
}

macro_rules! codes {
    ($(#[doc = $doc:literal] $code:ident = $name:literal, $severity:ident;)*) => {
        /// What a finding is about. Each code has a section in `docs/diagnostics.md`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $doc] $code,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code's name, in kebab-case.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }

            /// What a finding with this code says, in a sentence.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$code => $doc.trim_ascii(),)*
                }
            }

            /// The severity where the user has not chosen another.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$code => Severity::$severity,)*
                }
            }
        }
    };
}

codes! {
    /// A line that is no line of its section.
    Syntax = "syntax", Error;
    /// The file ends too early, or a section that must follow is missing.
    Truncated = "truncated", Error;
    /// A file holds another dump behind the first one, which alone is read.
    SecondDump = "second-dump", Information;
    /// A file belongs to another compilation than the rest of its dump.
    OtherCompilation = "other-compilation", Error;
    /// Allocations are not numbered 0, 1, 2 ...
    AllocationIndex = "allocation-index", Error;
    /// The values of an allocation are not as the kind in its header has them.
    AllocationKind = "allocation-kind", Error;
    /// Two values have the same id.
    DuplicateValue = "duplicate-value", Error;
    /// A value is in one section, but not in the other.
    UnknownValue = "unknown-value", Error;
    /// A value ends behind its allocation.
    ValueOutsideAllocation = "value-outside-allocation", Error;
    /// An allocation is not as large as its values need.
    AllocationSize = "allocation-size", Error;
    /// A value's offset is impossible.
    ValueOffset = "value-offset", Error;
    /// The total is not the sum of the allocations' sizes.
    TotalBytes = "total-bytes", Error;
    /// A size for people does not say what the number beside it says.
    HumanBytes = "human-bytes", Error;
    /// The result or a parameter is not where an allocation's header says.
    OutputShape = "output-shape", Error;
    /// Memory spaces disagree.
    ColorMismatch = "color-mismatch", Error;
    /// No size rule gives a value's size from its shape.
    ValueSize = "value-size", Warning;
    /// A value's shape is not its instruction's.
    ValueShape = "value-shape", Error;
    /// The sections name a value differently.
    ValueMismatch = "value-mismatch", Error;
    /// A value is not named after its instruction.
    ValueName = "value-name", Error;
    /// A line below `uses:` does not say what its instruction reads.
    ValueUse = "value-use", Error;
    /// A line below `positions:` does not say where a value is.
    ValuePosition = "value-position", Error;
    /// The schedule is not numbered 0, 1, 2 ... or its length is another.
    Sequence = "sequence", Error;
    /// A live range contradicts the schedule or belongs to no value.
    LiveRange = "live-range", Error;
    /// Two values use the same bytes at the same time.
    BytesOverlap = "bytes-overlap", Error;
    /// The peak list does not hold the values alive at its step.
    PeakMembers = "peak-members", Error;
    /// The peak step is not the one that XLA's rule gives.
    PeakStep = "peak-step", Error;
    /// A number of bytes in the peak list is not its shape's.
    PeakBytes = "peak-bytes", Error;
    /// The running sum of the peak list is off.
    CumulativeBytes = "cumulative-bytes", Error;
    /// The numbers of the stack trace breakdown do not add up.
    TreeBytes = "tree-bytes", Error;
    /// The memory-usage report disagrees with the assignment.
    ReportTotal = "report-total", Error;
    /// A name in the HLO text leads nowhere.
    UnresolvedName = "unresolved-name", Error;
    /// Two computations, or two instructions of one, have the same name.
    DuplicateName = "duplicate-name", Error;
    /// An instruction has too many or too few operands.
    OperandCount = "operand-count", Error;
    /// An opcode or attribute that is not known, but close to one that is.
    Misspelling = "misspelling", Warning;
    /// An instruction has not the attributes that its opcode needs.
    MissingAttribute = "missing-attribute", Error;
    /// The shape of an instruction does not follow from its operands.
    InstructionShape = "instruction-shape", Error;
    /// The parameters of a computation are not numbered 0, 1, 2 ...
    ParameterNumber = "parameter-number", Error;
    /// A computation has two roots.
    DuplicateRoot = "duplicate-root", Error;
    /// The dimensions of a layout are not those of its shape.
    LayoutOrder = "layout-order", Error;
    /// A stack frame leads to no line of source.
    StackFrame = "stack-frame", Error;
    /// Advice: a value takes much more than its data.
    Padding = "padding", Hint;
    /// Advice: the printed peak is not the step at which most memory is occupied.
    XlaPeakStep = "xla-peak-step", Information;
    /// Advice: a copy only changes the layout.
    LayoutCopy = "layout-copy", Hint;
    /// Advice: a parameter is not donated, though a part of the result has its size.
    MissedDonation = "missed-donation", Hint;
    /// Advice: a parameter keeps its bytes long after it was read for the last time.
    DeadParameter = "dead-parameter", Hint;
    /// Advice: an output reserves bytes that are empty at the peak.
    IdleOutput = "idle-output", Hint;
    /// Advice: a temporary allocation is never full.
    Fragmentation = "fragmentation", Hint;
    /// Advice: a large literal is compiled in.
    LargeConstant = "large-constant", Hint;
    /// Advice: many values of one shape are alive at the peak.
    RepeatedShape = "repeated-shape", Hint;
    /// Advice: what loops keep of each turn is alive at the peak.
    LoopResiduals = "loop-residuals", Hint;
    /// Advice: a value and the same in more bits are alive at the peak.
    Widened = "widened", Hint;
    /// Advice: a parameter in host memory is copied back as a whole.
    HostOffload = "host-offload", Hint;
    /// Advice: a memory space needs more than the device is configured to have.
    Capacity = "capacity", Warning;
    /// Budget: a memory space holds more at its true peak than is allowed.
    MaxPeak = "max-peak", Error;
    /// Budget: the temp allocations of a memory space take more than is allowed.
    MaxTemp = "max-temp", Error;
    /// Budget: padding makes what a memory space holds at its true peak larger than is allowed.
    MaxPadding = "max-padding", Error;
    /// Budget: a program takes more than in the baseline, by more than is allowed.
    MaxGrowth = "max-growth", Error;
}

impl Code {
    /// Whether it is about a limit that the user has set, and not about the dump alone.
    pub fn is_budget(self) -> bool {
        matches!(
            self,
            Self::MaxPeak | Self::MaxTemp | Self::MaxPadding | Self::MaxGrowth
        )
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The severities that a user has chosen instead of the codes' own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Severities {
    /// `None` turns a code off.
    chosen: FxHashMap<Code, Option<Severity>>,
}

impl Severities {
    /// Gives the code called `name` the severity called `level`, or turns it off.
    ///
    /// # Errors
    /// With a message if there is no such code or level.
    pub fn choose(&mut self, name: &str, level: &str) -> Result<(), String> {
        let Some(&code) = Code::ALL.iter().find(|code| code.name() == name) else {
            let names = Code::ALL.iter().map(|code| code.name());
            let others = match meant(name, names.clone()) {
                Some(meant) => format!("is it `{meant}`?"),
                None => format!("there are {}", names.collect::<Vec<_>>().join(", ")),
            };
            return Err(format!("there is no code `{name}`; {others}"));
        };
        let severity = Severity::named(level);
        if severity.is_none() && level != "off" {
            return Err(format!(
                "the severity of `{name}` is none of error, warning, information, hint and off"
            ));
        }
        self.chosen.insert(code, severity);
        Ok(())
    }

    /// These choices, and those of `base` where there is none here.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        let mut merged = base.clone();
        merged.chosen.extend(&self.chosen);
        merged
    }

    /// The severity of `code`; `None` if it is turned off.
    pub fn of(&self, code: Code) -> Option<Severity> {
        self.chosen
            .get(&code)
            .copied()
            .unwrap_or(Some(code.severity()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_known_as_one() {
        let budgets: Vec<&str> = Code::ALL
            .iter()
            .filter(|it| it.is_budget())
            .map(|it| it.name())
            .collect();
        assert_eq!(
            budgets,
            ["max-peak", "max-temp", "max-padding", "max-growth"]
        );
        assert_eq!(
            Code::Syntax.description(),
            "A line that is no line of its section."
        );
    }

    #[test]
    fn chosen_severities_go_before_the_codes_own() {
        let mut severities = Severities::default();
        assert_eq!(severities.of(Code::Syntax), Some(Severity::Error));
        assert_eq!(severities.choose("syntax", "hint"), Ok(()));
        assert_eq!(severities.of(Code::Syntax), Some(Severity::Hint));
        let mut off = Severities::default();
        assert_eq!(off.choose("syntax", "off"), Ok(()));
        assert_eq!(off.over(&severities).of(Code::Syntax), None);
        assert_eq!(Severities::default().over(&severities), severities);
        let message = severities.choose("syntax", "fatal").unwrap_err();
        assert!(message.contains("information"), "{message}");
        assert!(
            severities
                .choose("sintax", "off")
                .unwrap_err()
                .contains("sintax")
        );
    }
}
