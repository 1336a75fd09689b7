//! Python bindings of the files of an index folder.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use super::error::raise;
use crate::error::{Error, Result};
use crate::index_folder::{Access, IndexFolder};

/// A file of an index that grows at its end.
#[pyclass(frozen, module = "crx._native")]
pub(crate) struct AppendFile {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl AppendFile {
    fn run<T>(&self, work: impl FnOnce(&mut File) -> std::io::Result<T>) -> Result<T> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = file.as_mut() else {
            let path = self.path.display();
            return Err(Error::Invalid(format!("{path}: this file is closed")));
        };
        work(file).map_err(|error| Error::io(&self.path, &error))
    }
}

#[pymethods]
impl AppendFile {
    #[staticmethod]
    fn open(py: Python<'_>, folder: PathBuf, name: PathBuf) -> PyResult<Self> {
        py.detach(|| {
            let (within, file) = IndexFolder::open(&folder)?.of_relative(&name)?;
            let file = within.file(&file, Access::Create)?;
            within.sync()?;
            Ok(AppendFile {
                path: folder.join(name),
                file: Mutex::new(Some(file)),
            })
        })
        .map_err(raise)
    }

    fn read(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        py.detach(|| {
            self.run(|file| {
                let mut content = Vec::new();
                file.rewind()?;
                file.read_to_end(&mut content)?;
                Ok(content)
            })
        })
        .map_err(raise)
    }

    fn truncate(&self, py: Python<'_>, size: u64) -> PyResult<()> {
        py.detach(|| self.run(|file| file.set_len(size)))
            .map_err(raise)
    }

    fn append(&self, py: Python<'_>, content: &[u8]) -> PyResult<()> {
        py.detach(|| {
            self.run(|file| {
                file.seek(SeekFrom::End(0))?;
                file.write_all(content)
            })
        })
        .map_err(raise)
    }

    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.run(|file| file.sync_all()))
            .map_err(raise)
    }

    fn close(&self) {
        *self.file.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[pyfunction]
fn read_file(py: Python<'_>, folder: PathBuf, name: PathBuf) -> PyResult<Option<Vec<u8>>> {
    py.detach(|| {
        let path = folder.join(&name);
        if path.symlink_metadata().is_err() {
            return Ok(None);
        }
        let (within, file) = IndexFolder::open(&folder)?.of_relative(&name)?;
        let mut content = Vec::new();
        let mut file = within.file(&file, Access::Read)?;
        file.read_to_end(&mut content)
            .map_err(|error| Error::io(&path, &error))?;
        Ok(Some(content))
    })
    .map_err(raise)
}

#[pyfunction]
fn replace_file(py: Python<'_>, folder: PathBuf, name: PathBuf, content: &[u8]) -> PyResult<()> {
    py.detach(|| {
        let (within, file) = IndexFolder::open(&folder)?.of_relative(&name)?;
        within.replace(&file, content)?;
        within.sync()
    })
    .map_err(raise)
}

#[pyfunction]
fn remove_file(py: Python<'_>, folder: PathBuf, name: PathBuf) -> PyResult<()> {
    py.detach(|| {
        let (within, file) = IndexFolder::open(&folder)?.of_relative(&name)?;
        within.remove(&file)
    })
    .map_err(raise)
}

#[pyfunction]
fn clear_folder(py: Python<'_>, folder: PathBuf, name: PathBuf) -> PyResult<()> {
    py.detach(|| clear(&folder, &name)).map_err(raise)
}

fn clear(folder: &Path, name: &Path) -> Result<()> {
    let (within, file) = IndexFolder::open(folder)?.of_relative(name)?;
    within.make_below(&file)?.clear()
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AppendFile>()?;
    module.add_function(wrap_pyfunction!(read_file, module)?)?;
    module.add_function(wrap_pyfunction!(replace_file, module)?)?;
    module.add_function(wrap_pyfunction!(remove_file, module)?)?;
    module.add_function(wrap_pyfunction!(clear_folder, module)?)
}
