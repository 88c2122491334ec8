//! Field numbers of `perfetto_trace.proto`, by message. A number stands here and nowhere else.

/// Trace.
pub(super) mod trace {
    pub(crate) const PACKET: u32 = 1;
}

/// TracePacket.
pub(super) mod packet {
    pub(crate) const CLOCKS: u32 = 6;
    pub(crate) const TIME: u32 = 8;
    pub(crate) const SEQUENCE: u32 = 10;
    pub(crate) const EVENT: u32 = 11;
    pub(crate) const INTERNED: u32 = 12;
    pub(crate) const FLAGS: u32 = 13;
    pub(crate) const TRACK: u32 = 60;
}

/// ClockSnapshot.
pub(super) mod clocks {
    pub(crate) const CLOCK: u32 = 1;
    pub(crate) const PRIMARY: u32 = 2;
}

/// ClockSnapshot.Clock.
pub(super) mod clock {
    pub(crate) const ID: u32 = 1;
    pub(crate) const TIME: u32 = 2;
}

/// TrackDescriptor.
pub(super) mod descriptor {
    pub(crate) const TRACK: u32 = 1;
    pub(crate) const NAME: u32 = 2;
    pub(crate) const PROCESS: u32 = 3;
    pub(crate) const THREAD: u32 = 4;
    pub(crate) const PARENT: u32 = 5;
    pub(crate) const COUNTER: u32 = 8;
}

/// CounterDescriptor.
pub(super) mod counter {
    pub(crate) const UNIT: u32 = 3;
    pub(crate) const UNIT_NAME: u32 = 6;
}

/// ProcessDescriptor.
pub(super) mod process {
    pub(crate) const PID: u32 = 1;
    pub(crate) const ARGUMENT: u32 = 2;
    pub(crate) const NAME: u32 = 6;
}

/// ThreadDescriptor.
pub(super) mod thread {
    pub(crate) const PID: u32 = 1;
    pub(crate) const TID: u32 = 2;
    pub(crate) const NAME: u32 = 5;
}

/// TrackEvent.
pub(super) mod event {
    pub(crate) const CATEGORY: u32 = 3;
    pub(crate) const ANNOTATION: u32 = 4;
    pub(crate) const TYPE: u32 = 9;
    pub(crate) const NAME_NUMBER: u32 = 10;
    pub(crate) const TRACK: u32 = 11;
    pub(crate) const NAME: u32 = 23;
    pub(crate) const COUNTER_VALUE: u32 = 30;
    pub(crate) const FLOW_IDS: u32 = 47;
}

/// DebugAnnotation.
pub(super) mod annotation {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const BOOL: u32 = 2;
    pub(crate) const UINT: u32 = 3;
    pub(crate) const INT: u32 = 4;
    pub(crate) const DOUBLE: u32 = 5;
    pub(crate) const TEXT: u32 = 6;
    pub(crate) const TEXT_NUMBER: u32 = 17;
}

/// InternedData.
pub(super) mod interned {
    pub(crate) const CATEGORIES: u32 = 1;
    pub(crate) const NAMES: u32 = 2;
    pub(crate) const ARGUMENTS: u32 = 3;
    pub(crate) const TEXTS: u32 = 29;
}

/// EventCategory, EventName, DebugAnnotationName and InternedString.
pub(super) mod entry {
    pub(crate) const NUMBER: u32 = 1;
    pub(crate) const TEXT: u32 = 2;
}
