//! `dwell agent --config`: rules name services, mistakes are all told, and SIGHUP reads the file again.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::agent::{files, is_whole, rows};
use crate::harness::Case;
use crate::recording::{Running, dwell, needs_recording, root, run_dwell, wait_for};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("agent_configuration::the_example_is_good", the_example_is_good),
        Case::new("agent_configuration::all_mistakes_are_told", all_mistakes_are_told),
        Case::new("agent_configuration::a_check_names_the_processes", a_check_names_the_processes),
        Case::new(
            "agent_configuration::rules_name_services_and_hup_reads_them",
            rules_name_services_and_hup_reads_them,
        ),
    ]
}

/// What the packages have.
fn the_example_is_good() -> Result<()> {
    let folder = TempDir::new()?;
    let (store, example) = (folder.path().join("fleet"), root().join("packaging/agent/agent.toml"));
    let [store, example] = [store, example].map(|path| path.display().to_string());
    let output = run_dwell(&["agent", "--check", "--config", &example, "--store", &store])?;
    ensure!(output.code() == 0, "{}", output.stderr);
    ensure!(
        output.stdout.contains("rule   postgresql (line ") && output.stdout.contains("can be made"),
        "{}",
        output.stdout
    );
    ensure!(!Path::new(&store).exists(), "a check leaves something");
    let unit = fs::read_to_string(root().join("packaging/agent/dwell-agent.service"))?;
    ensure!(unit.contains("ExecStart=/usr/bin/dwell agent --config /etc/dwell/agent.toml\n"), "{unit}");
    Ok(())
}

fn all_mistakes_are_told() -> Result<()> {
    let folder = TempDir::new()?;
    let config = folder.path().join("agent.toml");
    fs::write(&config, "stoer = '/tmp'\nrow = 'soon'\n[[service]]\nmatch = { unti = 'x' }\nname = 'lost'\n")?;
    let config = config.display().to_string();
    for words in [&["agent", "--config", &config][..], &["agent", "--check", "--config", &config]] {
        let output = run_dwell(words)?;
        ensure!(output.code() == 1 && output.stderr.contains("has 4 mistakes"), "{}", output.stderr);
        for told in ["line 1: there is no key `stoer`; `store`", "line 2: row", "line 4: ", "line 5: name"] {
            ensure!(output.stderr.contains(told), "{told} is not in {}", output.stderr);
        }
        ensure!(output.stderr.contains("hint: change the file, then: dwell agent --check"), "{}", output.stderr);
    }
    let missing = run_dwell(&["agent", "--check", "--config", "/nowhere.toml"])?;
    ensure!(missing.code() == 1 && missing.stderr.contains("hint: --config names"), "{}", missing.stderr);
    let file = folder.path().join("file");
    fs::write(&file, "")?;
    fs::write(&config, format!("store = '{}'\n", file.display()))?;
    let output = run_dwell(&["agent", "--check", "--config", &config])?;
    ensure!(output.code() == 1 && output.stderr.contains("cannot be written"), "{}", output.stderr);
    Ok(())
}

/// A program that waits, in an environment of its own.
fn waiting(app: &str) -> Result<Running> {
    Running::start(Command::new("sleep").arg("60").env("DWELL_TEST_APP", app))
}

fn configuration(folder: &Path, name: &str) -> Result<String> {
    let store = folder.join("fleet");
    let config = folder.join("agent.toml");
    let rule = format!(
        "[[service]]\nmatch = {{ process = 'sleep', env = 'DWELL_TEST_APP=shop-*' }}\nname = '{name}'\nversion-env = 'DWELL_TEST_APP'\n"
    );
    fs::write(&config, format!("store = '{}'\nrow = '200ms'\n{rule}", store.display()))?;
    Ok(config.display().to_string())
}

fn a_check_names_the_processes() -> Result<()> {
    let folder = TempDir::new()?;
    let config = configuration(folder.path(), "shop")?;
    let (shop, _other) = (waiting("shop-eu")?, waiting("bank")?);
    let expected = format!("rule   shop (line 3): 1 process now: sleep ({})\n", shop.pid());
    wait_for("the rule's process", || {
        let output = run_dwell(&["agent", "--check", "--config", &config]).ok()?;
        output.stdout.contains(&expected).then_some(())
    })
}

/// By the names of files: HOST-START.parquet.
fn rows_of_time(store: &Path) -> usize {
    let files = files(store).into_iter().filter(|file| is_whole(file));
    files.filter_map(|file| file.file_name().map(ToOwned::to_owned)).collect::<BTreeSet<_>>().len()
}

fn rules_name_services_and_hup_reads_them() -> Result<()> {
    needs_recording()?;
    let folder = TempDir::new()?;
    let store = folder.path().join("fleet");
    let config = configuration(folder.path(), "shop")?;
    let (_shop, _other) = (waiting("shop-eu")?, waiting("bank")?);
    let agent = Running::start(&mut dwell(&["agent", "--config", &config]))?;
    let has = |service: &str| {
        let folder = format!("service={service}");
        files(&store).iter().any(|file| is_whole(file) && file.components().any(|part| part.as_os_str() == &*folder))
    };
    wait_for("rows of the first rule", || has("shop").then_some(()))?;
    // A damaged file changes nothing.
    fs::write(&config, "row = \n")?;
    agent.signal(Signal::HUP)?;
    let before = rows_of_time(&store);
    wait_for("rows after a bad file", || (rows_of_time(&store) > before + 3).then_some(()))?;
    configuration(folder.path(), "market")?;
    agent.signal(Signal::HUP)?;
    wait_for("rows of the new rule", || has("market").then_some(()))?;
    agent.signal(Signal::TERM)?;
    let output = agent.finish()?;
    ensure!(output.code() == 0, "{} {}", output.code(), output.stderr);
    ensure!(
        output.stderr.contains("line 1: ") && output.stderr.contains("goes on with the configuration"),
        "{}",
        output.stderr
    );
    ensure!(output.stderr.contains("read again: 1 rule"), "{}", output.stderr);
    let named = rows(&store)?;
    let of_rules = named.iter().filter(|row| ["shop", "market"].contains(&&*row.service));
    ensure!(of_rules.clone().all(|row| row.text("process") == "sleep"), "a rule has others");
    ensure!(of_rules.clone().any(|row| row.number("wait_ns") > 0.0), "nobody waits");
    ensure!(of_rules.clone().all(|row| row.text("version") == "shop-eu"), "a rule's variable says the version");
    // Without a variable it is the build id of the program.
    let is_id = |version: &str| version.len() == 12 && version.bytes().all(|digit| digit.is_ascii_hexdigit());
    let other = named.iter().find(|row| row.text("process") == "sleep" && row.text("version") != "shop-eu");
    ensure!(other.is_some_and(|row| is_id(&row.text("version"))), "the other program has no build id");
    Ok(())
}
