use buflens_syntax::*;
fn main(){
  for p in std::env::args().skip(1){
    let t=std::fs::read_to_string(&p).unwrap();
    let d=Document::new(&t).unwrap();
    if matches!(d.kind(),DocumentKind::Unknown|DocumentKind::Foreign){println!("{:?} {p}",d.kind());}
    let mut f=[0usize;15]; d.read_facts();
    for (_,b) in d.blocks(){let x=b.facts(); for (i,n) in [x.headings.len(),x.allocations.len(),x.placements.len(),x.totals.len(),x.values.len(),x.positions.len(),x.uses.len(),x.instructions.len(),x.steps.len(),x.live_ranges.len(),x.peak_values.len(),x.tree.len(),x.report.len(),x.table_rows.len(),x.computations.len()].into_iter().enumerate(){f[i]+=n}}
    if std::env::var("V").is_ok(){println!("{p} {:?} blocks {} {f:?}",d.kind(),d.blocks().len());}
    if std::env::var("T").is_ok(){println!("{:#?}",d.root());}
  }
}
