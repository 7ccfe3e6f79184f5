// Everything that is asked of the server.

export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(method, path, { body, form, query } = {}) {
  const address = query ? `${path}?${new URLSearchParams(query)}` : path;
  const options = { method, headers: {} };
  if (form) options.body = form;
  else if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(`api/${address}`, options);
  } catch {
    throw new Refusal(0, "The workbench does not answer. Is the program still running?");
  }
  const text = await answer.text();
  let content = null;
  try {
    content = text ? JSON.parse(text) : null;
  } catch {
    throw new Refusal(answer.status, "The workbench gave an answer that cannot be read.");
  }
  if (!answer.ok) throw new Refusal(answer.status, sentence(content?.detail ?? answer.statusText));
  return content;
}

/** A capital and a full stop; names of files stay as they are. */
function sentence(text) {
  const plain = String(text);
  const isName = /^\S*\.\w+:/.test(plain);
  return (isName ? plain : plain.charAt(0).toUpperCase() + plain.slice(1)) + (/[.!?]$/.test(plain) ? "" : ".");
}

function formOf(field, files) {
  const form = new FormData();
  for (const file of files) form.append(field, file, file.name);
  return form;
}

export const about = () => ask("GET", "about");
export const openSample = (body) => ask("POST", "workbenches/sample", { body });
export const openCut = (file, query) => ask("POST", "workbenches/cut", { form: formOf("file", [file]), query });
export const openPieces = (files) => ask("POST", "workbenches/pieces", { form: formOf("files", files) });
export const openPhoto = (file) => ask("POST", "workbenches/photo", { form: formOf("file", [file]) });
export const openSaved = (file) => ask("POST", "workbenches/open", { form: formOf("file", [file]) });
export const read = (id) => ask("GET", `workbenches/${id}`);
export const change = (id, action, body) => ask("POST", `workbenches/${id}/${action}`, { body });
export const threshold = (id, value) => ask("PUT", `workbenches/${id}/threshold`, { body: { threshold: value } });
export const solve = (id, body) => ask("POST", `workbenches/${id}/solve`, { body });
export const job = (id, after) => ask("GET", `workbenches/${id}/job`, { query: { after, wait: 15 } });
export const cancel = (id) => ask("DELETE", `workbenches/${id}/job`);
export const exportAddress = (id, kind) => `api/workbenches/${id}/export/${kind}`;

/** Why these files cannot be sent, or null. */
export function tooMuch(files, limits) {
  const mb = (bytes) => `${Math.round(bytes / 1048576)} MB`;
  if (files.length > limits.max_files) return `${files.length} files; at most ${limits.max_files} at once.`;
  const large = files.find((file) => file.size > limits.max_file_bytes);
  if (large) return `${large.name} has ${mb(large.size)}; at most ${mb(limits.max_file_bytes)} are possible.`;
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > limits.max_request_bytes) return `Together ${mb(total)}; at most ${mb(limits.max_request_bytes)} are possible.`;
  return null;
}
