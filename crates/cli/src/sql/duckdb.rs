//! DuckDB's C library, loaded when a query is asked: Dwell does not need it otherwise, and it is larger than all of Dwell.
//!
//! Takes a text of SQL; gives rows of texts. Each handle is closed by whoever opened it.
#![allow(unsafe_code, reason = "calls the functions of a C library that is loaded at run time")]

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

/// What the functions return when they did what they are for.
const DONE: c_int = 0;

/// `duckdb_result`: six words in all versions so far, and room for more.
type RawResult = [u64; 16];

macro_rules! functions {
    ($($field:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions of the library.
        #[derive(Clone, Copy)]
        struct Functions {
            $($field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Finds all of them in the library that `handle` stands for.
            unsafe fn of(handle: *mut c_void) -> Result<Self, String> {
                let find = |name: &CStr| {
                    // SAFETY: a handle of dlopen, and a name.
                    let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
                    if found.is_null() { Err(format!("it has no {}", name.to_string_lossy())) } else { Ok(found) }
                };
                // SAFETY: the functions are declared as duckdb.h does.
                unsafe { Ok(Self { $($field: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(find($symbol)?),)* }) }
            }
        }
    };
}

functions! {
    open = c"duckdb_open": fn(*const c_char, *mut *mut c_void) -> c_int;
    close = c"duckdb_close": fn(*mut *mut c_void);
    connect = c"duckdb_connect": fn(*mut c_void, *mut *mut c_void) -> c_int;
    disconnect = c"duckdb_disconnect": fn(*mut *mut c_void);
    query = c"duckdb_query": fn(*mut c_void, *const c_char, *mut RawResult) -> c_int;
    error = c"duckdb_result_error": fn(*mut RawResult) -> *const c_char;
    column_count = c"duckdb_column_count": fn(*mut RawResult) -> u64;
    row_count = c"duckdb_row_count": fn(*mut RawResult) -> u64;
    text = c"duckdb_value_varchar": fn(*mut RawResult, u64, u64) -> *mut c_char;
    free = c"duckdb_free": fn(*mut c_void);
    destroy = c"duckdb_destroy_result": fn(*mut RawResult);
}

/// A database in memory, and the one connection to it.
pub struct DuckDatabase {
    functions: Functions,
    database: *mut c_void,
    connection: *mut c_void,
}

impl DuckDatabase {
    /// Loads the library of this name or path, and opens a database. Fails with the reason.
    pub fn open(library: &OsStr) -> Result<Self, String> {
        let name = CString::new(library.as_bytes()).map_err(|_| "its name has a zero byte".to_owned())?;
        // SAFETY: a name; the library stays loaded.
        let functions = unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                let why = libc::dlerror();
                let why = (!why.is_null()).then(|| CStr::from_ptr(why).to_string_lossy().into_owned());
                return Err(why.unwrap_or_default());
            }
            Functions::of(handle)?
        };
        let mut opened = Self { functions, database: ptr::null_mut(), connection: ptr::null_mut() };
        // SAFETY: no path is a database in memory; the handles are ours, and closed in `drop`.
        let done = unsafe {
            (functions.open)(ptr::null(), &raw mut opened.database) == DONE
                && (functions.connect)(opened.database, &raw mut opened.connection) == DONE
        };
        if done { Ok(opened) } else { Err("it opens no database".into()) }
    }

    /// Runs statements; gives the rows of the last one, null as none. Fails with what DuckDB says.
    pub fn rows(&self, statements: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let statements = CString::new(statements).map_err(|_| "the query has a zero byte".to_owned())?;
        let mut answer = DuckAnswer { functions: self.functions, raw: [0; 16] };
        // SAFETY: an open connection, a text, and room for the answer, which `drop` destroys.
        let state = unsafe { (self.functions.query)(self.connection, statements.as_ptr(), &raw mut answer.raw) };
        if state == DONE { Ok(answer.rows()) } else { Err(answer.error()) }
    }
}

impl Drop for DuckDatabase {
    fn drop(&mut self) {
        // SAFETY: handles of this library, or null ones, which it leaves alone.
        unsafe {
            (self.functions.disconnect)(&raw mut self.connection);
            (self.functions.close)(&raw mut self.database);
        }
    }
}

/// What the library answered to one text.
struct DuckAnswer {
    functions: Functions,
    raw: RawResult,
}

impl DuckAnswer {
    fn error(mut self) -> String {
        // SAFETY: the answer of a query that failed; its text lives as long as it.
        unsafe {
            let text = (self.functions.error)(&raw mut self.raw);
            if text.is_null() {
                "it says no reason".into()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        }
    }

    fn rows(mut self) -> Vec<Vec<Option<String>>> {
        // SAFETY: the answer of a query that succeeded.
        let (columns, rows) = unsafe {
            ((self.functions.column_count)(&raw mut self.raw), (self.functions.row_count)(&raw mut self.raw))
        };
        (0..rows).map(|row| (0..columns).map(|column| self.text(column, row)).collect()).collect()
    }

    /// A cell as text; none for null.
    fn text(&mut self, column: u64, row: u64) -> Option<String> {
        // SAFETY: a cell within the answer; the text is ours to free.
        unsafe {
            let text = (self.functions.text)(&raw mut self.raw, column, row);
            let copied = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned());
            (self.functions.free)(text.cast());
            copied
        }
    }
}

impl Drop for DuckAnswer {
    fn drop(&mut self) {
        // SAFETY: an answer of this library, or the zeros that it began as.
        unsafe { (self.functions.destroy)(&raw mut self.raw) }
    }
}
