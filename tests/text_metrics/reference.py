"""Made-up texts, and what sacreBLEU, rouge-score and jiwer say of them: a JSON line each, to standard output.

    python3 tests/text_metrics/reference.py 240 1 > tests/it/fixtures/text_metrics.jsonl

Arguments: how many, and a seed. Needs what stands in requirements.txt. Each line is a row of a data set:
`output`, `ground_truth` (a list of references), and under `expected` the number of each grader.
"""

import json
import random
import sys

import jiwer
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

WORDS = (
    "the a an of to in is was cat dog mat sat ran running runner quickly happy happily relational conditional "
    "organization organizing national rationally fulfilled fully beautifully dying lies news innings succeed "
    "agreed plastered motoring sized hopping geology formalities sensitivity adjustable replacement communism "
    "don't it's we'll state-of-the-art U.S.A. e.g. 3 3.14 1,234.56 10-20 2024-05-06 50% $9.99 C++ x=1 f(x) "
    "a/b <b>bold</b> &quot;quoted&quot; &amp; &lt;tag&gt; <skipped> \"said\" 'single' [1] {k} ... !? -- — – "
    "Größe straße Äpfel naïve café élan Ωμέγα ΟΔΟΣ привет мир 你好 世界 今日は 안녕 مرحبا שלום हिन्दी 😀 👩‍👩‍👧 e\u0301 İstanbul "
    "ſ ß ﬁ ½ ² ① Ⅷ \u200b \ufeff A B C Cat THE Dog iPhone x y yyyy"
).split(" ")
SPACES = [" "] * 40 + ["  ", "\t", "\n", "-\n", "\u00a0", "\u3000", "\x1c", "\r\n", " \t ", ""]
WHOLE = [
    "", " ", ".", "a", "-", "1", "&", "...", "\n", "\t\t", "你好世界", "😀", "the the the the the", "a.b,c-d", "1.2.3", "1,2,3",
    ".5", "5.", "5-", "-5", "x-\ny", "can't", "\u200b", "“quoted”", "A", "ΑΣ", "no.", "(hi)", "((hi))", "hi!!", "!", "??",
]


def text(random_source):
    if random_source.random() < 0.12:
        return random_source.choice(WHOLE)
    length = random_source.choice([1, 2, 3, 4, 5, 6, 8, 12, 20, 40])
    words = random_source.choices(WORDS, k=length)
    if random_source.random() < 0.2:
        words = [random_source.choice(words) for _ in words]
    parts = []
    for word in words:
        parts.append(word + random_source.choice(["", "", "", "", ".", ",", "!", ")", "?", ":"]))
        parts.append(random_source.choice(SPACES))
    if random_source.random() < 0.8:
        parts.pop()
    return "".join(parts)


def near(original, random_source):
    """The text with some of its words and characters changed."""
    words = original.split(" ")
    for _ in range(random_source.randint(0, 4)):
        place = random_source.randrange(len(words) + 1)
        change = random_source.random()
        if change < 0.4:
            words[place:place] = [random_source.choice(WORDS)]
        elif change < 0.7 and words:
            del words[min(place, len(words) - 1)]
        elif words:
            random_source.shuffle(words)
    changed = " ".join(words)
    if changed and random_source.random() < 0.3:
        place = random_source.randrange(len(changed))
        changed = changed[:place] + random_source.choice("aZ .é") + changed[place + 1 :]
    return changed.swapcase() if random_source.random() < 0.05 else changed


def rouge(found, references, kind, stemming, measure):
    scorer = RougeScorer([kind], use_stemmer=stemming)
    return getattr(scorer.score_multi(references, found)[kind], measure)


def bleu(found, references, **options):
    return BLEU(effective_order=True, **options).sentence_score(found, references).score / 100


def chrf(found, references, **options):
    return CHRF(**options).sentence_score(found, references).score / 100


def similarity(distance, found, references):
    """One minus the edits that jiwer counts, by the longer of the two: of the closest reference."""
    best = 0.0
    for reference in references:
        edits, of_found, of_reference = distance(found, reference)
        best = max(best, 1 - edits / max(of_found, of_reference, 1))
    return best


def words(found, reference):
    out = jiwer.process_words(reference, found)
    edits = out.substitutions + out.deletions + out.insertions
    return edits, len(out.hypotheses[0]), len(out.references[0])


def characters(found, reference):
    out = jiwer.process_characters(reference, found)
    edits = out.substitutions + out.deletions + out.insertions
    return edits, len(out.hypotheses[0]), len(out.references[0])


def least(rate, found, references):
    return max(0.0, 1 - min(rate(reference, found) for reference in references))


def expected(found, references):
    return {
        "rouge_1": rouge(found, references, "rouge1", False, "fmeasure"),
        "rouge_2_recall": rouge(found, references, "rouge2", False, "recall"),
        "rouge_3_precision_stemmed": rouge(found, references, "rouge3", True, "precision"),
        "rouge_1_stemmed": rouge(found, references, "rouge1", True, "fmeasure"),
        "rouge_l": rouge(found, references, "rougeL", False, "fmeasure"),
        "rouge_l_recall_stemmed": rouge(found, references, "rougeL", True, "recall"),
        "bleu": bleu(found, references),
        "bleu_lower": bleu(found, references, lowercase=True),
        "bleu_floor": bleu(found, references, smooth_method="floor"),
        "bleu_add_k": bleu(found, references, smooth_method="add-k"),
        "bleu_unsmoothed": bleu(found, references, smooth_method="none"),
        "bleu_characters": bleu(found, references, tokenize="char"),
        "bleu_white_space": bleu(found, references, tokenize="none"),
        "chrf": chrf(found, references),
        "chrf_lower": chrf(found, references, lowercase=True),
        "chrf_plus": chrf(found, references, word_order=2),
        "chrf_beta": chrf(found, references, word_order=1, beta=3),
        "edit_characters": similarity(characters, found, references),
        "edit_words": similarity(words, found, references),
        "wer": least(jiwer.wer, found, references),
        "cer": least(jiwer.cer, found, references),
    }


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    random_source = random.Random(seed)
    written = 0
    while written < count:
        found = text(random_source)
        if not found:
            # An empty submission is not graded.
            continue
        references = [
            near(found, random_source) if random_source.random() < 0.75 else text(random_source)
            for _ in range(random_source.choice([1, 1, 1, 2, 3]))
        ]
        row = {
            "id": str(written),
            "input": "q",
            "output": found,
            "ground_truth": references,
            "expected": {name: round(number, 12) for name, number in expected(found, references).items()},
        }
        print(json.dumps(row, ensure_ascii=False))
        written += 1


if __name__ == "__main__":
    main()
