/* Random numbers as a function of (seed, stream, number), so that a run can be repeated, two
   methods can share their noise, and the noise of the next step can be looked at before it is used.

   The words are hashed into the state of a small generator (sfc32, of C. Doty-Humphrey); Box and
   Muller make normals of its uniforms. */

const STREAM = { start: 1, noise: 2, luck: 3, draws: 4, pairs: 5, normal: 6 };

function scramble(word) {
  word = Math.imul(word ^ (word >>> 16), 0x21f0aaad);
  word = Math.imul(word ^ (word >>> 15), 0x735a2d97);
  return (word ^ (word >>> 15)) >>> 0;
}

/** A function that gives uniform numbers in (0, 1). */
function generator(...words) {
  let hash = 0x9e3779b9;
  for (const word of words) hash = scramble((hash ^ word) + 0x9e3779b9);
  let [a, b, c, count] = [1, 2, 3, 1].map((n) => scramble(hash + Math.imul(n, 0x85ebca6b)));
  const next = () => {
    const sum = (a + b + count) >>> 0;
    count = (count + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = (((c << 21) | (c >>> 11)) + sum) >>> 0;
    return (sum + 0.5) / 2 ** 32;
  };
  for (let n = 0; n < 12; n++) next();
  return next;
}

function uniforms(count, ...words) {
  const next = generator(...words);
  return Float64Array.from({ length: count }, next);
}

function normals(count, ...words) {
  const next = generator(...words);
  const drawn = new Float64Array(count + (count % 2));
  for (let n = 0; n < count; n += 2) {
    const radius = Math.sqrt(-2 * Math.log(next()));
    const angle = 2 * Math.PI * next();
    drawn[n] = radius * Math.cos(angle);
    drawn[n + 1] = radius * Math.sin(angle);
  }
  return drawn.subarray(0, count);
}
