//! Files and folders that only their owner may access, and durable renames, on each platform.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Creates a folder, and those above it, that only their owner may access; it may exist already.
pub fn create_private_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Restricts an existing folder to its owner.
pub fn restrict_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(path, owner_only)
    }
    #[cfg(not(unix))]
    path.metadata().map(drop)
}

/// Makes the creation and the renaming of files in a folder durable. Windows needs no such call, and
/// does not open a folder as a file.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::fs::File::open(path)?.sync_all()
    }
    #[cfg(not(unix))]
    path.metadata().map(drop)
}

/// Returns whether this process may create files in a folder.
pub fn is_writable(folder: &Path) -> bool {
    #[cfg(unix)]
    {
        rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
    }
    #[cfg(not(unix))]
    folder.is_dir()
}

/// Returns the name of this machine.
pub fn host_name() -> String {
    #[cfg(unix)]
    {
        let name = rustix::system::uname();
        name.nodename().to_string_lossy().into_owned()
    }
    #[cfg(not(unix))]
    std::env::var("COMPUTERNAME").unwrap_or_default()
}
