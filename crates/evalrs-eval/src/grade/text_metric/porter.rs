//! Stems of English words, as ROUGE is computed with them.
//!
//! Porter's algorithm (M. F. Porter, "An algorithm for suffix stripping", 1980) with the departures of NLTK, because the
//! scores that are published were made with those. Of words of ASCII letters and digits alone.

/// Words whose stem no rule gives.
const IRREGULAR: [(&str, &str); 16] = [
    ("sky", "sky"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("news", "news"),
    ("innings", "inning"),
    ("inning", "inning"),
    ("outings", "outing"),
    ("outing", "outing"),
    ("cannings", "canning"),
    ("canning", "canning"),
    ("howe", "howe"),
    ("proceed", "proceed"),
    ("exceed", "exceed"),
    ("succeed", "succeed"),
];

/// A suffix and what takes its place.
type Rule = (&'static str, &'static str);

const PLURALS: [Rule; 4] = [("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")];
const DOUBLE_SUFFIXES: [Rule; 21] = [
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("fulli", "ful"),
];
const LESSER_SUFFIXES: [Rule; 7] = [
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
];
const LAST_SUFFIXES: [&str; 19] = [
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
];

/// The stem of a word in lower case.
pub(super) fn stem(word: &str) -> String {
    if let Some((_, stem)) = IRREGULAR.iter().find(|(irregular, _)| *irregular == word) {
        return (*stem).to_owned();
    }
    if word.len() <= 2 {
        return word.to_owned();
    }
    let word = without_plural(word);
    let word = without_past(&word);
    let word = with_last_i(&word);
    let word = without_double_suffix(word);
    let word = first_rule(&word, &LESSER_SUFFIXES, |stem| measure(stem) > 0);
    let word = without_last_suffix(&word);
    without_last_letter(&word)
}

/// For each letter whether it is a consonant: a `y` is one unless a consonant is before it.
fn consonants(word: &str) -> Vec<bool> {
    let mut flags: Vec<bool> = Vec::with_capacity(word.len());
    for letter in word.bytes() {
        flags.push(match letter {
            b'a' | b'e' | b'i' | b'o' | b'u' => false,
            b'y' => flags.last().is_none_or(|before| !before),
            _ => true,
        });
    }
    flags
}

/// How often a consonant follows a vowel: the m of the paper.
fn measure(stem: &str) -> usize {
    consonants(stem).windows(2).filter(|pair| matches!(pair, [false, true])).count()
}

fn ends_with_double_consonant(word: &str) -> bool {
    let mut last = word.bytes().rev();
    let is_double = last.next().is_some_and(|letter| last.next() == Some(letter));
    is_double && consonants(word).last() == Some(&true)
}

/// Consonant, vowel, consonant other than w, x and y; or nothing but a vowel and a consonant.
fn ends_with_short_syllable(word: &str) -> bool {
    match consonants(word).as_slice() {
        [false, true] => true,
        [.., true, false, true] => !word.ends_with(['w', 'x', 'y']),
        _ => false,
    }
}

/// The word after the first rule whose suffix it has, if the rule may be applied to the part before the suffix.
fn first_rule(word: &str, rules: &[Rule], may_apply: impl Fn(&str) -> bool) -> String {
    for (suffix, replacement) in rules {
        if let Some(stem) = word.strip_suffix(suffix) {
            let changed = may_apply(stem).then(|| format!("{stem}{replacement}"));
            return changed.unwrap_or_else(|| word.to_owned());
        }
    }
    word.to_owned()
}

fn without_plural(word: &str) -> String {
    if word.len() == 4 && word.ends_with("ies") {
        return word[..3].to_owned();
    }
    first_rule(word, &PLURALS, |_| true)
}

fn without_past(word: &str) -> String {
    if let Some(stem) = word.strip_suffix("ied") {
        return format!("{stem}{}", if word.len() == 4 { "ie" } else { "i" });
    }
    if word.ends_with("eed") {
        return first_rule(word, &[("eed", "ee")], |stem| measure(stem) > 0);
    }
    let mut stems = ["ed", "ing"].into_iter().filter_map(|suffix| word.strip_suffix(suffix));
    let with_vowel = stems.find(|stem| consonants(stem).contains(&false));
    let Some(stem) = with_vowel else { return word.to_owned() };
    if ["at", "bl", "iz"].iter().any(|end| stem.ends_with(end)) {
        return format!("{stem}e");
    }
    if ends_with_double_consonant(stem) {
        let keeps = stem.ends_with(['l', 's', 'z']);
        return stem[..stem.len() - usize::from(!keeps)].to_owned();
    }
    let is_short = measure(stem) == 1 && ends_with_short_syllable(stem);
    format!("{stem}{}", if is_short { "e" } else { "" })
}

fn with_last_i(word: &str) -> String {
    first_rule(word, &[("y", "i")], |stem| stem.len() > 1 && consonants(stem).last() == Some(&true))
}

fn without_double_suffix(mut word: String) -> String {
    while let Some(stem) = word.strip_suffix("alli").filter(|stem| measure(stem) > 0) {
        word = format!("{stem}al");
    }
    if !DOUBLE_SUFFIXES.iter().any(|(suffix, _)| word.ends_with(suffix)) {
        // The l before counts, so that `geology` loses its end.
        return first_rule(&word, &[("logi", "log")], |stem| measure(&format!("{stem}l")) > 0);
    }
    first_rule(&word, &DOUBLE_SUFFIXES, |stem| measure(stem) > 0)
}

fn without_last_suffix(word: &str) -> String {
    let Some(suffix) = LAST_SUFFIXES.into_iter().find(|suffix| word.ends_with(suffix)) else {
        return word.to_owned();
    };
    first_rule(word, &[(suffix, "")], |stem| {
        measure(stem) > 1 && (suffix != "ion" || stem.ends_with(['s', 't']))
    })
}

fn without_last_letter(word: &str) -> String {
    let word = first_rule(word, &[("e", "")], |stem| match measure(stem) {
        0 => false,
        1 => !ends_with_short_syllable(stem),
        _ => true,
    });
    first_rule(&word, &[("ll", "l")], |stem| measure(&format!("{stem}l")) > 1)
}

#[cfg(test)]
mod tests {
    use super::stem;

    /// Words and their stems, as NLTK 3.10 gives them.
    const STEMS: &str = "caresses caress ponies poni ties tie cats cat feed feed agreed agre plastered plaster bled bled \
        motoring motor sing sing conflated conflat troubling troubl sized size hopping hop tanned tan falling fall hissing hiss \
        fizzed fizz failing fail filing file happy happi sky sky enjoy enjoy flies fli died die tried tri relational relat \
        conditional condit rational ration valency valenc digitizer digit conformably conform radically radic differently differ \
        vilely vile analogously analog vietnamization vietnam predication predic operator oper feudalism feudal \
        decisiveness decis hopefulness hope callousness callous formality formal sensitivity sensit sensibility sensibl \
        triplicate triplic formative form formalize formal electricity electr electrical electr goodness good revival reviv \
        allowance allow inference infer airliner airlin adjustable adjust defensible defens irritant irrit replacement replac \
        adjustment adjust dependent depend adoption adopt communism commun activate activ homologous homolog effective effect \
        bowdlerize bowdler probate probat rate rate cease ceas controlling control rolling roll geology geolog theology theolog \
        dying die news news innings inning succeed succeed exceeding exceed as as 1990s 1990 yyyy yyyi syzygy syzygi eed eed \
        owed owe using use aging age ied i dies die beautifully beauti usefully use";

    #[test]
    fn stems_are_those_of_nltk() {
        let mut words = STEMS.split_whitespace();
        while let (Some(word), Some(expected)) = (words.next(), words.next()) {
            assert_eq!(stem(word), expected, "{word}");
        }
    }
}
