// A cursor over the charts that reads the figures of one call. The page is whole without it.
(() => {
  const { calls } = JSON.parse(document.getElementById("data").textContent);
  const number = (n) => n.toLocaleString("en");
  const time = (us) => (us < 1000 ? `${us} µs` : `${(us / 1000).toPrecision(3)} ms`);
  const row = (name, value) => `<div><span>${name}</span><span>${value}</span></div>`;
  const svgs = [...document.querySelectorAll("svg[data-points]")];
  const cursors = svgs.map((svg) => {
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const box = svg.viewBox.baseVal;
    line.setAttribute("class", "cursor");
    line.setAttribute("y1", 14);
    line.setAttribute("y2", box.height - 30);
    line.style.display = "none";
    svg.append(line);
    return line;
  });
  const text = ([call, turn, prompt, everything, sliding, reused, summaries, cause, us, rung]) =>
    `<b>call ${number(call)}, turn ${number(turn)}</b>` +
    row("Unforget", number(prompt)) +
    row("of it, summaries", number(summaries)) +
    row("reused", number(reused)) +
    row("sliding window", number(sliding)) +
    row("everything", number(everything)) +
    row("time", time(us)) +
    (cause && cause !== "first" ? row("break", cause) : "") +
    (rung !== "assembled" ? row("admitted as", rung) : "");
  const hide = () => {
    cursors.forEach((line) => (line.style.display = "none"));
    document.querySelectorAll(".tip").forEach((tip) => (tip.hidden = true));
  };
  svgs.forEach((svg) => {
    const tip = svg.parentElement.querySelector(".tip");
    const { left, end, points } = svg.dataset;
    const step = (end - left) / points;
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      const at = Math.floor(((event.clientX - box.left) * scale - left) / step);
      if (at < 0 || at >= calls.length) return hide();
      hide();
      const x = Number(left) + (at + 0.5) * step;
      cursors.forEach((line) => {
        line.setAttribute("x1", x);
        line.setAttribute("x2", x);
        line.style.display = "";
      });
      tip.innerHTML = text(calls[at]);
      tip.hidden = false;
      const pixel = x / scale;
      const wide = tip.offsetWidth;
      tip.style.left = `${pixel + 14 + wide > box.width ? pixel - wide - 14 : pixel + 14}px`;
    });
    svg.addEventListener("pointerleave", hide);
  });
})();
