// Runs tool loops with the AI SDK and its provider for hosts that are compatible with OpenAI, and prints what came of them.
//
// One line of JSON for each loop: {"sdk": "ai" | "ai-6", "url": ..., "question": ..., "models": [...], "streamed": ..., "by": "steps" | "messages",
// "prunes": ...} -> the text, and how many calls each step made. Each request goes to the next model. `by` says who leads the loop: the SDK in its
// steps, or the program with the messages of each response. A program that prunes drops the reasoning from what it sends.

import { createInterface } from "node:readline";
import * as compatible7 from "@ai-sdk/openai-compatible";
import * as ai7 from "ai";
import * as ai6 from "ai-6";
import * as compatible6 from "openai-compatible-6";

const SDKS = { ai: [ai7, compatible7], "ai-6": [ai6, compatible6] };
const WEATHER = { Paris: "21 °C", Rome: "27 °C", Oslo: "9 °C" };
globalThis.AI_SDK_LOG_WARNINGS = false;

function settings(ai, compatible, url) {
  const provider = compatible.createOpenAICompatible({
    name: "gateway",
    baseURL: `${url}/v1`,
    apiKey: "any",
  });
  const get_weather = ai.tool({
    description: "Tells the weather of a city.",
    inputSchema: ai.jsonSchema({
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
    }),
    execute: async ({ city }) => `${city}: ${WEATHER[city]}`,
  });
  return {
    model: (name) => provider(name),
    shared: {
      tools: { get_weather },
      maxRetries: 0,
      providerOptions: { gateway: { reasoningEffort: "high" } },
    },
  };
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
  const [ai, compatible] = SDKS[asked.sdk];
  const lead = asked.by === "steps" ? bySteps : byMessages;
  try {
    console.log(JSON.stringify(await lead(ai, settings(ai, compatible, asked.url), asked)));
  } catch (error) {
    console.log(JSON.stringify({ thrown: String(error.message ?? error) }));
  }
}
