"""What the default stance model hears in a page, and above all when it stays silent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import pytest
import yaml

from factible_assets.reasoners.embedded.embedder import Embedder, OnnxEmbedder
from factible_assets.reasoners.embedded.page_text import readable_sentences
from factible_assets.reasoners.embedded.reading.denials import without_denials
from factible_assets.reasoners.embedded.reading.evidence import read_page
from factible_assets.reasoners.embedded.reading.inference import (
    Inference,
    InferenceStance,
    denial_of,
    leaning_of,
)
from factible_assets.reasoners.embedded.reading.passages import Selection, select_passages, windows
from factible_assets.reasoners.embedded.reading.stance import PageStance, StatementsAndTone
from factible_assets.stages.ports import EvidenceDraft, PageExcerpt

SUGAR = "Sugar makes children hyperactive"
BATS = "Bats are blind"
BOILING = "Water boils at a lower temperature at high altitude"
EVEREST = "Mount Everest is 8,849 metres high"
LIGHTNING = "Lightning never strikes the same place twice"
CONSTITUTION = (
    "The U.S. Constitution doesn't explicitly give a president the right to declare a national "
    "emergency"
)
EMERGENCIES = (
    "The U.S. Constitution has a list of powers. The law gives the President near-total discretion "
    "to declare a national emergency."
)
FEMUR = "The femur, or thigh bone, is the longest and strongest bone in the human body."
SILENT = 9.0
"""Where no tone is heard, so that only statements speak."""


@lru_cache(maxsize=1)
def minilm() -> Embedder:
    return OnnxEmbedder()


def read(claim: str, text: str, title: str = "", *, tone: bool = False) -> PageStance:
    passages = tuple(windows(readable_sentences(text)))
    model = StatementsAndTone(minilm()) if tone else StatementsAndTone(minilm(), SILENT)
    return model.read(claim, Selection(passages, shared=0.5, nearest=0.5), title=title)


@pytest.mark.parametrize(
    ("clause", "about", "denied"),
    [
        ("Bats are not blind", "Bats are blind", True),
        ("Contrary to popular belief, bats are not blind", "bats are blind", True),
        ("It is not true that bats are blind", "bats are blind", True),
        ("The idea that bats are blind is a myth", "The idea that bats are blind", True),
        ("There is no evidence that bats are blind", "bats are blind", True),
        ("Bats cannot see", "Bats can see", True),
        ("The saying that bats never see is false", "bats see", False),
        ("There is no doubt that bats see", "There is no doubt that bats see", False),
        ("People who do not smoke get lung cancer", "People get lung cancer", False),
        ("A leap year has 366 days instead of 365", "A leap year has 366 days", False),
    ],
)
def test_denials_are_taken_out_and_counted(clause: str, about: str, *, denied: bool) -> None:
    found = without_denials(clause)
    assert found.is_denied is denied
    assert found.text.startswith(about) or denied is False


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (BOILING, "At higher altitudes water boils at lower temperatures."),
        (EVEREST, "The height of Mount Everest is 8,848.86 m."),
        ("Vaccines do not cause autism", "There is no link between vaccines and autism."),
        ("Smoking causes lung cancer", "There is no doubt that smoking causes lung cancer."),
        ("Apollo 11 landed on the Moon in 1969", "Apollo 11 landed on the Moon on July 20, 1969."),
        (
            "The Eiffel Tower was completed in 1889 and is 330 metres tall.",
            "The Eiffel Tower was completed in 1889 for the World's Fair and is 330 metres tall.",
        ),
        (
            "Levels of carbon dioxide in the air have increased since the industrial revolution.",
            "Carbon dioxide levels in the air have risen since the industrial revolution.",
        ),
        ("The femur is the longest bone in the body", FEMUR),
        (
            "Leonardo painted the Mona Lisa",
            "The Mona Lisa was painted by Leonardo with a pupil of Verrocchio.",
        ),
        (
            "A year on Mars is longer than a year on Earth",
            "A year on Mars is almost twice as long as a year on Earth.",
        ),
    ],
)
def test_a_page_that_says_as_much_supports(claim: str, text: str) -> None:
    assert read(claim, text).stance == "supports"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (SUGAR, "Controlled trials have found no evidence that sugar makes children hyperactive."),
        (SUGAR, "Does sugar make children hyperactive? No. Sugar has other effects."),
        (SUGAR, "Many parents believe that sugar makes children hyperactive. This is not true."),
        (SUGAR, "Contrary to popular belief, sugar does not make children hyperactive."),
        (
            "A goldfish has a memory of three seconds.",
            "It is not true that a goldfish has a memory of three seconds.",
        ),
        (BATS, "The belief that bats are blind is a myth."),
        (BATS, "Are bats blind? No. Bats are not blind."),
        ("Penguins live at the North Pole", "No penguins live at the North Pole."),
        ("All swans are white", "Not all swans are white."),
        (LIGHTNING, "Lightning can strike the same place twice."),
        (LIGHTNING, "The saying that lightning never strikes the same place twice is false."),
        ("Sealed honey keeps for years without spoiling", "Sealed honey does not keep for years."),
    ],
)
def test_a_denial_refutes(claim: str, text: str) -> None:
    assert read(claim, text).stance == "refutes"


@pytest.mark.parametrize(
    ("claim", "text", "ground"),
    [
        (
            "Water boils at a higher temperature at high altitude",
            "At higher altitudes water boils at lower temperatures.",
            "opposite",
        ),
        (
            "Sea levels are rising",
            "Satellite records show that sea levels are falling.",
            "opposite",
        ),
        ("Mount Everest is 5,000 metres high", "Mount Everest is 8,848.86 metres high.", "number"),
        ("The Titanic sank in 1915", "The Titanic sank on 15 April 1912.", "number"),
        ("The heart has five chambers", "The heart has four chambers.", "number"),
        ("Sound travels faster than light", "Light travels much faster than sound.", "opposite"),
        ("The Sun revolves around the Earth", "The Earth revolves around the Sun.", "opposite"),
        ("Venus is the coldest planet", "Venus is the hottest planet.", "opposite"),
        ("Ice is denser than water", "Ice is less dense than liquid water.", "opposite"),
        ("Iron is a gas at room temperature", "Iron is solid at room temperature.", "opposite"),
        (
            "The war ended in 1943",
            "The war lasted from 1939 to 1945. It ended in May 1945 and, at sea, in June 1945.",
            "number",
        ),
        ("The Eiffel Tower is in Italy", "The Eiffel Tower stands in Paris, France.", "another"),
        ("The Nile is in Asia", "The Nile is a long river in northeastern Africa.", "another"),
        (
            "Kangaroos are native to South Africa",
            "Kangaroos are marsupials that are native to Australia.",
            "another",
        ),
        (
            "Beethoven composed The Magic Flute",
            "The Magic Flute is an opera in two acts by Wolfgang Amadeus Mozart.",
            "another",
        ),
        (
            "Michelangelo painted the Mona Lisa",
            "The Mona Lisa is a portrait by the Italian artist Leonardo da Vinci.",
            "another",
        ),
        (
            "Bell invented the light bulb",
            "Edison is usually credited with inventing the light bulb, and Bell had a telephone.",
            "another",
        ),
        (
            "Lisbon is the capital of Spain",
            "Madrid is the capital and most populous city of Spain. Lisbon is in Portugal.",
            "another",
        ),
        (
            "Jefferson was the first president of the United States",
            "Washington was a general who served as the first president of the United States.",
            "another",
        ),
        (
            "Sound travels faster in air than in water",
            "Sound travels more than four times as fast in water as in air.",
            "opposite",
        ),
        (
            "Australia has the longest coastline of any country",
            "With 202,080 kilometres, Canada has the longest coastline in the world.",
            "another",
        ),
        ("Fluoride causes tooth decay", "Fluoride is a mineral that prevents decay.", "opposite"),
        (
            "Drinking alcohol protects against liver disease",
            "Drinking alcohol is a leading cause of liver disease.",
            "opposite",
        ),
        ("Blue whales are fish", "The blue whale is a marine mammal.", "another"),
        ("Coffee comes from South America", "Coffee originated in eastern Africa.", "another"),
        ("Einstein was born in Austria", "Einstein was born in Ulm, in Germany.", "another"),
        (
            "Mozart was born in Vienna on 27 January 1756",
            "Mozart was born in Salzburg on 27 January 1756, and died in Vienna.",
            "another",
        ),
        (
            "Argentina won the World Cup in 2014",
            "Germany won the 2014 FIFA World Cup, beating Argentina 1-0 in the final.",
            "another",
        ),
        ("The tibia is the longest bone in the body", FEMUR, "another"),
        ("The capital of Chile is Arica", "Santiago is the national capital of Chile.", "another"),
        ("The Mona Lisa hangs in Madrid", "The Mona Lisa is on show in Paris.", "another"),
        (
            "It was Shakespeare who wrote Don Quixote",
            "Don Quixote is a novel by the Spanish writer Miguel de Cervantes.",
            "another",
        ),
        ("Shakespeare wrote Don Quixote", "It was Cervantes who wrote Don Quixote.", "another"),
        ("Frogs are reptiles", "A frog is an amphibian with a short body and no tail.", "another"),
        ("The Sun is a planet", "The Sun is the star at the centre of it all.", "another"),
        ("Arctic sea ice is growing", "Arctic sea ice has shrunk since 1979.", "opposite"),
        (
            "Cows have four stomachs",
            "It is often said that a cow has four stomachs. In fact a cow has one stomach.",
            "number",
        ),
    ],
)
def test_an_opposite_another_number_or_another_name_refutes(
    claim: str, text: str, ground: str
) -> None:
    said = read(claim, text)
    assert (said.stance, said.ground) == ("refutes", ground)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (SUGAR, "Many parents believe that sugar makes children hyperactive."),
        (SUGAR, "Some people say that sugar makes children hyperactive."),
        (SUGAR, "They say sugar makes children hyperactive."),
        (SUGAR, "A friend told me that sugar makes children hyperactive."),
        (SUGAR, "I have often heard that sugar makes children hyperactive."),
        (SUGAR, "Does sugar make children hyperactive?"),
        (SUGAR, "The myth has been debunked and there is no evidence for it."),
        (SUGAR, "Researchers asked whether sugar makes children hyperactive."),
        (SUGAR, "The idea that sugar makes children hyperactive ..."),
        (SUGAR, "Whether sugar makes children hyperactive is not settled."),
        ("Smoking causes lung cancer", "People who do not smoke can still get other diseases."),
        (
            "The Great Wall is visible from the Moon",
            "It is an old story that the Great Wall is visible from the Moon.",
        ),
        ("Antibiotics kill viruses", "Antibiotics kill bacteria, and viruses spread by contact."),
        ("Cows sleep standing up", "Horses sleep standing up."),
        ("Sydney is the capital of Australia", "Many people take Sydney for the capital."),
        ("Spiders are insects", "Spiders are often taken for insects."),
        (
            "Water boils at a higher temperature on Mount Everest than at sea level",
            "On Mount Everest water boils at about 68 degrees.",
        ),
        ("Whales are animals", "Whales are mammals that live in the sea."),
        ("Whales are mammals", "The whale shark is a fish."),
        ("Scurvy is due to a lack of vitamin A", "Scurvy is due to a lack of vitamin C."),
        ("Pluto is a planet", "Pluto was regarded as a planet until 2006."),
        ("The Louvre is in France", "The Louvre is in the centre of Paris."),
        ("Marie Curie was born in Poland", "Marie Curie was born in Warsaw in 1867."),
        ("Mozart was born in Salzburg", "Mozart was born in Austria."),
        ("Beethoven was born in Germany", "Beethoven died in Austria in 1827."),
        ("Kilimanjaro is in Tanzania", "Kilimanjaro can be seen from Kenya on a clear day."),
        (
            "Yellowstone was the first national park in the world",
            "Birkenhead Park was the first park.",
        ),
        ("Shakespeare wrote Hamlet", "Laurence Olivier played Hamlet in 1948."),
        ("Shakespeare wrote Hamlet", "The play was filmed in 1948 by the actor Laurence Olivier."),
        ("Alexander Fleming discovered penicillin", "Howard Florey turned penicillin into a drug."),
        ("Jupiter is the largest planet of all", "The largest planet of all is a gas giant."),
        ("The Mona Lisa was painted by Leonardo", "The Mona Lisa was stolen by Peruggia in 1911."),
        (CONSTITUTION, EMERGENCIES),
        ("Exports of Germany rose by 10 percent", "Exports of Italy rose by 10 percent."),
        ("The ministry withdrew the statement that the bridge is unsafe", "The bridge is unsafe."),
        (
            "The band was expected to sell ten million records but sold two million",
            "The band was expected to sell ten million records.",
        ),
    ],
)
def test_reports_questions_and_other_matters_are_left_open(claim: str, text: str) -> None:
    assert read(claim, text).stance == "unclear"


def test_a_pronoun_on_a_page_without_the_name_of_a_claim_does_not_mean_it() -> None:
    text = "The popular title was not his own; it goes back to a critic who thought of a lake."
    baikal = "Lake Baikal is the deepest lake anywhere in the world"
    assert read(baikal, text, "Moonlight Sonata").stance == "unclear"


@pytest.mark.parametrize(
    ("claim", "text", "stance"),
    [
        (
            "Brazil has won the World Cup five times",
            "Brazil is the most successful team of the World Cup, with five titles.",
            "supports",
        ),
        (
            "The appendix is on the left side of the abdomen",
            "The appendix lies on the right side of the abdomen.",
            "refutes",
        ),
        (
            "Emperor penguins breed in Antarctica",
            "Emperor penguins breed on the Antarctic ice.",
            "supports",
        ),
        (
            "The Sahara is the largest desert on Earth",
            "The Sahara is the largest hot desert. The largest desert on Earth is Antarctica.",
            "refutes",
        ),
        (
            "The blue whale is the heaviest animal",
            "By weight, no animal is heavier than the blue whale.",
            "supports",
        ),
        (
            "Ecuador is the only country whose currency is named after Sucre",
            "The currency is named after Sucre in Ecuador and in no other country.",
            "supports",
        ),
        ("Iceland has no army", "Iceland is without an army.", "supports"),
        ("Russia is larger than Canada", "Canada is smaller than Russia.", "supports"),
        ("Water is denser than ice", "Ice is less dense than water.", "supports"),
        (
            "Berlin is the largest whole city in Europe",
            "Istanbul is the largest whole city in Europe. Berlin is in Germany.",
            "refutes",
        ),
        (
            "The koala is a marsupial",
            "While many people say that it is a bear, the koala is a marsupial.",
            "supports",
        ),
    ],
    ids=[
        "counted otherwise",
        "the other side",
        "a name's other form",
        "another one is the first",
        "none is more",
        "no other has it",
        "without it",
        "smaller the other way round",
        "less the other way round",
        "a role that ends in no word's middle",
        "after what is granted",
    ],
)
def test_what_is_said_in_other_words_is_read(claim: str, text: str, stance: str) -> None:
    assert read(claim, text, tone=True).stance == stance


_SAID_BEFORE = {
    "refutes": (
        "This is not true.|That's not true.|That isn't true at all.|It's a myth.|They are not.|"
        "But that is a misconception.|It is a myth that refuses to die.|Nope.|This is fake.|"
        "This claim has been debunked.|That is not what the evidence shows.|We rate this false.|"
        "Scientists say that is wrong.|Studies have shown this to be false.|"
        "There's no evidence for this.|No evidence supports this claim.|"
        "Nothing could be further from the truth.|This turned out to be untrue."
    ),
    "supports": (
        "This is true.|That's correct.|That is not a myth.|It isn't false.|Nobody disputes this.|"
        "It is true that others doubt it.|It is false that owls are deaf.|"
        "It is a myth that goldfish forget.|It is wrong to think that dogs see only grey.|"
        "There is no evidence that it was ever otherwise.|It has been wrong before to doubt it.|"
        "This is no accident.|That is not surprising.|They are not alone."
    ),
}


@pytest.mark.parametrize(
    ("says", "comment"),
    [(says, each) for says, listed in _SAID_BEFORE.items() for each in listed.split("|")],
)
def test_what_a_sentence_says_of_the_one_before_is_heard_and_nothing_else(
    says: str, comment: str
) -> None:
    text = f"Bats are blind. {comment} More is known of them."
    assert read("Bats are blind.", text).stance == says
    denied = read("Bats are blind.", f"Bats are not blind. {comment} More is known of them.").stance
    # "This is a myth", said of a denial, may mean what it denies; a claim is what the page checks.
    stands = says == "supports" or "claim" in comment
    assert denied in ({"refutes"} if stands else {"unclear", "supports"})


@pytest.mark.parametrize(
    ("says", "text"),
    [
        ("refutes", "You may have heard that bats are blind, but that is not true."),
        ("refutes", "Many people believe that bats are blind, but they are wrong."),
        ("refutes", "We were told that bats are blind. It was a lie."),
        ("refutes", "Are bats blind? The short answer is no."),
        ("refutes", "Are bats blind? Far from it."),
        ("supports", "Are bats blind? In short, yes."),
        ("mixed", "Bats are blind. This is only partly true."),
        ("mixed", "Bats are blind. The claim is true for some and not for others."),
        ("supports", "Are bats blind? This is true."),
        ("unclear", "Vaccines work better than masks. That is false."),
    ],
)
def test_an_answer_or_a_comment_in_the_same_breath_is_heard(says: str, text: str) -> None:
    claim = "Vaccines work." if text.startswith("Vaccines") else "Bats are blind."
    assert read(claim, text).stance == says


@pytest.mark.parametrize(
    ("says", "claim", "text"),
    [
        ("refutes", "Penguins can fly.", "Penguins are unable to fly."),
        ("refutes", "Penguins can fly.", "Penguins have lost the ability to fly."),
        ("refutes", "Coffee causes headaches.", "Coffee relieves headaches."),
        ("unclear", "A tomato is a vegetable.", "Rather than a vegetable, a tomato is a fruit."),
        ("unclear", "A tomato is a fruit.", "A tomato looks like a fruit."),
        ("unclear", "The company paid the fine.", "The company refused to pay the fine."),
        ("unclear", "The company paid the fine.", "The company left without paying the fine."),
        ("unclear", "The company paid the fine.", "The company said it had paid the fine."),
        ("unclear", "Pluto is a planet.", "Pluto is almost a planet."),
        ("unclear", "Pluto is a planet.", "Pluto was once a planet."),
        ("unclear", "Copper is magnetic.", "All metals here except copper are magnetic."),
        ("unclear", "Coffee causes headaches.", "Some suspect that coffee causes headaches."),
        ("unclear", "Cheetahs are faster than lions.", "No cheetahs are faster than lions."),
        ("unclear", "The Alhambra is in Granada.", "The Alhambra is near Granada."),
        (
            "unclear",
            "The telephone was invented by Alexander Graham Bell.",
            "The telephone was invented by Thomas Edison, a friend of Alexander Graham Bell.",
        ),
    ],
)
def test_what_is_as_good_as_not_is_no_support(says: str, claim: str, text: str) -> None:
    assert read(claim, f"{text} More is told here.").stance == says


def test_a_figure_that_is_set_against_another_is_not_stated() -> None:
    assert (
        read("A spider has eight legs.", "A spider has six legs, not eight.").stance != "supports"
    )
    assert (
        read("A spider has eight legs.", "A spider has eight legs, not six.").stance == "supports"
    )


def test_a_claim_that_denies_is_not_supported_by_what_it_denies() -> None:
    claim = "The compound is not soluble in water"
    assert read(claim, "The compound is soluble in water.").stance == "refutes"
    assert read(claim, "The compound is not soluble in water.").stance == "supports"


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        (
            "Fish oil prevents heart attacks",
            "The evidence that fish oil prevents heart attacks is mixed.",
        ),
        (SUGAR, "Sugar makes children hyperactive only if they lack sleep."),
    ],
)
def test_findings_both_ways_are_mixed(claim: str, text: str) -> None:
    assert read(claim, text).stance == "mixed"


@pytest.mark.parametrize(
    ("rating", "stance"),
    [("False", "refutes"), ("True", "supports"), ("Half true", "unclear"), ("Unproven", "unclear")],
)
@pytest.mark.parametrize(
    "layout",
    [
        "Claim: {claim}\nRating: {rating}",
        "- Claim\n- {claim}\n- Rating\n- {rating}",
        "The claim: {claim}.\nOur verdict: {rating}",
    ],
)
def test_the_rating_beside_a_quoted_claim_decides(layout: str, rating: str, stance: str) -> None:
    assert read(SUGAR, layout.format(claim=SUGAR, rating=rating)).stance == stance


def test_a_myth_that_is_labelled_as_one_is_no_assertion() -> None:
    assert read(BATS, "Myth: Bats are blind. They find their way by echoes.").stance == "refutes"
    for label in ("False", "Hoax", "Fake news", "Not true", "A common misconception"):
        said = read(BATS, f"{label}: Bats are blind. They find their way by echoes.")
        assert said.stance == "refutes", label
    for lead in ("You may have heard that", "In the novel,", "Teachers used to say that"):
        said = read(BATS, f"{lead} bats are blind. They find their way by echoes.")
        assert said.stance != "supports", lead


def test_what_is_listed_among_myths_is_not_asserted() -> None:
    items = "Bats are blind.\nBats are birds.\nAsk your museum for more."
    for text, title in ((f"Myths about bats\n{items}", ""), (items, "Five misconceptions")):
        assert read(BATS, text, title, tone=True).stance == "unclear"
    text = "Myths about bats\nBats are not blind. They find their way by echoes."
    assert read(BATS, text).stance == "refutes"


TEA = "Drinking green tea every day prevents strokes."


@pytest.mark.parametrize(
    "text",
    [
        "Nobody knows yet what the study on green tea and strokes will find.",
        "It is not yet known whether drinking green tea every day prevents strokes.",
        "Whether drinking green tea every day prevents strokes remains to be seen.",
        "We do not know if green tea prevents strokes.",
        "The link between daily green tea and strokes has never been studied.",
        "The effect of daily green tea on strokes is an open question.",
        "It is too early to say that drinking green tea every day prevents strokes.",
        "The jury is still out on green tea and strokes.",
        "More research is needed to show that drinking green tea every day prevents strokes.",
        "Results on green tea and strokes are expected in 2031.",
        "So far there are no data on green tea and strokes.",
        "Scientists plan to find out if green tea prevents strokes.",
        "Experts still cannot tell whether green tea prevents strokes.",
        "Time will tell if drinking green tea every day prevents strokes.",
        "How green tea affects strokes is poorly understood.",
        "Green tea may or may not prevent strokes; nobody can tell.",
    ],
)
def test_what_nobody_knows_yet_takes_no_side(text: str) -> None:
    assert read(TEA, text, "Green tea", tone=True).stance == "unclear"


@pytest.mark.parametrize(
    ("stance", "text"),
    [
        ("supports", "Drinking green tea every day prevents strokes, though nobody knows why."),
        ("supports", "It is now known that drinking green tea every day prevents strokes."),
        ("supports", "Green tea prevents strokes, but it is unclear how much one has to drink."),
        ("supports", f"{TEA} More research is needed to find out how."),
        ("refutes", "No study has found that green tea prevents strokes."),
        ("refutes", "Green tea does not prevent strokes; it is too early to say more."),
    ],
)
def test_what_is_known_beside_what_is_not_takes_its_side(stance: str, text: str) -> None:
    assert read(TEA, text, "Green tea", tone=True).stance == stance


def test_what_decides_is_what_is_quoted() -> None:
    text = "Everybody says so at parties. Sugar makes children hyperactive. That is a myth."
    ((_, span),) = read(SUGAR, text).quotes[:1]
    assert text[slice(*span)] == "Sugar makes children hyperactive. That is a myth."


# --- Tone ---------------------------------------------------------------------------------------

JUICE = "Fruit juice provides important vitamins for the immune system"
PRAISE = (
    "A glass of juice is an easy way to get vitamin C and folate. These nutrients help the body "
    "to defend itself against infections, nutritionists say, and children like the taste."
)


def test_a_page_that_leans_to_a_claim_supports_it_less_surely_than_one_that_states_it() -> None:
    leaning = read(JUICE, PRAISE, tone=True)
    stated = read(JUICE, f"{JUICE}.", tone=True)
    assert (leaning.stance, leaning.ground) == ("supports", "tone")
    assert stated.ground == "assertion"
    assert 0.5 < leaning.confidence < stated.confidence < 1


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        (JUICE, f"{PRAISE} Fruit juice does not provide vitamins for the immune system of adults."),
        ("Fruit juice provides no vitamins for the immune system", PRAISE),
        ("Fruit juice provides 80 percent of vitamins for the immune system", PRAISE),
        (
            "In 2019 fruit juice provided 80 percent of vitamins for the immune system",
            f"In 2019 this was known already. {PRAISE}",
        ),
        ("Fruit juice in Ruritania provides vitamins for the immune system", PRAISE),
    ],
    ids=["denied beside", "a denial", "another number", "the year alone", "another name"],
)
def test_tone_is_not_trusted_with_denials_numbers_and_names(claim: str, page: str) -> None:
    assert read(claim, page, tone=True).ground != "tone"


SEA = "Sea levels have not risen in the last century"
TIDES = (
    "Tide gauges and satellites show that the global mean sea level rose by about twenty "
    "centimetres since 1900. The rate of the rise has doubled over the past thirty years."
)
BEARS = "Polar bears don't live in Antarctica"
ARCTIC = (
    "Polar bears are found only in the Arctic, in Canada, Greenland, Norway, Russia and Alaska. "
    "Penguins live at the other end of the world."
)


@pytest.mark.parametrize(
    ("claim", "page", "stance"), [(SEA, TIDES, "refutes"), (BEARS, ARCTIC, "unclear")]
)
def test_who_leans_far_to_what_a_claim_denies_refutes_it(
    claim: str, page: str, stance: str
) -> None:
    assert read(claim, page, tone=True).stance == stance
    assert read(claim, page).stance == "unclear"


# --- Whole pages --------------------------------------------------------------------------------


class _Row(TypedDict):
    claim: str
    title: str
    text: str
    says: str


def rows_of(name: str) -> list[_Row]:
    rows: list[_Row] = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return rows


def test_plain_pages_are_read_right_and_quoted_for_it() -> None:
    rows = rows_of("plain_pages.yaml")
    model = StatementsAndTone(minilm())
    right, turned = 0, []
    for row in rows:
        page = PageExcerpt("https://a.example/", row["title"], "", row["text"])
        draft = read_page(row["claim"], page, minilm(), model)
        answer = draft.stance if draft is not None else "unclear"
        right += answer == row["says"]
        if answer != row["says"] and answer != "unclear":
            turned.append(row["claim"])
        elif draft is not None and answer == row["says"]:
            assert draft.quotes
            assert draft.quotes[0] in row["text"]
    assert not turned
    assert right >= 0.9 * len(rows)


@pytest.mark.parametrize(("talk", "least"), [("health", 9), ("nature", 5), ("history", 6)])
def test_plain_claims_are_read_right_in_pages_of_several_paragraphs(talk: str, least: int) -> None:
    """The pages were written before the rules were looked at; `least` is what is reached."""
    text = Path(__file__).with_name(f"plain_{talk}.yaml").read_text(encoding="utf-8")
    written = yaml.safe_load(text)
    right = 0
    for said, about in zip(written["said"], written["pages"], strict=True):
        page = PageExcerpt("https://a.example/", about["title"], "", about["text"])
        draft = read_page(said["claim"], page, minilm(), StatementsAndTone(minilm()))
        if draft is not None:
            assert all(quote in about["text"] for quote in draft.quotes)
            right += draft.stance == said["side"]
    assert right >= least


FACTS = yaml.safe_load(Path(__file__).with_name("plain_facts.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fact", FACTS, ids=[each["claim"] for each in FACTS])
def test_a_plain_page_takes_its_side_with_the_words_that_say_so(fact: dict[str, Any]) -> None:
    def read_whole(text: str) -> EvidenceDraft | None:
        page = PageExcerpt("https://a.example/", fact.get("title", ""), "", text)
        return read_page(fact["claim"], page, minilm(), StatementsAndTone(minilm()))

    for text in fact["pages"]:
        draft = read_whole(text)
        assert draft is not None, text
        assert draft.stance == fact["says"], text
        assert draft.quotes[0] in text
    for text in fact.get("silent", []):
        draft = read_whole(text)
        assert draft is None or draft.stance == "unclear", text


@pytest.mark.parametrize(("half", "least"), [("developed", 0.93), ("held_back", 0.9)])
def test_plainly_worded_pairs_are_read_right(half: str, least: float) -> None:
    rows = rows_of(f"stance_pairs_{half}.yaml")
    answers = [(row["says"], read(row["claim"], row["text"]).stance) for row in rows]
    right = sum(says == answer.replace("unclear", "none") for says, answer in answers)
    assert right >= least * len(answers)
    sides = {"supports", "refutes"}
    assert not [pair for pair in answers if set(pair) == sides], "a side was turned round"


# --- Inference models ---------------------------------------------------------------------------


class _Contradicting:
    """An inference model that finds every claim contradicted and every denial entailed."""

    name = "contradicting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def infer(self, pairs: Sequence[tuple[str, str]]) -> list[Inference]:
        self.asked.extend(pairs)
        return [
            Inference(0.8, 0.1, 0.1) if "no evidence" in hypothesis else Inference(0.1, 0.1, 0.8)
            for _, hypothesis in pairs
        ]


def test_an_inference_model_is_asked_for_claim_and_denial() -> None:
    model = _Contradicting()
    selection = select_passages(SUGAR, "Sugar had no effect on children in trials.", "", minilm())
    said = InferenceStance(model).read(SUGAR, selection, title="")
    assert (said.stance, said.ground) == ("refutes", "inference")
    assert [hypothesis for _, hypothesis in model.asked] == [SUGAR, denial_of(SUGAR)]


def test_a_model_that_entails_everything_leans_to_no_side() -> None:
    eager = Inference(0.9, 0.05, 0.05)
    assert leaning_of(eager, eager) == 0
