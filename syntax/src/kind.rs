//! Kinds of tokens and nodes in the tree.

/// What a token or node of the tree is. Tokens are named after their role (an offset, a step, an
/// opcode), not after their spelling, so that a feature can ask a token alone what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum SyntaxKind {
    // Tokens without a meaning of their own.
    /// Blanks and tabs.
    Whitespace,
    /// A line end.
    Newline,
    /// `/*index=5*/`
    Comment,
    /// Text that no rule explains, or that the format leaves free.
    Text,
    /// Brackets, commas and other marks.
    Punctuation,
    /// A fixed word of the format: `allocation`, `size`, `positions:` ...
    Keyword,

    // Numbers, by role. Units: bytes unless said otherwise.
    /// The running number of an allocation.
    AllocationIndex,
    /// A size in bytes.
    Size,
    /// An offset in bytes from the start of the allocation.
    Offset,
    /// A memory space number.
    Color,
    /// The number of an entry parameter.
    ParameterNumber,
    /// The id of a value.
    ValueId,
    /// An operand's position, from 0.
    OperandNumber,
    /// A number inside a shape index.
    ShapeIndexNumber,
    /// A logical time: the index of an instruction in the flattened schedule.
    Step,
    /// Unpadded bytes of the peak list.
    Bytes,
    /// Running sum of the peak list, in bytes.
    CumulativeBytes,
    /// Bytes with blanks between groups of three digits, as in the stack trace breakdown.
    GroupedBytes,
    /// Bytes as people read them: `36.0KiB`.
    HumanBytes,
    /// A percentage, without the sign.
    Percentage,
    /// A number of things.
    Count,
    /// Any other number.
    Number,

    // Parts of shapes.
    /// An element type: `bf16`.
    ElementType,
    /// A dimension's size in elements, `<=16` and `?` included.
    Dimension,
    /// A dimension number in a layout's minor-to-major list.
    MinorToMajor,
    /// A tile's extent in elements, or `*`.
    TileSize,
    /// The name of a layout property: `T`, `S`, `E` ...
    LayoutKeyword,
    /// The memory space in a layout, `S(n)`.
    MemorySpace,

    // Parts of instructions.
    /// An instruction's name.
    Name,
    /// A computation's name.
    ComputationName,
    /// An opcode.
    Opcode,
    /// The name of an attribute or of a metadata entry.
    AttributeName,
    /// A double-quoted string.
    String,
    /// A constant's value or a word in an attribute.
    Literal,
    /// The name of a module.
    ModuleName,
    /// A label of the stack trace breakdown or of a memory space, unescaped.
    Label,

    // Nodes: wholes.
    /// A whole document.
    Root,
    /// A run of lines that is read on its own; the unit of incremental reading.
    Block,
    /// Text that is no line of its section.
    Error,

    // Nodes: lines.
    /// An empty line.
    BlankLine,
    /// A section's heading: `BufferAssignment:`, `Used values:`, `  InstructionSequence:` ...
    Heading,
    /// `allocation 0: size 512, constant:`
    AllocationHeader,
    /// ` value: <31 constant.16 @0> (size=512,offset=0): bf16[]{:T(256)}`
    ValueLine,
    /// `Total bytes used: 512 (512B)` and `Total bytes: 512 (512B)`
    TotalLine,
    /// `<31 constant.16 @0>`, the header of a used value.
    ValueHeader,
    /// `  copy-start {1}` below `positions:`
    PositionLine,
    /// `  copy-done, operand 0 {1}` below `uses:`
    UseLine,
    /// ` from instruction: %a = f32[] add(%b, %c)`
    FromInstruction,
    /// A further physical line of an instruction or label whose first line is in another block.
    Continuation,
    /// `    12:fusion.3`
    StepLine,
    /// `    fusion.3{}:12-14`
    LiveRangeLine,
    /// `    fusion.3{}: 512 bytes (cumulative: 1024 bytes)`
    PeakLine,
    /// One line of the stack trace breakdown.
    TreeLine,
    /// `Memory Space: default (color=0)`
    SpaceHeading,
    /// A row of the memory-usage report.
    ReportRow,
    /// `allocation 8: size 4.1KiB, preallocated-temp:` in the memory-usage report.
    ReportAllocation,
    /// A heading, rule or remark of the memory-usage report.
    ReportText,
    /// `HloModule jit_f, is_scheduled=true`
    ModuleLine,
    /// A row of the `FileNames` ... `StackFrames` tables.
    TableRow,
    /// `ENTRY %main.4 (x.1: f32[]) -> f32[] {`
    ComputationHeader,
    /// An instruction of a module.
    InstructionLine,
    /// `}`
    ComputationEnd,
    /// `*** Begin module_0001.jit_f.txt ***`
    MarkerLine,
    /// `Ran out of memory in memory space hbm. Used 20.00G of 15.75G hbm.`
    OutOfMemoryMessage,
    /// `  Largest program allocations in hbm:`
    OutOfMemoryHeading,
    /// `    arguments        20.00G`
    OutOfMemoryAmount,
    /// `  1. Size: 512B`
    OutOfMemoryEntry,
    /// `     Unpadded size: 4B` and what else is said of an entry.
    OutOfMemoryProperty,
    /// A line of a kind of file that is recognised but not read.
    TextLine,

    // Nodes: parts of lines.
    /// `<27 copy-start{} (phi) @0>`
    ValueReference,
    /// `{1,0}`
    ShapeIndex,
    /// `color 1`, `thread-local`, `parameter 0, shape |f32[]| at ShapeIndex {}` ...
    AllocationAttribute,
    /// An array's shape with its layout.
    ArrayShape,
    /// A tuple's shape.
    TupleShape,
    /// `{1,0:T(8,128)}`
    Layout,
    /// `(8,128)`
    Tile,
    /// `%a = f32[] add(%b, %c), metadata={...}`
    Instruction,
    /// `(%b, %c)`
    Operands,
    /// One operand.
    Operand,
    /// `dimensions={0}`
    Attribute,
    /// One `key=value` of `metadata={...}`.
    MetadataEntry,
    /// A bracketed run inside an attribute or literal.
    Group,
    /// `(x.1: f32[]) -> f32[]`
    Signature,
    /// `5×f32[64,256], pred[]` of a slot in a memory-usage report.
    ShapeList,

    #[doc(hidden)]
    Last,
}

impl SyntaxKind {
    /// Whether it is a line of the text of a failure for want of memory.
    pub fn is_out_of_memory(self) -> bool {
        (Self::OutOfMemoryMessage as u16..=Self::OutOfMemoryProperty as u16)
            .contains(&(self as u16))
    }

    /// Whether nodes of this kind are whole (logical) lines.
    pub fn is_line(self) -> bool {
        (Self::BlankLine as u16..=Self::TextLine as u16).contains(&(self as u16))
            || self == Self::Error
    }
}

/// The language of rowan's trees here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dumps {}

const KINDS: [SyntaxKind; SyntaxKind::Last as usize] = {
    use SyntaxKind as K;
    [
        K::Whitespace,
        K::Newline,
        K::Comment,
        K::Text,
        K::Punctuation,
        K::Keyword,
        K::AllocationIndex,
        K::Size,
        K::Offset,
        K::Color,
        K::ParameterNumber,
        K::ValueId,
        K::OperandNumber,
        K::ShapeIndexNumber,
        K::Step,
        K::Bytes,
        K::CumulativeBytes,
        K::GroupedBytes,
        K::HumanBytes,
        K::Percentage,
        K::Count,
        K::Number,
        K::ElementType,
        K::Dimension,
        K::MinorToMajor,
        K::TileSize,
        K::LayoutKeyword,
        K::MemorySpace,
        K::Name,
        K::ComputationName,
        K::Opcode,
        K::AttributeName,
        K::String,
        K::Literal,
        K::ModuleName,
        K::Label,
        K::Root,
        K::Block,
        K::Error,
        K::BlankLine,
        K::Heading,
        K::AllocationHeader,
        K::ValueLine,
        K::TotalLine,
        K::ValueHeader,
        K::PositionLine,
        K::UseLine,
        K::FromInstruction,
        K::Continuation,
        K::StepLine,
        K::LiveRangeLine,
        K::PeakLine,
        K::TreeLine,
        K::SpaceHeading,
        K::ReportRow,
        K::ReportAllocation,
        K::ReportText,
        K::ModuleLine,
        K::TableRow,
        K::ComputationHeader,
        K::InstructionLine,
        K::ComputationEnd,
        K::MarkerLine,
        K::OutOfMemoryMessage,
        K::OutOfMemoryHeading,
        K::OutOfMemoryAmount,
        K::OutOfMemoryEntry,
        K::OutOfMemoryProperty,
        K::TextLine,
        K::ValueReference,
        K::ShapeIndex,
        K::AllocationAttribute,
        K::ArrayShape,
        K::TupleShape,
        K::Layout,
        K::Tile,
        K::Instruction,
        K::Operands,
        K::Operand,
        K::Attribute,
        K::MetadataEntry,
        K::Group,
        K::Signature,
        K::ShapeList,
    ]
};

// The table above must list the kinds in their order of declaration.
const _: () = {
    let mut kind = 0;
    while kind < KINDS.len() {
        assert!(KINDS[kind] as usize == kind);
        kind += 1;
    }
};

impl rowan::Language for Dumps {
    type Kind = SyntaxKind;

    fn kind_from_raw(raw: rowan::SyntaxKind) -> SyntaxKind {
        KINDS[raw.0 as usize]
    }

    fn kind_to_raw(kind: SyntaxKind) -> rowan::SyntaxKind {
        rowan::SyntaxKind(kind as u16)
    }
}

/// A node of a dump's tree.
pub type SyntaxNode = rowan::SyntaxNode<Dumps>;
/// A token of a dump's tree.
pub type SyntaxToken = rowan::SyntaxToken<Dumps>;
/// A node or token of a dump's tree.
pub type SyntaxElement = rowan::SyntaxElement<Dumps>;
