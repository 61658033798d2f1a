// The TypeScript SDKs: the one of 2026-07-28 ("client") and the one of the handshake ("sdk").
// Steps come in as JSON, answers go out as JSON.
import { createRequire } from "node:module";
import { text } from "node:stream/consumers";

const require = createRequire(new URL("../node/package.json", import.meta.url));
const agree = async () => ({ action: "accept", content: { approve: true } });
const capabilities = { capabilities: { elicitation: {} } };
const me = { name: "settle-tests", version: "1" };

const sdks = {
  client() {
    const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
    const client = new Client(me, { ...capabilities, versionNegotiation: { mode: "auto" } });
    client.setRequestHandler("elicitation/create", agree);
    return { client, StreamableHTTPClientTransport };
  },
  sdk() {
    const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
    const http = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ElicitRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
    const client = new Client(me, capabilities);
    client.setRequestHandler(ElicitRequestSchema, agree);
    return { client, ...http };
  },
};

async function take(sdk, url, step) {
  const { client, StreamableHTTPClientTransport } = sdks[sdk]();
  const requestInit = { headers: { Authorization: `Bearer ${step.key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  try {
    if (step.tool === null) {
      return { tools: (await client.listTools()).tools.map((tool) => tool.name) };
    }
    const result = await client.callTool({ name: step.tool, arguments: step.arguments });
    return {
      structured: result.structuredContent ?? null,
      text: result.content[0].text,
      is_error: result.isError ?? false,
    };
  } catch (fault) {
    return { raised: String(fault) };
  } finally {
    await client.close();
  }
}

const [sdk, url] = process.argv.slice(2);
const answers = [];
for (const step of JSON.parse(await text(process.stdin))) answers.push(await take(sdk, url, step));
console.log(JSON.stringify(answers));
