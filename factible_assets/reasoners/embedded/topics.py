"""What claims are about, and who is to be asked about it.

What belongs here: topics as word lists, the authorities that publish on each, and the words in
which its myths are usually contradicted. What does not: wording queries (queries.py).

The lists are general knowledge: which public bodies gather the figures of a field.
"""

from __future__ import annotations

from dataclasses import dataclass

from factible_assets.reasoners.embedded.text import content_stems, stem, word_set


@dataclass(frozen=True, slots=True)
class Topic:
    """A field of knowledge: its words (stems), its authorities, how its myths are contradicted."""

    name: str
    stems: frozenset[str]
    authorities: str
    contradiction: str


def _topic(name: str, words: str, authorities: str, contradiction: str) -> Topic:
    return Topic(name, frozenset(map(stem, word_set(words))), authorities, contradiction)


GENERAL = _topic("general", "", "official data report", "false fact check")
"""For claims that no topic fits."""

TOPICS = (
    _topic(
        "health",
        """
        health healthy medical medicine medication doctor doctors patient patients hospital disease
        diseases cancer tumor tumour virus viral infection infected hiv aids covid coronavirus flu
        vaccine vaccines vaccination immune immunity antibody antibodies blood heart stroke diabetes
        insulin cholesterol obesity weight brain dementia alzheimer's depression anxiety mental
        sleep exercise workout drug drugs therapy treatment treat cure symptoms diagnosis diagnosed
        bacteria antibiotic antibiotics pregnancy pregnant hormone hormones lungs kidney liver gut
        detox cleanse autophagy supplements smoking alcohol mortality lifespan pain surgery
        """,
        "WHO CDC study",
        "myth debunked",
    ),
    _topic(
        "nutrition",
        """
        diet diets dietary food foods nutrition nutritional nutrient nutrients vitamin vitamins
        mineral minerals protein fiber fibre sugar sugars fructose glucose calorie calories fat fats
        carbohydrate carbohydrates juice juices fruit fruits vegetable vegetables garlic meat dairy
        milk salt sodium potassium antioxidants antioxidant organic fasting vegan gluten eat eating
        drink drinking
        """,
        "USDA NIH clinical trial review",
        "myth debunked dietitian",
    ),
    _topic(
        "climate",
        """
        climate warming greenhouse carbon dioxide co2 methane emission emissions temperature
        temperatures atmosphere atmospheric glacier glaciers ice arctic antarctic greenland sea
        ocean oceans hurricane hurricanes drought droughts flood floods flooding heatwave wildfire
        wildfires weather storm storms precipitation geoengineering ipcc fossil rainfall
        """,
        "NASA NOAA IPCC data",
        "misleading climate fact check",
    ),
    _topic(
        "energy",
        """
        energy electricity electric power grid renewable renewables solar wind nuclear coal oil gas
        turbine turbines battery batteries fuel fuels blackout blackouts ercot megawatt gigawatt
        pipeline subsidies
        """,
        "EIA IEA energy statistics",
        "misleading fact check",
    ),
    _topic(
        "environment",
        """
        plastic plastics recycling recycled landfill landfills pollution polluted waste biodegrade
        microplastics species biodiversity extinction forest forests deforestation ecosystem
        ecosystems pesticide pesticides wildlife fish marine
        """,
        "EPA UNEP study",
        "myth fact check",
    ),
    _topic(
        "economy",
        """
        economy economic economics inflation unemployment jobs job wage wages income gdp growth
        recession prices price cost costs tax taxes debt deficit budget bank banks banking trade
        tariff tariffs market markets stock stocks poverty wealth money dollar currency interest
        mortgage housing rent savings consumers
        """,
        "BLS World Bank IMF statistics",
        "misleading statistics fact check",
    ),
    _topic(
        "elections",
        """
        election elections vote votes voter voters voting ballot ballots fraud recount electoral
        candidate candidates campaign poll polls polling precinct dominion turnout
        """,
        "court ruling official audit",
        "debunked no evidence",
    ),
    _topic(
        "immigration",
        """
        immigrant immigrants immigration migrant migrants migration refugee refugees asylum border
        borders visa visas citizenship deportation deported naturalized
        """,
        "DHS Census Bureau Migration Policy statistics",
        "misleading fact check",
    ),
    _topic(
        "government",
        """
        government president presidential congress senate senator house representatives law laws
        legislation constitution constitutional court courts judge supreme minister parliament
        policy democracy democratic republic federal emergency executive order veto governor party
        rights amendment administration
        """,
        "congress.gov Supreme Court official record",
        "false fact check",
    ),
    _topic(
        "crime",
        """
        crime crimes criminal murder murders homicide police arrest arrested prison gun guns
        shooting fbi cia terrorism terrorist attack riot riots conspiracy prosecution informant
        informants indicted charged
        """,
        "FBI Department of Justice report",
        "debunked conspiracy fact check",
    ),
    _topic(
        "war",
        """
        war wars military army troops soldiers weapon weapons missile nato invasion invaded treaty
        peace conflict civilians casualties bombing
        """,
        "UN report verified",
        "propaganda fact check",
    ),
    _topic(
        "space and physics",
        """
        space planet planets moon sun star stars galaxy universe nasa rocket satellite satellites
        orbit gravity quantum physics physicist light speed asteroid mars earth telescope
        """,
        "NASA ESA research",
        "myth debunked",
    ),
    _topic(
        "technology",
        """
        technology internet computer computers software algorithm ai artificial intelligence robot
        robots phone phones 5g wireless radiation privacy data chip chips network cyber encryption
        """,
        "NIST IEEE research",
        "myth fact check",
    ),
    _topic(
        "education",
        """
        school schools student students education teacher teachers university college literacy
        learning graduates children
        """,
        "OECD UNESCO education statistics",
        "criticism fact check",
    ),
    _topic(
        "history",
        """
        history historical century ancient empire king queen revolution slavery slaves colony
        colonial founded civilization medieval dynasty archaeological historians
        """,
        "historians archive encyclopedia",
        "historical myth",
    ),
)
"""Topics in the order in which ties are decided."""


def find_topic(text: str) -> Topic:
    """Return the topic with most of its words in a text; GENERAL if none has any."""
    stems = content_stems(text)
    counts = [sum(each in topic.stems for each in stems) for topic in TOPICS]
    best = max(counts)
    return TOPICS[counts.index(best)] if best else GENERAL
