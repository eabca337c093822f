//! Loads a library, and checks what a scheme in it says of itself.

use std::ffi::{CStr, CString, c_char};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use flashgc_base::spec::SpecError;
use flashgc_ftl::placement::Remembers;
use libloading::Library;

use crate::abi::{ABI, AbiDrive, AbiParameter, AbiProperties, AbiScheme, CLASSES};

/// The longest text of a library that is repeated in a message.
const LONGEST: usize = 200;

/// The reason why a library has no scheme that can be used: what is wrong, and a hint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The fault of the library or of its scheme.
    pub message: String,
    /// A remedy.
    pub hint: String,
}

impl LoadError {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// A parameter as its library reads it.
#[derive(Debug)]
struct Parameter {
    name: CString,
    value: CString,
}

/// A scheme of a library, with its parameters. Its library stays loaded as long as it lives.
pub struct Scheme {
    pub(crate) verbs: AbiScheme,
    parameters: Vec<Parameter>,
    properties: AbiProperties,
    _library: Library,
}

impl fmt::Debug for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scheme").field("parameters", &self.parameters).finish_non_exhaustive()
    }
}

impl Scheme {
    /// Loads the scheme that the library in `file` exports as `name`. `shown` is the file's name in
    /// messages.
    ///
    /// # Errors
    /// The file is no library, it exports nothing with this name, or the scheme is one of another
    /// version, does not take the parameters or describes itself wrongly.
    ///
    /// # Safety
    /// The library is code of the user. What it exports as `name` is a `flashgc_scheme`, and its
    /// functions keep to what `flashgc.h` says of them.
    pub unsafe fn load(
        file: &Path,
        shown: &str,
        name: &str,
        parameters: &[(String, String)],
    ) -> Result<Arc<Self>, LoadError> {
        // SAFETY: as the caller promises.
        let library = unsafe { Library::new(file) }.map_err(|error| {
            let reason = error.to_string().replace(&*file.to_string_lossy(), shown);
            LoadError::new(
                format!("{shown} is no library that can be loaded: {}", one_line(&reason)),
                "cc -O2 -shared -fPIC -o mine.so mine.c",
            )
        })?;
        // SAFETY: the pointer is read only after its version and its size were checked.
        let symbol = unsafe { library.get::<*const AbiScheme>(name) }.map_err(|_| {
            LoadError::new(
                format!("{shown} exports no '{name}'"),
                format!("write FLASHGC_SCHEME({name}) = {{...}}, as in flashgc.h"),
            )
        })?;
        // SAFETY: the symbol is a scheme, as the caller promises; every version begins with these
        // two members. The symbol's own address is that of the scheme.
        let verbs = unsafe { read((*symbol).cast(), shown, name)? };
        let parameters = parameters
            .iter()
            .map(|(name, value)| {
                let text = |text: &str| CString::new(text).ok();
                text(name).zip(text(value)).map(|(name, value)| Parameter { name, value })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| LoadError::new("a parameter has a zero character", "leave it out"))?;
        let mut scheme = Self {
            verbs,
            parameters,
            properties: AbiProperties {
                classes: 1,
                remembers: 0,
                asks_for_zombies: 0,
                takes_no_copies: [0; CLASSES],
            },
            _library: library,
        };
        scheme.describe(name)?;
        Ok(Arc::new(scheme))
    }

    /// Lets the scheme check its parameters and set its properties.
    fn describe(&mut self, name: &str) -> Result<(), LoadError> {
        let parameters = self.parameters();
        match self.verbs.describe {
            None if self.parameters.is_empty() => {}
            None => {
                return Err(LoadError::new(format!("{name} has no parameters"), "leave them out"));
            }
            Some(describe) => {
                let count = parameters.len() as u32;
                // SAFETY: the pointers are valid during the call.
                let fault = unsafe { describe(parameters.as_ptr(), count, &mut self.properties) };
                // SAFETY: the scheme returns null or a text, as `load` is promised.
                if let Some(fault) = unsafe { text(fault) } {
                    return Err(LoadError::new(
                        format!("{name}: {fault}"),
                        "see the scheme's own documentation",
                    ));
                }
            }
        }
        let classes = self.properties.classes as usize;
        if !(1..=CLASSES).contains(&classes) {
            let message = format!("{name}: found {classes} classes, expected 1 to {CLASSES}");
            return Err(LoadError::new(message, "set properties->classes in describe"));
        }
        if self.properties.takes_no_copies[..classes].iter().all(|&no| no != 0) {
            let message =
                format!("{name}: none of its {classes} classes takes copies, expected one");
            return Err(LoadError::new(message, "leave one entry of takes_no_copies 0"));
        }
        Ok(())
    }

    /// Returns the parameters as the library reads them. They are valid as long as the scheme.
    fn parameters(&self) -> Vec<AbiParameter> {
        let one =
            |it: &Parameter| AbiParameter { name: it.name.as_ptr(), value: it.value.as_ptr() };
        self.parameters.iter().map(one).collect()
    }

    /// Returns `true` if the scheme picks victims.
    pub fn is_victim(&self) -> bool {
        self.verbs.pick.is_some()
    }

    /// Returns `true` if the scheme gives pages their classes.
    pub fn is_placement(&self) -> bool {
        self.verbs.host.is_some() && self.verbs.copy.is_some()
    }

    /// Makes the state of one drive.
    pub(crate) fn create(&self, pages: u32, pages_per_block: u32) -> Result<*mut (), SpecError> {
        let Some(create) = self.verbs.create else { return Ok(std::ptr::null_mut()) };
        let (parameters, drive) = (self.parameters(), AbiDrive { pages, pages_per_block });
        // SAFETY: the pointers are valid during the call.
        let state = unsafe { create(parameters.as_ptr(), parameters.len() as u32, &drive) };
        match state.is_null() {
            false => Ok(state.cast()),
            true => Err(SpecError::new(
                format!("create returned NULL for a drive of {pages} pages"),
                "is there enough memory?",
            )),
        }
    }

    /// Returns for each class `true` if it takes copies.
    pub(crate) fn takes_copies(&self) -> Vec<bool> {
        let classes = self.properties.classes as usize;
        self.properties.takes_no_copies[..classes].iter().map(|&no| no == 0).collect()
    }

    /// Returns the past that the scheme remembers.
    pub(crate) fn remembers(&self) -> Remembers {
        match self.properties.remembers {
            0 => Remembers::default(),
            times => Remembers::rewrites(times.into()),
        }
    }

    pub(crate) fn asks_for_zombies(&self) -> bool {
        self.properties.asks_for_zombies != 0
    }
}

// SAFETY: the library's functions may be called from any thread, those of one drive from one thread
// at a time, as `flashgc.h` says. The fields never change after `load`.
unsafe impl Send for Scheme {}
// SAFETY: as above.
unsafe impl Sync for Scheme {}

/// Reads the scheme at `at`, as many members as its version has.
///
/// # Safety
/// `at` is the address of a `flashgc_scheme` of some version.
unsafe fn read(at: *const u8, shown: &str, name: &str) -> Result<AbiScheme, LoadError> {
    // SAFETY: as the caller promises; both members may be read whatever the version is.
    let [abi, size] = unsafe { at.cast::<[u32; 2]>().read_unaligned() };
    if abi == 0 || abi > ABI {
        return Err(LoadError::new(
            format!("{shown}: {name} has version {abi} of flashgc.h, expected {ABI}"),
            "set .abi = FLASHGC_ABI and compile it with the header of this flashgc",
        ));
    }
    let least = std::mem::offset_of!(AbiScheme, describe);
    let size = size as usize;
    if size <= least || size > 1 << 16 {
        return Err(LoadError::new(
            format!("{shown}: {name} has {size} bytes, expected those of a flashgc_scheme"),
            "set .size = sizeof(flashgc_scheme)",
        ));
    }
    let mut scheme = AbiScheme::default();
    let known = size.min(std::mem::size_of::<AbiScheme>());
    // SAFETY: `known` bytes are within both; each member is a number or a pointer, whose null is
    // `None`.
    unsafe { std::ptr::copy_nonoverlapping(at, std::ptr::from_mut(&mut scheme).cast(), known) };
    if scheme.host.is_some() != scheme.copy.is_some() {
        let message = format!("{shown}: {name} has one of host and copy, expected both or neither");
        return Err(LoadError::new(message, "a placement answers both"));
    }
    if scheme.host.is_none() && scheme.pick.is_none() {
        return Err(LoadError::new(
            format!("{shown}: {name} has no pick, and no host and copy: it decides nothing"),
            "set .pick for a victim policy, .host and .copy for a placement",
        ));
    }
    Ok(scheme)
}

/// The text at `at`, short and on one line; `None` for a null pointer.
///
/// # Safety
/// `at` is null, or a text with a zero at its end.
unsafe fn text(at: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises.
    (!at.is_null()).then(|| one_line(&unsafe { CStr::from_ptr(at) }.to_string_lossy()))
}

fn one_line(text: &str) -> String {
    let line: String = text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
    line.chars().take(LONGEST).collect()
}
