// Three files of the visitor's own, sent one after the other: the beginning of the weights is judged before the rest is sent.
const CONFIG = "config.json", TOKENIZER = "tokenizer.json", WEIGHTS = "model.safetensors";
const NAMES = [CONFIG, TOKENIZER, WEIGHTS], NEEDED = [CONFIG, WEIGHTS];   // a model of pictures has no tokenizer
const kept = new WeakMap();   // what was chosen stays when the page is drawn anew

const size = (n) => n < 2 ** 20 ? `${Math.ceil(n / 1024).toLocaleString("en")} KB` : `${(n / 2 ** 20).toFixed(1)} MB`;

export default function ({ parentElement, data, setTriggerValue }) {
  const find = (name) => parentElement.querySelector(`[data-${name}]`);
  const [box, files, open, stop, bar, said] = ["box", "files", "open", "stop", "bar", "said"].map(find);
  const state = kept.get(box) ?? { chosen: new Map(), sending: null };
  kept.set(box, state);
  const base = location.pathname.replace(/[^/]*$/, "");

  speak(parentElement, data.words);

  const tell = (words) => { said.textContent = words; };
  const draw = () => {
    for (const name of NAMES) {
      const file = state.chosen.get(name);
      const row = find(`file="${name}"`);
      row.textContent = file ? `${name}, ${size(file.size)}` : name;
      row.toggleAttribute("data-there", Boolean(file));
    }
    open.disabled = Boolean(state.sending) || NEEDED.some((name) => !state.chosen.has(name));
    stop.hidden = bar.hidden = !state.sending;
    box.toggleAttribute("data-busy", Boolean(state.sending));
  };

  const choose = (found) => {
    const strange = [];
    for (const file of found) NAMES.includes(file.name) ? state.chosen.set(file.name, file) : strange.push(file.name);
    const large = NAMES.filter((name) => (state.chosen.get(name)?.size ?? 0) > data.most[name]);
    for (const name of large) state.chosen.delete(name);
    tell(
      large.length ? say("{file} is too large: it may have at most {size}.", { file: large[0], size: size(data.most[large[0]]) })
        : strange.length ? say("{files}: none of the three files. Choose {names}.", { files: strange.slice(0, 3).join(", "), names: NAMES.join(", ") })
        : NAMES.every((name) => state.chosen.has(name)) ? say("All three are chosen.")
        : NEEDED.every((name) => state.chosen.has(name)) ? say("Without {file} only a model that reads pictures opens.", { file: TOKENIZER })
        : "",
    );
    draw();
  };

  const send = (part, body, from, whole) => new Promise((done, failed) => {
    const request = state.sending = new XMLHttpRequest();
    request.open("POST", `${base}upload/${data.ticket}/${part}`);
    request.upload.onprogress = (event) => { bar.value = (from + event.loaded) / whole; };
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* told below */ }
      if (request.status === 200) done(answer);
      else failed(new Error([answer.wrong, answer.rule, answer.remedy].filter(Boolean).join(" ") || say("The server answered {status}. Try again.", { status: request.status })));
    };
    request.onerror = () => failed(new Error(say("The connection broke. The files are still chosen: try again.")));
    request.onabort = () => failed(new Error(say("Ended. The files are still chosen.")));
    draw();
    request.send(body);
  });

  const upload = async () => {
    const [config, tokenizer, weights] = NAMES.map((name) => state.chosen.get(name));
    const whole = config.size + (tokenizer?.size ?? 0) + weights.size;
    let from = 0;
    try {
      tell(say("Sending and judging."));
      bar.value = 0;
      await send(CONFIG, config, from, whole);
      from += config.size;
      if (tokenizer) {
        await send(TOKENIZER, tokenizer, from, whole);
        from += tokenizer.size;
      }
      const first = new DataView(await weights.slice(0, 8).arrayBuffer());
      const listed = first.byteLength === 8 ? Number(first.getBigUint64(0, true)) : 0;
      await send(`head?bytes=${weights.size}`, weights.slice(0, Math.min(8 + listed, data.head, weights.size)), from, whole);
      tell(say("Judged. Sending {size} of weights.", { size: size(weights.size) }));
      const { name } = await send(WEIGHTS, weights, from, whole);
      tell(say("It is open."));
      setTriggerValue("came", name);
    } catch (error) {
      tell(error.message);
    } finally {
      state.sending = null;
      draw();
    }
  };

  files.onchange = () => { choose(files.files); files.value = ""; };
  box.ondragover = (event) => { event.preventDefault(); box.toggleAttribute("data-over", true); };
  box.ondragleave = () => box.toggleAttribute("data-over", false);
  box.ondrop = (event) => { event.preventDefault(); box.toggleAttribute("data-over", false); choose(event.dataTransfer.files); };
  open.onclick = upload;
  stop.onclick = () => state.sending?.abort();
  draw();
}
