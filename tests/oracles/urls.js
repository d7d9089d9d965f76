// What a browser makes of URLs (WHATWG): their parts, null where it refuses one.
// Each line of the input is a JSON array of {url}; each of the output an array of [host, port, user name, password].
function parsed({ url: text }) {
  try {
    const url = new URL(text);
    return [url.hostname, url.port, url.username, url.password];
  } catch {
    return null;
  }
}

require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(JSON.stringify(JSON.parse(line).map(parsed)) + "\n"));
