//! What a program reads in each of several runs: always the same.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::process::Stdio;

/// Where our standard input is opened anew; a second file at the same place would share its offset.
const OURS: &str = "/proc/self/fd/0";

/// Our standard input.
pub(super) enum Input {
    /// A file, read up to this offset.
    File(u64),
    /// Something that cannot be read twice. The runs read nothing.
    Lost,
    /// Nothing to read.
    Empty,
}

impl Input {
    pub(super) fn find() -> io::Result<Input> {
        let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let metadata = file.metadata()?;
        if metadata.is_file() {
            return file.stream_position().map(Input::File);
        }
        let null = fs::metadata("/dev/null")?;
        let is_null = metadata.file_type().is_char_device() && metadata.rdev() == null.rdev();
        Ok(if is_null { Input::Empty } else { Input::Lost })
    }

    /// Whether there may be input that no run reads.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Input::Lost)
    }

    /// For one more run.
    pub(super) fn again(&self) -> io::Result<Stdio> {
        let Input::File(offset) = self else { return Ok(Stdio::null()) };
        let mut file = File::open(OURS)?;
        file.seek(SeekFrom::Start(*offset))?;
        Ok(file.into())
    }
}
