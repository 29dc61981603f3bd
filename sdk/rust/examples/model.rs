//! An agent that asks a language model behind any OpenAI-compatible endpoint.

use std::time::Instant;

use agora_rust::{serve, Answer, Config, Context, Error, Events, Task};
use serde_json::{json, Value};

// The question is untrusted text: it is data, and its instructions are ignored.
const PROMPT: &str = "Answer the question with the answer alone. With options, repeat one of them word for word.";

fn env(name: &str, default: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| default.into())
}

fn answer(ctx: &Context, task: &Task, events: &Events) -> Result<Answer, Error> {
    let (url, model) = (env("MODEL_URL", "http://127.0.0.1:11434/v1"), env("MODEL", "llama3.2"));
    events.tool_call(&model, json!({ "question": task.description }));
    let began = Instant::now();
    let mut question = task.description.clone();
    for option in task.options.iter().flatten() {
        question += &format!("\n- {option}");
    }
    let mut body = json!({"model": model, "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]});
    if task.max_tokens > 0 {
        body["max_tokens"] = task.max_tokens.into();
    }
    let request = ureq::post(&format!("{url}/chat/completions")).timeout(ctx.remaining()); // a late answer is worth nothing
    let request = request
        .set("Content-Type", "application/json")
        .set("Authorization", &format!("Bearer {}", env("MODEL_KEY", "none")));
    let reply: Value = match request.send_string(&body.to_string()) {
        Ok(response) => serde_json::from_reader(response.into_reader())?,
        Err(ureq::Error::Status(429, _)) => return Err(Error::RateLimited),
        Err(ureq::Error::Status(..)) => return Err(Error::Unavailable),
        Err(_) => ctx.check().and(Err(Error::Unavailable))?,
    };
    let value = reply["choices"][0]["message"]["content"].as_str().unwrap_or("").trim().to_string();
    events.tool_response(value.as_str(), began.elapsed());
    Ok(Answer { value, tokens: reply["usage"]["total_tokens"].as_i64(), ..Answer::default() })
}

fn main() -> std::io::Result<()> {
    let config = Config {
        arena: env("ARENA", "http://127.0.0.1:8080"),
        addr: env("ADDR", "127.0.0.1:8700"),
        agent_id: env("AGENT_ID", ""),
        any_agent: env("AGENT_ID", "").is_empty(),
        capabilities: env("LEAGUES", "trivia").split(',').map(String::from).collect(),
        ..Config::default()
    };
    serve(config, answer)
}
