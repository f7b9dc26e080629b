//! The engine `null`: nothing reaches the kernel. A run on it measures what wlrun itself costs.

use super::{Clock, Done, Engine, EngineDef, Job, Object, Request, Way};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;

pub(super) static DEF: EngineDef = EngineDef {
    name: "null",
    summary: "no system call at all: measures what wlrun itself costs",
    touches_files: false,
    listed: true,
    helpers: 0,
    build: |_| Ok((Box::new(Null::default()), Clock::Monotonic)),
};

/// Open files as far as a flowop can see them: a size and a position.
#[derive(Debug, Default)]
pub(super) struct Null {
    files: Vec<Option<File>>,
    done: Vec<Done>,
}

#[derive(Debug, Clone, Copy, Default)]
struct File {
    size: u64,
    position: u64,
}

impl Null {
    fn file(&mut self, fd: i32) -> Result<&mut File, Errno> {
        usize::try_from(fd).ok().and_then(|at| self.files.get_mut(at)).and_then(Option::as_mut).ok_or(Errno::BADF)
    }

    fn read(&mut self, fd: i32, offset: Option<u64>, len: usize) -> Result<u64, Errno> {
        let file = self.file(fd)?;
        let from = offset.unwrap_or(file.position);
        let moved = file.size.saturating_sub(from).min(len as u64);
        if offset.is_none() {
            file.position += moved;
        }
        Ok(moved)
    }

    fn write(&mut self, fd: i32, offset: Option<u64>, len: usize) -> Result<u64, Errno> {
        let file = self.file(fd)?;
        let end = offset.unwrap_or(file.position) + len as u64;
        file.size = file.size.max(end);
        if offset.is_none() {
            file.position = end;
        }
        Ok(len as u64)
    }
}

impl Null {
    /// A job that ends at once, with the time of that still to be filled in.
    pub(super) fn carry_out(&mut self, job: Job) -> Done {
        let Job { tag, way, fd, offset, len, buffer } = job;
        let result = match way {
            Way::Read => self.read(fd, Some(offset), len),
            Way::Write => self.write(fd, Some(offset), len),
        };
        let (moved, error) = result.map_or_else(|errno| (0, Some(errno)), |moved| (moved, None));
        Done { tag, buffer, end_ns: 0, moved, error }
    }
}

impl Engine for Null {
    fn expect(&mut self, most: usize) -> std::io::Result<()> {
        self.done.reserve(most);
        Ok(())
    }

    fn submit(&mut self, jobs: &mut Vec<Job>) {
        for job in jobs.drain(..) {
            let done = self.carry_out(job);
            self.done.push(Done { end_ns: Clock::Monotonic.now(), ..done });
        }
    }

    fn reap(&mut self, least: usize, done: &mut Vec<Done>) {
        assert!(least <= self.done.len(), "{least} of {} jobs are waited for", self.done.len());
        done.append(&mut self.done);
    }

    fn finish(&mut self) -> u64 {
        0
    }

    fn execute(&mut self, request: Request<'_>) -> Result<u64, Errno> {
        match request {
            Request::Open { expected, flags, .. } => {
                let size = if flags.contains(rustix::fs::OFlags::TRUNC) { 0 } else { expected };
                let at = self.files.iter().position(Option::is_none).unwrap_or(self.files.len());
                if at == self.files.len() {
                    self.files.push(None);
                }
                self.files[at] = Some(File { size, position: 0 });
                Ok(at as u64)
            }
            Request::Close { fd } => {
                self.file(fd)?;
                self.files[fd as usize] = None;
                Ok(0)
            }
            Request::Read { fd, buffer } => self.read(fd, None, buffer.len()),
            Request::ReadAt { fd, buffer, offset } => self.read(fd, Some(offset), buffer.len()),
            Request::Write { fd, buffer } => self.write(fd, None, buffer.len()),
            Request::WriteAt { fd, buffer, offset } => self.write(fd, Some(offset), buffer.len()),
            Request::Rewind { fd } => {
                self.file(fd)?.position = 0;
                Ok(0)
            }
            Request::SeekEnd { fd } => {
                let file = self.file(fd)?;
                file.position = file.size;
                Ok(file.size)
            }
            Request::Fstat { fd } | Request::Fsync { fd } | Request::AdviseRandom { fd } => self.file(fd).map(|_| 0),
            Request::Size { fd } | Request::Map { fd } => self.file(fd).map(|file| file.size),
            Request::Position { fd } => self.file(fd).map(|file| file.position),
            // A file is data up to its end, and a hole begins there.
            Request::SeekNext { fd, offset, hole } => {
                let file = self.file(fd)?;
                if offset >= file.size {
                    return Err(Errno::NXIO);
                }
                file.position = if hole { file.size } else { offset };
                Ok(file.position)
            }
            Request::Truncate { object: Object::Open(fd), size } => {
                self.file(fd)?.size = size;
                Ok(0)
            }
            Request::Truncate { object: Object::Named { .. }, .. } => Ok(0),
            Request::Allocate { fd, flags, offset, len } => {
                let file = self.file(fd)?;
                if !flags.contains(FallocateFlags::KEEP_SIZE) {
                    file.size = file.size.max(offset + len);
                }
                Ok(0)
            }
            Request::Copy { from, to, len } => {
                self.file(to)?;
                let moved = self.read(from, None, len)?;
                self.write(to, None, moved as usize)
            }
            // Within the mapping, which is as long as the file was.
            Request::Load { fd, buffer, .. } => self.file(fd).map(|_| buffer.len() as u64),
            Request::Store { fd, buffer, .. } => self.file(fd).map(|_| buffer.len() as u64),
            Request::Lock { fd, .. } => self.file(fd).map(|_| 0),
            Request::SyncFs { .. }
            | Request::Unlink { .. }
            | Request::MakeDirectory { .. }
            | Request::RemoveDirectory { .. }
            | Request::List { .. }
            | Request::Stat { .. }
            | Request::Rename { .. }
            | Request::Link { .. }
            | Request::SymbolicLink { .. }
            | Request::ReadLink { .. } => Ok(0),
            Request::SetMode { object, .. }
            | Request::SetTimes { object }
            | Request::SetAttribute { object, .. }
            | Request::GetAttribute { object, .. }
            | Request::ListAttributes { object, .. } => match object {
                Object::Open(fd) => self.file(fd).map(|_| 0),
                Object::Named { .. } => Ok(0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, OFlags};

    #[test]
    fn a_file_has_a_size_an_end_and_a_position() {
        let mut engine = Null::default();
        let open = |expected, flags| Request::Open { directory: CWD, path: c"f", flags, expected };
        let fd = engine.execute(open(10, OFlags::RDWR)).unwrap() as i32;
        let mut buffer = [0; 8];
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(8));
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(2));
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(0));
        assert_eq!(engine.execute(Request::WriteAt { fd, buffer: &buffer, offset: 8 }), Ok(8));
        assert_eq!(engine.execute(Request::SeekEnd { fd }), Ok(16));
        assert_eq!(engine.execute(Request::Close { fd }), Ok(0));
        assert_eq!(engine.execute(Request::Close { fd }), Err(Errno::BADF));
        let again = engine.execute(open(10, OFlags::RDWR | OFlags::TRUNC)).unwrap() as i32;
        assert_eq!(again, fd, "the lowest free number");
        assert_eq!(engine.execute(Request::Read { fd, buffer: &mut buffer }), Ok(0));
    }
}
