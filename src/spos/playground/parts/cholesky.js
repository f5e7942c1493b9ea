/* K = L Lᵀ for the kernel matrix K, row by row: all sums run along rows of L. */

/** The lower half of K + lift · I, count × count, factored in place. `k` as in `pairs.js`. */
function cholesky(k, count, lift) {
  const root = new Float64Array(count * count);
  for (let i = 0, n = 0; i < count; i++) {
    const row = i * count;
    for (let j = 0; j < i; j++, n++) {
      root[row + j] = (k[n] - dot(root, row, j * count, j)) / root[j * count + j];
    }
    root[row + i] = Math.sqrt(1 + lift - dot(root, row, row, i));
  }
  return root;
}

/** Σ_c m[a + c] m[b + c] over `length` terms; four sums at once keep the processor busy. */
function dot(m, a, b, length) {
  let s0 = 0;
  let s1 = 0;
  let s2 = 0;
  let s3 = 0;
  const end = a + length;
  for (; a + 3 < end; a += 4, b += 4) {
    s0 += m[a] * m[b];
    s1 += m[a + 1] * m[b + 1];
    s2 += m[a + 2] * m[b + 2];
    s3 += m[a + 3] * m[b + 3];
  }
  for (; a < end; a++, b++) s0 += m[a] * m[b];
  return s0 + s1 + (s2 + s3);
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
