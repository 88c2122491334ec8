//! What to do where no record follows: the record is unfinished, will never be finished, or makes no sense, or the
//! chunk ends. While a writer may be active, nothing is skipped that it may still write.

use super::reader::{Ring, STUCK_NS};
use crate::io::pages::ChunkPage;
use cutap_wire::record::{Cursor, MAX_WORDS, Step};
use cutap_wire::ring::FULL;

impl Ring {
    /// The buffer has no more records: reads on, steps over what will never be finished, or goes to the
    /// next chunk. False when there is nothing more for now.
    pub(super) fn go_on(&mut self, now: u64) -> bool {
        let Some(at) = self.current.as_ref().map(|c| c.cursor.offset) else { return true };
        let Some(page) = self.fill() else {
            // The writer took the chunk again before it was read whole.
            self.missed += 1;
            self.close_chunk().into_iter().for_each(|(_, calls)| self.count.reclaimed(calls));
            return true;
        };
        let (damaged, cursor) = match self.peek() {
            Some((Step::Record(_), _)) => {
                self.stuck_since = None;
                return true;
            }
            Some((step, cursor)) => (step == Step::Damaged, cursor),
            None => return false,
        };
        let reserved = self.reserved(&page);
        if cursor.offset >= reserved {
            self.set(cursor);
            return self.at_end(&page);
        }
        if cursor.offset > at {
            // Stepped over records that are nobody's, up to the end of what was read.
            self.set(cursor);
            return true;
        }
        if damaged {
            self.damaged(&page);
            return true;
        }
        self.unfinished(&page, now)
    }

    /// A record is being written, or its writer will never come back to it.
    fn unfinished(&mut self, page: &ChunkPage, now: u64) -> bool {
        let dead = self.chunks.file.is_immutable() || self.chunks.refresh().is_none_or(|p| p.abandoned);
        let since = *self.stuck_since.get_or_insert(now);
        self.skip = true;
        // A record at the end of what was read may only look too long.
        let read = self.start + self.buffer.len();
        let surely = |at: Cursor| at.offset + MAX_WORDS as usize * 8 <= read || read >= self.reserved(page);
        let (others_behind, damaged_behind) = match self.peek() {
            Some((Step::Record(_), _)) => (true, false),
            Some((step, at)) => (false, step == Step::Damaged && surely(at)),
            None => (false, false),
        };
        self.skip = dead || (others_behind && now.saturating_sub(since) > STUCK_NS);
        if self.skip {
            // Of a block that is damaged nothing was read: it is lost, and no thread was stopped there.
            self.cut_here += u64::from(!self.buffer.is_empty());
            self.stuck_since = None;
            let at = self.current.as_ref().map(|c| c.cursor);
            if let (Some(at), Some((Step::Pending, next))) = (at, self.peek())
                && at.offset == next.offset
            {
                // Its bytes cannot be read, and never will be.
                self.damaged(page);
                return true;
            }
        } else if self.is_writerless && (damaged_behind || self.buffer.is_empty()) {
            // The thread's mutex does not say that it has ended, but its process has.
            self.damaged(page);
            return true;
        }
        self.skip
    }

    /// All of the chunk was read: goes to the next one if its writer has left it.
    fn at_end(&mut self, page: &ChunkPage) -> bool {
        if self.reserved(page) == page.reserved as usize {
            let (calls, cut) = self.current.as_ref().map_or((page.calls, 0), |c| (c.cursor.calls, c.cursor.cut));
            self.count.read_whole(page, calls, cut);
            if calls != page.calls {
                self.cut_here = 0;
            }
        }
        if self.end.is_some_and(|(sequence, _)| sequence <= page.sequence) {
            return false;
        }
        if page.state != FULL && !self.is_left(page) {
            return false;
        }
        if let Some((place, _)) = self.close_chunk().filter(|_| self.consume) {
            self.finished_chunks.push(place);
        }
        self.skip = false;
        true
    }

    /// Its writer has left the chunk, although the head does not say so: nobody writes, or there is a later one.
    fn is_left(&mut self, page: &ChunkPage) -> bool {
        self.chunks.file.is_immutable()
            || self.is_writerless && self.chunks.chunks().last().is_some_and(|(last, _)| last.sequence > page.sequence)
    }

    /// The current chunk is not read any further: its place, and the calls of the ring that were read.
    fn close_chunk(&mut self) -> Option<(u32, u32)> {
        let current = self.current.take()?;
        self.unknown += u64::from(current.cursor.unknown);
        Some((current.place, current.cursor.calls))
    }

    /// Nothing is read of the rest of the chunk: it makes no sense, or is not there.
    pub(super) fn damaged(&mut self, page: &ChunkPage) {
        let reserved = self.reserved(page);
        (self.skip, self.cut_here, self.stuck_since) = (false, 0, None);
        if let Some(current) = &mut self.current {
            let cursor = current.cursor;
            self.count.damaged(page, cursor.calls.wrapping_sub(cursor.cut));
            current.cursor = Cursor { offset: reserved, calls: page.calls, cut: 0, ..cursor };
        }
    }
}
