// Perfetto's trace processor in a worker, for a page: the part of the stream protocol in perfetto's
// protos/perfetto/trace_processor/trace_processor.proto that loading and queries need.

const APPEND = 1;
const FINALIZE = 2;
const QUERY = 3;
/** Fields of the messages. */
const FIELD = { message: 1, appendData: 101, queryArgs: 103, appendResult: 201, queryResult: 203, error: 2, batch: 3 };

export class Engine {
  #port;
  #answers = [];
  #received = new Uint8Array();
  #arrived = () => {};
  #sequence = 0;

  constructor(script) {
    const { port1, port2 } = new MessageChannel();
    new Worker(script).postMessage(port2, [port2]);
    this.#port = port1;
    this.#port.onmessage = ({ data }) => this.#receive(data);
  }

  /** Loads the trace at an address. */
  async load(url) {
    const { body } = await fetch(url);
    for await (const piece of pieces(body)) {
      const answer = await this.#ask(APPEND, bytes(FIELD.appendData, piece));
      failIf(field(answer, FIELD.appendResult));
    }
    await this.#ask(FINALIZE);
  }

  /** The number of cells of the answer to a query. */
  async query(sql) {
    let answer = await this.#ask(QUERY, bytes(FIELD.queryArgs, bytes(1, new TextEncoder().encode(sql))));
    for (let cells = 0; ; answer = await this.#next()) {
      const result = field(answer, FIELD.queryResult);
      failIf(result);
      const batches = fields(result ?? new Uint8Array()).filter(([number]) => number === FIELD.batch);
      cells += batches.reduce((sum, [, batch]) => sum + (field(batch, 1)?.length ?? 0), 0);
      if (batches.some(([, batch]) => field(batch, 6) === 1)) return cells;
    }
  }

  #ask(request, ...rest) {
    this.#sequence += 1;
    const call = join(number(1, this.#sequence), number(2, request), ...rest);
    this.#port.postMessage(bytes(FIELD.message, call));
    return this.#next();
  }

  async #next() {
    while (this.#answers.length === 0) {
      await new Promise((arrived) => {
        this.#arrived = arrived;
      });
    }
    return this.#answers.shift();
  }

  /** Reads answers, which arrive in pieces of any length. */
  #receive(data) {
    this.#received = join(this.#received, data);
    for (;;) {
      const [length, at] = readVarint(this.#received, 1);
      if (Number.isNaN(length) || this.#received.length < at + length) break;
      this.#answers.push(this.#received.slice(at, at + length));
      this.#received = this.#received.slice(at + length);
    }
    this.#arrived();
  }
}

function failIf(result) {
  const error = result && field(result, FIELD.error);
  if (error?.length) throw new Error(new TextDecoder().decode(error));
}

async function* pieces(body) {
  const reader = body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

function varint(value) {
  const digits = [];
  for (; value >= 128; value = Math.floor(value / 128)) digits.push((value % 128) | 128);
  return [...digits, value];
}

/** A number and its end; NaN when it is incomplete. */
function readVarint(message, from) {
  let value = 0;
  for (let at = from, scale = 1; at < message.length; at += 1, scale *= 128) {
    value += (message[at] & 127) * scale;
    if (message[at] < 128) return [value, at + 1];
  }
  return [Number.NaN, message.length];
}

function join(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function bytes(number, content) {
  return join(varint(number * 8 + 2), varint(content.length), content);
}

function number(field, value) {
  return join(varint(field * 8), varint(value));
}

/** Fields of a message: number, and value or bytes. */
function fields(message) {
  const found = [];
  for (let at = 0; at < message.length; ) {
    const [key, behind] = readVarint(message, at);
    const [value, next] = key % 8 === 1 || key % 8 === 5 ? [0, behind] : readVarint(message, behind);
    const length = { 0: 0, 1: 8, 2: value, 5: 4 }[key % 8] ?? 0;
    found.push([Math.floor(key / 8), key % 8 === 0 ? value : message.subarray(next, next + length)]);
    at = next + length;
  }
  return found;
}

function field(message, number) {
  return fields(message).find(([known]) => known === number)?.[1];
}
