// Runs tool loops with the chat models of LangChain, and prints what came of them.
//
// One line of JSON for each loop: {"provider": "openai" | "responses" | "anthropic" | "google", "url": ..., "question": ..., "models": [...], "streamed": ...,
// "prunes": ...} -> the text, and how many calls each turn made; or what was thrown. A program that prunes sends text and calls alone.

import { createInterface } from "node:readline";
import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatOpenAI } from "@langchain/openai";

// Google's older SDK rejects a second promise, which nobody waits for, when a stream fails.
process.on("unhandledRejection", () => {});

const WEATHER = { Paris: "21 °C", Rome: "27 °C", Oslo: "9 °C", Bergen: "8 °C" };
const TOOL = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Tells the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const MODELS = {
  openai: (model, url) =>
    new ChatOpenAI({
      model,
      apiKey: "any",
      maxRetries: 0,
      reasoning: { effort: "high" },
      configuration: { baseURL: `${url}/v1` },
    }),
  responses: (model, url) =>
    new ChatOpenAI({
      model,
      apiKey: "any",
      maxRetries: 0,
      useResponsesApi: true,
      zdrEnabled: true,
      reasoning: { effort: "high", summary: "auto" },
      configuration: { baseURL: `${url}/v1` },
    }),
  anthropic: (model, url) =>
    new ChatAnthropic({
      model,
      apiKey: "any",
      maxRetries: 0,
      maxTokens: 4000,
      thinking: { type: "enabled", budget_tokens: 2000 },
      anthropicApiUrl: url,
    }),
  google: (model, url) =>
    new ChatGoogleGenerativeAI({
      model,
      apiKey: "any",
      maxRetries: 0,
      thinkingConfig: { includeThoughts: true },
      baseUrl: url,
    }),
};

async function answered(model, messages, streamed) {
  if (!streamed) return await model.invoke(messages);
  let message;
  for await (const chunk of await model.stream(messages)) {
    message = message === undefined ? chunk : message.concat(chunk);
  }
  return message;
}

function plain(message) {
  return new AIMessage({ content: message.text, tool_calls: message.tool_calls });
}

async function lead({ provider, url, question, models, streamed, prunes }) {
  const messages = [new HumanMessage(question)];
  const calls = [];
  for (const name of models) {
    const model = MODELS[provider](name, url).bindTools([TOOL]);
    const message = await answered(model, messages, streamed);
    if (message === undefined) return { text: null, calls };
    const made = message.tool_calls ?? [];
    calls.push(made.length);
    if (!made.length) return { text: message.text, calls };
    messages.push(prunes ? plain(message) : message);
    for (const call of made) {
      const content = `${call.args.city}: ${WEATHER[call.args.city]}`;
      messages.push(new ToolMessage({ content, tool_call_id: call.id, name: call.name }));
    }
  }
  return { text: null, calls };
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify(await lead(JSON.parse(line))));
  } catch (error) {
    console.log(JSON.stringify({ thrown: String(error.message ?? error), status: error.status }));
  }
}
