/* K = L Lᵀ for the kernel matrix K, in blocks of 4 × 4: sixteen sums share what they
   read, so that memory is asked less often. */

/** The factor of K + lift · I, count × count; only its lower half means anything. `k` as in
    `pairs.js`. */
function cholesky(k, count, lift) {
  const side = 4 * Math.ceil(count / 4); // filled up with rows of the identity
  const m = new Float64Array(side * side);
  for (let i = 0, n = 0; i < side; i++) {
    m[i * side + i] = i < count ? 1 + lift : 1;
    for (let j = 0; j < i && i < count; j++, n++) m[i * side + j] = k[n];
  }
  for (let j = 0; j < side; j += 4) {
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
  let s00 = 0, s01 = 0, s02 = 0, s03 = 0;
  let s10 = 0, s11 = 0, s12 = 0, s13 = 0;
  let s20 = 0, s21 = 0, s22 = 0, s23 = 0;
  let s30 = 0, s31 = 0, s32 = 0, s33 = 0;
  for (let c = 0, x = i * side, y = j * side; c < j; c++, x++, y++) {
    const a0 = m[x], a1 = m[x + side], a2 = m[x + 2 * side], a3 = m[x + 3 * side];
    const b0 = m[y], b1 = m[y + side], b2 = m[y + 2 * side], b3 = m[y + 3 * side];
    s00 += a0 * b0; s01 += a0 * b1; s02 += a0 * b2; s03 += a0 * b3;
    s10 += a1 * b0; s11 += a1 * b1; s12 += a1 * b2; s13 += a1 * b3;
    s20 += a2 * b0; s21 += a2 * b1; s22 += a2 * b2; s23 += a2 * b3;
    s30 += a3 * b0; s31 += a3 * b1; s32 += a3 * b2; s33 += a3 * b3;
  }
  let at = i * side + j;
  m[at] -= s00; m[at + 1] -= s01; m[at + 2] -= s02; m[at + 3] -= s03;
  at += side; m[at] -= s10; m[at + 1] -= s11; m[at + 2] -= s12; m[at + 3] -= s13;
  at += side; m[at] -= s20; m[at + 1] -= s21; m[at + 2] -= s22; m[at + 3] -= s23;
  at += side; m[at] -= s30; m[at + 1] -= s31; m[at + 2] -= s32; m[at + 3] -= s33;
}

/** Four columns of L, whose earlier columns have been taken off. */
function factorColumns(m, side, first) {
  for (let j = first; j < first + 4; j++) {
    for (let c = first; c < j; c++) {
      const factor = m[j * side + c];
      for (let i = j; i < side; i++) m[i * side + j] -= m[i * side + c] * factor;
    }
    const root = Math.sqrt(m[j * side + j]);
    for (let i = j; i < side; i++) m[i * side + j] /= root;
  }
}

/** x with L Lᵀ x = b, for each column of b (count × size). */
function choleskySolve(root, right, count, size) {
  const x = Float64Array.from(right);
  for (let c = 0; c < size; c++) {
    for (let i = 0; i < count; i++) {
      let rest = x[i * size + c];
      for (let j = 0; j < i; j++) rest -= root[i * count + j] * x[j * size + c];
      x[i * size + c] = rest / root[i * count + i];
    }
    for (let i = count - 1; i >= 0; i--) {
      const value = x[i * size + c] / root[i * count + i];
      x[i * size + c] = value;
      for (let j = 0; j < i; j++) x[j * size + c] -= root[i * count + j] * value;
    }
  }
  return x;
}

/** L x for each column of x. */
function choleskyTimes(root, x, count, size) {
  const product = new Float64Array(count * size);
  for (let i = 0; i < count; i++) {
    for (let j = 0; j <= i; j++) {
      const weight = root[i * count + j];
      for (let c = 0; c < size; c++) product[i * size + c] += weight * x[j * size + c];
    }
  }
  return product;
}
