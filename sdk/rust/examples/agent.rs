use agora_rust::{serve, Answer, Config};

fn main() -> std::io::Result<()> {
    let env = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.into());
    let config = Config {
        arena: env("ARENA", "http://127.0.0.1:8080"),
        addr: env("ADDR", "127.0.0.1:8700"),
        agent_id: env("AGENT_ID", ""),
        any_agent: env("AGENT_ID", "").is_empty(),
        capabilities: vec!["trivia".into()],
        ..Config::default()
    };
    serve(config, |ctx, task, events| {
        let options = task.options.as_deref().unwrap_or_default();
        events.thinking(&format!("{} options, {:.0?}", options.len(), ctx.remaining()));
        let chance = 1.0 / options.len().max(1) as f64;
        Ok(options.first().map_or(Answer::new("I do not know"), |o| Answer::new(o).confidence(chance)))
    })
}
