use std::fs::read_to_string;

fn read(path: &str) -> String {
    read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_readme_shows_the_examples_which_are_short() {
    for (name, lines) in [("connect", 12), ("agent", 20)] {
        let example = read(&format!("examples/{name}.rs"));
        assert!(read("README.md").contains(&format!("```rust,no_run\n{example}```")), "{name}");
        assert!(example.lines().count() <= lines, "{name}: {} lines", example.lines().count());
    }
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
