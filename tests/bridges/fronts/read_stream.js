// Reads what the bridges write, with the real packages, and prints what they understood.
//
// One line of JSON for each request: {"front": "ag-ui" | "ai" | "ai-6", "stream": base64, "messages": [...]} -> the messages of a chat
// after the stream, what came as an error, and the messages as the front end would send them back.

import { createInterface } from "node:readline";
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas, RunAgentInputSchema } from "@ag-ui/core/schemas";
import * as ai7 from "ai";
import * as ai6 from "ai-6";

const SDKS = { ai: ai7, "ai-6": ai6 };

// The whole pipeline of the client: server-sent events, schemas, the verifier, messages. What it would say on the console is
// collected: a field that it strips is a mistake of ours.
async function readAgUi(bytes, messages) {
  const warnings = [];
  console.warn = (...words) => warnings.push(words.join(" "));
  const events = [];
  let sent;
  const agent = new HttpAgent({
    url: "http://fronts.invalid/",
    threadId: "thread-1",
    initialMessages: messages,
    fetch: async (_url, init) => {
      sent ??= JSON.parse(init.body);
      return new Response(bytes, { headers: { "content-type": "text/event-stream" } });
    },
  });
  let failure = null;
  const seen = {
    onEvent: ({ event }) => void events.push(EventSchemas.parse(event)),
    onRunErrorEvent: ({ event }) => void (failure = event.message),
  };
  let thrown = null;
  try {
    await agent.runAgent({ runId: "run-1" }, seen);
  } catch (error) {
    thrown = String(error.message ?? error);
  }
  const input = { ...sent, messages: agent.messages };
  const { messages: again } = RunAgentInputSchema.parse(JSON.parse(JSON.stringify(input)));
  return { events, messages: again, failure, thrown, warnings };
}

async function readSdk(ai, bytes, messages) {
  const transport = new ai.DefaultChatTransport({
    api: "http://fronts.invalid/",
    fetch: async () => new Response(bytes, { headers: { "content-type": "text/event-stream" } }),
  });
  const schema = ai.uiMessageChunkSchema();
  const chunks = await transport.sendMessages({
    chatId: "chat-1",
    trigger: "submit-message",
    messages,
  });
  const events = [];
  const watched = chunks.pipeThrough(
    new TransformStream({
      async transform(chunk, controller) {
        const checked = await schema.validate(chunk);
        if (!checked.success) throw checked.error;
        events.push(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  let failure = null;
  let thrown = null;
  let message;
  const last = messages.at(-1);
  try {
    const states = ai.readUIMessageStream({
      message: last?.role === "assistant" ? last : undefined,
      stream: watched,
      onError: (error) => (failure = String(error.message ?? error)),
    });
    for await (const state of states) message = state;
  } catch (error) {
    thrown = String(error.message ?? error);
  }
  const before = last?.role === "assistant" ? messages.slice(0, -1) : messages;
  const after = message ? [...before, { ...message, id: message.id || "message-1" }] : before;
  const again = JSON.parse(JSON.stringify(after));
  const checked = again.length ? await ai.safeValidateUIMessages({ messages: again }) : { success: true };
  if (!checked.success) thrown ??= String(checked.error.message);
  const model = again.length ? await ai.convertToModelMessages(again) : [];
  return { events, messages: again, failure, thrown, warnings: [], model };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { front, stream, messages } = JSON.parse(line);
  const bytes = Buffer.from(stream, "base64");
  const read =
    front === "ag-ui" ? readAgUi(bytes, messages) : readSdk(SDKS[front], bytes, messages);
  console.log(JSON.stringify(await read));
}
