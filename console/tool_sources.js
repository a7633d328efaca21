// Reads what a new tool would do from a pasted cURL command or an OpenAPI document.
const DROPPED = /^(accept|content|host$|user-agent)|auth|cook|key|secret|session|token/i; // credentials, and what Skein sets
const METHODS = ["get", "post", "put", "patch", "delete"];
const DEEPEST = 8; // levels of references in a schema

/** What a command would call: name, method, url, headers and parameters. */
export function fromCurl(text) {
  const args = shellWords(text);
  if (args.shift() !== "curl") throw new Error("curl");
  let method = null, url = null, body = null;
  const headers = {};
  while (args.length > 0) {
    const [arg, inline] = splitLong(args.shift());
    const value = () => inline ?? args.shift() ?? "";
    if (["-X", "--request"].includes(arg)) method = value().toUpperCase();
    else if (["-H", "--header"].includes(arg)) {
      const [name, ...rest] = value().split(":");
      if (!DROPPED.test(name.trim())) headers[name.trim()] = rest.join(":").trim();
    } else if (["-d", "--data", "--data-raw", "--data-binary", "--json"].includes(arg)) body = value();
    else if (arg === "--url") url = value();
    else if (["-u", "--user", "-A", "--user-agent", "-b", "-o", "--output", "-m", "--max-time"].includes(arg) || arg.startsWith("--cook")) value();
    else if (!arg.startsWith("-")) url = arg;
  }
  if (url === null) throw new Error("url");
  const properties = {}, required = [];
  const address = new URL(/^https?:/.test(url) ? url : `https://${url}`);
  const path = withArguments(address, properties, required);
  const fields = body === null ? {} : JSON.parse(body);
  for (const [name, given] of Object.entries(fields)) properties[name] = { type: typeOf(given) };
  required.push(...Object.keys(fields));
  const chosen = method ?? (body === null ? "GET" : "POST");
  return { name: nameOf(`${chosen} ${address.pathname.replace(/\d+/g, "")}`), description: "", method: chosen, url: `${address.origin}${path}`, headers,
    parameters: { type: "object", properties, required } };
}

/** The operations of an OpenAPI document in JSON, each as a tool. */
export function fromOpenApi(text) {
  const document = JSON.parse(text);
  const base = (document.servers?.[0]?.url ?? "").replace(/\/$/, "");
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => operation(document, base, path, method, item)));
}

function operation(document, base, path, method, item) {
  const found = item[method], properties = {}, required = [], query = [];
  for (const each of [...(item.parameters ?? []), ...(found.parameters ?? [])].map((one) => resolved(document, one))) {
    if (each.in !== "path" && each.in !== "query") continue;
    properties[each.name] = { ...each.schema, ...(each.description ? { description: each.description } : {}) };
    if (each.required) required.push(each.name);
    if (each.in === "query" && method !== "get") query.push(`${each.name}={${each.name}}`);
  }
  const body = resolved(document, found.requestBody?.content?.["application/json"]?.schema ?? {});
  Object.assign(properties, body.properties);
  required.push(...(body.required ?? []));
  return { name: nameOf(found.operationId ?? `${method} ${path}`), description: found.summary ?? found.description ?? "", method: method.toUpperCase(),
    url: `${base}${path}${query.length > 0 ? `?${query.join("&")}` : ""}`, headers: {}, parameters: { type: "object", properties, required: [...new Set(required)] } };
}

/** A part of a document with its local references replaced. */
function resolved(document, value, depth = 0) {
  if (value === null || typeof value !== "object" || depth > DEEPEST) return value;
  if (Array.isArray(value)) return value.map((each) => resolved(document, each, depth + 1));
  if (typeof value.$ref === "string") {
    const target = value.$ref.replace(/^#\//, "").split("/").reduce((place, name) => place?.[name], document);
    return resolved(document, target ?? {}, depth + 1);
  }
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolved(document, each, depth + 1)]));
}

/** The path of an address in which numbers and values of the query are arguments. */
function withArguments(address, properties, required) {
  const argument = (name, value) => {
    properties[name] = { type: typeOf(value) };
    required.push(name);
    return `{${name}}`;
  };
  const segments = address.pathname.split("/");
  const path = segments.map((segment, place) =>
    (/\d/.test(segment) && !/^v\d+$/.test(segment) ? argument(nameOf(segments[place - 1] || "id").replace(/s$/, ""), segment) : segment)).join("/");
  const query = [...address.searchParams].map(([name, value]) => `${encodeURIComponent(name)}=${argument(nameOf(name), value)}`);
  return query.length > 0 ? `${path}?${query.join("&")}` : path;
}

function typeOf(value) {
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return { boolean: "boolean", object: "object" }[typeof value] ?? "string";
}

/** A name that a tool or an argument may have. */
function nameOf(text) {
  const plain = text.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^[_0-9]+|_+$/g, "");
  return plain.slice(0, 64) || "call";
}

function splitLong(word) {
  const at = word.indexOf("=");
  return word.startsWith("--") && at > 0 ? [word.slice(0, at), word.slice(at + 1)] : [word, null];
}

/** The words of a command, as a shell splits it. */
function shellWords(text) {
  const found = text.trim().replace(/\\\r?\n/g, " ").match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/g) ?? [];
  return found.map((word) => word.replace(/'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/g,
    (_, single, double, escaped) => single ?? double?.replace(/\\(["\\$`])/g, "$1") ?? escaped));
}
