//! The template of a judge, found again in what it was sent.
//!
//! A log holds what was sent and not the template. Where a question, an answer and a reference stand in each text, and the
//! rest is the same in all, the rest is the template; where it may be cut in more than one way it is not guessed.

use std::collections::BTreeSet;

/// What a judge was sent about one sample: a text that holds question, answer and reference.
pub(super) struct SentPrompt {
    pub text: String,
    pub parts: [String; 3],
}

/// The most places of one text in another that are tried.
const MAX_PLACES: usize = 8;

/// The names of the parts in rubrics.
const NAMES: [&str; 3] = ["{input}", "{submission}", "{ground_truth}"];

/// The only template that gives all of what was sent.
pub(super) fn template(sent: &[SentPrompt]) -> Result<String, &'static str> {
    let usable = |prompt: &&SentPrompt| prompt.parts.iter().all(|part| !part.trim().is_empty());
    let first =
        sent.iter().find(usable).ok_or("no sample has a question, an answer and a reference")?;
    if NAMES.iter().any(|name| first.text.contains(name)) {
        return Err("the judge's prompts contain placeholders of rubrics");
    }
    let mut found = candidates(first);
    for prompt in sent {
        found.retain(|template| render(template, prompt) == prompt.text);
    }
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some(template), None) => Ok(template),
        (None, _) => Err(
            "the judge's prompts do not show question, answer and reference in the same way in all samples",
        ),
        (Some(_), Some(_)) => {
            Err("the judge's prompts can be split into template and sample in several ways")
        }
    }
}

/// All templates that give what was sent about one sample.
fn candidates(prompt: &SentPrompt) -> BTreeSet<String> {
    let [input, submission, reference] = &prompt.parts;
    let places = |part: &str| -> Vec<usize> {
        prompt.text.match_indices(part).map(|(at, _)| at).take(MAX_PLACES).collect()
    };
    let references = places(reference);
    let mut found = BTreeSet::new();
    for a in places(input) {
        for b in places(submission) {
            for c in &references {
                let mut cuts = [
                    PlaceholderText { from: a, to: a + input.len(), name: NAMES[0] },
                    PlaceholderText { from: b, to: b + submission.len(), name: NAMES[1] },
                    PlaceholderText { from: *c, to: c + reference.len(), name: NAMES[2] },
                ];
                cuts.sort_by_key(|cut| cut.from);
                if cuts.windows(2).all(|pair| pair[0].to <= pair[1].from) {
                    found.insert(cut(&prompt.text, &cuts));
                }
            }
        }
    }
    found
}

/// A part of a prompt that fills a placeholder.
struct PlaceholderText {
    from: usize,
    to: usize,
    name: &'static str,
}

fn cut(text: &str, cuts: &[PlaceholderText]) -> String {
    let mut template = String::new();
    let mut kept = 0;
    for PlaceholderText { from, to, name } in cuts {
        template.push_str(text.get(kept..*from).unwrap_or_default());
        template.push_str(name);
        kept = *to;
    }
    template.push_str(text.get(kept..).unwrap_or_default());
    template
}

/// The template with the parts of a sample in one pass.
fn render(template: &str, prompt: &SentPrompt) -> String {
    let mut text = String::new();
    let mut rest = template;
    let next = |rest: &str| {
        let parts = NAMES.iter().zip(&prompt.parts);
        let found = parts.filter_map(|(name, part)| Some((rest.find(name)?, *name, part)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, name, part)) = next(rest) {
        text.push_str(&rest[..at]);
        text.push_str(part);
        rest = &rest[at + name.len()..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::{SentPrompt, template};

    #[test]
    fn a_template_is_found_where_it_is_the_only_one() {
        let made = |parts: &[[&'static str; 3]], form: &str| -> Vec<(String, [&'static str; 3])> {
            let render = |[input, submission, reference]: [&'static str; 3]| {
                form.replace("<q>", input).replace("<a>", submission).replace("<r>", reference)
            };
            parts.iter().map(|parts| (render(*parts), *parts)).collect()
        };
        let check = |parts: &[[&'static str; 3]], form: &str| {
            let made = made(parts, form);
            let sent: Vec<SentPrompt> = made
                .iter()
                .map(|(text, parts)| SentPrompt {
                    text: text.clone(),
                    parts: parts.map(str::to_owned),
                })
                .collect();
            template(&sent)
        };
        let form = "Task: <q>\nAnswer: <a>\nRight: <r>\nOne of 3 letters {x}.";
        let wanted = form
            .replace("<q>", "{input}")
            .replace("<a>", "{submission}")
            .replace("<r>", "{ground_truth}");
        // `3` stands in several places, which the second sample tells apart.
        assert_eq!(check(&[["1+2", "it is 3", "3"], ["2+2", "5", "4"]], form), Ok(wanted.clone()));
        assert_eq!(check(&[["why?", "because", "so"]], form), Ok(wanted));
        assert!(check(&[["1+2", "it is 3", "3"]], form).unwrap_err().contains("several ways"));
        assert!(check(&[["a?", "b", ""]], form).unwrap_err().contains("no sample"));
        assert!(
            check(&[["why?", "because", "so"]], "Say {input}: <q><a><r>")
                .unwrap_err()
                .contains("placeholders")
        );
        let mut other = made(&[["a?", "bb", "cc"]], form);
        other[0].0 = "nothing of it".to_owned();
        let parts = other[0].1.map(str::to_owned);
        let sent = [SentPrompt { text: other[0].0.clone(), parts }];
        assert!(template(&sent).unwrap_err().contains("do not show"));
    }
}
