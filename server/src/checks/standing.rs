//! What is known of a dump's findings before an edit, and stands behind it.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

use super::module::Seen;
use super::{Finding, Findings, Thresholds};
use crate::model::cancel::lock;
use crate::model::{Dump, File, Module};

/// What was found in a state of a dump and stands in the next one, if what it was found in is the same there.
#[derive(Debug, Default)]
pub struct Standing {
    /// In the HLO text, which is known again by what was joined of it.
    of_module: Mutex<Option<(Weak<Module>, Findings)>>,
    /// Of the blocks of that text when they were read last.
    seen: Mutex<Arc<[Arc<Seen>]>>,
    /// Of the last states in which nothing was wrong, the last one last: an edit is often taken back.
    sound: Mutex<VecDeque<Sound>>,
}

/// Of so many sound states the findings are kept: where the edit that is taken back has left nothing wrong, there are two.
const MOST_SOUND: usize = 2;

/// A state of a dump in which nothing was wrong.
#[derive(Debug)]
struct Sound {
    texts: Vec<FileText>,
    thresholds: Thresholds,
    findings: Vec<Finding>,
}

/// What of a file the findings hang on: its path, whether its text was not all understood as UTF-8, and the numbers of its blocks.
type FileText = (PathBuf, bool, Vec<u64>);

pub(super) fn texts_of(dump: &Dump) -> Vec<FileText> {
    let ids = |file: &File| {
        let blocks = file.document.blocks();
        blocks.map(|(_, block)| block.id()).collect()
    };
    let files = dump.files.iter();
    let texts = files.map(|file| (file.path.clone(), file.lossy, ids(file)));
    texts.collect()
}

impl Standing {
    /// The findings in `module`, which `find` finds.
    pub(super) fn of_module(
        &self,
        module: &Arc<Module>,
        find: impl FnOnce() -> Findings,
    ) -> Findings {
        let is_it = |of: &Weak<Module>| std::ptr::eq(of.as_ptr(), Arc::as_ptr(module));
        let mut known = lock(&self.of_module);
        // What has been found elsewhere is not kept beside what is found now.
        let outdated = known.take_if(|(of, _)| !is_it(of));
        let found = known.as_ref().map(|(_, findings)| findings.clone());
        drop(known);
        drop(outdated);
        if let Some(findings) = found {
            return findings;
        }
        // Not under the lock: who waits for what others find may do other work, which asks for it again.
        let findings = find();
        *lock(&self.of_module) = Some((Arc::downgrade(module), findings.clone()));
        findings
    }

    /// The findings of the sound state that had these texts.
    pub(super) fn of_sound(
        &self,
        texts: &[FileText],
        thresholds: &Thresholds,
    ) -> Option<Vec<Finding>> {
        let sound = lock(&self.sound);
        let is_it = |it: &&Sound| it.thresholds == *thresholds && it.texts == texts;
        sound.iter().find(is_it).map(|it| it.findings.clone())
    }

    /// Keeps what was found in `texts`, in which nothing was wrong.
    pub(super) fn keep_sound(
        &self,
        texts: Vec<FileText>,
        thresholds: &Thresholds,
        findings: &[Finding],
    ) {
        let mut sound = lock(&self.sound);
        if sound.len() == MOST_SOUND {
            sound.pop_front();
        }
        sound.push_back(Sound {
            texts,
            thresholds: thresholds.clone(),
            findings: findings.to_vec(),
        });
    }

    pub(super) fn seen(&self) -> Arc<[Arc<Seen>]> {
        Arc::clone(&lock(&self.seen))
    }

    pub(super) fn see(&self, blocks: Arc<[Arc<Seen>]>) {
        *lock(&self.seen) = blocks;
    }
}

#[cfg(test)]
mod tests {
    use buflens_syntax::Document;

    use super::*;
    use crate::checks::{check_next, check_with};
    use crate::real_dumps::{fixture, read};

    fn of_all_sizes() -> Thresholds {
        Thresholds {
            min_bytes: 1,
            ..Thresholds::default()
        }
    }

    fn known(standing: &Standing, dump: &Dump, thresholds: &Thresholds) -> Option<Vec<Finding>> {
        standing.of_sound(&texts_of(dump), thresholds)
    }

    /// The state of `dump` in which `document` is the text of its first file.
    fn state(dump: &Dump, document: &Document) -> Dump {
        let mut files = dump.files.clone();
        files[0].document = document.clone();
        Dump::new(files)
    }

    #[test]
    fn what_was_found_in_a_sound_text_is_known_when_an_edit_is_taken_back() {
        let sound = read(&fixture("jit_train_tiny.cpu"));
        let (standing, thresholds) = (Standing::default(), of_all_sizes());
        let found = check_next(&sound, &thresholds, &standing);
        assert!(!found.is_empty() && found == check_with(&sound, &thresholds));
        let document = sound.files[0].document.clone();
        let at = document.text().find(" (size=").expect("a value") as u32;
        let at = at + " (size=".len() as u32;
        let typed = document.clone().edit(at..at, "7").expect("a short text");
        let broken = state(&sound, &typed);
        assert_eq!(known(&standing, &broken, &thresholds), None);
        let of_broken = check_next(&broken, &thresholds, &standing);
        assert!(of_broken != found && of_broken == check_with(&broken, &thresholds));
        // What is wrong is looked for each time.
        assert_eq!(known(&standing, &broken, &thresholds), None);
        let back = typed.edit(at..at + 1, "").expect("a short text");
        let back = state(&sound, &back);
        assert_eq!(known(&standing, &back, &thresholds).as_ref(), Some(&found));
        assert_eq!(check_next(&back, &thresholds, &standing), found);
        // An edit that leaves nothing wrong.
        let end = document.text().find('\n').expect("a line") as u32;
        let blank = document.clone().edit(end..end, " ").expect("a short text");
        let other = state(&sound, &blank);
        let of_other = check_next(&other, &thresholds, &standing);
        assert_eq!(of_other, check_with(&other, &thresholds));
        for dump in [&other, &sound] {
            assert!(known(&standing, dump, &thresholds).is_some());
        }
    }

    #[test]
    fn it_is_not_known_of_what_is_asked_otherwise_or_has_other_files() {
        let sound = read(&fixture("jit_train_tiny.cpu"));
        let (standing, thresholds) = (Standing::default(), Thresholds::default());
        check_next(&sound, &thresholds, &standing);
        assert!(known(&standing, &sound, &thresholds).is_some());
        let others = of_all_sizes();
        assert_eq!(known(&standing, &sound, &others), None);
        assert!(check_next(&sound, &others, &standing) == check_with(&sound, &others));
        let alone = Dump::new(sound.files[..1].to_vec());
        assert_eq!(known(&standing, &alone, &others), None);
        let mut files = sound.files.clone();
        files[0]
            .path
            .set_file_name("m.cpu_after_optimizations-buffer-assignment.txt");
        assert_eq!(known(&standing, &Dump::new(files), &others), None);
    }
}
