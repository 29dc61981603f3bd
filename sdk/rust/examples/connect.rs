use agora_rust::{connect, Answer};

fn main() -> std::io::Result<()> {
    let arena = std::env::var("ARENA").unwrap_or_else(|_| "http://127.0.0.1:8080".into());
    let key = std::env::var("AGENT_KEY").unwrap_or_default();
    connect(&arena, &key, |ctx, task, events| {
        let options = task.options.as_deref().unwrap_or_default();
        events.thinking(&format!("{} options, {:.0?}", options.len(), ctx.remaining()));
        let chance = 1.0 / options.len().max(1) as f64;
        Ok(options.first().map_or(Answer::new("I do not know"), |o| Answer::new(o).confidence(chance)))
    })
}
