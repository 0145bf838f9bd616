//! The stacks with names, and on each the program's own place: the rules of the reports' [`own_code`], in SQL.

use dwell_analyze::OF_GO;
use dwell_analyze::own_code::{
    FROZEN_MODULES, INTERPRETERS, KERNEL_MODULES, MPI_MODULE, PYTHON_LIBRARY, PYTHON_NATIVE, PYTHONS, SCRIPT_ENDINGS,
    SCRIPT_LIBRARIES, STANDARD_ENDS, STANDARD_NAMES, STANDARD_SOURCES, SYSTEM_LIBRARIES,
};
use dwell_model::StackEnd;

use super::view_def::{ViewDef, column, quoted, words};

/// The view `stacks`, which is stored: a query that joins it would walk all stacks otherwise.
pub fn stacks() -> ViewDef {
    let columns = vec![
        column("stack_id", "id", "Its number, stack_id of the other views."),
        column("functions", "functions", "Names of its functions, the innermost first."),
        column("places", "places", "Their places, file:line; null where not known."),
        column(
            "function",
            "coalesce(own_function, user_function, functions[1])",
            "The innermost function of the program's own: neither the system's nor a standard library's.",
        ),
        column(
            "place",
            "case when own_function is not null then own_place when user_function is not null then user_place else places[1] end",
            "Its place, file:line.",
        ),
        column("walk_end", words!(StackEnd, "walk_end"), "How the walk ended: complete, or why there is no more."),
    ];
    let doc = "One row per stack; a table, made when this script runs.";
    ViewDef { with: with(), stored: true, ..ViewDef::new("stacks", doc, "chains", columns) }
}

/// Modules that are the system's, frames with their places, and the chains of frames from the roots on.
fn with() -> String {
    format!(
        "with recursive files as (
  select row_id as id, path, regexp_extract(path, '[^/]*$') as base,
    split_part(split_part(regexp_extract(path, '[^/]*$'), '.so', 1), '-2.', 1) as stem
  from raw.modules
), system_modules as (
  select id, base in ({kernel}) or ({pythons} and not ({scripts}))
    or (contains(path, {library}) and contains(path, {native}))
    or (contains(base, '.so') and (stem in ({libraries}) or starts_with(stem, {mpi}))) as is_system,
    {interpreters} and not ({scripts}) as is_interpreter
  from files
), named_frames as (
  select frames.row_id as id, frames.function as function,
    case when file = '' then null when line = 0 then file else file || ':' || line end as place,
    not (kernel or coalesce(is_system, false)) as is_user,
    (script and (file = '' or {frozen} or {script_libraries}))
      or coalesce(is_interpreter, false) or {sources} or {names} or {name_ends} or {of_go} as is_standard
  from raw.frames as frames left join system_modules on system_modules.id = frames.module
), ends as (
  select stacks.row_id as id, case when stacks.parent < stacks.row_id then stacks.parent end as parent, stacks.\"end\" as walk_end,
    coalesce(function, '[unknown]') as function, place,
    case when is_user then function end as user_function, case when is_user and not is_standard then function end as own_function
  from raw.stacks as stacks left join named_frames on named_frames.id = stacks.frame
), chains as (
  select id, walk_end, [function] as functions, [place] as places, user_function, own_function,
    case when user_function is not null then place end as user_place, case when own_function is not null then place end as own_place
  from ends where parent is null
  union all
  select ends.id, ends.walk_end, list_prepend(ends.function, chains.functions), list_prepend(ends.place, chains.places),
    coalesce(ends.user_function, chains.user_function), coalesce(ends.own_function, chains.own_function),
    case when ends.user_function is not null then ends.place else chains.user_place end,
    case when ends.own_function is not null then ends.place else chains.own_place end
  from ends join chains on ends.parent = chains.id
)
",
        kernel = list(KERNEL_MODULES),
        pythons = is_called(PYTHONS),
        interpreters = is_called(INTERPRETERS),
        scripts = ends("base", SCRIPT_ENDINGS),
        library = quoted(PYTHON_LIBRARY),
        native = quoted(PYTHON_NATIVE),
        libraries = list(SYSTEM_LIBRARIES),
        mpi = quoted(MPI_MODULE),
        frozen = begins("file", FROZEN_MODULES),
        script_libraries = script_libraries(),
        sources = begins("file", STANDARD_SOURCES),
        names = begins("frames.function", STANDARD_NAMES),
        name_ends = ends("frames.function", STANDARD_ENDS),
        of_go = of_go(),
    )
}

fn list(texts: &[&str]) -> String {
    texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", ")
}

/// Whether a function is of Go's standard library: by its package's first part.
fn of_go() -> String {
    let package = "case when contains(frames.function, '/') then split_part(frames.function, '/', 1) else split_part(frames.function, '.', 1) end";
    format!("((ends_with(file, '.go') or ends_with(file, '.s')) and {package} in ({}))", list(OF_GO))
}

fn is_called(names: &[&str]) -> String {
    format!("regexp_matches(base, '^({})([^a-z]|$)')", names.join("|"))
}

fn script_libraries() -> String {
    let is_of = |(library, packages): &(&str, &str)| {
        format!("(contains(file, {}) and not contains(file, {}))", quoted(library), quoted(packages))
    };
    SCRIPT_LIBRARIES.iter().map(is_of).collect::<Vec<_>>().join(" or ")
}

fn ends(column: &str, ends: &[&str]) -> String {
    ends.iter().map(|end| format!("ends_with({column}, {})", quoted(end))).collect::<Vec<_>>().join(" or ")
}

fn begins(column: &str, starts: &[&str]) -> String {
    starts.iter().map(|start| format!("starts_with({column}, {})", quoted(start))).collect::<Vec<_>>().join(" or ")
}
