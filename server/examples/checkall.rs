use buflens::{checks,model::*};
use buflens_syntax::Document;
use std::path::*;
fn walk(d:&Path,out:&mut Vec<PathBuf>){ if d.is_file(){out.push(d.into());return} for e in std::fs::read_dir(d).unwrap().flatten(){let p=e.path(); if p.is_dir(){walk(&p,out)}else{out.push(p)}}}
fn main(){
 let mut fs=vec![]; for a in std::env::args().skip(1){walk(Path::new(&a),&mut fs)}
 fs.sort(); let mut n=0; let mut counts=std::collections::BTreeMap::new();
 for f in fs.iter().filter(|f|{let s=f.to_string_lossy();s.ends_with("-buffer-assignment.txt")||s.contains("/seeds/")||s.contains("broken")}){
   let s=f.to_string_lossy(); let stem=s.trim_end_matches("-buffer-assignment.txt").to_string();
   let mut files=vec![];
   let cands=if stem.len()<s.len(){["-buffer-assignment.txt","-buffer-assignment-values.txt","-live-range.txt","-memory-usage-report.txt",".txt"].iter().map(|x|PathBuf::from(format!("{stem}{x}"))).collect()}else{vec![f.clone()]};
   for p in cands{ if let Ok(t)=std::fs::read_to_string(&p){files.push(File{path:p,document:Document::new(&t).unwrap(),lossy:false})}}
   let t=std::time::Instant::now();
   let d=Dump::new(files); let t1=t.elapsed(); let fi=checks::check(&d); n+=1;
   if std::env::var("TIME").is_ok(){println!("{s}: dump {:?} check {:?} values {}",t1,t.elapsed()-t1,d.values.len());}
   for x in fi.iter().filter(|x|x.code.severity()>=checks::Severity::Warning){ *counts.entry(x.code.name()).or_insert(0)+=1;
     if *counts.get(x.code.name()).unwrap()<=12{ let doc=&d.files[x.place.file].document; println!("{}:{}: {} {}",d.files[x.place.file].path.display(),doc.line_at(x.place.range.start)+1,x.code,x.message)}}
 }
 println!("{n} dumps {counts:?}");
}
