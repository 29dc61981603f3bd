use std::fs::read_to_string;

fn read(path: &str) -> String {
    read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_readme_shows_the_example_and_an_agent_has_20_lines_at_most() {
    let example = read("examples/agent.rs");
    assert!(read("README.md").contains(&format!("```rust,no_run\n{example}```")));
    assert!(example.lines().count() <= 20, "{} lines", example.lines().count());
}

#[test]
fn the_readme_names_every_setting() {
    let config = read("src/config.rs");
    let names: Vec<&str> =
        config.lines().filter_map(|l| l.strip_prefix("    pub ")?.split_once(':')).map(|(name, _)| name).collect();
    assert!(names.len() >= 12);
    for name in names {
        assert!(read("README.md").contains(&format!("`{name}`")), "{name}");
    }
}
