// What the bars save: the picture, the table, the numbers.

function saving(view) {
  const { head, packet, root, theme } = view, rows = head.rows;
  const column = (name) => Float32Array.from(rows, (row) => row[name]);
  return {
    name: `what comes next, step ${head.step + 1}`, code: head.python, packet,
    size: () => { const { width, height } = root.getBoundingClientRect(); return [width, height]; },
    paint: (pen) => paintElement(pen, root, root, theme),
    rows: () => [["token", "id", "probability", "after filters", "cut", "taken"],
      ...rows.map((row) => [row.token, row.id ?? "", row.before, row.after, row.cut, row.id === head.taken ? "taken" : ""])],
    arrays: () => ({
      ids: { shape: [rows.length], values: Float32Array.from(rows, (row) => row.id ?? -1), axes: ["candidate"] },
      before: { shape: [rows.length], values: column("before"), axes: ["candidate"] },
      after: { shape: [rows.length], values: column("after"), axes: ["candidate"] },
    }),
  };
}
