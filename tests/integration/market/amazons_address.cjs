// A Node program with Amazon's address in its code. It prints one JSON document for the way in its argument.
const { MTurkClient, GetAccountBalanceCommand } = require("@aws-sdk/client-mturk");
const https = require("https");
const net = require("net");
const tls = require("tls");

const SANDBOX = "https://mturk-requester-sandbox.us-east-1.amazonaws.com";
const PRODUCTION = "https://mturk-requester.us-east-1.amazonaws.com";
const host = new URL(PRODUCTION).host;

const ended = (socket) =>
  new Promise((resolve, reject) => socket.on("error", reject).on("connect", () => resolve("connected")));

const ways = {
  async sdk() {
    const balances = [];
    for (const endpoint of [SANDBOX, PRODUCTION]) {
      const mturk = new MTurkClient({ endpoint, region: "us-east-1" });
      balances.push((await mturk.send(new GetAccountBalanceCommand({}))).AvailableBalance);
    }
    return balances;
  },
  async fetch() {
    return (await fetch(PRODUCTION, { method: "POST", body: "{}" })).status;
  },
  https: () =>
    new Promise((resolve, reject) => {
      const agent = new https.Agent({ keepAlive: true }); // of its own, as the SDK has one
      const request = https.request({ host, method: "POST", agent }, (reply) => {
        reply.resume();
        reply.on("end", () => resolve(reply.statusCode));
      });
      request.on("error", reject).end("{}");
    }),
  another: () => ended(tls.connect({ host: "s3.amazonaws.com", port: 443, servername: "s3.amazonaws.com" })),
  straight: () => ended(net.connect(443, host)),
  plain: () => fetch(`http://${host}/`).then((reply) => reply.status),
};

ways[process.argv[2]]().then(
  (reply) => console.log(JSON.stringify({ reply })),
  (error) => console.log(JSON.stringify({ error: `${error.message} ${error.cause ? error.cause.message : ""}` })),
);
