"""Scorers of Inspect, written anew for evalrs: `evalrs import` names below what the log was scored with."""

import math
import re
import string
from collections import Counter

CURRENCY = re.compile(r"[$,£€*_]")
POINT = re.compile(r"\.(?!\d)")
ARTICLE = re.compile(r"\b(a|an|the)\b")
ENCLOSING = "!?:;()[]{}'\"`"


def targets_of(sample):
    target = sample.ground_truth
    if target is None:
        return []
    return [str(one) for one in target] if isinstance(target, list) else [str(target)]


def number_in(text, enclosed=True):
    text = text.strip(ENCLOSING) if enclosed else text
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def same_text(text, target, location):
    if location == "begin":
        return text.startswith(target)
    if location == "end":
        return text.endswith(target)
    return text == target if location == "exact" else target in text


def same_number(text, target, location):
    text = POINT.sub("", CURRENCY.sub("", text))
    if location == "exact":
        return number_in(text, enclosed=False) == target
    numbers = [number_in(word) for word in text.split()]
    numbers = [number for number in numbers if number is not None]
    if location == "any":
        return target in numbers
    return bool(numbers) and numbers[0 if location == "begin" else -1] == target


def match_in(sample, submission, location="end", ignore_case=True, numeric=False):
    around = string.whitespace + string.punctuation
    for target in targets_of(sample):
        text, target = submission.strip(), target.strip()
        if ignore_case:
            text, target = text.casefold(), target.casefold()
        if numeric:
            target = POINT.sub("", CURRENCY.sub("", target))
        wanted = number_in(target) if numeric else None
        if wanted is not None:
            found = same_number(text, wanted, location)
        else:
            found = same_text(text.strip(around), target.strip(around), location)
        if found:
            return True
    return False


def pattern_in(sample, submission, pattern, ignore_case=True, match_all=False):
    found = re.search(pattern, submission, re.IGNORECASE if ignore_case else 0)
    if found is None:
        return False, "the pattern does not match"
    groups = [group for group in (found.groups() or (found.group(0),)) if isinstance(group, str)]
    targets = targets_of(sample)
    if ignore_case:
        groups, targets = [group.lower() for group in groups], [target.lower() for target in targets]
    are_wanted = [group in targets for group in groups]
    return bool(groups) and (all(are_wanted) if match_all else any(are_wanted)), f"found {groups}"


def normal_word(word):
    word = word.casefold()
    bare = word.strip(string.whitespace + string.punctuation)
    for text in (word, bare):
        if number_in(text, enclosed=False) is not None:
            return str(float(text))
    word = "".join(c for c in word if c not in string.punctuation)
    return " ".join(ARTICLE.sub(" ", word).split())


def normal_text(text, without=()):
    left_out = [normal_word(word) for word in without]
    words = [normal_word(word) for word in re.split(" |-", text)]
    return " ".join(word for word in words if word.strip() and word not in left_out)


def exact_text(sample, submission):
    targets = [normal_text(target) for target in targets_of(sample)]
    return normal_text(submission) in [target for target in targets if target]


def f1_of(sample, submission, stop_words=()):
    best = 0.0
    for target in targets_of(sample):
        wanted = Counter(normal_text(target, stop_words or ()).split())
        if not wanted:
            continue
        given = Counter(normal_text(submission, stop_words or ()).split())
        shared = sum((wanted & given).values())
        precision = shared / sum(given.values()) if given else 1.0
        recall = shared / sum(wanted.values())
        best = max(best, 2 * precision * recall / (precision + recall) if precision + recall else 0.0)
    return round(best, 2)


def choices_in(sample, submission):
    found = re.search(r"answer\s*:\s*([a-z0-9][a-z0-9 ,]*)(?!\w)", submission, re.IGNORECASE)
    if found is None:
        return False, "no choice was made"
    chosen = set(found.group(1).upper()) - set(" ,")
    wanted = set("".join(targets_of(sample)).upper()) - set(" ,")
    return chosen == wanted, f"chose {', '.join(sorted(chosen))}"
