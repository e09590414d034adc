use buflens::{checks,model::*};
use buflens_syntax::Document;
use std::path::*;
fn walk(d:&Path,out:&mut Vec<PathBuf>){ for e in std::fs::read_dir(d).unwrap().flatten(){let p=e.path(); if p.is_dir(){walk(&p,out)}else{out.push(p)}}}
fn main(){
 let mut fs=vec![]; for a in std::env::args().skip(1){walk(Path::new(&a),&mut fs)}
 for f in fs.iter().filter(|f|f.to_string_lossy().ends_with("-buffer-assignment.txt")){
   let s=f.to_string_lossy(); let stem=s.trim_end_matches("-buffer-assignment.txt").to_string();
   let mut files=vec![];
   for x in ["-buffer-assignment.txt","-buffer-assignment-values.txt","-live-range.txt","-memory-usage-report.txt",".txt"]{ let p=PathBuf::from(format!("{stem}{x}")); if let Ok(t)=std::fs::read_to_string(&p){files.push(File{path:p,document:Document::new(&t).unwrap(),lossy:false})}}
   let d=Dump::new(files); 
   for x in checks::check(&d).iter().filter(|x|x.code.severity()>=checks::Severity::Warning){
     let at=|p:&Place|(d.files[p.file].path.display().to_string(),d.files[p.file].document.line_at(p.range.start)+1);
     let (f,l)=at(&x.place);
     println!("{}",serde_json::json!({"file":f,"line":l,"code":x.code.name(),"message":x.message,"related":x.related.iter().map(|(p,_)|{let(f,l)=at(p);serde_json::json!({"file":f,"line":l})}).collect::<Vec<_>>()}));
   }
 }
}
