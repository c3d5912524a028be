// Draws the charts of the page in its theme and at its width, and again when either changes.
(() => {
  "use strict";
  const specs = JSON.parse(document.getElementById("charts").textContent);
  const figures = [...document.querySelectorAll("[data-chart]")];
  // A column of panels cannot be fitted by Vega: what axes and their titles take is taken off here.
  const AXES_PX = 78;
  // Legends of narrower charts are in one column: several would be cut.
  const NARROW_PX = 420;
  // What numbers at the ends of lines take.
  const NUMBERS_PX = 34;
  // Names beside the ends of lines are numbers where the plot would be narrower than this.
  const PLOT_PX = 300;

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function resolved(node, width, numbered) {
    if (typeof node === "string") {
      const variable = /^var\((--[a-z-]+)\)$/.exec(node);
      return variable ? colour(variable[1]) : node;
    }
    if (Array.isArray(node)) return node.map((item) => resolved(item, width, numbered));
    if (node === null || typeof node !== "object") return node;
    if (node.name === "numbered") return { ...node, value: numbered };
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [
        key,
        key === "columns" && width < NARROW_PX ? 1 : key === "width" && typeof value === "number" ? width : key === "datasets" ? value : resolved(value, width, numbered),
      ]),
    );
  }

  function config() {
    const quiet = colour("--quiet"), line = colour("--line"), text = colour("--text");
    return {
      background: null,
      font: getComputedStyle(document.body).fontFamily,
      view: { stroke: null },
      axis: {
        labelColor: quiet, titleColor: quiet, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal", labelOverlap: true, labelSeparation: 6,
      },
      axisY: { minExtent: 46 },
      legend: { labelColor: text, labelFontSize: 12, symbolSize: 60 },
      text: { fontSize: 11 },
    };
  }

  async function draw() {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    for (const element of figures) {
      const spec = specs[element.dataset.chart];
      const room = element.clientWidth - Number(element.dataset.axes || AXES_PX);
      // Names beside the ends of lines have room of their own; where there is none, they are numbers.
      const names = Number(element.dataset.names || 0);
      const numbered = names ? room - names < PLOT_PX : room < NARROW_PX;
      const width = Math.max(160, room - (numbered ? names && NUMBERS_PX : names));
      element.classList.toggle("is-numbered", numbered);
      await vegaEmbed(element, { ...resolved(spec, width, numbered), config: config() }, {
        mode: "vega-lite",
        renderer: "svg",
        // Expressions are interpreted: nothing is compiled that a content security policy would have to allow.
        ast: true,
        actions: { export: true, source: false, compiled: false, editor: false },
        downloadFileName: element.dataset.chart,
        // Styles of both lie in report.css: none is put into the page.
        defaultStyle: false,
        forceActionsMenu: true,
        tooltip: { theme: dark ? "dark" : "light", disableDefaultStyle: true },
      });
    }
  }

  let drawnWidth = window.innerWidth;
  let later;
  window.addEventListener("resize", () => {
    if (window.innerWidth === drawnWidth) return;
    drawnWidth = window.innerWidth;
    clearTimeout(later);
    later = setTimeout(draw, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  // The dashboard has a switch.
  window.addEventListener("paceline-theme", draw);

  const save = document.getElementById("save");
  if (save) {
    save.addEventListener("click", () => {
      const link = document.createElement("a");
      link.href = "data:application/json;charset=utf-8," + encodeURIComponent(document.getElementById("report").textContent);
      link.download = save.dataset.name;
      link.click();
    });
  }
  draw();
})();
