//! The memory map as trace events, the JSON that browsers' tracing and ui.perfetto.dev read. A step
//! takes a microsecond; a memory space is a process, an allocation a thread.

use std::cmp::Reverse;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::json;

use super::lanes::Lanes;
use crate::audit::Audit;
use crate::model::bytes::{display, rounded};
use crate::report::records::{self, Map, MapAllocation, MapSpace, PrintedPeak, SCHEMA};
use crate::workspace;

/// The process of the schedule; those of the memory spaces follow.
const SCHEDULE: u64 = 1;

/// An event. The order of the fields is the order in the output.
#[derive(Serialize)]
struct Event<'n, A> {
    ph: &'static str,
    pid: u64,
    tid: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    s: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cat: Option<&'static str>,
    name: &'n str,
    args: A,
}

impl<A> Event<'_, A> {
    /// An event that says something of a process or thread, at no time.
    fn new<'n>(ph: &'static str, (pid, tid): (u64, u64), name: &'n str, args: A) -> Event<'n, A> {
        Event {
            ph,
            pid,
            tid,
            ts: None,
            dur: None,
            s: None,
            cat: None,
            name,
            args,
        }
    }
}

/// What is told of a value.
#[derive(Serialize)]
struct ValueArguments<'m> {
    id: u64,
    allocation: u64,
    offset: u64,
    bytes: u64,
    logical_bytes: Option<u64>,
    shape: Option<&'m str>,
    opcode: Option<&'m str>,
    op_name: Option<&'m str>,
    source: Option<&'m str>,
}

/// Writes the trace of a dump with live ranges.
pub fn write(audit: &Audit, out: &mut dyn Write) -> io::Result<()> {
    let map = records::map(audit, usize::MAX);
    let head = json!({
        "schema": SCHEMA,
        "tool": concat!("buflens ", env!("CARGO_PKG_VERSION")),
        "module": workspace::program_name(audit.dump),
        "platform": map.platform,
        "missing_live_ranges": map.missing_live_ranges,
        "missing_bytes": map.missing_bytes,
    });
    write!(
        out,
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{head},\"traceEvents\":["
    )?;
    let mut trace = Trace {
        out,
        is_first: true,
        threads: SCHEDULE + map.spaces.len() as u64,
    };
    trace.schedule(&map)?;
    trace.spaces(&map)?;
    trace.allocations(&map)?;
    trace.out.write_all(b"\n]}\n")
}

/// A trace that is written event by event.
struct Trace<'o> {
    out: &'o mut dyn Write,
    is_first: bool,
    /// The last number that was given to a thread. They start behind those of the processes: a thread
    /// with the number of its process is its main thread to a viewer.
    threads: u64,
}

impl Trace<'_> {
    fn event(&mut self, event: &Event<'_, impl Serialize>) -> io::Result<()> {
        let between: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.out.write_all(between)?;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }

    fn process(&mut self, pid: u64, name: &str) -> io::Result<()> {
        let of = (pid, pid);
        self.event(&Event::new(
            "M",
            of,
            "process_name",
            json!({ "name": name }),
        ))?;
        let order = json!({ "sort_index": pid });
        self.event(&Event::new("M", of, "process_sort_index", order))
    }

    /// Begins a thread and gives its number.
    fn thread(&mut self, pid: u64, name: &str) -> io::Result<u64> {
        self.threads += 1;
        let of = (pid, self.threads);
        self.event(&Event::new("M", of, "thread_name", json!({ "name": name })))?;
        let order = json!({ "sort_index": self.threads });
        self.event(&Event::new("M", of, "thread_sort_index", order))?;
        Ok(self.threads)
    }

    /// What runs when.
    fn schedule(&mut self, map: &Map) -> io::Result<()> {
        self.process(SCHEDULE, "schedule")?;
        let tid = self.thread(SCHEDULE, "instructions")?;
        for (step, &name) in (0..).zip(&map.instructions) {
            let arguments = json!({ "step": step });
            self.event(&Event {
                ts: Some(step),
                dur: Some(1),
                cat: Some("instruction"),
                ..Event::new("X", (SCHEDULE, tid), map.text(name), arguments)
            })?;
        }
        if let Some(printed) = &map.xla_peak {
            let PrintedPeak {
                step, listed_bytes, ..
            } = *printed;
            let arguments = json!({ "step": step, "listed_bytes": listed_bytes });
            self.event(&Event {
                ts: Some(step),
                s: Some("g"),
                ..Event::new("i", (SCHEDULE, tid), "XLA's peak", arguments)
            })?;
        }
        Ok(())
    }

    /// The memory spaces, with their bytes over time.
    fn spaces(&mut self, map: &Map) -> io::Result<()> {
        for (pid, space) in (SCHEDULE + 1..).zip(&map.spaces) {
            self.process(pid, &space.space.name)?;
            for &(step, bytes) in &space.curve {
                let arguments = json!({ "bytes": bytes });
                self.event(&Event {
                    ts: Some(step),
                    ..Event::new("C", (pid, pid), "occupied", arguments)
                })?;
            }
            let full = space.space.peak.as_ref();
            if let Some(peak) = full.filter(|peak| peak.occupied_bytes > 0) {
                let name = format!("true peak: {}", display(peak.occupied_bytes));
                self.event(&Event {
                    ts: Some(peak.step),
                    s: Some("p"),
                    ..Event::new("i", (pid, pid), &name, peak)
                })?;
            }
        }
        Ok(())
    }

    /// The allocations with their values, the largest first.
    fn allocations(&mut self, map: &Map) -> io::Result<()> {
        let values = &map.values;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by_key(|&at| {
            let size = map.allocations[values.allocation[at] as usize].bytes;
            let time = (values.start[at], Reverse(values.last[at]));
            (Reverse(size), values.allocation[at], time)
        });
        for of_one in
            order.chunk_by(|&one, &other| values.allocation[one] == values.allocation[other])
        {
            let allocation = &map.allocations[values.allocation[of_one[0]] as usize];
            self.allocation(map, allocation, of_one)?;
        }
        Ok(())
    }

    /// An allocation with its values, numbers into the map's columns in the order of time.
    fn allocation(
        &mut self,
        map: &Map,
        allocation: &MapAllocation,
        of_one: &[usize],
    ) -> io::Result<()> {
        let MapAllocation {
            allocation: number,
            kind,
            bytes,
            ..
        } = *allocation;
        let color = |it: &MapSpace| it.space.color;
        let Ok(space) = map.spaces.binary_search_by_key(&allocation.space, color) else {
            return Ok(());
        };
        let pid = SCHEDULE + 1 + space as u64;
        let name = format!("allocation {number}: {kind}, {}", rounded(bytes));
        let (mut lanes, mut threads) = (Lanes::default(), Vec::new());
        let values = &map.values;
        for &at in of_one {
            let (start, last) = (values.start[at], values.last[at]);
            let lane = lanes.place(start..=last);
            if lane == threads.len() {
                let name = match lane {
                    0 => name.clone(),
                    _ => format!("{name} ({})", lane + 1),
                };
                threads.push(self.thread(pid, &name)?);
            }
            let text = |column: &[Option<u32>]| column[at].map(|id| map.text(id));
            let arguments = ValueArguments {
                id: values.id[at],
                allocation: number,
                offset: values.offset[at],
                bytes: values.bytes[at],
                logical_bytes: values.logical_bytes[at],
                shape: text(&values.shape),
                opcode: text(&values.opcode),
                op_name: text(&values.op_name),
                source: text(&values.source),
            };
            self.event(&Event {
                ts: Some(start),
                dur: Some((last - start).saturating_add(1)),
                cat: Some("value"),
                ..Event::new("X", (pid, threads[lane]), &map.label(at), arguments)
            })?;
        }
        Ok(())
    }
}
