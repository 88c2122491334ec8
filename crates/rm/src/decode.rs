//! From the bytes of a request to its tree. Any bytes give a tree; what is missing or unknown is remarked.

use crate::image::Image;
use crate::request::Request;
use crate::tree::{Call, Name, Node, Remark, Status, StatusPlace, Subject, Target, Value};
use crate::walk::Decoder;
use crate::{Device, Kind, Memory, Moment, Tables};
use alloc::vec::Vec;

/// The most bytes that are read behind all pointers of one request.
const MOST_BEHIND_ALL: usize = 4 << 20;
/// The most nodes of a tree.
const MOST_NODES: usize = 200_000;

/// The class that an older escape allocates, such as `NV_ESC_RM_ALLOC_MEMORY`: it has no parameters of the class.
fn class_beside(argument: &Node, wrapped: bool) -> Option<u32> {
    let node = if wrapped { argument.get("ptr.*")? } else { argument };
    let class = node.get("hClass").or_else(|| node.get("params.hClass"))?;
    u32::try_from(class.number(Moment::Before)?).ok()
}

impl Tables {
    /// Decodes a request.
    #[must_use]
    pub fn decode(self, request: Request<'_>, memory: &mut dyn Memory) -> Call {
        let image = Image::of(request.before, request.after);
        let mut decoder = Decoder {
            tables: self,
            memory,
            has_after: request.after.is_some(),
            subject: Subject::None,
            inner: None,
            remarks: Vec::new(),
            nodes: MOST_NODES,
            bytes: MOST_BEHIND_ALL,
        };
        if request.after.is_some() && image.after.is_none() {
            decoder.remark(Remark::AfterLeftOut);
        }
        let (number, argument) = decoder.argument(request, image);
        let wrapped = decoder.inner.is_some();
        let number = decoder.inner.unwrap_or(number);
        let name = match request.device {
            Device::Control | Device::Gpu => self.escape(number).map(|e| e.name()),
            Device::Uvm | Device::UvmTools => self.uvm(number).map(|u| u.name()),
            Device::Modeset => self.modeset(number),
            Device::Other => None,
        };
        if name.is_none() {
            decoder.remark(Remark::UnknownRequest(number));
        }
        if let (Subject::None, Some(class)) = (decoder.subject, class_beside(&argument, wrapped)) {
            decoder.class(class);
        }
        let (subject, remarks) = (decoder.subject, decoder.remarks);
        let mut statuses = Vec::new();
        if let Some(code) = request.result {
            statuses.push(Status { place: StatusPlace::Ioctl, field: "", code, name: None });
        }
        if request.after.is_some() {
            let place = if request.device.is_uvm() { StatusPlace::Uvm } else { StatusPlace::Struct };
            self.find_statuses(&argument, place, wrapped, &mut statuses);
        }
        let (device, request, name) = (request.device, request.request, name.unwrap_or(""));
        Call { device, request, number, name, wrapped, subject, argument, statuses, remarks }
    }

    /// The statuses of the struct itself; of an unwrapped one those of the struct inside.
    fn find_statuses(self, node: &Node, place: StatusPlace, wrapped: bool, out: &mut Vec<Status>) {
        match (&node.value, node.name) {
            (Value::Number { after, .. }, Name::Field(field)) if node.kind == Kind::Status => {
                let code = u32::try_from(*after & 0xffff_ffff).unwrap_or(0);
                out.push(Status { place, field, code: i64::from(code), name: self.status(code) });
            }
            (Value::Pointer { target: Target::Read(inner), .. }, _) if wrapped => {
                self.find_statuses(inner, place, false, out);
            }
            (Value::Struct(nodes), _) => nodes.iter().for_each(|n| self.find_statuses(n, place, wrapped, out)),
            _ => {}
        }
    }
}
