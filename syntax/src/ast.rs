//! Typed views of the tree's nodes: the parts that a node of a kind has, by name.

use std::ops::Range;

use crate::{SyntaxElement, SyntaxKind, SyntaxNode, SyntaxToken};

/// A node of one kind.
pub trait AstNode: Sized {
    /// The view of `node` if it is of the kind.
    fn cast(node: SyntaxNode) -> Option<Self>;

    /// The node.
    fn syntax(&self) -> &SyntaxNode;

    /// The innermost node of the kind around `token`.
    fn around(token: &SyntaxToken) -> Option<Self> {
        token.parent_ancestors().find_map(Self::cast)
    }

    /// Where it is, in bytes from the start of the tree.
    fn range(&self) -> Range<u32> {
        self.syntax().text_range().into()
    }
}

macro_rules! views {
    ($($(#[$doc:meta])* $view:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Hash)]
            pub struct $view(SyntaxNode);

            impl AstNode for $view {
                fn cast(node: SyntaxNode) -> Option<Self> {
                    (node.kind() == SyntaxKind::$view).then_some(Self(node))
                }

                fn syntax(&self) -> &SyntaxNode {
                    &self.0
                }
            }
        )*
    };
}

views! {
    /// `<27 copy-start{0} (phi) @1>`
    ValueReference;
    /// `%a = f32[] add(%b, %c), metadata={...}`
    Instruction;
    /// One operand of an instruction.
    Operand;
    /// `dimensions={0}`
    Attribute;
    /// One `key=value` of the metadata or of a table's row.
    MetadataEntry;
    /// A row of a table in a module's header.
    TableRow;
}

impl ValueReference {
    /// The id.
    pub fn id(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::ValueId)
    }

    /// The defining instruction's name.
    pub fn name(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::Name)
    }
}

impl Instruction {
    /// The name, without `%`.
    pub fn name(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::Name)
    }

    /// The shape of the result.
    pub fn shape(&self) -> Option<SyntaxNode> {
        shape(&self.0)
    }

    /// The opcode.
    pub fn opcode(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::Opcode)
    }

    /// The operands of an ordinary instruction, in order.
    pub fn operands(&self) -> impl Iterator<Item = Operand> + use<> {
        let list = self.list();
        list.into_iter()
            .flat_map(|list| list.children())
            .filter_map(Operand::cast)
    }

    /// The number in `parameter(3)`.
    pub fn parameter(&self) -> Option<SyntaxToken> {
        token(&self.list()?, SyntaxKind::ParameterNumber)
    }

    /// Whether its result is the result of its computation: `ROOT` stands before it.
    pub fn is_root(&self) -> bool {
        let line = self.0.parent();
        line.and_then(|line| token(&line, SyntaxKind::Keyword))
            .is_some_and(|word| word.text() == "ROOT")
    }

    /// The attributes, in order.
    pub fn attributes(&self) -> impl Iterator<Item = Attribute> + use<> {
        self.0.children().filter_map(Attribute::cast)
    }

    /// The entries of `metadata={...}`, in order.
    pub fn metadata(&self) -> impl Iterator<Item = MetadataEntry> + use<> {
        let metadata = self
            .attributes()
            .find(|attribute| attribute.key().is_some_and(|key| key.text() == "metadata"));
        let group = metadata.and_then(|metadata| metadata.0.first_child());
        group
            .into_iter()
            .flat_map(|group| group.children())
            .filter_map(MetadataEntry::cast)
    }

    fn list(&self) -> Option<SyntaxNode> {
        self.0
            .children()
            .find(|child| child.kind() == SyntaxKind::Operands)
    }
}

impl Operand {
    /// The shape, where the compiler prints it.
    pub fn shape(&self) -> Option<SyntaxNode> {
        shape(&self.0)
    }

    /// The name of the instruction whose result it is.
    pub fn name(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::Name)
    }
}

impl Attribute {
    /// The attribute's name.
    pub fn key(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::AttributeName)
    }

    /// What stands behind the `=`, if it is a string.
    pub fn string(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::String)
    }

    /// The computations that it names, in order: one in `body=%b`, any number in
    /// `branch_computations={%b, %c}`.
    pub fn computations(&self) -> impl Iterator<Item = SyntaxToken> + use<> {
        self.0
            .descendants_with_tokens()
            .filter_map(SyntaxElement::into_token)
            .filter(|token| token.kind() == SyntaxKind::ComputationName)
    }
}

impl MetadataEntry {
    /// The entry's name.
    pub fn key(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::AttributeName)
    }

    /// What stands behind the `=`, if it is a single token: a number or a string.
    pub fn value(&self) -> Option<SyntaxToken> {
        let last = self.0.last_token()?;
        matches!(
            last.kind(),
            SyntaxKind::Number | SyntaxKind::String | SyntaxKind::Literal
        )
        .then_some(last)
    }
}

impl TableRow {
    /// The string of a row such as `1 "model.py"`.
    pub fn string(&self) -> Option<SyntaxToken> {
        token(&self.0, SyntaxKind::String)
    }

    /// The number behind `key=` in a row such as `1 {file_location_id=1 parent_frame_id=1}`.
    pub fn number(&self, key: &str) -> Option<u64> {
        let mut entries = self.0.children().filter_map(MetadataEntry::cast);
        let entry = entries.find(|entry| entry.key().is_some_and(|name| name.text() == key))?;
        entry.value()?.text().parse().ok()
    }
}

fn token(node: &SyntaxNode, kind: SyntaxKind) -> Option<SyntaxToken> {
    node.children_with_tokens()
        .filter_map(SyntaxElement::into_token)
        .find(|token| token.kind() == kind)
}

fn shape(node: &SyntaxNode) -> Option<SyntaxNode> {
    let is_shape = |kind| matches!(kind, SyntaxKind::ArrayShape | SyntaxKind::TupleShape);
    node.children().find(|child| is_shape(child.kind()))
}
