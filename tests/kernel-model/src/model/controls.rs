//! RM controls: those with a state of the model, and those that are replayed.

use super::{GPU_ID, INVALID_ARGUMENT, INVALID_OBJECT_HANDLE, Model, NOT_SUPPORTED, OK, get, number, set};
use crate::memory::Memory;
use crate::objects::Object;
use crate::recorded::{Question, translated};
use cutap_rm::{Params, Record};

const TOKEN: u64 = 4;
/// `NV0000_CTRL_CMD_OS_UNIX_IMPORT_OBJECTS_FROM_FD`.
const IMPORT_OBJECTS: u32 = 0x3d0c;

impl Model {
    pub(super) fn control(&mut self, mut p: Params, memory: &mut dyn Memory) -> Params {
        let (client, object, command) = (number(&p, "hClient"), number(&p, "hObject"), number(&p, "cmd"));
        let known = self.tables.control(command).filter(|c| c.is_registered());
        let (at, sent) = (get(&p, "params"), get(&p, "paramsSize"));
        let size = known.map(|known| known.size()).or_else(|| self.answers.as_ref()?.size(command));
        let status = match (self.objects.get(client, object), size) {
            (None, _) => INVALID_OBJECT_HANDLE,
            (_, None) => NOT_SUPPORTED,
            (_, Some(size)) if size as u64 != sent => INVALID_ARGUMENT,
            (_, Some(0)) => OK,
            (_, Some(size)) => match memory.read(at, size) {
                None => INVALID_ARGUMENT,
                Some(bytes) => {
                    let known = known.and_then(|known| known.params());
                    let own = known.and_then(|record| {
                        let mut params = Params::of(record);
                        params.bytes_mut().copy_from_slice(&bytes);
                        let status = self.answer(client, object, command, &mut params);
                        (status != NOT_SUPPORTED).then(|| (status, params.bytes().to_vec()))
                    });
                    let (status, bytes) = match own {
                        Some(own) => own,
                        None => self.replay(client, command, bytes, memory),
                    };
                    memory.write(at, &bytes);
                    if (command, status) == (IMPORT_OBJECTS, OK) {
                        self.import(client, known, &bytes);
                    }
                    status
                }
            },
        };
        if matches!(status, INVALID_OBJECT_HANDLE | INVALID_ARGUMENT) || (size.is_none() && status == NOT_SUPPORTED) {
            let done = match size {
                _ if status == INVALID_OBJECT_HANDLE => format!("no object {object:#x}"),
                Some(size) => format!("{sent} bytes were sent, and it has {size}"),
                None => "no recorded answer".to_owned(),
            };
            self.note(self.control_name(command), done, true);
        }
        set(&mut p, "status", status);
        p
    }

    /// The objects of another process, by handles that the caller chose.
    fn import(&mut self, client: u32, record: Option<Record>, bytes: &[u8]) {
        let Some(mut params) = record.map(Params::of) else { return };
        params.bytes_mut().copy_from_slice(bytes);
        let parent = number(&params, "hParent");
        for at in 0..number(&params, "numObjects") {
            let handle = number(&params, &format!("objects[{at}]"));
            self.objects.add(client, handle, Object { parent, class: 0x40, ..Object::default() });
        }
    }

    fn control_name(&self, command: u32) -> String {
        let name = self.tables.control(command).map_or("control", |control| control.name());
        format!("{name} {command:#x}")
    }

    /// The recorded answer of a control. Of another release its struct is translated by the names of its fields.
    fn replay(&mut self, client: u32, command: u32, bytes: Vec<u8>, memory: &mut dyn Memory) -> (u64, Vec<u8>) {
        let own = self.tables.control(command).and_then(|control| control.params());
        let recorded = self.answers.as_ref().and_then(|answers| answers.params(command));
        let differ = own.zip(recorded).filter(|(own, recorded)| own.size() != recorded.size());
        let asked = match differ {
            Some((own, recorded)) => {
                let mut params = Params::of(own);
                params.bytes_mut().copy_from_slice(&bytes);
                translated(&params, recorded).bytes().to_vec()
            }
            None => bytes.clone(),
        };
        let name = self.control_name(command);
        let Some(answer) = self.recorded(Question::Control(command), &asked, client, memory, name) else {
            return (NOT_SUPPORTED, bytes);
        };
        let said = match differ {
            Some((own, recorded)) => {
                let mut params = Params::of(recorded);
                params.bytes_mut().copy_from_slice(&answer.bytes);
                translated(&params, own).bytes().to_vec()
            }
            None => answer.bytes,
        };
        (answer.status, said)
    }

    fn answer(&mut self, client: u32, object: u32, command: u32, params: &mut Params) -> u64 {
        match command {
            // GPU_GET_ID_INFO_V2
            0x205 if self.answers.is_none() && get(params, "gpuId") == GPU_ID => {
                for (field, value) in [("gpuFlags", 0x41), ("boardId", GPU_ID), ("numaId", 0xffff_ffff)] {
                    set(params, field, value);
                }
            }
            // GET_WORK_SUBMIT_TOKEN
            0xc36f_0108 if self.answers.is_none() => set(params, "workSubmitToken", TOKEN),
            // GPFIFO_SCHEDULE
            0xa06f_0103 => {
                let enable = get(params, "bEnable") != 0;
                match self.objects.get_mut(client, object).filter(|o| o.class == 0xc86f) {
                    Some(channel) => channel.scheduled = enable,
                    None => return INVALID_OBJECT_HANDLE,
                }
            }
            _ => return NOT_SUPPORTED,
        }
        OK
    }
}
