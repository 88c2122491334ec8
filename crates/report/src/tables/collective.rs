//! What the arguments of a call of NCCL say of the data that it moves.

use super::calls::CallRow;
use super::column::call_id;
use super::events::CollectiveRow;
use crate::call::values::write_value;
use cutap_trace::Call;
use cutap_trace::decode::Value;

/// The arguments of a call that has a communicator and a type of data.
#[derive(Debug, Default)]
pub(super) struct CollectiveArguments {
    communicator: String,
    data_type: String,
    operation: Option<String>,
    count: Option<u64>,
    peer: Option<i64>,
}

impl CollectiveArguments {
    /// None of a call that moves no data.
    pub fn of(call: &Call) -> Option<CollectiveArguments> {
        if !call.function.name.starts_with("nccl") {
            return None;
        }
        let mut of_data = CollectiveArguments::default();
        for (param, value) in call.function.params().iter().zip(call.inputs()) {
            match param.name {
                "comm" => write_value(value, &mut of_data.communicator),
                "datatype" => write_value(value, &mut of_data.data_type),
                "op" => write_value(value, of_data.operation.insert(String::new())),
                "count" | "sendcount" | "recvcount" => of_data.count = value.number().map(|count| count as u64),
                "root" | "peer" => of_data.peer = if let Value::Int(peer) = value { Some(*peer) } else { None },
                _ => {}
            }
        }
        (!of_data.communicator.is_empty() && !of_data.data_type.is_empty()).then_some(of_data)
    }

    /// The row.
    pub fn row<'a>(&'a self, of: &CallRow<'a>) -> CollectiveRow<'a> {
        let call = of.view.call;
        CollectiveRow {
            id: call_id(of.view),
            pid: call.thread.process.pid,
            tid: call.thread.tid,
            function: &call.function.name,
            start_ns: of.times.start_ns,
            duration_ns: of.view.exit.and_then(|exit| exit.duration_ns),
            gpu_ns: of.view.exit.and_then(|exit| exit.gpu).map(|gpu| gpu.ns),
            stream: of.stream,
            communicator: Some(&self.communicator),
            data_type: Some(&self.data_type),
            operation: self.operation.as_deref(),
            count: self.count,
            peer: self.peer,
        }
    }
}
