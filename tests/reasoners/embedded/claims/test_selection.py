"""Which sentences become claims."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from factible_assets.reasoners.embedded.claims.clauses import is_fragment, statements
from factible_assets.reasoners.embedded.claims.references import is_open, resolve
from hypothesis import given
from hypothesis import strategies as st

from factible_assets.reasoners.embedded.claims import selection
from factible_assets.reasoners.embedded.claims.checkworthiness import read_doubts, read_signs
from factible_assets.reasoners.embedded.claims.selection import extract_claims
from factible_assets.reasoners.embedded.claims.sentences import Sentence, split_sentences
from factible_assets.reasoners.embedded.claims.wording import strip_lead_ins, write_claim
from factible_assets.reasoners.embedded.embedder import Embedder, TfidfEmbedder, minilm
from factible_assets.records import Transcript, Video
from factible_assets.stages.ports import ClaimDrafts, ReasonerRefusalError

TALK = (
    "Hello everyone and welcome back to the channel! Today I want to talk about coffee. "
    "I really love the smell of it in the morning. So, you know, coffee contains more than one "
    "thousand chemical compounds. Caffeine blocks the adenosine receptors of the brain and so "
    "reduces tiredness. Isn't that amazing? A cup of coffee contains about 95 milligrams of "
    "caffeine. The average cup of coffee holds roughly 95 milligrams of caffeine. People in "
    "Finland drink 12 kilograms of coffee per person every year, which is more than in any other "
    "country. Please subscribe and hit the bell. Coffee was first exported from the port of Mocha "
    "in Yemen in the 15th century. Drinking coffee late in the day causes poor sleep in most "
    "adults. It is dangerous. What do you think? See you next time!"
)


def _extract(
    text: str,
    limit: int = 5,
    title: str = "What coffee does to us",
    embedder: Embedder | None = None,
) -> ClaimDrafts:
    return extract_claims(
        Video(video_id="v", title=title),
        Transcript(video_id="v", text=text, provider="file", content_hash="0"),
        (),
        max_claims=limit,
        embedder=embedder or minilm(),
    )


def test_statements_of_fact_are_taken_and_talk_is_left() -> None:
    texts = " ".join(claim.text for claim in _extract(TALK).claims)
    assert "Finland" in texts
    for talk in ("subscribe", "Hello", "love the smell", "What do you think", "amazing"):
        assert talk not in texts


def test_talk_is_no_claim_however_many_are_asked_for() -> None:
    talk = (
        "Good evening everybody. Canberra is the capital of Australia. Thanks for watching. "
        "Penicillin was discovered by Alexander Fleming in 1928. See you next week!"
    )
    assert sorted(claim.text for claim in _extract(talk, limit=10).claims) == [
        "Canberra is the capital of Australia.",
        "Penicillin was discovered by Alexander Fleming in 1928.",
    ]


def test_claims_stand_in_the_raw_text_at_their_offsets() -> None:
    for claim in _extract(TALK).claims:
        assert claim.char_start is not None
        assert claim.char_end is not None
        said = TALK[claim.char_start : claim.char_end]
        assert claim.text.rstrip(".").casefold() == said.rstrip(".").casefold()


def test_claims_come_in_order_of_importance_within_range() -> None:
    importances = [claim.importance for claim in _extract(TALK).claims]
    assert importances == sorted(importances, reverse=True)
    assert all(0 <= importance <= 1 for importance in importances)


def test_no_more_claims_are_given_than_asked_for() -> None:
    assert len(_extract(TALK, limit=2).claims) == 2


def test_the_same_fact_in_other_words_is_given_once() -> None:
    assert sum("95 milligrams" in claim.text for claim in _extract(TALK, limit=10).claims) == 1


def test_claims_do_not_overlap() -> None:
    spans = sorted((c.char_start or 0, c.char_end or 0) for c in _extract(TALK, limit=10).claims)
    assert spans
    assert all(left[1] <= right[0] for left, right in pairwise(spans))


def test_no_thesis_is_claimed_because_none_is_sure() -> None:
    assert _extract(TALK).thesis is None


GERMAN = (
    "Willkommen zu unserem Vortrag über das Klima. Die Temperatur der Erde ist in den letzten "
    "hundert Jahren um mehr als ein Grad gestiegen, und das war vor allem der Mensch. Man kann es "
    "in den Daten sehen, die wir in der Arktis sammeln."
)


@pytest.mark.parametrize("text", [GERMAN, "地球的温度在过去一百年里上升了一度多。" * 4])
def test_a_transcript_in_another_language_is_declined_instead_of_ranked_by_noise(text: str) -> None:
    with pytest.raises(ReasonerRefusalError, match="not in English"):
        _extract(text)


def test_a_transcript_without_words_has_neither_thesis_nor_claims() -> None:
    assert _extract("[Music] [Applause]") == ClaimDrafts(thesis=None, claims=())


def test_the_same_transcript_gives_the_same_claims() -> None:
    assert _extract(TALK) == _extract(TALK)


def test_a_claim_that_points_back_carries_the_sentence_before_it() -> None:
    text = "Sulphur is released by a crushed clove. These vapours kill 90 percent of bacteria."
    contexts = {claim.text: claim.context for claim in _extract(text).claims}
    assert contexts["These vapours kill 90 percent of bacteria."] == (
        "Sulphur is released by a crushed clove."
    )


def test_a_subordinate_clause_alone_lacks_a_head() -> None:
    assert is_fragment("Although garlic kills bacteria in a dish.")
    assert is_fragment("If bacteria meet garlic because a cook adds some.")
    assert is_fragment("Just as garlic kills bacteria in a dish.")
    assert not is_fragment("When garlic is cut it is strong because it has allicin.")
    assert not is_fragment("Although garlic is cheap, it kills bacteria.")


def test_signs_of_fact_raise_the_score_and_signs_of_talk_lower_it() -> None:
    def rate(text: str) -> float:
        return read_signs(text).wording

    fact = rate("Smoking causes about 85 percent of lung cancer deaths in Europe.")
    assert fact > rate("Smoking comes with lung trouble for people in Europe.")
    assert fact > rate("I think smoking causes about 85 percent of lung cancer deaths in Europe.")
    assert fact > rate("Does smoking cause about 85 percent of lung cancer deaths in Europe?")
    asked = "smoking causes lung cancer so is it banned"
    assert rate(asked) < rate("smoking causes lung cancer and so is banned")
    assert fact > rate("Smoking should cause about 85 percent of lung cancer deaths in Europe.")
    assert rate("It did that to them.") < rate("Smoking did that to smokers.")


def _whole(text: str) -> Sentence:
    (sentence,) = split_sentences(text)
    return sentence


def test_lead_ins_are_stripped_one_after_another() -> None:
    raw = "So, you know, it turns out that garlic kills some bacteria."
    sentence = strip_lead_ins(raw, _whole(raw))
    assert write_claim(raw, sentence) == "Garlic kills some bacteria."
    assert raw[sentence.start : sentence.end] == "garlic kills some bacteria."


def test_words_that_only_look_like_lead_ins_stay() -> None:
    for raw in (
        "No vaccine contains microchips of any kind.",
        "First graders read 20 books a year.",
        "Well known facts are seldom checked again.",
        "There is no evidence that vaccines cause autism in children.",
        "There's very little evidence that vitamin C prevents colds.",
        "This is a lie: the earth is flat and has an edge.",
        "After all the votes were counted, the old party won.",
        "However hard people work, wages stay as they are.",
        "So few people vote that a party of ten can win.",
        "Look it up in the dictionary and you will see.",
        "To begin the season the club sold ten players.",
        "Last of all nations, Switzerland gave women the vote.",
        "Right there in the middle of Rome lies another state.",
    ):
        assert strip_lead_ins(raw, _whole(raw)).start == 0


def test_numbering_hesitation_and_tags_are_left_out() -> None:
    for raw, read in {
        "Number two: exercise improves attention, OK?": "Exercise improves attention.",
        "Three: The planet is warming, you know, very quickly.": (
            "The planet is warming very quickly."
        ),
        "They are not born pink, by the way, they get the colour from food.": (
            "They are not born pink, they get the colour from food."
        ),
        "Canberra is, by the way, the capital of Australia.": (
            "Canberra is the capital of Australia."
        ),
        "Turns out that's wrong and the bones were fake.": (
            "That's wrong and the bones were fake."
        ),
        "Turns out the more people stand around, the fewer help.": (
            "The more people stand around, the fewer help."
        ),
        "Uh the the river um actually carries more water, more water in spring.": (
            "The river carries more water in spring."
        ),
        "What we see is that the planet's climate is changing.": (
            "The planet's climate is changing."
        ),
        "Well it turns out that in Georgia 67 votes were cast by dead people": (
            "In Georgia 67 votes were cast by dead people."
        ),
        "There's a lot of good evidence to show that people who eat garlic live longer.": (
            "People who eat garlic live longer."
        ),
        "We've actually shown that ajoene enters the cancer cell.": (
            "Ajoene enters the cancer cell."
        ),
        "And last of all, to wrap up, juice is older than wine.": "Juice is older than wine.",
        "And juice also contains antioxidants": "Juice contains antioxidants.",
        "well China owns 760 billion of that debt": "China owns 760 billion of that debt.",
        "Look it up, think about that for a second, Japan has over a trillion.": (
            "Japan has over a trillion."
        ),
        "Here's what they leave out: wind power costs 17 times more than coal.": (
            "Wind power costs 17 times more than coal."
        ),
    }.items():
        (whole,) = [Sentence(raw, 0, len(raw))]
        assert write_claim(raw, strip_lead_ins(raw, whole)) == read


def test_a_pronoun_is_resolved_where_one_thing_can_be_meant() -> None:
    cells = "Natural killer cells are the greatest threat to a virus."
    assert resolve("They release a protein.", cells) == "[Natural killer cells] release a protein."
    assert resolve("It's a protein.", cells) == "It's a protein."
    assert resolve("They release a protein.", "So it goes.") == "They release a protein."
    physician = "Dr. Jane Smith moved to Boston in spring."
    assert resolve("Her team grew.", physician) == "[Dr. Jane Smith's] team grew."
    house = "Congress just decided to look at executive power."
    assert resolve("It kills more.", "About a billion people have it.") == "It kills more."
    everyone = "Everyone talks about melatonin is made in a gland."
    assert resolve("It's a name.", everyone) == "It's a name."
    assert resolve("It passed an act.", house) == "[Congress] passed an act."
    gases = "Many of the human produced gases are called greenhouse gases."
    swedes = "The Swedes have many billionaires."
    assert resolve("They\u2019ve got no such tax.", swedes) == "[The Swedes have] got no such tax."
    ship = "The ship left in spring."
    assert resolve("It's been at sea since.", ship) == "[The ship has] been at sea since."
    law = "The Constitution isn't short."
    assert resolve("It binds all.", law) == "[The Constitution] binds all."
    assert resolve("They'd left.", swedes) == "They'd left."
    assert resolve("It lies on the bottom.", "The answer lies in the sea.") == (
        "It lies on the bottom."
    )
    assert resolve("It is warmer.", "Today's climate differs.") == "[Today's climate] is warmer."
    assert resolve("They left.", "And people came.") == "They left."
    assert resolve("It bans guns.", "I'm happy Congress passed a law.") == "It bans guns."
    assert resolve("It burns.", "The candle's lit on a table that has no cloth.") == "It burns."
    assert resolve("These are warm.", gases) == "[Many of the human produced gases] are warm."


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("This may be true.", "The media was quick to blame the state."),
        ("It's easier to cheat by mail.", "Another issue in Georgia is the deadline."),
        ("It's straight women who fall ill.", "The infection rate has shot up."),
        ("It wasn't long ago that cars were rare.", "America is a land of roads."),
        ("It should be noted that nobody knew.", "The verdict was late."),
        ("He announced a report.", "In August the case was filed."),
        ("She has much to hide.", "A doctor in South Africa describes the trial."),
        ("They have a plan.", "Somehow a whole lot of was given away."),
    ],
)
def test_a_pronoun_stays_where_it_means_nothing_that_the_sentence_before_names(
    text: str, before: str
) -> None:
    assert resolve(text, before) == text


def test_a_later_statement_of_a_sentence_does_not_speak_of_the_sentence_before() -> None:
    said = (
        "The milk is dear in winter. Congress amended the law, and it passed a budget of 4 billion."
    )
    assert not [claim for claim in _extract(said, limit=5).claims if claim.text.startswith("[")]


@pytest.mark.parametrize(
    "whole",
    [
        "A diesel engine lights its fuel without spark plugs.",
        "The whale shark is a fish that breathes water.",
        "Swiss women have voted in national elections since 1971.",
        "For about 30 years a farm was left to the children.",
        "The mantle\u2019s not iron.",
        "Burkitt died in 1993.",
    ],
)
def test_a_whole_sentence_with_a_rare_verb_is_no_fragment(whole: str) -> None:
    assert not is_fragment(whole)


@pytest.mark.parametrize(
    "piece",
    [
        "The Earth's crust and its heat.",
        "The city's housing crisis.",
        "For the sake of the people who are left.",
        "An area three times the size of France.",
        "A place where 3 million people live.",
        "The planets that astronomers found.",
        "From 20 cases reported in 1990.",
        "The claim that vaccines can cause autism.",
        "A farm.",
    ],
)
def test_a_piece_of_a_sentence_is_a_fragment(piece: str) -> None:
    assert is_fragment(piece)


def test_an_open_reference_is_one_whose_noun_stands_elsewhere() -> None:
    assert is_open("This compound kills bacteria.")
    assert is_open("It kills bacteria.")
    assert is_open("They\u2019d dug out the canal by 1991.")
    assert is_open("In 2022 she'll be the first judge.")
    assert not is_open("The farmers say they'd dug out the canal.")
    assert is_open("One of the secrets of garlic is this.")
    assert is_open("The red ones kill bacteria.")
    assert not is_open("The one million immigrants of a year bring relatives.")
    assert is_open("Together, they kill bacteria.")
    assert is_open("In that case bacteria die.")
    assert is_open("Plastic makes them feel full.")
    assert is_open("The discovery means better treatment.")
    assert is_open("The red ones contain more sugar.")
    assert is_open("In August he announced a report on sugar.")
    assert not is_open("Jane Smith said in August that he was right.")
    assert not is_open("The discovery of penicillin means better treatment.")
    assert not is_open("Many doctors say that they wash their hands.")
    assert not is_open("A compound of garlic kills bacteria, and this compound is cheap.")
    assert not is_open("Prices doubled this year.")
    assert not is_open("Heart attacks were fewer in those on a diet with oil.")


def test_a_time_a_setting_or_a_share_of_what_is_not_named_stands_open_too() -> None:
    assert is_open("Until then, high meant 140 over 90.")
    assert is_open("Five days later, columns of fire rose from the summit.")
    assert is_open("The bridge opened in December of that year at a cost of 25 million dollars.")
    assert not is_open("The bridge fell in January of 2022 and was open again that year.")
    assert is_open("In the year 2000 it was about 5.7 trillion dollars.")
    assert is_open("In 2022, according to the institute, they paid 97 billion dollars in taxes.")
    assert not is_open("In 2022, according to the institute, it was known that taxes rose.")
    assert not is_open("When the migrants arrived, they paid taxes.")
    for closed in (
        "At the time of the Civil War, cotton made up half of American exports.",
        "Research shows that night owls die younger.",
        "Alcohol makes people tired the next day.",
        "On the same day in 1826, Adams and Jefferson died.",
        "Columbus left Spain in August 1492 and returned in March of that year.",
        "In 2020, it was clear that the vaccine worked.",
        "In 1969 it took four days to reach the moon.",
        "3M and its partners made masks.",
        "In London, it rains 150 days a year.",
        "Vaccines, most of them cheap, save lives.",
    ):
        assert not is_open(closed), closed
    assert is_open("Around 1 in 5 of them is in poor condition.")
    assert not is_open("The city owns bridges, and 1 in 5 of them is in poor condition.")


def test_a_claim_keeps_its_abbreviation_and_its_last_number_whole() -> None:
    raw = "most of the plants are built in the U.S."
    assert write_claim(raw, _whole(raw)).endswith("in the U.S.")
    raw = "the price rose to $3.99"
    assert write_claim(raw, _whole(raw)) == "The price rose to $3.99."


@given(st.text(max_size=400), st.integers(1, 8))
def test_any_text_gives_claims_within_limits_or_none(text: str, limit: int) -> None:
    try:
        drafts = _extract(text or " ", limit=limit, title=text[:40])
    except ReasonerRefusalError:
        return
    assert len(drafts.claims) <= limit
    for claim in drafts.claims:
        assert claim.text
        assert claim.char_start is not None
        assert claim.char_end is not None
        assert 0 <= claim.char_start < claim.char_end <= len(text)


def test_half_an_hour_without_punctuation_takes_less_than_a_quarter_of_a_minute() -> None:
    nouns = ["coffee", "river", "vaccine", "budget", "glacier", "engine", "harvest", "senate"]
    verbs = ["raises", "lowers", "follows", "covers", "causes", "needs", "reaches"]
    words = " ".join(
        f"the {nouns[i % 8]} of region {i % 97} {verbs[i % 7]} the {nouns[(i // 8) % 8]} in year"
        f" {i}"
        for i in range(425)
    )
    assert len(words.split()) >= 4_500
    began = time.process_time()
    assert len(_extract(words, limit=15, embedder=TfidfEmbedder()).claims) == 15
    assert time.process_time() - began < 15


def _statements(raw: str) -> list[str]:
    parts, _ = statements(raw, Sentence(raw, 0, len(raw)))
    return [write_claim(raw, part) for part in parts]


def test_the_statements_of_a_compound_sentence_can_each_be_a_claim() -> None:
    assert _statements("Every parent knows why: sugar makes children hyperactive.") == [
        "Sugar makes children hyperactive."
    ]
    assert _statements(
        "Taking vitamin C every day prevents colds, so there was always a bowl of oranges."
    ) == ["Taking vitamin C every day prevents colds.", "There was always a bowl of oranges."]
    assert _statements("These effects last because exercise changes the brain's anatomy.") == [
        "Exercise changes the brain's anatomy."
    ]


def test_may_is_a_month_and_a_name_too() -> None:
    assert _statements("Napoleon was crowned in May 1804, but he was born in Corsica.")
    assert _statements("Brian May studied physics, but he became a guitarist with Queen.")


def test_statements_without_commas_come_apart_before_a_subject_with_its_verb() -> None:
    assert _statements(
        "mary shelley wrote the novel on the lake and it was raining all summer"
    ) == ["Mary shelley wrote the novel on the lake.", "It was raining all summer."]
    assert _statements("the lake is held back by a dam and the dam supplies power to three states")
    assert _statements("the drug kills the bacteria and the virus in the blood of children") == []


@pytest.mark.parametrize(
    "said",
    [
        "It is a myth that vaccines contain mercury and the government hides the deaths.",
        "Crime falls if the state legalises drugs and the police focus on murder.",
        "critics claim the vaccine kills children and the government hides the deaths",
        "Galileo denied the old idea and the earth stands still in it.",
        "they changed the law so they could win the election",
        "Some people say vaccines contain mercury and there are microchips in every dose.",
        "It is a myth that vaccines cause autism, and the state hides the deaths of children.",
        "Crime did not fall in the nineties because the police were tough on drugs.",
        "Greenland may lie next to Canada, but the island belongs to the Kingdom of Denmark.",
        "Coffee may taste bitter but it is no poison.",
        "a;" * 25_000,
    ],
)
def test_what_may_hang_on_the_words_before_does_not_come_apart(said: str) -> None:
    assert _statements(said) == []


def test_the_context_of_a_later_statement_is_its_own_sentence() -> None:
    said = (
        "The river Colorado runs through seven states of the west. "
        "The Hoover dam was built in 1936 by 21,000 men and it supplies power to three states."
    )
    for claim in _extract(said, limit=5).claims:
        if claim.text == "It supplies power to three states.":
            assert claim.context == "The Hoover dam was built in 1936 by 21,000 men and"


def test_what_a_remark_gives_to_others_is_not_taken_out_of_its_sentence() -> None:
    said = "Storms were rare before, the narrative goes, but somehow coal makes all of them worse."
    assert _statements(said) == []
    assert _statements(said.replace(" the narrative goes,", ""))


def test_lists_conditions_and_predicates_do_not_come_apart() -> None:
    for whole in (
        "If the river rises in spring again, the town below is flooded.",
        "The coal, the gas, and the oil of the north were sold to the state.",
        "The visa lets people bring not only their children, but much of their family is let in.",
        "The law formalized the power, but also aimed to give members a check on it.",
    ):
        assert _statements(whole) == []


def test_what_is_said_of_a_thing_that_was_just_named_does_not_come_apart_from_it() -> None:
    whole = "There's another enzyme, ACE, and that sits in the lungs, and it makes a hormone."
    assert not [part for part in _statements(whole) if part.casefold().startswith(("sits", "that"))]


def test_a_piece_of_a_sentence_is_told_from_a_whole_one_by_its_verbs() -> None:
    assert is_fragment("Places where the pollutants turn the water into soup.")
    assert is_fragment("The key that unlocks the truth.")
    assert not is_fragment("The plant that unlocks the nutrient grows slowly.")


def test_a_general_statement_is_preferred_to_a_story_of_somebody() -> None:
    talk = (
        "My grandmother was stricter about manners than about anything else at dinner. "
        "With dinner she allowed herself one small pleasure on medical grounds of course. "
        "Cracking your knuckles causes arthritis, she would say. "
        "A glass of red wine a day protects the heart."
    )
    assert sorted(claim.text for claim in _extract(talk, limit=2).claims) == [
        "A glass of red wine a day protects the heart.",
        "Cracking your knuckles causes arthritis.",
    ]


def test_of_captions_without_stops_what_has_the_verbs_of_three_statements_counts_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    captions = (
        "honey keeps for years in sealed jars because it has so little water but milk spoils in "
        "days and bread goes stale and butter turns rancid in open dishes of the summer kitchen"
    )
    whole = [Sentence(captions, 0, len(captions), 0.5)]
    against = selection._candidates(captions, whole)[0].against
    monkeypatch.setattr(selection, "_RUN_ON", 0.0)
    assert selection._candidates(captions, whole)[0].against < against


def test_talk_without_a_sign_of_it_is_doubted_and_a_plain_fact_is_not() -> None:
    doubts = read_doubts(
        minilm().embed(
            [
                "Grab your passport, we're heading south.",
                "Pens down, ears open, here we go.",
                "Saffron is picked from the flowers of a crocus.",
                "Vaccines cause autism.",
            ]
        )
    )
    assert doubts.shape == (4,)
    assert doubts.max() <= 0
    assert doubts[:2].max() < -2 < -0.5 < doubts[2:].min()


def test_talk_is_no_claim_however_few_others_there_are() -> None:
    said = (
        "Good evening, everybody. Grab your passport, we're heading south. The Amazon carries more "
        "water than any other river on Earth. Pens down, ears open, here we go. Saffron is picked "
        "from the flowers of a crocus."
    )
    assert {claim.text for claim in _extract(said, title="Ten things").claims} == {
        "The Amazon carries more water than any other river on Earth.",
        "Saffron is picked from the flowers of a crocus.",
    }
