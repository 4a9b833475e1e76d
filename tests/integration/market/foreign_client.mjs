// A program around AWS's own JavaScript client: one call a line on stdin, one reply a line on stdout.
import { createInterface } from "node:readline";
import * as aws from "@aws-sdk/client-mturk";

const mturk = new aws.MTurkClient();
for await (const line of createInterface({ input: process.stdin })) {
  const { operation, parameters } = JSON.parse(line);
  if ("ExpireAt" in parameters) parameters.ExpireAt = new Date(parameters.ExpireAt * 1000);
  try {
    const reply = await mturk.send(new aws[`${operation}Command`](parameters));
    console.log(JSON.stringify({ reply }));
  } catch (error) {
    console.log(JSON.stringify({ refusal: `${error.name} ${error.TurkErrorCode ?? ""} ${error.message}` }));
  }
}
