//! Capture of streams into graphs.

use crate::abi::{Answer, Fault, In, Out, answer};
use crate::api::graph_edges::edges;
use crate::driver::{capture, capture_status, context, current};
use crate::state::{CapturePosition, DriverState, Edge, Guard, Handle, driver_state, lookup, lookup_mut};

const NONE: u32 = 0;
const ACTIVE: u32 = 1;
const BROKEN: u32 = 2;

fn begin(handle: Handle, mode: u32, into: impl FnOnce() -> Answer<Option<(Handle, Vec<Edge>)>>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        capture::begin(&mut state, stream, mode, into()?)
    })
}

pub extern "C" fn cuStreamBeginCapture(stream: Handle) -> u32 {
    begin(stream, 0, || Ok(None))
}

pub extern "C" fn cuStreamBeginCapture_v2(stream: Handle, mode: u32) -> u32 {
    begin(stream, mode, || Ok(None))
}

pub extern "C" fn cuStreamBeginCaptureToGraph(
    stream: Handle,
    graph: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    mode: u32,
) -> u32 {
    begin(stream, mode, || Ok(Some((graph, edges(after, data, count)?))))
}

pub extern "C" fn cuStreamEndCapture(handle: Handle, graph: Out<Handle>) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        let result = capture::end(&mut state, stream);
        graph.put_if_wanted(result.unwrap_or(Handle::NULL));
        result.map(drop)
    })
}

fn status(state: &DriverState, place: Option<&CapturePosition>) -> u32 {
    match place.map(|p| state.graph.captures.get(&p.capture)) {
        None => NONE,
        Some(Some(c)) if !c.broken => ACTIVE,
        Some(_) => BROKEN,
    }
}

/// IMPLICIT for a legacy stream that would wait for a captured one. A query does not break the capture.
fn stream_for_query(handle: Handle) -> Answer<(Guard, Handle)> {
    let mut state = driver_state();
    let stream = context::stream(&mut state, handle)?;
    let entry = &state.stream.streams[&stream];
    if entry.legacy && capture_status::blocking_capture(&state, entry.context).is_some() {
        return Err(Fault::STREAM_CAPTURE_IMPLICIT);
    }
    Ok((state, stream))
}

pub extern "C" fn cuStreamIsCapturing(handle: Handle, status_out: Out<u32>) -> u32 {
    answer(|| {
        status_out.check()?;
        let (state, stream) = stream_for_query(handle)?;
        status_out.put(status(&state, state.stream.streams[&stream].capture.as_ref()))
    })
}

pub extern "C" fn cuStreamGetCaptureInfo(handle: Handle, status_out: Out<u32>, id: Out<u64>) -> u32 {
    cuStreamGetCaptureInfo_v2(handle, status_out, id, Out::at(0), Out::at(0), Out::at(0))
}

pub extern "C" fn cuStreamGetCaptureInfo_v2(
    handle: Handle,
    status_out: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle>,
    after: Out<*const Handle>,
    count: Out<usize>,
) -> u32 {
    cuStreamGetCaptureInfo_v3(handle, status_out, id, graph, after, Out::at(0), count)
}

pub extern "C" fn cuStreamGetCaptureInfo_v3(
    handle: Handle,
    status_out: Out<u32>,
    id: Out<u64>,
    graph: Out<Handle>,
    after: Out<*const Handle>,
    data: Out<*const [u8; 8]>,
    count: Out<usize>,
) -> u32 {
    answer(|| {
        status_out.check()?;
        let (mut state, stream) = stream_for_query(handle)?;
        let place = state.stream.streams[&stream].capture.clone();
        let status = status(&state, place.as_ref());
        status_out.put(status)?;
        let Some(place) = place.filter(|_| status == ACTIVE) else { return Ok(()) };
        id.put_if_wanted(place.capture);
        graph.put_if_wanted(state.graph.captures[&place.capture].graph);
        let stream = lookup_mut(&mut state.stream.streams, stream)?;
        stream.capture_info = place.after.iter().map(|e| (e.from, e.data)).unzip();
        after.put_if_wanted(stream.capture_info.0.as_ptr());
        data.put_if_wanted(stream.capture_info.1.as_ptr());
        count.put_if_wanted(place.after.len());
        Ok(())
    })
}

pub extern "C" fn cuStreamUpdateCaptureDependencies(
    handle: Handle,
    after: In<Handle>,
    count: usize,
    flags: u32,
) -> u32 {
    cuStreamUpdateCaptureDependencies_v2(handle, after, In::at(0), count, flags)
}

/// Flags: 0 adds dependencies for the next node, 1 replaces them.
pub extern "C" fn cuStreamUpdateCaptureDependencies_v2(
    handle: Handle,
    after: In<Handle>,
    data: In<[u8; 8]>,
    count: usize,
    flags: u32,
) -> u32 {
    answer(|| {
        let mut state = driver_state();
        let stream = context::stream(&mut state, handle)?;
        let place = lookup(&state.stream.streams, stream)?.capture.clone().ok_or(Fault::ILLEGAL_STATE)?;
        let graph = state.graph.captures.get(&place.capture).ok_or(Fault::STREAM_CAPTURE_INVALIDATED)?.graph;
        let more = edges(after, data, count)?;
        if flags > 1 || more.iter().any(|e| state.graph.nodes.get(&e.from).is_none_or(|n| n.graph != graph)) {
            return Err(Fault::INVALID_VALUE);
        }
        let mut after = if flags == 1 { Vec::new() } else { place.after };
        after.extend(more.iter().filter(|e| !after.contains(e)).copied().collect::<Vec<_>>());
        lookup_mut(&mut state.stream.streams, stream)?.capture =
            Some(CapturePosition { capture: place.capture, after });
        Ok(())
    })
}

pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: Out<u32>) -> u32 {
    answer(|| mode.check()?.put(current::exchange_capture_mode(mode.get()?)))
}
