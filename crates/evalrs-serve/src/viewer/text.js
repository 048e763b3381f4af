// Text for people: numbers, times, and what others wrote made harmless to look at. Knows no document.

const INVISIBLE = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu

/** The text with everything that is not seen, or that turns what stands beside it around, as a sign of its own. */
export function visible(text) {
  return String(text).replace(/\r\n/g, '\n').replace(INVISIBLE, symbolOf)
}

/** A name that can be seen and clicked. */
export function named(text) {
  return String(text).trim() ? text : '⟨blank⟩'
}

function symbolOf(character) {
  const code = character.codePointAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩`
}

/** A score or mean; a dash where there is none. */
export function decimal(value, digits = 3) {
  return typeof value === 'number' ? value.toFixed(digits) : '–'
}

/** A difference, always with its sign. */
export function signed(value, digits = 3) {
  if (typeof value !== 'number') return '–'
  const text = Math.abs(value).toFixed(digits)
  return Number(text) === 0 ? text : (value < 0 ? '−' : '+') + text
}

/** Bounds in brackets; nothing where they are not known. */
export function bounds95(interval, shown = decimal) {
  // Records of earlier versions hold null where a bound was not finite.
  return interval && interval.low !== null && interval.high !== null ? ` [${shown(interval.low)}, ${shown(interval.high)}]` : ''
}

/** A mean with its standard error. */
export function withError(mean, stderr) {
  return typeof stderr === 'number' ? `${decimal(mean)} ± ${decimal(stderr)}` : decimal(mean)
}

export function percent(value) {
  return typeof value === 'number' ? `${(value * 100).toFixed(1)}%` : '–'
}

/** How likely something is by chance. */
export function probability(value) {
  return typeof value === 'number' && value < 0.001 ? '< 0.001' : decimal(value)
}

/** US dollars, with as many digits as small amounts need. */
export function money(value) {
  if (typeof value !== 'number') return '–'
  return `$${value.toFixed(value === 0 || value >= 1 ? 2 : value >= 0.01 ? 3 : 5)}`
}

/** `1,234`, and with a noun `1,234 cases`. */
export function counted(count, one, many = `${one}s`) {
  const digits = typeof count === 'number' ? count.toLocaleString('en') : '–'
  return one === undefined ? digits : `${digits} ${count === 1 ? one : many}`
}

/** A time of the server in that of the reader, to the minute. */
export function moment(time) {
  const date = new Date(time ?? NaN)
  if (Number.isNaN(date.getTime())) return '–'
  const two = (value) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** The same, to the second. */
export function momentToSecond(time) {
  const minute = moment(time)
  return minute === '–' ? minute : `${minute}:${String(new Date(time).getSeconds()).padStart(2, '0')}`
}

/** How long from one time to the other. */
export function duration(from, to) {
  const seconds = Math.round((new Date(to ?? NaN) - new Date(from ?? NaN)) / 1000)
  if (!(seconds >= 0)) return '–'
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** A value as a person reads it: text as it is, all else as JSON with indentation. */
export function readable(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

/** Its beginning in one line. */
export function beginning(value, most = 120) {
  const text = (typeof value === 'string' ? value : JSON.stringify(value) ?? '').slice(0, most * 4).replace(/\s+/g, ' ').trim()
  return text.length > most ? `${text.slice(0, most)}…` : text
}

const OPERATORS = { gte: '≥', gt: '>', lte: '≤', lt: '<', eq: '=', ne: '≠' }

/** What a gate has measured against what it wants; empty where it has no single number. */
export function gateNumbers(gate) {
  if (typeof gate?.value !== 'number') return ''
  const wanted = typeof gate.threshold === 'number' ? ` ${OPERATORS[gate.op] ?? gate.op} ${gate.threshold}` : ''
  return decimal(gate.value) + wanted
}
