// Runs tool loops with the AI SDK and its providers, and prints what came of them.
//
// One line of JSON for each loop: {"sdk": "ai" | "ai-6", "provider": "compatible" | "openai" | "responses" | "anthropic" | "google", "url": ...,
// "question": ..., "models": [...], "streamed": ..., "by": "steps" | "messages", "prunes": ...} -> the text, and how many calls each step made; or
// what was thrown. Each request goes to the next model. `by` says who leads the loop: the SDK in its steps, or the program with the messages of each
// response. A program that prunes drops the reasoning from what it sends.

import { createInterface } from "node:readline";
import * as anthropic7 from "@ai-sdk/anthropic";
import * as google7 from "@ai-sdk/google";
import * as openai7 from "@ai-sdk/openai";
import * as compatible7 from "@ai-sdk/openai-compatible";
import * as ai7 from "ai";
import * as ai6 from "ai-6";
import * as anthropic6 from "anthropic-6";
import * as google6 from "google-6";
import * as openai6 from "openai-6";
import * as compatible6 from "openai-compatible-6";

const SDKS = {
  ai: { ai: ai7, ...compatible7, ...openai7, ...anthropic7, ...google7 },
  "ai-6": { ai: ai6, ...compatible6, ...openai6, ...anthropic6, ...google6 },
};
const WEATHER = { Paris: "21 °C", Rome: "27 °C", Oslo: "9 °C", Bergen: "8 °C" };
globalThis.AI_SDK_LOG_WARNINGS = false;

// How a model of a provider is made, and what is asked of its reasoning.
const PROVIDERS = {
  compatible: (sdk, url) => ({
    model: sdk.createOpenAICompatible({ name: "gateway", baseURL: `${url}/v1`, apiKey: "any" }),
    options: { gateway: { reasoningEffort: "high" } },
  }),
  openai: (sdk, url) => ({
    model: sdk.createOpenAI({ baseURL: `${url}/v1`, apiKey: "any" }).chat,
    options: { openai: { reasoningEffort: "high", forceReasoning: true } },
  }),
  responses: (sdk, url) => ({
    model: sdk.createOpenAI({ baseURL: `${url}/v1`, apiKey: "any" }).responses,
    options: {
      openai: {
        reasoningEffort: "high",
        reasoningSummary: "auto",
        forceReasoning: true,
        store: false,
        include: ["reasoning.encrypted_content"],
      },
    },
  }),
  anthropic: (sdk, url) => ({
    model: sdk.createAnthropic({ baseURL: `${url}/v1`, apiKey: "any" }),
    options: { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } },
  }),
  google: (sdk, url) => ({
    model: sdk.createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "any" }),
    options: { google: { thinkingConfig: { includeThoughts: true } } },
  }),
};

function settings(sdk, { provider = "compatible", url }) {
  const { model, options } = PROVIDERS[provider](sdk, url);
  const get_weather = sdk.ai.tool({
    description: "Tells the weather of a city.",
    inputSchema: sdk.ai.jsonSchema({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    }),
    execute: async ({ city }) => `${city}: ${WEATHER[city]}`,
  });
  return { model, shared: { tools: { get_weather }, maxRetries: 0, providerOptions: options } };
}

async function answered(ai, streamed, options) {
  if (!streamed) return await ai.generateText(options);
  let thrown;
  const result = ai.streamText({ ...options, onError: ({ error }) => void (thrown ??= error) });
  await result.consumeStream();
  if (thrown) throw thrown;
  return { text: await result.text, steps: await result.steps, response: await result.response };
}

async function bySteps(ai, { model, shared }, { question, models, streamed, prunes }) {
  const prepareStep = ({ stepNumber, messages }) => ({
    model: model(models[stepNumber]),
    ...(prunes ? { messages: ai.pruneMessages({ messages, reasoning: "all" }) } : {}),
  });
  const { text, steps } = await answered(ai, streamed, {
    ...shared,
    model: model(models[0]),
    prompt: question,
    stopWhen: ai.stepCountIs(models.length),
    prepareStep,
  });
  return { text, calls: steps.map((step) => step.toolCalls.length) };
}

async function byMessages(ai, { model, shared }, { question, models, streamed, prunes }) {
  let messages = [{ role: "user", content: question }];
  const calls = [];
  let text = "";
  for (const name of models) {
    const one = await answered(ai, streamed, { ...shared, model: model(name), messages });
    calls.push(one.steps[0].toolCalls.length);
    messages = JSON.parse(JSON.stringify([...messages, ...one.response.messages]));
    if (prunes) messages = ai.pruneMessages({ messages, reasoning: "all" });
    text = one.text;
  }
  return { text, calls };
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const sdk = SDKS[asked.sdk];
  const lead = asked.by === "messages" ? byMessages : bySteps;
  try {
    console.log(JSON.stringify(await lead(sdk.ai, settings(sdk, asked), asked)));
  } catch (error) {
    const { message, statusCode } = error;
    console.log(JSON.stringify({ thrown: String(message ?? error), status: statusCode }));
  }
}
