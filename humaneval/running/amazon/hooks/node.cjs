// Loaded by every Node of a program under `market run`. Node before version 24 knows no proxy, so every TLS
// connection to another machine is made through a tunnel here, whichever library asks for it. A connection
// to Amazon past the proxy is stopped.
"use strict";
const net = require("net");
const tls = require("tls");
const { Duplex } = require("stream");

const domains = (process.env.MARKET_RUN_AMAZON || "").split(" ").filter(Boolean);
const proxy = domains.length ? new URL(process.env.HTTPS_PROXY) : null;
const told = new Set();

const plain = (host) => String(host).replace(/\.$/, "").toLowerCase();
const isAmazons = (host) => domains.some((domain) => host === domain || host.endsWith("." + domain));
const isLocal = (host) => host === "localhost" || host === "::1" || host.startsWith("127.");

// A stream that is a tunnel as soon as the proxy has agreed. What is written before then waits.
class Tunnel extends Duplex {
  constructor(host, port) {
    super();
    const name = net.isIPv6(host) ? `[${host}]` : host;
    this.raw = net.connect(proxy.port, proxy.hostname);
    this.raw.write(`CONNECT ${name}:${port} HTTP/1.1\r\nHost: ${name}:${port}\r\n\r\n`);
    this.agreed = new Promise((resolve) => {
      let head = Buffer.alloc(0);
      const read = (data) => {
        head = Buffer.concat([head, data]);
        const end = head.indexOf("\r\n\r\n");
        if (end < 0) return;
        this.raw.off("data", read);
        const line = head.subarray(0, head.indexOf("\r\n")).toString();
        if (!/^HTTP\/1\.1 200 /.test(line)) {
          this.destroy(new Error(line.replace(/^HTTP\/1\.1 /, "")));
          return;
        }
        this.raw.on("data", (more) => this.push(more) || this.raw.pause());
        if (head.length > end + 4) this.push(head.subarray(end + 4));
        resolve();
      };
      this.raw.on("data", read);
    });
    this.raw.on("end", () => this.push(null));
    this.raw.on("error", (error) => this.destroy(error));
    this.raw.on("close", () => this.destroy());
  }

  _read() {
    this.raw.resume();
  }

  _write(data, encoding, done) {
    this.agreed.then(() => this.raw.write(data, encoding, done));
  }

  _final(done) {
    this.agreed.then(() => this.raw.end(done));
  }

  _destroy(error, done) {
    this.raw.destroy();
    done(error);
  }
}

// The options of tls.connect, which takes (options), (port, options) or (port, host, options).
function optionsOf(args) {
  const given = args.find((arg) => arg !== null && typeof arg === "object") || {};
  const options = { ...given };
  if (typeof args[0] !== "object") options.port = args[0];
  if (typeof args[1] === "string") options.host = args[1];
  return options;
}

if (proxy) {
  const connectTls = tls.connect;
  tls.connect = function connect(...args) {
    const options = optionsOf(args);
    const host = plain(options.host || "localhost");
    if (options.socket || options.path || isLocal(host)) return connectTls.apply(this, args);
    options.socket = new Tunnel(host, options.port || 443);
    if (options.servername === undefined && !net.isIP(host)) options.servername = host;
    const listener = args.find((arg) => typeof arg === "function");
    const socket = connectTls.call(this, options, listener);
    // A connection kept for later must not keep the program running.
    for (const name of ["ref", "unref"]) {
      socket[name] = () => {
        options.socket.raw[name]();
        return socket;
      };
    }
    return socket;
  };

  const connectPlain = net.Socket.prototype.connect;
  net.Socket.prototype.connect = function connect(...args) {
    const given = Array.isArray(args[0]) ? args[0] : args;
    const host = plain(typeof given[0] === "object" ? given[0] && given[0].host : given[1]);
    if (!isAmazons(host)) return connectPlain.apply(this, args);
    const message = `market run: stopped a connection past the proxy to ${host}: nothing may reach Amazon`;
    if (!told.has(host)) process.stderr.write(message + "\n");
    told.add(host);
    process.nextTick(() => this.destroy(new Error(message)));
    return this;
  };
}
