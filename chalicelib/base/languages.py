"""The languages that people are spoken to: those of the payment page and of e-mails."""

LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "it", "ja", "ko", "pt", "ru", "zh")
_MOST_READ = 20


def language_of(accepted: str) -> str:
    """The language that an Accept-Language header prefers; English if it names none of LANGUAGES."""
    weighed = []
    for position, part in enumerate(accepted.split(",")[:_MOST_READ]):
        name, _, weight = part.partition(";")
        weighed.append((-_weight(weight), position, name.strip().partition("-")[0].lower()))
    return next((name for weight, _, name in sorted(weighed) if weight < 0 and name in LANGUAGES), "en")


def direction_of(language: str) -> str:
    """`rtl` or `ltr`."""
    return "rtl" if language == "ar" else "ltr"


def _weight(text: str) -> float:
    try:
        return float(text.strip().removeprefix("q=")) if text.strip() else 1.0
    except ValueError:
        return 0.0
