//! What an operand of an instruction stands for.

use buflens_syntax::OperandParts;

use super::Dump;
use super::names::NameId;

impl Dump {
    /// The value that `name` shows at `index`, as a number into [`Dump::values`]: the one that it defines there, else
    /// the one that is visible there; `None` where it is not known or one of several.
    pub fn shown_at(&self, name: NameId, index: NameId) -> Option<u32> {
        let visible = || {
            let mut values = self
                .positions_at_index(name, index)
                .map(|at| self.positions[at as usize].value);
            let value = values.next()?;
            values.all(|other| other == value).then_some(value)
        };
        self.values_at(name, index).next().or_else(visible)
    }

    /// The value that `name` shows where it stands as a whole.
    pub fn shown(&self, name: NameId) -> Option<u32> {
        self.shown_at(name, self.names.get("{}")?)
    }

    /// The value that `operand` reads.
    pub fn read_by(&self, operand: &OperandParts) -> Option<u32> {
        let index = format!("{{{}}}", operand.element.replace('#', ","));
        self.shown_at(self.names.get(operand.name)?, self.names.get(&index)?)
    }
}
