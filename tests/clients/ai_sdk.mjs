// The AI SDK against our address: node ai_sdk.mjs BASE TOKEN
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";

const [baseURL, apiKey] = process.argv.slice(2);
const friend = createOpenAICompatible({ name: "old-friend", baseURL, apiKey });
const model = friend("old-friend");

const messages = [{ role: "user", content: "My cat is called Douban." }];
const first = await generateText({ model, messages });
assert.equal(first.text, "Nice cat.");
assert.equal(first.response.headers["x-memory"], "on");

messages.push({ role: "assistant", content: first.text }, { role: "user", content: "She is grey." });
let said = "";
for await (const piece of streamText({ model, messages }).textStream) said += piece;
assert.equal(said, "Grey, then.");

const look = tool({ description: "Look", inputSchema: jsonSchema({ type: "object", properties: {} }), execute: () => "12" });
const looked = await generateText({ model, prompt: "How warm is it at home?", tools: { look }, stopWhen: stepCountIs(3) });
assert.equal(looked.text, "Twelve degrees.");

const vectors = await embedMany({ model: friend.textEmbeddingModel("e"), values: ["cat", "dog"] });
assert.equal(vectors.embeddings.length, 2);
