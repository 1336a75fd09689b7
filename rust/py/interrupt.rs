//! Python bindings of interrupts.

use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::error::raise;
use crate::interrupt;

#[pyclass(frozen, module = "crx._native")]
struct Interrupt {
    inner: interrupt::Interrupt,
    /// The interrupt before, for each time that a thread has entered this one.
    before: Mutex<Vec<(ThreadId, Option<interrupt::Interrupt>)>>,
}

impl From<interrupt::Interrupt> for Interrupt {
    fn from(inner: interrupt::Interrupt) -> Self {
        Interrupt {
            inner,
            before: Mutex::default(),
        }
    }
}

#[pymethods]
impl Interrupt {
    #[new]
    #[pyo3(signature = (seconds = None))]
    fn new(seconds: Option<f64>) -> PyResult<Self> {
        let time = seconds.map(|seconds| {
            Duration::try_from_secs_f64(seconds)
                .map_err(|error| PyValueError::new_err(format!("seconds: {seconds}: {error}")))
        });
        Ok(interrupt::Interrupt::after(time.transpose()?).into())
    }

    fn set(&self) {
        self.inner.set();
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        let own = slf.get();
        let before = interrupt::replace(Some(own.inner.clone()));
        let mut kept = own.before.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((std::thread::current().id(), before));
        drop(kept);
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, pyo3::types::PyTuple>) {
        let mut kept = self.before.lock().unwrap_or_else(PoisonError::into_inner);
        let own = std::thread::current().id();
        if let Some(at) = kept.iter().rposition(|(thread, _)| *thread == own) {
            interrupt::replace(kept.remove(at).1);
        }
    }
}

/// Returns the interrupt of this thread.
#[pyfunction]
fn current_interrupt() -> Option<Interrupt> {
    interrupt::current().map(Interrupt::from)
}

/// Raises `Interrupted` if the work of this thread is to end.
#[pyfunction]
fn check_interrupt() -> PyResult<()> {
    interrupt::check().map_err(raise)
}

/// Makes this thread run its parallel loops alone, so that they do not hold up those of others.
#[pyfunction]
fn work_alone() {
    crate::pool::work_alone();
}

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Interrupt>()?;
    module.add_function(wrap_pyfunction!(work_alone, module)?)?;
    module.add_function(wrap_pyfunction!(check_interrupt, module)?)?;
    module.add_function(wrap_pyfunction!(current_interrupt, module)?)
}
