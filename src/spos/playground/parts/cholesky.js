/* K = L Lᵀ for the kernel matrix K, in blocks of 4 rows and 3 columns: twelve sums share what they
   read, and with it they just fit the registers of a processor. */

/** The factor of K + lift · I, count × count; only its lower half means anything. `k` as in
    `pairs.js`. */
function cholesky(k, count, lift) {
  const side = 3 * Math.ceil(count / 3); // filled up with rows of the identity
  const m = new Float64Array((side + 3) * side); // the last block of rows may reach beyond
  for (let i = 0, n = 0; i < side; i++) {
    m[i * side + i] = i < count ? 1 + lift : 1;
    for (let j = 0; j < i && i < count; j++, n++) m[i * side + j] = k[n];
  }
  for (let j = 0; j < side; j += 3) {
    for (let i = j; i < side; i += 4) subtractBefore(m, side, i, j);
    factorColumns(m, side, j);
  }
  if (side === count) return m;
  const root = new Float64Array(count * count);
  for (let i = 0; i < count; i++) root.set(m.subarray(i * side, i * side + count), i * count);
  return root;
}

/** The block at (i, j) less the products of rows of L over the columns before j. */
function subtractBefore(m, side, i, j) {
  let s00 = 0, s01 = 0, s02 = 0;
  let s10 = 0, s11 = 0, s12 = 0;
  let s20 = 0, s21 = 0, s22 = 0;
  let s30 = 0, s31 = 0, s32 = 0;
  for (let c = 0, x = i * side, y = j * side; c < j; c++, x++, y++) {
    const a0 = m[x], a1 = m[x + side], a2 = m[x + 2 * side], a3 = m[x + 3 * side];
    const b0 = m[y], b1 = m[y + side], b2 = m[y + 2 * side];
    s00 += a0 * b0; s01 += a0 * b1; s02 += a0 * b2;
    s10 += a1 * b0; s11 += a1 * b1; s12 += a1 * b2;
    s20 += a2 * b0; s21 += a2 * b1; s22 += a2 * b2;
    s30 += a3 * b0; s31 += a3 * b1; s32 += a3 * b2;
  }
  let at = i * side + j;
  m[at] -= s00; m[at + 1] -= s01; m[at + 2] -= s02;
  at += side; m[at] -= s10; m[at + 1] -= s11; m[at + 2] -= s12;
  at += side; m[at] -= s20; m[at + 1] -= s21; m[at + 2] -= s22;
  at += side; m[at] -= s30; m[at + 1] -= s31; m[at + 2] -= s32;
}

/** Three columns of L, whose earlier columns have been taken off, row by row. */
function factorColumns(m, side, j) {
  const row = (i) => i * side + j;
  const a = Math.sqrt(m[row(j)]);
  const b = m[row(j + 1)] / a;
  const d = Math.sqrt(m[row(j + 1) + 1] - b * b);
  const c = m[row(j + 2)] / a;
  const e = (m[row(j + 2) + 1] - c * b) / d;
  const f = Math.sqrt(m[row(j + 2) + 2] - c * c - e * e);
  m[row(j)] = a;
  m.set([b, d], row(j + 1));
  m.set([c, e, f], row(j + 2));
  for (let i = j + 3, at = row(i); i < side; i++, at += side) {
    const x = m[at] / a;
    const y = (m[at + 1] - b * x) / d;
    m[at] = orNothing(x);
    m[at + 1] = orNothing(y);
    m[at + 2] = orNothing((m[at + 2] - c * x - e * y) / f);
  }
}

/** Zero for numbers whose products would underflow, which makes a processor many times slower. */
function orNothing(x) {
  return Math.abs(x) > 1e-100 ? x : 0;
}

/** x with L Lᵀ x = b, for each column of b (count × size). */
function choleskySolve(root, right, count, size) {
  const columns = transposed(right, count);
  for (let c = 0; c < size; c++) {
    const x = columns.subarray(c * count, (c + 1) * count);
    for (let i = 0; i < count; i++) {
      let rest = x[i];
      for (let j = 0; j < i; j++) rest -= root[i * count + j] * x[j];
      x[i] = rest / root[i * count + i];
    }
    for (let i = count - 1; i >= 0; i--) {
      const value = (x[i] /= root[i * count + i]);
      for (let j = 0; j < i; j++) x[j] -= root[i * count + j] * value;
    }
  }
  return transposed(columns, size);
}

/** L x for each column of x. */
function choleskyTimes(root, x, count, size) {
  const columns = transposed(x, count);
  const product = new Float64Array(count * size);
  for (let c = 0; c < size; c++) {
    for (let i = 0; i < count; i++) {
      let sum = 0;
      for (let j = 0; j <= i; j++) sum += root[i * count + j] * columns[c * count + j];
      product[i * size + c] = sum;
    }
  }
  return product;
}
