//! The functions that copies of NVTX call. Each records, and answers what another tool answers. Without one a push
//! returns its level, and handles are ours.

use super::domains;
use super::named;
use super::ranges::{self, Attributes};
use super::read;
use super::text::Text;
use super::tool::{Row, answer, id_or_ours, level_or_ours};
use crate::process::{fork, names, switch};
use core::sync::atomic::{AtomicU64, Ordering::*};
use cutap_calls::generated::nvtx::{attributes, core as of_core, core2, message_type, module};
use cutap_wire::names::{Name, kind};

/// Functions at most.
pub const MOST: usize = 64;

/// All of them.
pub fn all() -> impl Iterator<Item = Row> + Clone {
    recorded().into_iter().chain(named::all())
}

/// Those of ranges, threads and domains.
fn recorded() -> [Row; 23] {
    let core = |number, function| (module::CORE, number, function);
    let domain = |number, function| (module::CORE2, number, function);
    [
        core(of_core::MARK_EX, mark_ex as *const () as usize),
        core(of_core::MARK_ASCII, mark_ascii as *const () as usize),
        core(of_core::MARK_WIDE, mark_wide as *const () as usize),
        core(of_core::START_EX, start_ex as *const () as usize),
        core(of_core::START_ASCII, start_ascii as *const () as usize),
        core(of_core::START_WIDE, start_wide as *const () as usize),
        core(of_core::END, end as *const () as usize),
        core(of_core::PUSH_EX, push_ex as *const () as usize),
        core(of_core::PUSH_ASCII, push_ascii as *const () as usize),
        core(of_core::PUSH_WIDE, push_wide as *const () as usize),
        core(of_core::POP, pop as *const () as usize),
        core(of_core::NAME_THREAD_ASCII, name_thread_ascii as *const () as usize),
        core(of_core::NAME_THREAD_WIDE, name_thread_wide as *const () as usize),
        domain(core2::MARK_EX, domain_mark_ex as *const () as usize),
        domain(core2::START_EX, domain_start_ex as *const () as usize),
        domain(core2::END, domain_end as *const () as usize),
        domain(core2::PUSH_EX, domain_push_ex as *const () as usize),
        domain(core2::POP, domain_pop as *const () as usize),
        domain(core2::REGISTER_ASCII, register_ascii as *const () as usize),
        domain(core2::REGISTER_WIDE, register_wide as *const () as usize),
        domain(core2::CREATE_ASCII, create_ascii as *const () as usize),
        domain(core2::CREATE_WIDE, create_wide as *const () as usize),
        domain(core2::DESTROY, destroy as *const () as usize),
    ]
}

/// The number of a range that was started, if no other tool gives one.
pub fn next_range() -> u64 {
    static RANGES: AtomicU64 = AtomicU64::new(1);
    RANGES.fetch_add(1, Relaxed)
}

/// The text and the attributes at an address, as far as they can be read.
fn event(at: usize) -> (Text, Attributes) {
    // A forked child may have noticed nothing yet.
    fork::check();
    let mut bytes = [0; attributes::BYTES as usize];
    if read::bytes(at, &mut bytes) != bytes.len() {
        return (Text::empty(), Attributes::default());
    }
    let word = |offset: u32, size: usize| {
        let mut word = [0; 8];
        let from = bytes.iter().skip(offset as usize).take(size);
        word.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(word)
    };
    let message = word(attributes::MESSAGE, 8) as usize;
    let text = match word(attributes::MESSAGE_TYPE, 4) as u32 {
        message_type::ASCII => Text::ascii(message),
        message_type::WIDE => Text::wide(message),
        message_type::REGISTERED => Text::of(domains::registered(message)),
        _ => Text::empty(),
    };
    let with = Attributes {
        payload: word(attributes::PAYLOAD, 8),
        payload_type: word(attributes::PAYLOAD_TYPE, 4) as u32,
        payload_count: word(attributes::PAYLOAD_COUNT, 4) as u32,
        category: word(attributes::CATEGORY, 4) as u32,
        color: word(attributes::COLOR, 4) as u32,
    };
    (text, with)
}

fn push(module: u32, number: u32, arguments: [usize; 2], domain: u32, text: &Text, with: &Attributes) -> i32 {
    let level = ranges::push(domain, text.bytes(), with);
    level_or_ours(answer(module, number, arguments), level)
}

fn start(module: u32, number: u32, arguments: [usize; 2], domain: u32, text: &Text, with: &Attributes) -> u64 {
    let id = id_or_ours(answer(module, number, arguments), next_range);
    ranges::moment(domain, text.bytes(), with, Some(id));
    id
}

fn mark(module: u32, number: u32, arguments: [usize; 2], domain: u32, text: &Text, with: &Attributes) {
    ranges::moment(domain, text.bytes(), with, None);
    answer(module, number, arguments);
}

extern "C" fn mark_ex(at: usize) {
    let (text, with) = event(at);
    mark(module::CORE, of_core::MARK_EX, [at, 0], domains::DEFAULT, &text, &with);
}
extern "C" fn mark_ascii(at: usize) {
    mark(module::CORE, of_core::MARK_ASCII, [at, 0], domains::DEFAULT, &Text::ascii(at), &Attributes::default());
}
extern "C" fn mark_wide(at: usize) {
    mark(module::CORE, of_core::MARK_WIDE, [at, 0], domains::DEFAULT, &Text::wide(at), &Attributes::default());
}
extern "C" fn start_ex(at: usize) -> u64 {
    let (text, with) = event(at);
    start(module::CORE, of_core::START_EX, [at, 0], domains::DEFAULT, &text, &with)
}
extern "C" fn start_ascii(at: usize) -> u64 {
    start(module::CORE, of_core::START_ASCII, [at, 0], domains::DEFAULT, &Text::ascii(at), &Attributes::default())
}
extern "C" fn start_wide(at: usize) -> u64 {
    start(module::CORE, of_core::START_WIDE, [at, 0], domains::DEFAULT, &Text::wide(at), &Attributes::default())
}
extern "C" fn end(id: u64) {
    ranges::end(domains::DEFAULT, id);
    answer(module::CORE, of_core::END, [id as usize, 0]);
}
extern "C" fn push_ex(at: usize) -> i32 {
    let (text, with) = event(at);
    push(module::CORE, of_core::PUSH_EX, [at, 0], domains::DEFAULT, &text, &with)
}
extern "C" fn push_ascii(at: usize) -> i32 {
    push(module::CORE, of_core::PUSH_ASCII, [at, 0], domains::DEFAULT, &Text::ascii(at), &Attributes::default())
}
extern "C" fn push_wide(at: usize) -> i32 {
    push(module::CORE, of_core::PUSH_WIDE, [at, 0], domains::DEFAULT, &Text::wide(at), &Attributes::default())
}
extern "C" fn pop() -> i32 {
    let level = ranges::pop(domains::DEFAULT);
    level_or_ours(answer(module::CORE, of_core::POP, [0, 0]), level)
}
extern "C" fn name_thread_ascii(thread: u32, at: usize) {
    name_thread(thread, &Text::ascii(at));
    answer(module::CORE, of_core::NAME_THREAD_ASCII, [thread as usize, at]);
}
extern "C" fn name_thread_wide(thread: u32, at: usize) {
    name_thread(thread, &Text::wide(at));
    answer(module::CORE, of_core::NAME_THREAD_WIDE, [thread as usize, at]);
}
fn name_thread(thread: u32, text: &Text) {
    if switch::has_left() {
        return;
    }
    names::write(&Name { kind: kind::THREAD, ticks: 0, a: thread.into(), b: 0, c: 0, s: text.bytes(), t: &[] });
}
extern "C" fn domain_mark_ex(domain: usize, at: usize) {
    let (text, with) = event(at);
    mark(module::CORE2, core2::MARK_EX, [domain, at], domains::number_of(domain), &text, &with);
}
extern "C" fn domain_start_ex(domain: usize, at: usize) -> u64 {
    let (text, with) = event(at);
    start(module::CORE2, core2::START_EX, [domain, at], domains::number_of(domain), &text, &with)
}
extern "C" fn domain_end(domain: usize, id: u64) {
    ranges::end(domains::number_of(domain), id);
    answer(module::CORE2, core2::END, [domain, id as usize]);
}
extern "C" fn domain_push_ex(domain: usize, at: usize) -> i32 {
    let (text, with) = event(at);
    push(module::CORE2, core2::PUSH_EX, [domain, at], domains::number_of(domain), &text, &with)
}
extern "C" fn domain_pop(domain: usize) -> i32 {
    let level = ranges::pop(domains::number_of(domain));
    level_or_ours(answer(module::CORE2, core2::POP, [domain, 0]), level)
}
extern "C" fn register_ascii(domain: usize, at: usize) -> usize {
    let tool_handle = answer(module::CORE2, core2::REGISTER_ASCII, [domain, at]).unwrap_or(0);
    domains::register(Text::ascii(at).bytes(), tool_handle)
}
extern "C" fn register_wide(domain: usize, at: usize) -> usize {
    let tool_handle = answer(module::CORE2, core2::REGISTER_WIDE, [domain, at]).unwrap_or(0);
    domains::register(Text::wide(at).bytes(), tool_handle)
}
extern "C" fn create_ascii(at: usize) -> usize {
    let tool_handle = answer(module::CORE2, core2::CREATE_ASCII, [at, 0]).unwrap_or(0);
    domains::create(Text::ascii(at).bytes(), tool_handle)
}
extern "C" fn create_wide(at: usize) -> usize {
    let tool_handle = answer(module::CORE2, core2::CREATE_WIDE, [at, 0]).unwrap_or(0);
    domains::create(Text::wide(at).bytes(), tool_handle)
}
/// The domain's ranges keep their name.
extern "C" fn destroy(domain: usize) {
    answer(module::CORE2, core2::DESTROY, [domain, 0]);
}
