// The removed and added words of a text: the longest common subsequence, within bounds.

/** The most comparisons of two words; a text beyond it counts as replaced. */
const MAX_COMPARISONS = 2_000_000

/** Parts `{kind: 'same' | 'out' | 'in', text}` that make both texts. */
export function wordDiff(before, now) {
  const old = before.match(/\s+|[^\s]+/g) ?? []
  const young = now.match(/\s+|[^\s]+/g) ?? []
  let start = 0
  while (start < old.length && start < young.length && old[start] === young[start]) start += 1
  let end = 0
  const shorter = Math.min(old.length, young.length) - start
  while (end < shorter && old[old.length - 1 - end] === young[young.length - 1 - end]) end += 1
  const middle = changedWords(old.slice(start, old.length - end), young.slice(start, young.length - end))
  const parts = [{ kind: 'same', text: old.slice(0, start).join('') }, ...middle]
  parts.push({ kind: 'same', text: old.slice(old.length - end).join('') })
  return joined(parts)
}

function changedWords(old, young) {
  if (old.length * young.length > MAX_COMPARISONS) {
    return [{ kind: 'out', text: old.join('') }, { kind: 'in', text: young.join('') }]
  }
  const width = young.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = young.length - 1; j >= 0; j -= 1) {
      const at = i * width + j
      lengths[at] = old[i] === young[j] ? lengths[at + width + 1] + 1 : Math.max(lengths[at + width], lengths[at + 1])
    }
  }
  return path(old, young, lengths, width)
}

function path(old, young, lengths, width) {
  const parts = []
  let i = 0
  let j = 0
  while (i < old.length || j < young.length) {
    const at = i * width + j
    if (i < old.length && j < young.length && old[i] === young[j]) {
      parts.push({ kind: 'same', text: old[i] })
      i += 1
      j += 1
    } else if (j === young.length || (i < old.length && lengths[at + width] >= lengths[at + 1])) {
      parts.push({ kind: 'out', text: old[i] })
      i += 1
    } else {
      parts.push({ kind: 'in', text: young[j] })
      j += 1
    }
  }
  return parts
}

/** Neighbours of one kind as one part; a space between two changes belongs to both. */
function joined(parts) {
  const found = []
  let out = ''
  let into = ''
  const flush = () => {
    if (out) found.push({ kind: 'out', text: out })
    if (into) found.push({ kind: 'in', text: into })
    out = ''
    into = ''
  }
  parts.forEach((part, at) => {
    const next = parts[at + 1]
    const isGap = part.kind === 'same' && part.text.trim() === '' && (out || into) && next && next.kind !== 'same'
    if (part.kind === 'out' || isGap) out += part.text
    if (part.kind === 'in' || isGap) into += part.text
    if (part.kind !== 'same' || isGap || part.text === '') return
    flush()
    const last = found.at(-1)
    if (last?.kind === 'same') last.text += part.text
    else found.push({ ...part })
  })
  flush()
  return found
}
