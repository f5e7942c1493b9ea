/* The settings, what values each can take, and the address that holds them.

   Everything after # in the address is `name=value&…`, with only what differs from the start page.
   A run nobody interfered with is shared as its number of steps (`at`) and repeated on arrival; any
   other one with its particles (`cloud`). A drawing travels as its points (`ink`). What is not
   understood is left out, so that no address can break the page. */

const MOST_PARTICLES = 1000;
const LONGEST_REPLAY = 3000; // steps
const CLOUD_REACH = 32; // particles in an address are 16-bit numbers between ± this

const oneOf = (...values) => ({
  initial: values[0],
  read: (text) => values.find((value) => value === text),
});
const number = (initial, low, high) => ({
  initial, low, high,
  read: (text) => {
    const value = Number(text);
    return text.trim() && Number.isFinite(value) ? Math.max(low, Math.min(high, value)) : undefined;
  },
});
const whole = (...range) => {
  const field = number(...range);
  const read = (text) => (Number.isInteger(Number(text)) ? field.read(text) : undefined);
  return { ...field, read, whole: true };
};

const FIELDS = {
  view: oneOf("plane", "dimension"),
  target: oneOf("three", "gaussian", "banana", "ring", "funnel", "U1", "U2", "U3", "U4", "drawn"),
  left: oneOf("svgd", ...Object.keys(METHODS)),
  right: oneOf("spos", ...Object.keys(METHODS)),
  beta: number(1, 0.1, 100),
  step: number(0.03, 0.001, 1),
  count: whole(100, 1, MOST_PARTICLES),
  rule: oneOf("median", "fixed"),
  bandwidth: number(1, 0.01, 10),
  speed: whole(0, -4, 4), // a power of two
  start: oneOf("clump", "spread"),
  seed: whole(1, 0, 2 ** 31 - 1),
  dimension: whole(2, 2, 200),
  theme: oneOf("auto", "light", "dark"),
};

function initialSettings() {
  return Object.fromEntries(Object.entries(FIELDS).map(([name, field]) => [name, field.initial]));
}

/** What an address says: settings, and `at`, `cloud` and `ink` where they are given. */
function readAddress(hash) {
  const said = new URLSearchParams(hash.replace(/^#/, ""));
  const settings = initialSettings();
  for (const [name, field] of Object.entries(FIELDS)) {
    const value = said.has(name) ? field.read(said.get(name)) : undefined;
    if (value !== undefined) settings[name] = value;
  }
  const at = said.has("at") ? whole(0, 0, 1e9).read(said.get("at")) : undefined;
  const clouds = readClouds(said.get("cloud"));
  const ink = readInk(said.get("ink"));
  if (clouds) settings.count = clouds[0].length / 2;
  return { settings, at, clouds, ink };
}

function writeAddress(settings, { at, clouds, ink }) {
  const said = new URLSearchParams();
  for (const [name, field] of Object.entries(FIELDS)) {
    if (settings[name] !== field.initial) said.set(name, String(settings[name]));
  }
  if (at !== undefined) said.set("at", String(at));
  if (clouds) said.set("cloud", writeClouds(clouds));
  if (ink) said.set("ink", writeInk(ink));
  return said.toString();
}

function writeClouds(clouds) {
  const words = clouds.flatMap((theta) =>
    Array.from(theta, (x) => Math.round((x / CLOUD_REACH) * 0x7fff)));
  const clipped = words.map((word) => Math.max(-0x7fff, Math.min(0x7fff, word)));
  return toText(clipped.flatMap((word) => [(word >> 8) & 255, word & 255]));
}

function readClouds(text) {
  const bytes = fromText(text);
  if (!bytes || bytes.length === 0 || bytes.length % 8) return undefined;
  const half = bytes.length / 4;
  if (half / 2 > MOST_PARTICLES) return undefined;
  const value = (n) => (((bytes[2 * n] << 24) >> 16) | bytes[2 * n + 1]) * (CLOUD_REACH / 0x7fff);
  const cloud = (first) => Float64Array.from({ length: half }, (_, n) => value(first + n));
  return [cloud(0), cloud(half)];
}

function writeInk(points) {
  return toText(points.flat().map((z) => Math.round(z / INK_UNIT) + 128));
}

function readInk(text) {
  const bytes = fromText(text);
  if (!bytes || bytes.length % 2 || bytes.length > 2 * INK.most) return undefined;
  return Array.from({ length: bytes.length / 2 }, (_, n) =>
    inkPoint((bytes[2 * n] - 128) * INK_UNIT, (bytes[2 * n + 1] - 128) * INK_UNIT));
}

/** Bytes in letters that an address may have (base64url). */
function toText(bytes) {
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return btoa(letters).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

function fromText(text) {
  if (text === null || text === undefined) return undefined;
  try {
    const letters = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}
