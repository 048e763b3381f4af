"""The reference of tests/it/statistics.rs: numbers that others' packages give.

Reads a case a line from standard input and writes a line of numbers for each, null where something is not defined. Needs numpy,
scipy, scikit-learn, statsmodels, krippendorff, choix and ppi-python; with `--check` it only says whether they are there.
"""

import json
import math
import sys
import warnings

import choix
import krippendorff
import numpy as np
import statsmodels.api as sm
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from ppi_py.ppi import _calc_lam_glm
from scipy import stats
from sklearn import metrics
from sklearn.calibration import calibration_curve
from statsmodels.stats.inter_rater import fleiss_kappa
from statsmodels.stats.proportion import proportion_confint


def number(value):
    """None where a package says NaN, or warns and gives nothing."""
    value = float(value)
    return value if math.isfinite(value) else None


def rate(case):
    passes, n = case["passes"], case["n"]
    if n == 0:
        return dict.fromkeys(["wilson_low", "wilson_high", "exact_low", "exact_high"])
    wilson = proportion_confint(passes, n, alpha=1 - case["level"], method="wilson")
    exact = proportion_confint(passes, n, alpha=1 - case["level"], method="beta")
    return {
        "wilson_low": wilson[0],
        "wilson_high": wilson[1],
        "exact_low": number(np.nan_to_num(exact[0], nan=0.0)),
        "exact_high": number(np.nan_to_num(exact[1], nan=1.0)),
    }


def mean(case):
    values, clusters = np.array(case["values"], dtype=float), np.array(case["clusters"])
    groups = len(set(case["clusters"]))
    if groups < 2:
        return {"low": None, "high": None}
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    low, high = fit.conf_int(alpha=1 - case["level"])[0]
    if groups == len(values) and values.std() > 0:
        plain = stats.t.interval(case["level"], len(values) - 1, values.mean(), stats.sem(values))
        assert np.allclose(plain, (low, high), atol=1e-9)
    return {"low": low, "high": high}


def bootstrap(case):
    values = np.array(case["values"], dtype=float)
    found = stats.bootstrap(
        (values,), np.mean, confidence_level=0.95, method="BCa", n_resamples=9999, rng=np.random.default_rng(7)
    ).confidence_interval
    return {"low": number(found.low), "high": number(found.high)}


def classes(case):
    truth, predicted = case["truth"], case["predicted"]
    if not truth:
        return {"accuracy": None}
    names = case["classes"]
    found = {
        "accuracy": metrics.accuracy_score(truth, predicted),
        "balanced_accuracy": number(metrics.balanced_accuracy_score(truth, predicted)),
    }
    matrix = metrics.confusion_matrix(truth, predicted, labels=names)
    found.update({f"count_{row}_{column}": int(matrix[row][column]) for row in range(len(names)) for column in range(len(names))})
    each = metrics.precision_recall_fscore_support(truth, predicted, labels=names, zero_division=np.nan)
    for name, values in zip(["precision", "recall", "f1"], each):
        found.update({f"{name}_{at}": number(value) for at, value in enumerate(values)})
    for average in ["macro", "weighted", "micro"]:
        scores = metrics.precision_recall_fscore_support(truth, predicted, labels=names, average=average, zero_division=0)
        found.update({f"{average}_{name}": float(value) for name, value in zip(["precision", "recall", "f1"], scores)})
    return found


def binary(case):
    scores, positive = np.array(case["scores"], dtype=float), np.array(case["positive"], dtype=bool)
    found = {"auc": None, "ece": None}
    if 0 < positive.sum() < len(positive):
        found["auc"] = metrics.roc_auc_score(positive, scores)
    if len(scores):
        bins = case["bins"]
        edges = np.linspace(0.0, 1.0, bins + 1)
        counts = np.bincount(np.searchsorted(edges[1:-1], scores), minlength=bins)
        share, predicted = calibration_curve(positive, scores, n_bins=bins)
        found["ece"] = float(np.sum(counts[counts > 0] * np.abs(share - predicted)) / len(scores))
    return found


def agreement(case):
    one, other = case["one"], case["other"]
    found = {"plain": None, "linear": None, "quadratic": None}
    if one:
        for name, weights in [("plain", None), ("linear", "linear"), ("quadratic", "quadratic")]:
            found[name] = number(metrics.cohen_kappa_score(one, other, weights=weights))
    return found


def raters(case):
    units = case["units"]
    width = max((len(unit) for unit in units), default=0)
    data = np.array([[np.nan if value is None else value for value in unit] + [np.nan] * (width - len(unit)) for unit in units]).T
    found = {}
    for level in ["nominal", "ordinal", "interval", "ratio"]:
        try:
            found[level] = number(krippendorff.alpha(data, level_of_measurement=level))
        except (ValueError, AssertionError, IndexError):
            found[level] = None
    return found


def fleiss(case):
    return {"fleiss": number(fleiss_kappa(np.array(case["table"])))}


def correlation(case):
    one, other = case["one"], case["other"]
    if len(one) < 2:
        return dict.fromkeys(["pearson", "spearman", "kendall"])
    return {
        "pearson": number(stats.pearsonr(one, other).statistic),
        "spearman": number(stats.spearmanr(one, other).statistic),
        "kendall": number(stats.kendalltau(one, other).statistic),
    }


def bradley_terry(case):
    players, games = case["players"], case["games"]
    won = np.zeros((players, players))
    doubled = []
    for one, other, outcome in games:
        won[one][other] += outcome
        won[other][one] += 1 - outcome
        doubled += [(one, other)] * round(2 * outcome) + [(other, one)] * round(2 - 2 * outcome)
    reach = np.linalg.matrix_power((won > 0) + np.eye(players), players) > 0
    if not reach.all():
        return {}
    design = np.zeros((len(games), players))
    for row, (one, other, _) in enumerate(games):
        design[row][one], design[row][other] = 1, -1
    fit = sm.GLM([game[2] for game in games], design[:, :-1], family=sm.families.Binomial()).fit(tol=1e-13, maxiter=200)
    full = np.append(fit.params, 0.0)
    cov = np.zeros((players, players))
    cov[:-1, :-1] = fit.cov_params()
    centre = np.eye(players) - 1.0 / players
    strengths = centre @ full
    errors = np.sqrt(np.diag(centre @ cov @ centre.T))
    assert np.allclose(choix.opt_pairwise(players, doubled, method="Newton-CG", tol=1e-10), strengths, atol=1e-3)
    found = {f"strength_{at}": value for at, value in enumerate(strengths)}
    found.update({f"error_{at}": value for at, value in enumerate(errors)})
    return found


def length(case):
    outcome, longer, difficulty = (np.array(case[name], dtype=float) for name in ["outcome", "longer", "difficulty"])
    features = [np.ones(len(outcome)), np.tanh(longer / longer.std(ddof=1))]
    if case["has_difficulty"]:
        features.append(difficulty)
    features = np.array(features).T
    fit = sm.GLM(outcome, features, family=sm.families.Binomial()).fit(tol=1e-13, maxiter=200, cov_type="HC0")
    if np.abs(fit.params).max() > 15:
        return {}
    features[:, 1] = 0
    chances = fit.predict(features)
    slope = (features * (chances * (1 - chances))[:, None]).mean(axis=0)
    return {
        "rate": chances.mean(),
        "effect": fit.params[1],
        "error": float(np.sqrt(slope @ fit.cov_params() @ slope)),
    }


def prediction_powered(case):
    labels, predictions, others = (np.array(case[name], dtype=float) for name in ["labels", "predictions", "others"])

    def error(tuning):
        low, high = ppi_mean_ci(labels, predictions, others, alpha=0.05, lam=tuning)
        return float((high[0] - low[0]) / 2 / stats.norm.ppf(0.975))

    point = ppi_mean_pointestimate(labels, predictions, others, lam=1)
    gradients = [(values - point) for values in (labels, predictions, others)]
    tuning = _calc_lam_glm(*gradients, np.eye(1), clip=True)
    if not math.isfinite(tuning) or error(tuning) >= error(0.0):
        tuning = 0.0
    mean = ppi_mean_pointestimate(labels, predictions, others, lam=tuning)
    return {"mean": float(np.ravel(mean)[0]), "tuning": float(tuning), "stderr": error(tuning)}


KINDS = {
    function.__name__: function
    for function in [rate, mean, bootstrap, classes, binary, agreement, raters, fleiss, correlation, bradley_terry, length, prediction_powered]
}


def main():
    if "--check" in sys.argv:
        return
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for line in sys.stdin:
        case = json.loads(line)
        print(json.dumps(KINDS[case["kind"]](case)))


if __name__ == "__main__":
    main()
