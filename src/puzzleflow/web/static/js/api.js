// Everything that is asked of the server.

import { spoken, t } from "./text.js";

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
    throw new Refusal(0, t("no-answer"));
  }
  const text = await answer.text();
  let content = null;
  try {
    content = text ? JSON.parse(text) : null;
  } catch {
    throw new Refusal(answer.status, t("bad-answer"));
  }
  if (!answer.ok) throw new Refusal(answer.status, sentence(spoken(content?.detail ?? answer.statusText)));
  return content;
}

/** A capital and a full stop; names of files stay as they are. */
export function sentence(text) {
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
export const recent = () => ask("GET", "workbenches");
export const openSample = (body) => ask("POST", "workbenches/sample", { body });
export const openCut = (file, query) => ask("POST", "workbenches/cut", { form: formOf("file", [file]), query });
export const openPieces = (files) => ask("POST", "workbenches/pieces", { form: formOf("files", files) });
export const openPhoto = (file) => ask("POST", "workbenches/photo", { form: formOf("file", [file]) });
export const openSaved = (file) => ask("POST", "workbenches/open", { form: formOf("file", [file]) });
export const read = (id) => ask("GET", `workbenches/${id}`);
export const forget = (id) => ask("DELETE", `workbenches/${id}`);
export const change = (id, action, body) => ask("POST", `workbenches/${id}/${action}`, { body });
export const setSheet = (id, body) => ask("PUT", `workbenches/${id}/sheet`, { body });
export const threshold = (id, value) => ask("PUT", `workbenches/${id}/threshold`, { body: { threshold: value } });
export const get = (id, what, query) => ask("GET", `workbenches/${id}/${what}`, { query });
export const job = (id, after) => ask("GET", `workbenches/${id}/job`, { query: { after, wait: 15 } });
export const cancel = (id) => ask("DELETE", `workbenches/${id}/job`);
export const exportAddress = (id, kind, query) =>
  `api/workbenches/${id}/export/${kind}?${new URLSearchParams(query)}`;

/** Why these files cannot be sent, or null. */
export function tooMuch(files, limits) {
  const mb = (bytes) => `${Math.round(bytes / 1048576)} MB`;
  if (files.length > limits.max_files) return t("too-many-files", { n: files.length, most: limits.max_files });
  const large = files.find((file) => file.size > limits.max_file_bytes && !/\.zip$/i.test(file.name));
  if (large) return t("file-too-large", { name: large.name, size: mb(large.size), most: mb(limits.max_file_bytes) });
  const total = files.reduce((sum, file) => sum + file.size, 0);
  if (total > limits.max_request_bytes) return t("upload-too-large", { size: mb(total), most: mb(limits.max_request_bytes) });
  return null;
}
