//! Which sources are a program's own and which a package's, and the folder of its own, which its places need not repeat.

use std::iter::zip;

use dwell_model::RUN_TIME_CODE;

/// Where packages lie that others wrote, though they are compiled into the program or loaded by it.
const PACKAGES: &[&str] = &[
    "/.cargo/registry/",
    "/.cargo/git/",
    "/go/pkg/mod/",
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/gems/",
    "/vendor_ruby/",
    "/vendor/",
    "/usr/share/php/",
    "/.m2/repository/",
];
/// The first part of the names of packages in Go's standard library. They lie wherever Go does, or have no folder at all (-trimpath).
#[rustfmt::skip]
pub const OF_GO: &[&str] = &[
    "archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed", "encoding",
    "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter", "log", "maps", "math", "mime",
    "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort", "strconv", "strings", "sync", "syscall", "testing",
    "text", "time", "unicode", "unique", "vendor",
];
/// Packages of libraries of the JVM that programs are built on.
#[rustfmt::skip]
const OF_JVM: &[&str] = &[
    "akka", "brave", "ch.qos.logback", "com.codahale", "com.datastax", "com.fasterxml", "com.github.benmanes", "com.google.common",
    "com.google.inject", "com.lmax", "com.mchange", "com.mongodb", "com.mysql", "com.rabbitmq", "com.zaxxer", "feign", "io.grpc",
    "io.lettuce", "io.micrometer", "io.netty", "io.opentelemetry", "io.reactivex", "io.undertow", "io.vertx", "javax", "jakarta",
    "kotlin", "kotlinx", "net.sf.ehcache", "okhttp3", "okio", "org.apache", "org.asynchttpclient", "org.eclipse", "org.ehcache", "org.elasticsearch",
    "org.glassfish", "org.h2", "org.hibernate", "org.infinispan", "org.jboss", "org.jooq", "org.mariadb", "org.mongodb", "org.postgresql",
    "org.quartz", "org.redisson", "org.slf4j", "org.springframework", "org.sqlite", "org.xnio", "play", "reactor", "redis.clients",
    "retrofit2", "rx", "scala", "zio",
];
/// Where other sources lie that are not the program's own, from the root on.
const FOREIGN_ROOTS: &[&str] = &["/usr/", "/build/", "/rustc/"];

/// The deepest folder that all of the files lie in that are the program's own, with the slash at its end; empty where they
/// share only the root, or where no path is absolute.
pub fn project_of<'t>(files: impl Iterator<Item = &'t str>) -> &'t str {
    let own = files.filter(|file| file.starts_with('/') && !is_foreign(file));
    let shared = own.map(folder).reduce(|shared, folder| &shared[..common(shared, folder)]).unwrap_or_default();
    if shared.len() > 1 { shared } else { "" }
}

/// Whether the file is a package's, which others wrote: `/root/.cargo/registry/src/…`, `/srv/venv/lib/python3.11/site-packages/…`; or
/// the script that starts a package's program, `/srv/venv/bin/celery`.
pub fn is_of_package(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    let is_launcher = file.contains("/bin/") && !name.contains('.');
    is_launcher || is_in_packages(file)
}

/// Whether the file, a source or a library, lies where packages lie.
pub fn is_in_packages(path: &str) -> bool {
    PACKAGES.iter().any(|part| path.contains(part))
}

/// Whether a function is of Go's standard library: `net/http.(*Transport).getConn`, but not `main.fetch` or `example.com/net.Fetch`.
pub fn is_of_go(function: &str, file: &str) -> bool {
    let folder = function.split_once('/').map(|(folder, _)| folder);
    let package = folder.or(function.split_once('.').map(|(package, _)| package));
    let is_go = [".go", ".s"].iter().any(|end| file.ends_with(end));
    is_go && package.is_some_and(|package| OF_GO.contains(&package))
}

/// Whether a function is of a widely used library of the JVM: a class tells neither its file nor its jar. `module` is what its code is in:
/// in other languages a package of the program's own may be called `play`.
pub fn is_of_java_library(function: &str, module: &str) -> bool {
    module.starts_with(RUN_TIME_CODE)
        && OF_JVM.iter().any(|package| function.strip_prefix(package).is_some_and(|rest| rest.starts_with('.')))
}

fn is_foreign(file: &str) -> bool {
    FOREIGN_ROOTS.iter().any(|root| file.starts_with(root)) || is_of_package(file)
}

fn folder(file: &str) -> &str {
    &file[..file.rfind('/').map_or(0, |slash| slash + 1)]
}

/// Length of the folders that both begin with.
fn common(first: &str, second: &str) -> usize {
    let same = zip(first.bytes(), second.bytes()).take_while(|(a, b)| a == b).count();
    first.as_bytes()[..same].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_the_jvm_are_none_of_other_languages() {
        assert!(is_of_java_library("com.zaxxer.hikari.pool.HikariPool.getConnection", "[jit] java"));
        assert!(!is_of_java_library("com.zaxxerion.Shop.order", "[jit] java"), "a name goes to its dot");
        assert!(!is_of_java_library("play.Run", "/srv/game"), "a package of a Go program");
    }

    fn project(files: &[&'static str]) -> &'static str {
        project_of(files.iter().copied())
    }

    #[test]
    fn the_deepest_folder_that_own_sources_share() {
        assert_eq!(
            project(&["/home/me/app/src/a.c", "/home/me/app/src/io/b.c", "/usr/include/x.h"]),
            "/home/me/app/src/"
        );
        assert_eq!(project(&["/home/me/app/src/a.c", "/home/me/app/lib/b.c"]), "/home/me/app/");
        assert_eq!(project(&["/home/me/appl/a.c", "/home/me/app/b.c"]), "/home/me/");
        assert_eq!(project(&["/home/me/.cargo/registry/src/x/y.rs", "/home/me/app/b.rs"]), "/home/me/app/");
        assert_eq!(project(&["/app/ä/a.c", "/app/ö/b.c"]), "/app/");
    }

    #[test]
    fn packages_and_what_starts_them_are_not_the_programs_own() {
        for file in [
            "/root/.cargo/registry/src/index-1/tokio-1.0.0/src/park.rs",
            "/srv/venv/lib/python3.11/site-packages/celery/app.py",
            "/srv/venv/bin/celery",
            "/srv/shop/node_modules/pg/index.js",
        ] {
            assert!(is_of_package(file), "{file}");
        }
        for file in ["/srv/shop/app.py", "/srv/shop/bin/run.py", "src/main.rs", ""] {
            assert!(!is_of_package(file), "{file}");
        }
    }

    #[test]
    fn the_standard_library_of_go_is_known_by_its_packages() {
        assert!(is_of_go("net/http.(*Transport).getConn", "/usr/local/go/src/net/http/transport.go"));
        assert!(is_of_go("time.Sleep", "time/sleep.go"));
        assert!(!is_of_go("main.fetch", "/srv/shop/main.go") && !is_of_go("example.com/net.Fetch", "/srv/net/x.go"));
        assert!(!is_of_go("net.example/shop.Fetch", "/srv/x.go") && !is_of_go("net.fetch", "/srv/x.py"));
    }

    #[test]
    fn files_without_one_keep_their_names() {
        for files in [&["/a/b.c", "/c/d.c"][..], &["src/a.c", "src/b.c"], &["/usr/src/a.c"], &["/a.c"], &[]] {
            assert_eq!(project(files), "");
        }
    }
}
