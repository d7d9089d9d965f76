// Tables as text: CSV by RFC 4180 as this service writes it, and as spreadsheets of other countries do.

/** @param {string} text @param {string} [separator] The cells by line, without lines that are blank in each of them; `isOpen` if a quote has no end. */
export function parseCsv(text, separator = ",") {
  /** @type {string[][]} */
  const lines = [[""]];
  let isOpen = false;
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    const line = lines[lines.length - 1];
    const last = line.length - 1;
    if (isOpen && letter === '"' && text[at + 1] === '"') line[last] += text[++at];
    else if (isOpen && letter === '"') isOpen = false;
    else if (isOpen) line[last] += letter;
    else if (letter === '"' && line[last] === "") isOpen = true;
    else if (letter === separator) line.push("");
    else if (letter === "\n" || letter === "\r") {
      if (letter === "\r" && text[at + 1] === "\n") at++;
      lines.push([""]);
    } else line[last] += letter;
  }
  return { lines: lines.filter((line) => line.some((cell) => cell.trim())), isOpen };
}

/** @param {string} cell What a cell says, without the apostrophes by which the export keeps spreadsheets from running it, or a part that some take for a cell. */
export const readCell = (cell) => cell.replace(/(^|[;\t\r\n])'(?=[\s\p{C}"]*[=+\-@＝＋－＠])/gu, "$1");
