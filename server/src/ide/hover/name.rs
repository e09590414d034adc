//! Names: what is defined or visible where a name stands.

use buflens_syntax::facts;

use super::instruction::Instruction;
use super::{Cursor, source, value};
use crate::ide::markdown::{code, cut};
use crate::model::{NameId, Use};

impl Cursor<'_, '_> {
    /// A line below `positions:`: the value defined there, else those visible there.
    pub(super) fn position(&self) -> Option<String> {
        let (context, dump) = (self.context, self.context.dump);
        let text = self.block.text();
        let row = self.row::<facts::Position>()?;
        let index = if row.index.is_empty() {
            "{}"
        } else {
            row.index.text(text)
        };
        let name = dump.names.get(row.name.text(text))?;
        let known = dump.names.get(index);
        if let Some(at) = known.and_then(|index| dump.values_at(name, index).next()) {
            return Some(value::hover(context, at));
        }
        let here = dump
            .positions_at(name)
            .map(|at| &dump.positions[at as usize]);
        let values = distinct(
            here.filter(|position| Some(position.index) == known)
                .map(|position| position.value),
        );
        // The name may be one from before an edit.
        let is_known = !values.is_empty() || dump.opcode(name).is_some();
        is_known.then(|| self.other_name(name, Some(index), &values))
    }

    /// What is visible at `name`, which defines no value: at `index`, or anywhere in its result.
    fn other_name(&self, name: NameId, index: Option<&str>, values: &[u32]) -> String {
        let (context, dump) = (self.context, self.context.dump);
        let index = index.filter(|&index| index != "{}");
        let title = match index {
            Some(index) => format!("{} {index}", &dump.names[name]),
            None => dump.names[name].to_owned(),
        };
        let title = code(&cut(&title, 100));
        let instruction = Instruction::named(context, name);
        let opcode = dump.opcode(name);
        if opcode == Some("copy-start") && index == Some("{1}") {
            return value::list(
                context,
                &format!("**{title}**: the source of the copy"),
                values,
            );
        }
        let plain = instruction
            .as_ref()
            .map(|instruction| {
                format!(
                    ": {}{}",
                    instruction.plain(context),
                    instruction.other_shape(dump, values)
                )
            })
            .unwrap_or_default();
        if values.is_empty() {
            return self.with_source(format!("**{title}**{plain}"), instruction.as_ref());
        }
        // What an asynchronous operation has done is no other name, but printed as one.
        let what = match opcode {
            Some(opcode) if opcode.ends_with("-done") => "Its result is",
            Some(_) => "Not a copy, but another name of",
            None => "It shows the bytes of",
        };
        let text = value::list(context, &format!("**{title}**{plain}. {what}:"), values);
        self.with_source(text, instruction.as_ref().filter(|_| values.len() > 1))
    }

    /// `text`, and where in the user's program the instruction comes from. A value tells itself.
    fn with_source(&self, mut text: String, instruction: Option<&Instruction>) -> String {
        let source = |found: &Instruction| source::summary(&found.origin, self.context.sources);
        if let Some(source) = instruction.and_then(source) {
            text.extend(["\n\n", &source]);
        }
        text
    }

    /// A line below `uses:`.
    pub(super) fn reader(&self) -> Option<String> {
        let dump = self.context.dump;
        let row = self.row::<facts::Use>()?;
        let name = row.name.text(self.block.text());
        let operand = match (row.operand.get(), row.index.text(self.block.text())) {
            (Some(operand), "" | "{}") => format!(" as operand {operand}"),
            (Some(operand), index) => {
                format!(" as element {} of operand {operand}", code(&cut(index, 40)))
            }
            (None, _) => String::new(),
        };
        let known = dump.names.get(name);
        let place = |entry: &Use| {
            let at = dump.at::<facts::Use>(entry.row)?;
            Some((at.file, at.start + at.row.name.start))
        };
        let here = Some((self.file, self.start + row.name.start));
        let number = dump.uses.partition_point(|entry| place(entry) < here);
        let this = dump.uses.get(number);
        let value = this
            .filter(|entry| place(entry) == here)
            .and_then(|entry| dump.values.get(entry.value as usize))
            .map_or_else(
                || "the value above".to_owned(),
                |value| value::title(dump, value),
            );
        let step = known
            .and_then(|name| dump.step_of(name))
            .map(|step| format!(" (step {step})"))
            .unwrap_or_default();
        let heading = format!("**{}** reads {value}{operand}{step}", code(&cut(name, 100)));
        match dump.names.get(name).and_then(|name| self.named(name)) {
            Some(text) => Some(format!("{heading}\n\n---\n\n{text}")),
            None => Some(heading),
        }
    }

    /// What `name` stands for: its values, or those that are visible there, or the bare instruction.
    pub(super) fn named(&self, name: NameId) -> Option<String> {
        let (context, dump) = (self.context, self.context.dump);
        let values: Vec<u32> = dump.values_of(name).collect();
        let title = code(&cut(&dump.names[name], 100));
        match values.as_slice() {
            [] => {}
            [only] => return Some(value::hover(context, *only)),
            many => {
                let instruction = Instruction::named(context, name);
                let plain = instruction.as_ref();
                let plain = plain.map(|found| format!(": {}", found.plain(context)));
                let heading = format!("**{title}**{}", plain.unwrap_or_default());
                let text = value::list(context, &heading, many);
                return Some(self.with_source(text, instruction.as_ref()));
            }
        }
        let visible = distinct(
            dump.positions_at(name)
                .map(|at| dump.positions[at as usize].value),
        );
        if !visible.is_empty() {
            return Some(self.other_name(name, None, &visible));
        }
        Some(Instruction::named(context, name)?.hover(context))
    }
}

fn distinct(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let values: std::collections::BTreeSet<u32> = values.collect();
    values.into_iter().collect()
}
