use super::*;
use crate::model::File;

#[test]
fn explore() {
    let Ok(paths) = std::env::var("EXPLORE") else {
        return;
    };
    let files: Vec<File> = paths
        .split(',')
        .map(|path| File {
            path: path.into(),
            document: Document::new(&std::fs::read_to_string(path).unwrap()).unwrap(),
            lossy: false,
        })
        .collect();
    let dump = Dump::new(files);
    let spots = std::env::var("SPOTS").unwrap();
    for spot in spots.split(' ') {
        let mut parts = spot.split(':').map(|part| part.parse::<u32>().unwrap());
        let (file, line, column) = (
            parts.next().unwrap() as usize,
            parts.next().unwrap(),
            parts.next().unwrap(),
        );
        let document = &dump.files[file].document;
        let range = document.line_range(line - 1).unwrap();
        let text = document.slice(range.clone());
        println!("=== {spot}  {}", cut(text, 120));
        let start = std::time::Instant::now();
        match hover(&dump, file, range.start + column - 1) {
            Some(hover) => println!(
                "{}\n[{}] {:?}",
                hover.markdown,
                cut(document.slice(hover.range), 60),
                start.elapsed()
            ),
            None => println!("NONE"),
        }
    }
}
