/* The moving part of a picture, pixel by pixel.

   A canvas is quick at a few large shapes and slow at hundreds of small ones, above all without a
   graphics card. So trails and discs are blended by hand into a copy of what lies behind them, which
   is opaque and square, and the canvas gets the whole in one piece. All lengths are its pixels. */

class Pixels {
  constructor(behind) {
    this.side = behind.width;
    this.image = behind.getContext("2d").getImageData(0, 0, this.side, this.side);
    this.words = new Uint32Array(this.image.data.buffer); // a pixel is one word
    this.behind = this.words.slice();
  }

  /** Only what lies behind. */
  clear() {
    this.words.set(this.behind);
  }

  /** A straight line, smooth at its sides: the pixels it covers in every column, or in every row of
      a steep one, each by the share that is covered. */
  line(fromX, fromY, toX, toY, width, [red, green, blue], alpha) {
    const steep = Math.abs(toY - fromY) > Math.abs(toX - fromX);
    let [u, v, uEnd, vEnd] = steep ? [fromY, fromX, toY, toX] : [fromX, fromY, toX, toY];
    if (u > uEnd) [u, v, uEnd, vEnd] = [uEnd, vEnd, u, v];
    const slope = uEnd > u ? (vEnd - v) / (uEnd - u) : 0;
    const half = 0.5 * width * Math.sqrt(1 + slope * slope);
    const { side, image: { data } } = this;
    const [forward, across] = steep ? [4 * side, 4] : [4, 4 * side];
    const last = Math.min(side - 1, Math.floor(uEnd));
    for (let p = Math.max(0, Math.floor(u)); p <= last; p++) {
      const along = Math.min(p + 1, uEnd) - Math.max(p, u);
      const middle = v + slope * (Math.max(p, u) + 0.5 * along - u);
      const high = Math.min(side - 1, Math.floor(middle + half));
      for (let q = Math.max(0, Math.floor(middle - half)); q <= high; q++) {
        const covered = Math.min(q + 1, middle + half) - Math.max(q, middle - half);
        const share = alpha * along * covered;
        const at = p * forward + q * across;
        data[at] += share * (red - data[at]);
        data[at + 1] += share * (green - data[at + 1]);
        data[at + 2] += share * (blue - data[at + 2]);
      }
    }
  }

  /** A small square image around a place, at whole pixels. */
  stamp({ data: ink, words: inkWords, width }, x, y) {
    const { side, words, image: { data } } = this;
    const [left, top] = [Math.round(x - width / 2), Math.round(y - width / 2)];
    const [first, end] = [Math.max(0, -left), Math.min(width, side - left)];
    for (let row = Math.max(0, -top); row < width && top + row < side; row++) {
      let from = row * width + first;
      let to = (top + row) * side + left + first;
      for (let column = first; column < end; column++, from++, to++) {
        const alpha = ink[4 * from + 3];
        if (alpha === 255) words[to] = inkWords[from];
        else if (alpha > 0) {
          for (let n = 0; n < 3; n++) {
            data[4 * to + n] += (alpha / 255) * (ink[4 * from + n] - data[4 * to + n]);
          }
        }
      }
    }
  }
}
