// openai-node against our address: node openai_node.mjs BASE TOKEN
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const model = "old-friend";

const names = [];
for await (const one of client.models.list()) names.push(one.id);
assert.ok(names.includes(model));
assert.equal((await client.models.retrieve(model)).id, model);

const messages = [{ role: "user", content: "My cat is called Douban." }];
const { data, response } = await client.chat.completions.create({ model, messages }).withResponse();
assert.equal(response.headers.get("x-memory"), "on");
assert.equal(data.choices[0].message.content, "Nice cat.");

messages.push(data.choices[0].message, { role: "user", content: "She is grey." });
const stream = client.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
const whole = await stream.finalChatCompletion();
assert.equal(whole.choices[0].message.content, "Grey, then.");

const runner = client.chat.completions.runTools({
  model,
  stream: true,
  messages: [{ role: "user", content: "How warm is it at home?" }],
  tools: [{ type: "function", function: { name: "look", parse: JSON.parse, parameters: { type: "object", properties: {} }, function: () => "12" } }],
});
assert.equal(await runner.finalContent(), "Twelve degrees.");

const vectors = await client.embeddings.create({ model: "e", input: ["cat", "dog"] });
assert.equal(vectors.data.length, 2);

const stranger = new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 });
await assert.rejects(async () => stranger.models.list(), (refused) => refused.status === 401 && refused.code === "invalid_api_key");
